package breakerref_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
)

// bench is a machine in the hands of a test of predicates.
type bench struct {
	*breakerref.Machine
	now time.Time
}

func newBench(t *testing.T, cfg breakerref.Config, judge breakerref.Predicates) bench {
	t.Helper()
	now := time.Unix(1_735_689_600, 0)
	m, err := breakerref.NewWith(cfg, judge, now)
	if err != nil {
		t.Fatal(err)
	}
	return bench{m, now}
}

// tuple is how many were recorded, and how many of them as failures.
func (b bench) tuple() [2]int {
	m := b.Metrics(b.now)
	return [2]int{m.Buffered, m.Failed}
}

// The cases of the library's own tests: which errors and values count as what.
func TestPredicates(t *testing.T) {
	boom := errors.New("boom")
	isIO := func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
	says := func(s string) func(error) bool {
		return func(err error) bool { return strings.Contains(err.Error(), s) }
	}
	for name, c := range map[string]struct {
		judge breakerref.Predicates
		ends  []any // errors and values
		want  [2]int
		kinds string
	}{
		"without predicates every error is a failure": {
			ends: []any{boom, "value", nil}, want: [2]int{3, 1}, kinds: "ERROR SUCCESS SUCCESS",
		},
		"an error that is not recorded is a success": {
			judge: breakerref.Predicates{Record: isIO},
			ends:  []any{io.ErrUnexpectedEOF, boom}, want: [2]int{2, 1}, kinds: "ERROR SUCCESS",
		},
		"by message": {
			judge: breakerref.Predicates{Record: says("oo")},
			ends:  []any{boom, io.ErrUnexpectedEOF}, want: [2]int{2, 1}, kinds: "ERROR SUCCESS",
		},
		"an ignored error does not count": {
			judge: breakerref.Predicates{Ignore: isIO},
			ends:  []any{io.ErrUnexpectedEOF, boom}, want: [2]int{1, 1}, kinds: "IGNORED_ERROR ERROR",
		},
		"ignored comes before recorded": {
			judge: breakerref.Predicates{Ignore: isIO, Record: isIO},
			ends:  []any{io.ErrUnexpectedEOF}, kinds: "IGNORED_ERROR",
		},
		"what wraps an ignored error": {
			judge: breakerref.Predicates{Ignore: isIO},
			ends:  []any{fmt.Errorf("read: %w", io.ErrUnexpectedEOF)}, kinds: "IGNORED_ERROR",
		},
		"a value may be a failure": {
			judge: breakerref.Predicates{RecordResult: func(v any) bool { return v == "failure" }},
			ends:  []any{"success", "failure"}, want: [2]int{2, 1}, kinds: "SUCCESS ERROR",
		},
		"nothing is asked about no value": {
			judge: breakerref.Predicates{RecordResult: func(any) bool { return true }},
			ends:  []any{nil}, want: [2]int{1, 0}, kinds: "SUCCESS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, breakerref.Default(), c.judge)
			for _, end := range c.ends {
				if err, ok := end.(error); ok {
					b.OnError(b.now, err, 0)
				} else {
					b.OnResult(b.now, end, 0)
				}
			}
			if got := b.tuple(); got != c.want {
				t.Errorf("recorded and failed are %v, want %v", got, c.want)
			}
			if got := strings.Join(eventNames(b.Machine), " "); got != c.kinds {
				t.Errorf("events %q, want %q", got, c.kinds)
			}
		})
	}
}

// An ignored error gives a probe's permit back; an error that is not recorded does not.
func TestIgnoredProbe(t *testing.T) {
	cfg := breakerref.Default()
	cfg.Initial, cfg.Permitted = breakerref.HalfOpen, 2
	b := newBench(t, cfg, breakerref.Predicates{
		Ignore: func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
		Record: func(error) bool { return false },
	})
	got := []bool{b.Acquire(b.now), b.Acquire(b.now), b.Acquire(b.now)}
	b.OnError(b.now, fs.ErrNotExist, 0)
	got = append(got, b.Acquire(b.now), b.Acquire(b.now))
	b.OnError(b.now, io.EOF, 0)
	got = append(got, b.Acquire(b.now))
	if diff := cmp.Diff([]bool{true, true, false, true, false, false}, got); diff != "" {
		t.Errorf("permits, wanted (-) and got (+):\n%s", diff)
	}
}

