package differential_test

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// chance draws. The same seed and case draw the same.
type chance struct{ *rand.Rand }

func drawing(seed, index uint64) chance { return chance{rand.New(rand.NewPCG(seed, index))} }

func (c chance) percent(p int) bool { return c.IntN(100) < p }

func pick[T any](c chance, from ...T) T { return from[c.IntN(len(from))] }

// generate returns a case. Its numbers are small and near one another, so that the
// edges between them are hit. Results are not tied to calls: several calls are under
// way at once and end late without more.
func generate(seed, index uint64) run {
	c := drawing(seed, index)
	s := c.setting()
	h := c.habit(s)
	r := run{setting: s, ops: make([]op, pick(c, 8, 40, 160, 640))}
	for i := range r.ops {
		r.ops[i] = h.op()
	}
	return r
}

func (c chance) setting() setting {
	s := setting{
		start:      pick(c, 0, 0, time.Millisecond, 500*time.Millisecond, 999*time.Millisecond, time.Second-1),
		record:     pick[byte](c, '-', 'c', 'p'),
		ignore:     pick[byte](c, '-', 'c', 'p'),
		results:    c.percent(50),
		verdicts:   c.percent(30),
		precedence: c.percent(20),
	}
	s.WindowType = pick(c, breakerref.CountBased, breakerref.TimeBased)
	s.LockFree = c.percent(30)
	s.Window = c.size()
	s.MinimumCalls = pick(c, 1, 1+c.IntN(s.Window), 1+c.IntN(s.Window+3), 1+c.IntN(8))
	s.FailureRate = c.rate(s.Window)
	s.SlowRate = pick(c, 100, c.rate(s.Window))
	s.SlowDuration = pick(c, 1, time.Millisecond, 10*time.Millisecond, time.Second, time.Minute, 1+time.Duration(c.IntN(2_000_000)))
	c.waits(&s)
	s.AutoHalfOpen = c.percent(40)
	s.Permitted = pick(c, 1, 2, 3, 1+c.IntN(5), 10)
	if c.percent(50) {
		s.HalfOpenMaxWait = pick(c, time.Millisecond, 999_999, 1_500_000, 10*time.Millisecond, time.Second, 3*time.Second)
	}
	s.HalfOpenMaxWaitCloses = c.percent(50)
	if c.percent(40) {
		s.Initial = breakerref.State(c.IntN(6))
	}
	return s
}

// size is that of a window.
func (c chance) size() int {
	switch {
	case c.percent(30):
		return 1 + c.IntN(3)
	case c.percent(90):
		return 1 + c.IntN(12)
	}
	return pick(c, 20, 64, 100)
}

// rate is a threshold: one that a window can hit exactly, or the next number to it.
func (c chance) rate(size int) float32 {
	n := 1 + c.IntN(size)
	exact := float32(1+c.IntN(n)) * 100 / float32(n)
	switch {
	case c.percent(60):
	case c.percent(20):
		return pick[float32](c, 0.001, 1, 50, 100)
	case c.percent(50):
		return min(100, math.Nextafter32(exact, 200))
	default:
		return math.Nextafter32(exact, 0)
	}
	return exact
}

func (c chance) waits(s *setting) {
	s.Wait = c.wait()
	switch {
	case c.percent(30):
		s.WaitMultiplier = pick(c, 1, 1.1, 1.5, 2, 3.7, 10, 0.5, 0.1)
		if c.percent(60) {
			s.WaitMax = max(time.Millisecond, pick(c, s.Wait, 2*s.Wait, 3*s.Wait+1, s.Wait/2, 10*time.Second))
		}
	case c.percent(25):
		for range 1 + c.IntN(4) {
			s.Waits = append(s.Waits, c.wait())
		}
	}
}

// wait is how long a breaker stays open.
func (c chance) wait() time.Duration {
	return pick(c, time.Millisecond, 1_999_999, 10*time.Millisecond, 100*time.Millisecond,
		999*time.Millisecond, time.Second, 1001*time.Millisecond, 2500*time.Millisecond, time.Minute)
}

// habit is what the operations of a case have in common.
type habit struct {
	chance
	setting
	bad, slow  int // percent of outcomes
	back       int // percent of advances that go back in time
	outcomes   int // weights, against 30 of acquiring
	releases   int
	advances   int
	hand       int
	limit      time.Duration // of one advance
	wrapNobody bool          // an error may wrap none
}

