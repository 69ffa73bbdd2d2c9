package differential_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// TestDefectsAreFound compares machines that are wrong with the one that is right,
// which stands in for the library: the comparison has to find each and shrink it.
func TestDefectsAreFound(t *testing.T) {
	findDefects(t, by(machine))
}

// defect is a machine that is wrong.
type defect struct {
	name string
	make maker
}

func defects() []defect {
	return []defect{
		{"above the threshold instead of at it", changed(func(c *breakerref.Config) { c.FailureRate = math.Nextafter32(c.FailureRate, 200) })},
		{"slow at the threshold instead of above it", changed(func(c *breakerref.Config) { c.SlowDuration = max(1, c.SlowDuration-1) })},
		{"a minimum of one more", changed(func(c *breakerref.Config) { c.MinimumCalls++ })},
		{"one permit more", changed(func(c *breakerref.Config) { c.Permitted++ })},
		{"a wait that does not grow", changed(func(c *breakerref.Config) { c.WaitMultiplier, c.WaitMax = 0, 0 })},
		{"a lost release", wrapped(func(b breaker) breaker { return &noRelease{b} })},
		{"calls at the last instant of OPEN", wrapped(func(b breaker) breaker { return early{b.(*breakerref.Machine)} })},
		{"late outcomes are dropped", wrapped(func(b breaker) breaker { return &noLateOutcome{b} })},
		{"a reset that stops timers", wrapped(func(b breaker) breaker { return &stopsTimers{b} })},
		{"nothing while the clock is behind", wrapped(func(b breaker) breaker { return &monotonic{breaker: b} })},
	}
}

func findDefects(t *testing.T, library answerer) {
	const enough = 2000
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			p := pair{library: library, machine: by(d.make)}
			for i := range uint64(enough) {
				r := generate(1, i)
				at, err := p.differ(r)
				if err != nil {
					t.Fatal(err)
				}
				if at < 0 {
					continue
				}
				checkStory(t, p, r)
				return
			}
			t.Errorf("%d cases show no difference", enough)
		})
	}
}

// checkStory wants a story that is minimal and that the defect alone makes.
func checkStory(t *testing.T, p pair, r run) {
	const steps = 5 // Most need fewer, but have to become half-open first.
	t.Helper()
	small, err := p.shrink(r)
	if err != nil {
		t.Fatal(err)
	}
	story := explain(t, p, small)
	if len(small.ops) > steps {
		t.Errorf("a story of %d steps, want at most %d:\n%s", len(small.ops), steps, story)
	}
	if at, err := p.differ(small); err != nil || at != len(small.ops)-1 {
		t.Errorf("the story differs at step %d of %d (%v):\n%s", at+1, len(small.ops), err, story)
	}
	if at, err := (pair{library: p.library, machine: by(machine)}).differ(small); err != nil || at >= 0 {
		t.Errorf("the right machine differs too, at step %d (%v):\n%s", at+1, err, story)
	}
	if !strings.Contains(story, "# The machine instead:") {
		t.Errorf("the story does not tell both answers:\n%s", story)
	}
	t.Log(story)
}

// changed makes the machine of another configuration than it is asked for.
func changed(change func(*breakerref.Config)) maker {
	return func(cfg breakerref.Config, judge breakerref.Predicates, now time.Time) (breaker, error) {
		c := cfg
		change(&c)
		if c.Validate() != nil {
			c = cfg
		}
		return machine(c, judge, now)
	}
}

// wrapped makes a machine that goes through something else.
func wrapped(wrap func(breaker) breaker) maker {
	return func(cfg breakerref.Config, judge breakerref.Predicates, now time.Time) (breaker, error) {
		b, err := machine(cfg, judge, now)
		if err != nil {
			return nil, err
		}
		return wrap(b), nil
	}
}

// noRelease gives no permission back.
type noRelease struct{ breaker }

func (b *noRelease) Release(now time.Time) { b.Advance(now) }

// early permits calls an instant too early.
type early struct{ *breakerref.Machine }

func (b early) Acquire(now time.Time) bool {
	if b.Advance(now); b.State() == breakerref.Open && b.OpenUntil().Equal(now) {
		_ = b.Transition(now, breakerref.HalfOpen) // It is legal from OPEN.
	}
	return b.Machine.Acquire(now)
}

// noLateOutcome records nothing in OPEN.
type noLateOutcome struct{ breaker }

func (b *noLateOutcome) Record(now time.Time, failed bool, d time.Duration) {
	if b.Advance(now); b.State() != breakerref.Open {
		b.breaker.Record(now, failed, d)
	}
}

// stopsTimers leaves no timer behind.
type stopsTimers struct{ breaker }

func (b *stopsTimers) Reset(now time.Time) {
	b.Advance(now)
	if b.State() != breakerref.Closed {
		_ = b.Transition(now, breakerref.Closed) // It is legal from everywhere.
	}
	b.breaker.Reset(now)
}

// monotonic takes a clock that has stepped back for one that stands still.
type monotonic struct {
	breaker
	latest time.Time
}

func (b *monotonic) forward(now time.Time) time.Time {
	if now.After(b.latest) {
		b.latest = now
	}
	return b.latest
}

func (b *monotonic) Acquire(now time.Time) bool { return b.breaker.Acquire(b.forward(now)) }

func (b *monotonic) Advance(now time.Time) { b.breaker.Advance(b.forward(now)) }

func (b *monotonic) Metrics(now time.Time) breakerref.Metrics {
	return b.breaker.Metrics(b.forward(now))
}

func (b *monotonic) Record(now time.Time, failed bool, d time.Duration) {
	b.breaker.Record(b.forward(now), failed, d)
}
