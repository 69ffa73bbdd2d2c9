package assert_test

import (
	"slices"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
)

// ejector is a proxy's host: so many failures in a row eject it, and it comes back at a tick.
type ejector struct {
	after, late int
	base, tick  time.Duration
	growing     bool
	probes      int // 0: it has all its traffic back at once
	stays       bool

	epoch, until  time.Time
	row, times    int
	out, half     bool
	passing, over int
}

func ejecting(change func(*ejector)) func(breakerref.Config, time.Time) breaker {
	return func(_ breakerref.Config, now time.Time) breaker {
		e := &ejector{after: 5, base: time.Second, tick: 200 * ms, growing: true, epoch: now}
		if change != nil {
			change(e)
		}
		return e
	}
}

func (e *ejector) Acquire(now time.Time) bool {
	if e.out && !now.Before(e.until) {
		e.out, e.row, e.half, e.passing = false, 0, e.probes > 0, 0
	}
	if e.out || e.half && e.passing >= e.probes {
		if e.over > 0 { // Another worker has not heard of it yet.
			e.over--
			return true
		}
		return false
	}
	e.passing++
	return true
}

func (e *ejector) Record(now time.Time, failed bool, _ time.Duration) {
	if e.out {
		return
	}
	e.row++
	if !failed {
		e.row, e.half = 0, false
	}
	if e.stays || e.row < e.after && (!e.half || !failed) {
		return
	}
	e.out, e.half, e.over = true, false, e.late
	e.times++
	wait := e.base
	if e.growing {
		wait *= time.Duration(e.times)
	}
	back := now.Sub(e.epoch) + wait
	e.until = e.epoch.Add((back + e.tick - 1).Truncate(e.tick))
}

func (e *ejector) State() breakerref.State {
	if e.out {
		return breakerref.Open
	}
	return breakerref.Closed
}

// A host that is ejected and comes back is seen as that: no half-open is made of it, and each
// way of doing it wrong is found by the rule that names it.
func TestEjection(t *testing.T) {
	rules := []assert.Assertion{
		{ID: "ejects", Phase: "trip", Rule: assert.EjectionOpens{Breaker: "cb"}},
		{ID: "grows", Rule: assert.EjectionDuration{Breaker: "cb", Equals: time.Second, Growth: assert.GrowthLinear, Tick: 200 * ms, Tolerance: 0.05}},
		{ID: "sequence", Phase: "outage", Rule: assert.EjectionDuration{Breaker: "cb", Sequence: []time.Duration{2 * time.Second, 3 * time.Second}, Tick: 200 * ms, Tolerance: 0.05}},
		{ID: "returns", Phase: "recovery", Rule: assert.EjectionReturns{Breaker: "cb"}},
		{ID: "half-open", Phase: "recovery", Rule: assert.HalfOpenProbes{Breaker: "cb", Exactly: 3}},
		{ID: "steady", Phase: "end", Rule: assert.StaysClosed{Breaker: "cb"}},
	}
	late := slices.Clone(rules)
	late[0].Rule = assert.EjectionOpens{Breaker: "cb", Late: 3}
	for name, c := range map[string]struct {
		change func(*ejector)
		rules  []assert.Assertion
		fails  string
	}{
		"right":                      {nil, rules, ""},
		"late":                       {func(e *ejector) { e.late = 3 }, late, ""},
		"leaves the only host in":    {func(e *ejector) { e.stays = true }, rules, "ejects"},
		"one late":                   {func(e *ejector) { e.after++ }, rules, "ejects"},
		"one early":                  {func(e *ejector) { e.after-- }, rules, "ejects"},
		"later than allowed":         {func(e *ejector) { e.after += 4 }, late, "ejects"},
		"does not grow":              {func(e *ejector) { e.growing = false }, rules, "grows"},
		"does not grow either":       {func(e *ejector) { e.growing = false }, rules, "sequence"},
		"lasts twice as long":        {func(e *ejector) { e.base *= 2 }, rules, "sequence"},
		"comes back with one probe":  {func(e *ejector) { e.probes = 1 }, rules, "returns"},
		"comes back with two probes": {func(e *ejector) { e.probes = 2 }, rules, "returns"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds() {
				s := plain()
				s.Seed, s.Undeclared, s.Make, s.Ejection = seed, true, ejecting(c.change), &assert.Ejection{After: 5}
				s.Base = span{20 * ms, 30 * ms}
				s.Phases = []phase{
					{Name: "baseline", Duration: time.Second, Rate: 50},
					{Name: "trip", Calls: 20, Workers: 1, Gap: 5 * ms, Faults: unavailable()},
					{Name: "outage", Duration: 8 * time.Second, Rate: 100, Faults: unavailable()},
					{Name: "recovery", Duration: 9 * time.Second, Rate: 100},
					{Name: "end", Duration: 2 * time.Second, Rate: 100},
				}
				r, rep := judged(s, c.rules)
				for _, v := range rep.Verdicts {
					want := assert.Pass
					switch {
					case v.ID == c.fails:
						want = assert.Fail
					case c.fails != "":
						continue // What else is wrong with it does not matter.
					case v.ID == "half-open":
						want = assert.Inconclusive
					}
					if v.Result != want {
						t.Fatalf("seed %d: %s is %s, want %s\n%s", seed, v.ID, v.Result, want, describe(r, rep))
					}
				}
				for _, seg := range rep.Breakers[0].Segments {
					if seg.State != assert.StateClosed && seg.State != assert.StateEjected {
						t.Fatalf("seed %d: a state %s is inferred", seed, seg.State)
					}
				}
			}
		})
	}
}

