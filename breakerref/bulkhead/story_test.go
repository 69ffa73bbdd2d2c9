package bulkhead_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/internal/stories"
)

// TestStories plays the stories in testdata/*.txt. A stanza "semaphore" or "pool" begins
// a new bulkhead; "do" plays one step a line and prints, for each:
//
//	time  step  answer  ended (as 1+ let in at, 1- rejected at)  metrics
//
// where the metrics are free/limit/waiting or queued/threads/active, and then when the
// next timer is due. "wait" moves the time; the bulkhead is not told. Run with -rewrite
// to write the answers anew, then read the difference.
func TestStories(t *testing.T) {
	stories.Play(t, stories.Commands[story]{
		"semaphore": (*story).beginSemaphore, "pool": (*story).beginPool, "do": (*story).play,
	})
}

type story struct {
	start, now time.Time
	s          *bulkhead.Semaphore
	p          *bulkhead.ThreadPool
}

func (s *story) beginSemaphore(t *testing.T, d *datadriven.TestData) string {
	*s = story{start: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.now = s.start
	cfg := bulkhead.DefaultSemaphore()
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "max":
			cfg.MaxConcurrentCalls = number(t, arg.Vals[0])
		case "wait":
			cfg.MaxWait = duration(t, arg.Vals[0])
		case "unfair":
			cfg.FairCallHandling = false
		default:
			d.Fatalf(t, "unknown setting %q", arg.Key)
		}
	}
	var err error
	if s.s, err = bulkhead.NewSemaphore(cfg); err != nil {
		return err.Error()
	}
	return s.metrics()
}

func (s *story) beginPool(t *testing.T, d *datadriven.TestData) string {
	*s = story{start: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.now = s.start
	cfg := bulkhead.DefaultThreadPool(4)
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "core":
			cfg.Core = number(t, arg.Vals[0])
		case "max":
			cfg.Max = number(t, arg.Vals[0])
		case "queue":
			cfg.QueueCapacity = number(t, arg.Vals[0])
		case "keep":
			cfg.KeepAlive = duration(t, arg.Vals[0])
		default:
			d.Fatalf(t, "unknown setting %q", arg.Key)
		}
	}
	var err error
	if s.p, err = bulkhead.NewThreadPool(cfg); err != nil {
		return err.Error()
	}
	return s.metrics()
}

// play runs the steps of a stanza; "acquire x3" is three steps.
func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		words, times := strings.Fields(line), 1
		if last := words[len(words)-1]; strings.HasPrefix(last, "x") {
			times = number(t, last[1:])
			words = words[:len(words)-1]
		}
		if words[0] == "wait" {
			s.now = s.now.Add(duration(t, words[1]))
			continue
		}
		for range times {
			answer, ended := s.step(t, words)
			fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%-11v %-12s %-20s %-18s %s",
				s.now.Sub(s.start), strings.Join(words, " "), answer, ended, s.metrics()), " "))
		}
	}
	return out.String()
}

func (s *story) step(t *testing.T, words []string) (answer, ended string) {
	if s.p != nil {
		return s.poolStep(t, words)
	}
	if words[0] == "acquire" {
		a := s.s.Acquire(s.now)
		answer = a.Verdict.String()
		if a.Verdict == bulkhead.Waiting {
			answer = fmt.Sprintf("waiting %d to %v", a.Ticket, a.Until.Sub(s.start))
		}
	} else {
		answer = operate(t, s.s, s.now, words)
	}
	var all []string
	for _, e := range s.s.Endings() {
		all = append(all, fmt.Sprintf("%s@%v", list([]bulkhead.Ending{e}), e.At.Sub(s.start)))
	}
	return answer, strings.Join(all, " ")
}

func (s *story) poolStep(t *testing.T, words []string) (answer, ended string) {
	switch words[0] {
	case "submit":
		a := s.p.Submit(s.now)
		answer = poolAnswer(a.Verdict)
		if a.Verdict == bulkhead.Waiting {
			answer = fmt.Sprint("queued ", a.Ticket)
		}
	case "finish":
		if ticket, ok := s.p.Finish(s.now); ok {
			ended = fmt.Sprintf("%d+@%v", ticket, s.now.Sub(s.start))
		}
	case "look":
		s.p.Advance(s.now)
	default:
		t.Fatalf("unknown step %q", words)
	}
	return answer, ended
}

func (s *story) metrics() string {
	var text string
	var due time.Time
	var ok bool
	if s.p != nil {
		m := s.p.Metrics()
		text = fmt.Sprintf("%d/%d/%d", m.QueueDepth, m.Size, m.Active)
		due, ok = s.p.NextTimer()
	} else {
		m := s.s.Metrics()
		text = fmt.Sprintf("%d/%d/%d", m.Available, m.Max, m.Waiting)
		due, ok = s.s.NextTimer()
	}
	if ok {
		text += fmt.Sprint(" next ", due.Sub(s.start))
	}
	return text
}