// A call's end may open the breaker by itself, for as long as it says: only in CLOSED,
// not as one more opening in a row, and after the outcome was counted.
func TestTransitionOnResult(t *testing.T) {
	maintenance := errors.New("503, retry after 2 h")
	judge := breakerref.Predicates{
		RecordResult: func(v any) bool { return v == "bad" },
		Transition: func(v any, err error) breakerref.Verdict {
			switch {
			case errors.Is(err, maintenance):
				return breakerref.Verdict{Open: true, For: 2 * time.Hour}
			case v == "until ten past":
				return breakerref.Verdict{Open: true, Till: time.Unix(1_735_689_600, 0).Add(10 * time.Minute)}
			case v == "bad" || v == "as ever":
				return breakerref.Verdict{Open: true}
			}
			return breakerref.Verdict{}
		},
	}
	for name, c := range map[string]struct {
		end   any
		state breakerref.State
		until time.Duration // since the start
	}{
		"another error":         {end: io.EOF, state: breakerref.Closed},
		"for two hours":         {end: maintenance, state: breakerref.Open, until: 2 * time.Hour},
		"until an instant":      {end: "until ten past", state: breakerref.Open, until: 10 * time.Minute},
		"as long as configured": {end: "as ever", state: breakerref.Open, until: time.Minute},
		"it is not asked of a value that is a failure": {end: "bad", state: breakerref.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, breakerref.Default(), judge)
			if err, ok := c.end.(error); ok {
				b.OnError(b.now, err, 0)
			} else {
				b.OnResult(b.now, c.end, 0)
			}
			if b.State() != c.state || b.tuple()[0] != 1 {
				t.Errorf("%v with %d recorded, want %v with 1", b.State(), b.tuple()[0], c.state)
			}
			if c.state == breakerref.Open && b.OpenUntil().Sub(b.now) != c.until {
				t.Errorf("open for %v, want %v", b.OpenUntil().Sub(b.now), c.until)
			}
		})
	}

	t.Run("only in CLOSED", func(t *testing.T) {
		cfg := breakerref.Default()
		cfg.Initial = breakerref.HalfOpen
		b := newBench(t, cfg, judge)
		b.OnError(b.now, maintenance, 0)
		if b.State() != breakerref.HalfOpen {
			t.Errorf("the state is %v", b.State())
		}
	})
	t.Run("no more than one opening", func(t *testing.T) {
		cfg := breakerref.Default()
		cfg.Window = 1 // The failure itself opens it, for a minute.
		b := newBench(t, cfg, judge)
		b.OnError(b.now, maintenance, 0)
		if got := b.OpenUntil().Sub(b.now); got != time.Minute {
			t.Errorf("open for %v, want the minute of the opening that came first", got)
		}
	})
}

// The library throws when a call's end says open and not for how long, and leaves a
// breaker that permits nothing, records on and never opens.
func TestTransitionOnResultStrict(t *testing.T) {
	cfg := breakerref.Default()
	cfg.Strict, cfg.Window = true, 2
	b := newBench(t, cfg, breakerref.Predicates{
		Transition: func(any, error) breakerref.Verdict { return breakerref.Verdict{Open: true} },
	})
	thrown := ""
	func() {
		defer crash(&thrown)
		b.OnResult(b.now, "value", 0)
	}()
	b.Record(b.now, true, 0)
	b.OnError(b.now, io.EOF, 0)
	if thrown != "IllegalArgumentException" || b.State() != breakerref.Closed || b.Acquire(b.now) {
		t.Errorf("threw %q and is %v", thrown, b.State())
	}
	want := breakerref.Metrics{FailureRate: 100, Buffered: 2, Failed: 2}
	if diff := cmp.Diff(want, b.Metrics(b.now)); diff != "" {
		t.Errorf("metrics, wanted (-) and got (+):\n%s", diff)
	}
	if got := strings.Join(eventNames(b.Machine), " "); got != "SUCCESS ERROR ERROR NOT_PERMITTED" {
		t.Errorf("events %q", got)
	}
}