// laterOneByOne sends the calls of the last phase one after the other.
func laterOneByOne(with func(*setup)) func(*setup) {
	return func(s *setup) {
		with(s)
		s.Phases[len(s.Phases)-1] = phase{Name: "recovery", Calls: 600, Workers: 1, Gap: 10 * ms}
	}
}

// ejectionGoldens are runs whose verdicts about ejections are kept.
func ejectionGoldens() []golden {
	with := func(change func(*ejector)) func(*setup) {
		return func(s *setup) {
			s.Undeclared, s.Make, s.Ejection, s.Base = true, ejecting(change), &assert.Ejection{After: 5}, span{20 * ms, 30 * ms}
			s.Phases = []phase{
				{Name: "baseline", Duration: time.Second, Rate: 50},
				{Name: "trip", Calls: 20, Workers: 1, Gap: 5 * ms, Faults: unavailable()},
				{Name: "outage", Duration: 8 * time.Second, Rate: 100, Faults: unavailable()},
				{Name: "recovery", Duration: 9 * time.Second, Rate: 100},
			}
		}
	}
	opens := assert.EjectionOpens{Breaker: "cb"}
	lasts := assert.EjectionDuration{Breaker: "cb", Sequence: []time.Duration{2 * time.Second, 3 * time.Second}, Tick: 200 * ms, Tolerance: 0.05}
	back := assert.EjectionReturns{Breaker: "cb"}
	return []golden{
		{name: "ejected", with: with(nil), phase: "trip", rule: opens, want: assert.Pass},
		{name: "the only host is left in", with: with(func(e *ejector) { e.stays = true }), phase: "trip", rule: opens, want: assert.Fail},
		{name: "nothing to eject for", with: with(nil), phase: "baseline", rule: opens, want: assert.Inconclusive},
		{name: "ejection grows", with: with(nil), phase: "outage", rule: lasts, want: assert.Pass},
		{name: "ejection does not grow", with: with(func(e *ejector) { e.growing = false }), phase: "outage", rule: lasts, want: assert.Fail},
		{name: "no ejection ends", with: with(nil), phase: "trip", rule: lasts, want: assert.Inconclusive},
		{name: "host is back at once", with: with(nil), phase: "recovery", rule: back, want: assert.Pass},
		{name: "host is back with a probe", with: with(func(e *ejector) { e.probes = 1 }), phase: "recovery", rule: back, want: assert.Fail},
		{name: "host is back with a probe, one call at a time", with: laterOneByOne(with(func(e *ejector) { e.probes = 1 })), phase: "recovery", rule: back, want: assert.Inconclusive},
		{name: "host is back at once, one call at a time", with: laterOneByOne(with(nil)), phase: "recovery", rule: back, want: assert.Inconclusive},
		{name: "half-open of a host that is ejected", with: with(nil), phase: "recovery", rule: assert.HalfOpenProbes{Breaker: "cb", Exactly: 1}, want: assert.Inconclusive},
	}
}
