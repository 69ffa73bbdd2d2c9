package bulkhead_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
)

// The files in testdata/recorded hold what Resilience4j 2.4.0 did on OpenJDK 17, with
// real threads. A line "case" begins a new bulkhead; any other line is an operation,
// the answer, who ended waiting, and the metrics, once all threads had come to rest:
//
//	acquire | waiting | - | 0 2 1
//	release | - | 1+ | 0 2 0
//
// 1+ is that the first to have waited was let in, 1- that it was not. Those that ended
// by one operation are listed by their numbers, as threads report in no order.

func TestRecordedSemaphore(t *testing.T) {
	var s *bulkhead.Semaphore
	replay(t, "testdata/recorded/semaphore-2.4.0.txt",
		func(args map[string]string) {
			cfg := bulkhead.DefaultSemaphore()
			cfg.MaxConcurrentCalls = number(t, args["max"])
			cfg.FairCallHandling = args["fair"] == "true"
			cfg.MaxWait = duration(t, args["wait"])
			s = must(bulkhead.NewSemaphore(cfg))
		},
		func(op []string) string {
			answer := operate(t, s, time.Time{}, op)
			ended := s.Endings()
			slices.SortFunc(ended, func(a, b bulkhead.Ending) int { return int(a.Ticket) - int(b.Ticket) })
			m := s.Metrics()
			return fmt.Sprintf("%s | %s | %d %d %d", answer, list(ended), m.Available, m.Max, m.Waiting)
		})
}

// operate carries out one operation on a Semaphore and returns its answer.
func operate(t *testing.T, s *bulkhead.Semaphore, now time.Time, op []string) string {
	t.Helper()
	switch op[0] {
	case "acquire":
		return s.Acquire(now).Verdict.String()
	case "release":
		s.Release(now)
	case "cancel":
		if !s.Cancel(now, bulkhead.Ticket(number(t, op[1]))) {
			return "too late"
		}
	case "change":
		cfg := s.Config()
		cfg.MaxConcurrentCalls = number(t, op[1])
		cfg.MaxWait = duration(t, op[2])
		return must(s.Change(now, cfg)).Verdict.String()
	case "look":
		s.Advance(now)
	default:
		t.Fatalf("unknown operation %q", op)
	}
	return "-"
}

func TestRecordedThreadPool(t *testing.T) {
	var p *bulkhead.ThreadPool
	var now time.Time
	var step time.Duration
	replay(t, "testdata/recorded/threadpool-2.4.0.txt",
		func(args map[string]string) {
			cfg := bulkhead.DefaultThreadPool(1)
			cfg.Core, cfg.Max = number(t, args["core"]), number(t, args["max"])
			cfg.QueueCapacity = number(t, args["queue"])
			cfg.KeepAlive = duration(t, args["keep"])
			step = duration(t, args["step"])
			p = must(bulkhead.NewThreadPool(cfg))
		},
		func(op []string) string {
			answer, started := "-", "-"
			switch op[0] {
			case "submit":
				answer = poolAnswer(p.Submit(now).Verdict)
			case "finish":
				if ticket, ok := p.Finish(now); ok {
					started = fmt.Sprint(ticket)
				}
			}
			now = now.Add(step)
			p.Advance(now)
			m := p.Metrics()
			return fmt.Sprintf("%s | %s | %d %d %d %d %d", answer, started,
				m.QueueDepth, m.QueueRemaining, m.Size, m.Active, m.Available)
		})
}

func poolAnswer(v bulkhead.Verdict) string {
	switch v {
	case bulkhead.Admitted:
		return "started"
	case bulkhead.Waiting:
		return "queued"
	default:
		return v.String()
	}
}

// replay holds a recorded file against what is said now.
func replay(t *testing.T, file string, begin func(args map[string]string), do func(op []string) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	operations, cases, differences, spoilt := 0, 0, 0, false
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if rest, ok := strings.CutPrefix(line, "case "); ok {
			begin(settings(rest))
			cases, spoilt = cases+1, false
			continue
		}
		op, want, _ := strings.Cut(line, " | ")
		operations++
		if got := do(strings.Fields(op)); got != want && !spoilt {
			differences, spoilt = differences+1, true // What follows in this case says nothing.
			t.Errorf("%s:%d: %s: got %q, recorded %q", file, i+1, op, got, want)
		}
	}
	t.Logf("replayed %d operations of %d cases, %d differences", operations, cases, differences)
	if cases == 0 {
		t.Error("nothing is recorded")
	}
}

// settings reads words such as max=2.
func settings(s string) map[string]string {
	all := map[string]string{}
	for word := range strings.FieldsSeq(s) {
		key, value, _ := strings.Cut(word, "=")
		all[key] = value
	}
	return all
}

// list writes endings as 1+ (let in) and 1- (not).
func list(ended []bulkhead.Ending) string {
	if len(ended) == 0 {
		return "-"
	}
	var words []string
	for _, e := range ended {
		sign := "-"
		if e.Verdict == bulkhead.Admitted {
			sign = "+"
		}
		words = append(words, fmt.Sprint(e.Ticket, sign))
	}
	return strings.ReplaceAll(strings.Join(words, ","), " ", "")
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must is for what a test has made valid.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
