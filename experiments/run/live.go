package run

import (
	"slices"
	"sync"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/target/trace"
)

// live guesses states while the run goes on, for `until` and for a person
// watching. Verdicts never use it.
type live struct {
	plan      *experiments.Plan
	rec       *trace.Recorder
	injectors map[string]*injector.Injector
	breakers  map[string]*liveBreaker

	watched bool // somebody reads progress

	mu       sync.Mutex
	phase    experiments.Phase
	phaseNo  int
	from     time.Duration
	arrivals int
	before   int // arrivals when the phase began
	calls    int
	recent   []trace.Call
}

// liveBreaker is the guess about one breaker.
type liveBreaker struct {
	injector string
	targets  []string
	free     int // admissions without a rejection that make it closed again
	open     bool
	rejected int           // in a row
	since    time.Duration // end of the first of them
	admitted int           // in a row
}

// openAfter is how many rejections in a row make a breaker look open.
const openAfter = 3

func newLive(plan *experiments.Plan, rec *trace.Recorder) *live {
	l := &live{plan: plan, rec: rec, injectors: map[string]*injector.Injector{}, breakers: map[string]*liveBreaker{}}
	for _, b := range plan.Breakers {
		l.breakers[b.Name] = &liveBreaker{injector: b.Injector, targets: b.Targets, free: 3*b.Config.Permitted + 10}
	}
	return l
}

// begin notes that a phase begins.
func (l *live) begin(i int, p experiments.Phase, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase, l.phaseNo, l.from, l.before = p, i+1, at, l.arrivals
	for _, b := range l.breakers {
		b.rejected, b.admitted = 0, 0
	}
}

// arrived is told of every arrival at an injector.
func (l *live) arrived(trace.Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivals++
}

// ended is told of every call that has ended; it passes rejections on to the
// injectors, which hold probes until enough of them came.
func (l *live) ended(c trace.Call) {
	var tell []*injector.Injector
	l.mu.Lock()
	l.calls++
	if l.watched {
		l.recent = append(l.recent, c)
	}
	for _, b := range l.breakers {
		if !slices.Contains(b.targets, c.Target) || !c.Answered() || l.rec.Hidden(b.injector, c) {
			continue
		}
		if l.rec.Reached(b.injector, c) {
			b.admit(c)
			continue
		}
		b.reject(c)
		tell = append(tell, l.injectors[b.injector])
	}
	l.mu.Unlock()
	for _, in := range tell {
		in.Rejected(c.Send)
	}
}

// admit notes an admitted call.
func (b *liveBreaker) admit(c trace.Call) {
	if b.rejected == 0 || c.Send > b.since {
		b.rejected = 0
		b.admitted++
	}
	if b.admitted >= b.free {
		b.open = false
	}
}

// reject notes a rejected call.
func (b *liveBreaker) reject(c trace.Call) {
	if b.rejected == 0 {
		b.since = c.End
	}
	b.rejected++
	b.admitted = 0
	if b.rejected >= openAfter {
		b.open = true
	}
}

// over reports whether what has come of the current phase ends it.
func (l *live) over(c experiments.Calls) bool {
	if c.UntilArrivals > 0 {
		l.mu.Lock()
		came := l.arrivals - l.before
		l.mu.Unlock()
		if came >= c.UntilArrivals {
			return true
		}
	}
	return c.Until != "" && l.is(c.Breaker, c.Until)
}

// is reports whether the calls of the current phase show a breaker in a state,
// open or closed. What came before does not count: it may have changed since.
func (l *live) is(breaker, state string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.breakers[breaker]
	if state == "open" {
		return b.rejected >= openAfter
	}
	return b.admitted >= b.free
}
