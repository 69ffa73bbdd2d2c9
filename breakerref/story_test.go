package breakerref_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/stories"
)

// TestStories plays the stories in testdata/*.txt. A stanza "config" begins a new
// machine at a full second; "do" plays one step a line and prints, for each:
//
//	time  step  [result]  STATE failure-rate slow-rate  buffered/failed/slow/slowFailed refused  events
//
// Run with -rewrite to write the answers anew, then read the difference: each line
// is a claim about Resilience4j.
func TestStories(t *testing.T) {
	stories.Play(t, stories.Commands[story]{"config": (*story).begin, "do": (*story).play})
}

type story struct {
	start, now time.Time
	m          *breakerref.Machine
}

func (s *story) begin(t *testing.T, d *datadriven.TestData) string {
	s.start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := breakerref.Default()
	cfg.Name = "b"
	for _, arg := range d.CmdArgs {
		if len(arg.Vals) != 1 {
			d.Fatalf(t, "%s needs one value", arg.Key)
		}
		s.set(t, d, &cfg, arg.Key, arg.Vals[0])
	}
	s.now = s.start
	m, err := breakerref.New(cfg, s.now)
	if err != nil {
		return err.Error()
	}
	s.m = m
	return fmt.Sprintln(m.State())
}

func (s *story) set(t *testing.T, d *datadriven.TestData, cfg *breakerref.Config, key, value string) {
	switch key {
	case "count", "time":
		cfg.Window = integer(t, d, value)
		if key == "time" {
			cfg.WindowType = breakerref.TimeBased
		}
	case "min":
		cfg.MinimumCalls = integer(t, d, value)
	case "failure":
		cfg.FailureRate = percent(t, d, value)
	case "slow":
		cfg.SlowRate = percent(t, d, value)
	case "slow-after":
		cfg.SlowDuration = duration(t, d, value)
	case "wait":
		cfg.Wait = duration(t, d, value)
	case "growth":
		cfg.WaitMultiplier = float64(percent(t, d, value))
	case "wait-max":
		cfg.WaitMax = duration(t, d, value)
	case "lock-free":
		cfg.LockFree = value == "true"
	case "strict":
		cfg.Strict = value == "true"
	case "waits": // As in 1s/2s/5s.
		for w := range strings.SplitSeq(value, "/") {
			cfg.Waits = append(cfg.Waits, duration(t, d, w))
		}
	case "random":
		cfg.WaitRandom = float64(percent(t, d, value))
	case "seed":
		cfg.Seed = uint64(integer(t, d, value))
	case "auto":
		cfg.AutoHalfOpen = value == "true"
	case "permitted":
		cfg.Permitted = integer(t, d, value)
	case "half-open-max":
		cfg.HalfOpenMaxWait = duration(t, d, value)
	case "half-open-then":
		cfg.HalfOpenMaxWaitCloses = state(t, value) == breakerref.Closed
	case "initial":
		cfg.Initial = state(t, value)
	case "start": // An offset into the second, for windows.
		s.start = s.start.Add(duration(t, d, value))
	default:
		d.Fatalf(t, "unknown setting %q", key)
	}
}

// play runs the steps of a stanza. A step may be repeated, as in "err x3", and done
// without a line, as in "quietly err".
func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		times := 1
		if last := words[len(words)-1]; strings.HasPrefix(last, "x") {
			times = integer(t, d, last[1:])
			words = words[:len(words)-1]
		}
		for range times {
			if words[0] == "quietly" {
				s.step(t, d, words[1:])
				s.m.Events()
				continue
			}
			result := s.step(t, d, words)
			if words[0] == "wait" {
				continue
			}
			fmt.Fprintln(&out, strings.TrimRight(s.show(words, result), " "))
		}
	}
	return out.String()
}

func (s *story) step(t *testing.T, d *datadriven.TestData, words []string) (result string) {
	defer crash(&result)
	arg := ""
	if len(words) > 1 {
		arg = words[1]
	}
	took := func() time.Duration {
		if arg == "" {
			return 0
		}
		return duration(t, d, arg)
	}
	switch words[0] {
	case "acquire":
		return strconv.FormatBool(s.m.Acquire(s.now))
	case "ok":
		s.m.Record(s.now, false, took())
	case "err":
		s.m.Record(s.now, true, took())
	case "ignore":
		s.m.Ignore(s.now)
	case "release":
		s.m.Release(s.now)
	case "wait": // The machine is not told.
		s.now = s.now.Add(took())
	case "look":
		s.m.Advance(s.now)
	case "next-timer":
		due, _ := s.m.NextTimer()
		return s.offset(due)
	case "open-till": // An offset from the start.
		return problem(s.m.OpenTill(s.now, s.start.Truncate(time.Second).Add(took())))
	case "open-until":
		return s.offset(s.m.OpenUntil())
	case "to":
		return problem(s.m.Transition(s.now, state(t, arg)))
	case "open-for":
		return problem(s.m.OpenFor(s.now, took()))
	case "reset":
		s.m.Reset(s.now)
	default:
		d.Fatalf(t, "unknown step %q", words)
	}
	return ""
}

// crash sets a result to what a strict machine panics with.
func crash(result *string) {
	switch p := recover().(type) {
	case nil:
	case breakerref.Crash:
		*result = p.Exception
	default:
		panic(p)
	}
}

func (s *story) metrics() (m breakerref.Metrics, crashed string) {
	defer crash(&crashed)
	return s.m.Metrics(s.now), ""
}

func (s *story) show(words []string, result string) string {
	metrics, crashed := s.metrics()
	published := s.m.Events()
	events := make([]string, 0, len(published))
	if crashed != "" {
		events = append(events, "(reading: "+crashed+")")
	}
	for _, e := range published {
		name := e.String()
		if e.Kind == breakerref.EventFailureRate || e.Kind == breakerref.EventSlowRate {
			name += fmt.Sprintf("(%v)", e.Rate)
		}
		if !e.At.Equal(s.now) {
			name += "@" + s.offset(e.At)
		}
		events = append(events, name)
	}
	return fmt.Sprintf("%-12s %-15s %-6s %-12s %9v %9v  %d/%d/%d/%d  %d  %s",
		s.offset(s.now), strings.Join(words, " "), result, s.m.State(),
		metrics.FailureRate, metrics.SlowRate,
		metrics.Buffered, metrics.Failed, metrics.Slow, metrics.SlowFailed,
		metrics.NotPermitted, strings.Join(events, " "))
}

// offset prints an instant by its distance from the start of the first second.
func (s *story) offset(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Sub(s.start.Truncate(time.Second)).String()
}

func problem(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func integer(t *testing.T, d *datadriven.TestData, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func percent(t *testing.T, d *datadriven.TestData, s string) float32 {
	n, err := strconv.ParseFloat(s, 32)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return float32(n)
}

func duration(t *testing.T, d *datadriven.TestData, s string) time.Duration {
	n, err := time.ParseDuration(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}