func (c chance) habit(s setting) habit {
	h := habit{
		chance:   c,
		setting:  s,
		bad:      pick(c, 5, 30, 50, 70, 100),
		slow:     pick(c, 0, 0, 20, 50, 90),
		back:     pick(c, 0, 0, 0, 5, 30),
		outcomes: pick(c, 10, 40, 40, 80),
		releases: pick(c, 0, 2, 10),
		advances: pick(c, 3, 15, 30),
		hand:     pick(c, 0, 1, 3, 15),
		limit:    time.Hour,
		// A class cannot be asked of nothing: the library throws, and the predicates here
		// are not the machine's.
		wrapNobody: s.record != 'c' && s.ignore != 'c',
	}
	if s.AutoHalfOpen && s.HalfOpenMaxWait > 0 {
		// Left alone, it alternates without end.
		h.limit = 100 * (s.HalfOpenMaxWait + time.Millisecond)
	}
	return h
}

func (h habit) op() op {
	n := h.IntN(30 + h.outcomes + h.releases + h.advances + h.hand)
	switch n -= 30; {
	case n < 0:
		return op{kind: pick(h.chance, tryAcquire, tryAcquire, acquire)}
	case n < h.outcomes:
		return h.outcome()
	case n < h.outcomes+h.releases:
		return op{kind: release}
	case n < h.outcomes+h.releases+h.advances:
		return op{kind: advance, wait: h.step()}
	}
	return h.byHand()
}

func (h habit) outcome() op {
	o := op{kind: success, end: ending{wrap: '-', verdict: '-', took: h.took()}}
	switch bad := h.percent(h.bad); {
	case bad && h.results && h.percent(20):
		o.kind, o.end.class = returned, 'b'
	case bad:
		o.kind, o.end.class = failed, pick[byte](h.chance, 'r', 'r', 'r', 'r', 'r', 'i', 'u')
	case h.percent(50):
		return o
	default:
		o.kind, o.end.class = returned, pick[byte](h.chance, 'g', 'g', 'n')
	}
	if h.percent(15) {
		return h.inItsHands(o)
	}
	if o.kind == failed && h.percent(20) {
		o.end.wrap = pick[byte](h.chance, 'c', 'x')
		if h.wrapNobody && h.percent(30) {
			o.end.class = 'n'
		}
	}
	h.verdict(&o.end)
	return o
}

// inItsHands makes an outcome that of a call that the library makes.
func (h habit) inItsHands(o op) op {
	switch o.kind {
	case failed:
		o.kind = callFails
	default:
		o.kind = calls
	}
	o.end.took = min(h.limit, max(0, o.end.took))
	h.verdict(&o.end)
	return o
}

func (h habit) verdict(e *ending) {
	if !h.verdicts || !h.percent(20) {
		return
	}
	e.verdict = pick[byte](h.chance, 'f', 'f', 'u', 'u', 'o')
	if e.verdict != 'o' {
		e.wait = pick(h.chance, h.wait(), 1, 1_500_000, -time.Second)
	}
}

// took is how long a call takes, near to where slowness begins.
func (h habit) took() time.Duration {
	if h.percent(h.slow) {
		return pick(h.chance, h.SlowDuration+1, h.SlowDuration+1, 2*h.SlowDuration, math.MaxInt64)
	}
	return pick(h.chance, 0, 1, h.SlowDuration-1, h.SlowDuration, h.SlowDuration, -1, math.MinInt64)
}

// step is how far the clock goes: to where something may end, or next to it.
func (h habit) step() time.Duration {
	d := pick(h.chance, 0, time.Millisecond, 10*time.Millisecond, h.opening(), h.opening(), h.opening(), h.HalfOpenMaxWait,
		time.Second, time.Duration(h.IntN(h.Window+2))*time.Second, time.Duration(h.Int64N(int64(2*time.Second))))
	d += pick(h.chance, 0, 0, 1, -1, time.Millisecond, -time.Millisecond)
	d = min(h.limit, max(0, d))
	if h.percent(h.back) {
		return -min(d, time.Minute)
	}
	return d
}

// opening is how long one of the first openings lasts, about.
func (h habit) opening() time.Duration {
	if len(h.Waits) > 0 {
		return pick(h.chance, h.Waits...).Truncate(time.Millisecond)
	}
	d := h.Wait.Truncate(time.Millisecond)
	if h.WaitMultiplier != 0 {
		for range h.IntN(3) {
			d = time.Duration(float64(d) * h.WaitMultiplier).Truncate(time.Millisecond)
		}
	}
	return d
}

func (h habit) byHand() op {
	switch h.IntN(10) {
	case 0, 3:
		return op{kind: reset}
	case 1:
		return op{kind: openFor, wait: pick(h.chance, h.wait(), 0, 1, 1_500_000, -1, -time.Second)}
	case 2:
		return op{kind: openTill, wait: pick(h.chance, h.wait(), 0, 1, 1_500_000, -1, -1_500_000)}
	}
	return op{kind: transition, to: breakerref.State(h.IntN(6))}
}
