package timelimit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/timelimit"
	"github.com/faultline-go/faultline/internal/stories"
)

// TestStories plays the stories in testdata/*.txt. A stanza "limit" makes a limiter;
// "calls" takes one call a line, with the instants at which its method returns and its
// work ends, and how, and prints what the caller gets when, and what the work does until
// when. Run with -rewrite to write the answers anew, then read the difference.
func TestStories(t *testing.T) {
	stories.Play(t, stories.Commands[timelimit.Limiter]{
		"limit": func(l *timelimit.Limiter, t *testing.T, d *datadriven.TestData) string {
			*l = limiter(t, d)
			return fmt.Sprint(l.Config().Work, ", cancels: ", l.Config().Cancels())
		},
		"calls": func(l *timelimit.Limiter, t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				fmt.Fprintf(&out, "%-36s %s\n", strings.TrimSpace(line), call(t, *l, strings.Fields(line)))
			}
			return out.String()
		},
	})
}

func limiter(t *testing.T, d *datadriven.TestData) timelimit.Limiter {
	t.Helper()
	cfg := timelimit.Default()
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "timeout":
			cfg.Timeout = duration(t, arg.Vals[0])
		case "leave":
			cfg.CancelRunningFuture = false
		case "stage":
			cfg.Work = timelimit.Completable
		case "mono":
			cfg.Work = timelimit.Reactive
		default:
			d.Fatalf(t, "unknown setting %q", arg.Key)
		}
	}
	l, err := timelimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// call reads a line such as "returns 0s done 2s error" or "returns 0s never".
func call(t *testing.T, l timelimit.Limiter, words []string) string {
	t.Helper()
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	offset := func(at time.Time) string {
		if at.IsZero() {
			return "for ever"
		}
		return at.Sub(start).String()
	}
	c := l.Start(start.Add(duration(t, words[1])))
	at, end := time.Time{}, timelimit.Never
	if words[2] == "done" {
		at = start.Add(duration(t, words[3]))
		end = map[string]timelimit.End{"value": timelimit.Success, "error": timelimit.Failure, "timeout": timelimit.OwnTimeout}[words[4]]
	}
	o := c.Outcome(at, end)
	return fmt.Sprintf("%s at %s, work %v %s", o.Answer, offset(o.At), o.Work, offset(o.WorkUntil))
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestProperties: the caller has an answer between the return and the deadline, a timeout
// of the limiter's exactly if the work took longer; the work never outlives what it would
// have done alone; and it stops with the caller unless it goes on.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := timelimit.Config{
			Timeout:             time.Duration(rapid.Int64Range(0, 5_000_000).Draw(t, "timeout")),
			CancelRunningFuture: rapid.Bool().Draw(t, "cancel"),
			Work:                rapid.SampledFrom([]timelimit.Work{timelimit.Future, timelimit.Completable, timelimit.Reactive}).Draw(t, "work"),
		}
		l, err := timelimit.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Unix(1_700_000_000, 0)
		c := l.Start(start)
		limit := cfg.Timeout / time.Millisecond * time.Millisecond
		end := rapid.SampledFrom([]timelimit.End{timelimit.Never, timelimit.Success, timelimit.Failure, timelimit.OwnTimeout}).Draw(t, "end")
		took := time.Duration(rapid.Int64Range(-1000, 7_000_000).Draw(t, "took"))
		if rapid.Bool().Draw(t, "at the limit") {
			took = limit
		}
		at := start.Add(took)
		o := c.Outcome(at, end)
		inTime := end != timelimit.Never && took <= limit
		if inTime != (o.Work == timelimit.Ended) || !inTime && (o.Answer != timelimit.Timeout || !o.At.Equal(start.Add(limit))) {
			t.Fatalf("%v of %v: %+v", took, limit, o)
		}
		if o.At.Before(start) || o.At.Sub(start) > limit || c.Late(o.At) != o.At.Equal(c.Deadline) || !c.Late(start.Add(limit+1)) {
			t.Fatalf("the answer is at %v of %v", o.At.Sub(start), limit)
		}
		switch {
		case o.Work == timelimit.Cancelled && !o.WorkUntil.Equal(o.At),
			o.Work == timelimit.GoesOn && end != timelimit.Never && !o.WorkUntil.Equal(at),
			o.Work == timelimit.GoesOn && end == timelimit.Never && !o.WorkUntil.IsZero(),
			o.Work == timelimit.Cancelled && !cfg.Cancels(), o.Work == timelimit.GoesOn && cfg.Cancels():
			t.Fatalf("%+v", o)
		}
	})
}

func TestDefault(t *testing.T) {
	want := timelimit.Config{Timeout: time.Second, CancelRunningFuture: true, Work: timelimit.Future}
	if diff := cmp.Diff(want, timelimit.Default()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigValidate(t *testing.T) {
	for cfg, want := range map[timelimit.Config]string{
		timelimit.Default(): "",
		{}:                  "",
		{Timeout: -1}:       "timeoutDuration is -1ns, must be at least 0s",
		{Timeout: -time.Second, Work: 3}: "timeoutDuration is -1s, must be at least 0s\n" +
			"work is Work(3), must be Future, CompletionStage or Mono",
	} {
		_, err := timelimit.New(cfg)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: got %q, want %q", cfg, got, want)
		}
	}
}

func TestTimeoutError(t *testing.T) {
	err := fmt.Errorf("call: %w", timelimit.TimeoutError{Name: "b"})
	if want := "call: TimeLimiter 'b' recorded a timeout exception."; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); !ok || !timeout.Timeout() {
		t.Error("it is not a timeout")
	}
}
