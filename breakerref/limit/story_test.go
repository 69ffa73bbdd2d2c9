package limit_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/internal/stories"
)

// TestStories plays the stories in testdata/*.txt. A stanza "new KIND field=value…"
// begins a limiter at a full hour; with keys=N it begins one per key. "do" plays one
// step a line,
//
//	TIME VERB [KEY] [VALUE] [xTIMES]
//
// and prints for each call: its time, the call, whether it passed and after what
// wait, what remains of the limit, when the limiter is as good as new and when the
// same call would pass.
//
// Run with -rewrite to write the answers anew, then read the difference.
func TestStories(t *testing.T) {
	stories.Play(t, stories.Commands[story]{"new": (*story).begin, "do": (*story).play})
}

var storyStart = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

type story struct {
	limiter limit.Limiter
	keyed   *limit.Keyed
}

// fields are the arguments of a "new" stanza.
type fields struct {
	t    *testing.T
	d    *datadriven.TestData
	args []datadriven.CmdArg
	used int
}

func (f *fields) text(key string) (string, bool) {
	for _, arg := range f.args {
		if arg.Key == key && len(arg.Vals) == 1 {
			f.used++
			return arg.Vals[0], true
		}
	}
	return "", false
}

func (f *fields) int(key string) int {
	if text, ok := f.text(key); ok {
		return number(f.t, f.d, text)
	}
	return 0
}

func (f *fields) span(key string) time.Duration {
	if text, ok := f.text(key); ok {
		return span(f.t, f.d, text)
	}
	return 0
}

func (f *fields) float(key string) float64 {
	text, _ := f.text(key)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		f.d.Fatalf(f.t, "%s: %v", key, err)
	}
	return v
}

func (s *story) begin(t *testing.T, d *datadriven.TestData) string {
	*s = story{}
	f := &fields{t: t, d: d, args: slices.Clone(d.CmdArgs), used: 1}
	if keys, ok := f.text("keys"); ok {
		kind := *f
		keyed, err := limit.NewKeyed(number(t, d, keys), func(string) (limit.Limiter, error) {
			again := kind
			return build(&again)
		})
		if err != nil {
			return err.Error()
		}
		s.keyed = keyed
		return "ok\n"
	}
	limiter, err := build(f)
	if err != nil {
		return err.Error()
	}
	if f.used != len(d.CmdArgs) {
		d.Fatalf(t, "a field is not known")
	}
	s.limiter = limiter
	return "ok\n"
}

func build(f *fields) (limit.Limiter, error) {
	switch kind := f.args[0].Key; kind {
	case "token-bucket":
		return limit.NewTokenBucket(limit.TokenBucketConfig{Rate: f.float("rate"), Burst: f.int("burst")})
	case "gcra":
		return limit.NewGCRA(limit.GCRAConfig{Limit: f.int("limit"), Period: f.span("period"), Burst: f.int("burst")})
	case "fixed-window":
		cfg := limit.FixedWindowConfig{Limit: f.int("limit"), Window: f.span("window")}
		if align, ok := f.text("align"); ok && align == "first-call" {
			cfg.Align = limit.FirstCall
		}
		return limit.NewFixedWindow(cfg)
	case "sliding-log":
		return limit.NewSlidingLog(limit.SlidingLogConfig{Limit: f.int("limit"), Window: f.span("window")})
	case "sliding-window-counter":
		return limit.NewSlidingWindowCounter(limit.SlidingWindowCounterConfig{Limit: f.int("limit"), Window: f.span("window")})
	case "atomic":
		return limit.NewAtomicRateLimiter(limit.AtomicRateLimiterConfig{
			LimitForPeriod: f.int("limit"), LimitRefreshPeriod: f.span("period"), Timeout: f.span("timeout"),
		}, storyStart)
	default:
		f.d.Fatalf(f.t, "unknown limiter %q", kind)
		return nil, nil
	}
}

func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		times := 1
		if last := words[len(words)-1]; strings.HasPrefix(last, "x") {
			times = number(t, d, last[1:])
			words = words[:len(words)-1]
		}
		if len(words) < 2 {
			d.Fatalf(t, "a step is TIME VERB …: %q", line)
		}
		now := storyStart.Add(span(t, d, words[0]))
		for range times {
			fmt.Fprintf(&out, "%-10s %-14s %s\n", words[0], strings.Join(words[1:], " "), s.step(t, d, now, words[1:]))
		}
	}
	return out.String()
}

func (s *story) step(t *testing.T, d *datadriven.TestData, now time.Time, words []string) string {
	verb, value := words[0], ""
	if len(words) > 1 {
		value = words[len(words)-1]
	}
	if s.keyed != nil {
		got, err := s.keyed.Take(now, words[1], number(t, d, value))
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s  keys %d", show(got), s.keyed.Len())
	}
	if verb == "take" {
		return show(s.limiter.Take(now, number(t, d, value))) + s.state(now)
	}
	var err error
	switch l := s.limiter.(type) {
	case *limit.TokenBucket:
		if verb != "reserve" {
			d.Fatalf(t, "unknown verb %q", verb)
		}
		within := limit.Never
		if len(words) == 3 {
			within, value = span(t, d, words[2]), words[1]
		}
		return show(l.Reserve(now, number(t, d, value), within)) + s.state(now)
	case *limit.AtomicRateLimiter:
		switch verb {
		case "reserve":
			return show(l.Reserve(now, number(t, d, value))) + s.state(now)
		case "drain":
			l.Drain(now)
		case "limit":
			err = l.ChangeLimitForPeriod(number(t, d, value))
		case "timeout":
			err = l.ChangeTimeout(span(t, d, value))
		}
	}
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(s.state(now))
}

// state tells what a limiter shows beside its decisions.
func (s *story) state(now time.Time) string {
	switch l := s.limiter.(type) {
	case *limit.TokenBucket:
		return fmt.Sprintf("  tokens %.4g", l.Tokens(now))
	case *limit.AtomicRateLimiter:
		return fmt.Sprintf("  cycle %d permits %d, next wait %v", l.Cycle(now), l.Permits(now), l.NextWait(now))
	}
	return ""
}

func show(d limit.Decision) string {
	result := "pass"
	if !d.Allowed {
		result = "reject"
	}
	if d.Wait > 0 {
		result += " after " + when(d.Wait)
	}
	text := fmt.Sprintf("%-17s left %d/%d, full in %s", result, d.Remaining, d.Limit, when(d.Reset))
	if !d.Allowed {
		text += ", again in " + when(d.RetryAfter)
	}
	return text
}

func when(d time.Duration) string {
	if d == limit.Never {
		return "never"
	}
	return d.String()
}

func number(t *testing.T, d *datadriven.TestData, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func span(t *testing.T, d *datadriven.TestData, text string) time.Duration {
	v, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return v
}
