package assert_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// pressing draws a SUT with all its peculiarities, and a load of two phases, the second of
// which asks for much: so many at once, or in a second.
func (d drawn) pressing(atOnce int) setup {
	s := d.setup()
	s.Instances, s.Replicas, s.Running = 0, false, nil
	took := d.ms(10, 400, "keeps")
	rate := min(1500, float64(atOnce)/took.Seconds()*float64(d.int(50, 300, "load"))/100)
	s.Phases = []phase{
		{Name: "baseline", Duration: d.ms(1000, 3000, "baseline"), Rate: float64(d.int(20, 100, "calm"))},
		{Name: "press", Duration: d.ms(1000, 3000, "press"), Rate: max(5, rate), Faults: unavailable(passing, slowly(took))},
		{Name: "after", Duration: 500 * ms, Rate: 50},
	}
	if d.rare(3, "waits") {
		s.Phases[1] = phase{Name: "press", Calls: d.int(50, 1500, "calls"), Workers: d.int(1, 3*atOnce, "workers"), Gap: d.ms(0, 20, "gap"), Faults: s.Phases[1].Faults}
	}
	if d.rare(4, "jitter") && s.Phases[1].Rate > 0 {
		s.Phases[1].Jitter = d.ms(1, 50, "jittered")
	}
	return s
}

// A bulkhead that holds never fails, and one that does not never passes.
func TestBulkheads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		n := d.int(2, 30, "places")
		s := d.pressing(n)
		has := n + d.int(0, 1, "more")*d.int(1, 1+n/2, "by")
		if d.rare(4, "none") {
			has = 1000
		}
		s.Guard = func() guard { return &bulkhead{places: has} }
		r, rep := judged(s, []assert.Assertion{
			{ID: "max", Phase: "press", Rule: assert.DownstreamConcurrency{Injector: "payments", Max: n}},
			{ID: "calm", Phase: "baseline", Rule: assert.DownstreamConcurrency{Injector: "payments", Max: has}},
			{ID: "reaches", Phase: "press", Rule: assert.DownstreamConcurrency{Injector: "payments", Max: has, Reaches: true}},
			{ID: "uses", Phase: "press", Rule: assert.DownstreamConcurrency{Injector: "payments", Max: has + 1, Reaches: true}},
		})
		most := deepest(r.trace, 8*ms, "press")
		for _, v := range rep.Verdicts {
			pool := s.Pool > 0 && s.Pool < has || s.Stalls.Every > 0
			switch {
			case v.ID == "max" && has == n && v.Result == assert.Fail, v.ID == "calm" && v.Result == assert.Fail:
			case v.ID == "reaches" && v.Result == assert.Fail && !pool:
			case v.ID == "max" && v.Result == assert.Pass && most > n:
			case v.ID == "uses" && v.Result == assert.Pass:
			default:
				continue
			}
			rt.Fatalf("%d places, %d are asked for, %d at once: %s\n%+v\n%s", has, n, most, text(v), s, describe(r, rep))
		}
	})
}

// deepest is the most attempts of which each two have so much in common, pair by pair.
func deepest(t *trace.Trace, common time.Duration, during string) int {
	most := 0
	for _, a := range t.Attempts {
		if a.Phase != during || a.Abandon != trace.None {
			continue
		}
		n := 0
		for _, b := range t.Attempts {
			if b.Phase == during && b.Abandon == trace.None && b.Arr <= a.Arr && b.Dep > a.Arr+common {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// limits are right limiters, with the rules that they keep.
func (d drawn) limit() (func() func(time.Duration) bool, assert.DownstreamRate) {
	most, window := d.int(10, 300, "most"), d.ms(200, 1500, "window")
	r := assert.DownstreamRate{Injector: "payments", Window: window, Max: most}
	switch d.int(0, 2, "kind") {
	case 0:
		r.Burst = d.int(1, most, "burst")
		return bucket(float64(r.Burst), float64(most)/window.Seconds()), r
	case 1:
		r.Burst = most
		return slidingCounter(most, window), r
	}
	return slidingLog(most, window), r
}

// A limiter that holds never fails; one that lets far too much through never passes.
func TestLimiters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		build, rule := d.limit()
		s := d.setup()
		s.Instances, s.Replicas, s.Running = 0, false, nil
		each := float64(rule.Max) / rule.Window.Seconds()
		s.Phases = []phase{
			{Name: "baseline", Duration: 1500 * ms, Rate: min(60, each/2+5)},
			{Name: "press", Duration: rule.Window + d.ms(500, 3000, "press"), Rate: min(2500, each*float64(d.int(50, 400, "load"))/100)},
		}
		if d.rare(2, "bunches") {
			s.Phases[1].Bunch = d.int(2, 2*rule.Max, "bunch")
		}
		if d.rare(3, "slow") {
			s.Phases[1].Faults = unavailable(passing, func(r *fault.Rule) { r.Latency = fault.Latency{Max: d.ms(10, 300, "took")} })
		}
		right := !d.rare(2, "wrong")
		if !right {
			build = []func() func(time.Duration) bool{
				bucket(2*float64(rule.Max+rule.Burst), 2*each), bucket(1e9, 1e9), fixedWindow(2*rule.Max, rule.Window),
			}[d.int(0, 2, "defect")]
		}
		shaped(build)(&s)
		door := rule
		door.Of, door.Injector = assert.RateAnswers, ""
		door.Rejected = &assert.Rejection{Status: 429, RetryAfter: true}
		rule.Rejected = door.Rejected
		if s.Aggregate || s.Stalls.Every > 0 || s.NoFallback || s.Pool > 0 {
			rule.Rejected, door.Rejected = nil, nil
		}
		r, rep := judged(s, []assert.Assertion{{ID: "arrivals", Phase: "press", Rule: rule}, {ID: "answers", Phase: "press", Rule: door}})
		for _, v := range rep.Verdicts {
			over := float64(crowdedIn(r.trace, rule.Window)) > 1.3*float64(rule.Max+rule.Burst)
			if right && v.Result == assert.Fail || v.ID == "arrivals" && v.Result == assert.Pass && over {
				rt.Fatalf("right: %t: %s\n%+v\n%+v\n%s", right, text(v), rule, s, describe(r, rep))
			}
		}
	})
}

// crowdedIn is the most arrivals of the phase within a time.
func crowdedIn(t *trace.Trace, within time.Duration) int {
	var at []time.Duration
	for _, a := range t.Attempts {
		if a.Phase == "press" {
			at = append(at, a.Arr)
		}
	}
	slices.Sort(at)
	most := 0
	for i := range at {
		k, _ := slices.BinarySearch(at, at[i]+within+1)
		most = max(most, k-i)
	}
	return most
}

// What an objective is judged by is what a plain count says.
func TestObjectives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		bad := rapid.SliceOfN(rapid.Bool(), 40, 400).Draw(rt, "bad")
		objective := float64(d.int(1, 99, "objective")) / 100
		burn := assert.Burn{Long: d.ms(200, 2000, "long"), Max: float64(d.int(1, 40, "burn")) / 10}
		burn.Short = burn.Long / time.Duration(d.int(2, 5, "short"))
		how := func(k int) served {
			if bad[k%len(bad)] && k < len(bad) {
				return ill(3 * ms)
			}
			return well(3 * ms)
		}
		tr, spec := worked(shift{"zombie", 2 * len(bad), true, each(well(3 * ms)), how}), shop()
		spec.Assertions = []assert.Assertion{
			{ID: "share", Phase: "zombie", Rule: assert.SLO{Objective: objective, Targets: []string{"browse"}}},
			{ID: "burn", Phase: "zombie", Rule: assert.SLO{Objective: objective, Targets: []string{"browse"}, Burn: []assert.Burn{burn}}},
		}
		n := 0
		for _, b := range bad {
			if b {
				n++
			}
		}
		met := float64(len(bad)-n)/float64(len(bad)) >= objective
		alert := met && alerts(tr, bad, burn, 1-objective)
		for _, v := range assert.Evaluate(spec, tr).Verdicts {
			holds := met && (v.ID == "share" || !alert)
			if v.Result == assert.Pass && !holds || v.Result == assert.Fail && holds {
				rt.Fatalf("it holds: %t\n%s", holds, text(v))
			}
		}
	})
}

// alerts reports whether the burn rate is above its bound in both stretches before any call,
// for a moment of which enough calls are known.
func alerts(t *trace.Trace, bad []bool, b assert.Burn, budget float64) bool {
	var sent []time.Duration
	for _, c := range t.Calls {
		if c.Target == "browse" {
			sent = append(sent, c.Send)
		}
	}
	rate := func(i int, length time.Duration) (burn float64, n int) {
		k := 0
		for j := range sent {
			if sent[j] <= sent[i] && sent[i]-sent[j] < length {
				n++
				if bad[j] {
					k++
				}
			}
		}
		return float64(k) / float64(n) / budget, n
	}
	for i := range sent {
		long, _ := rate(i, b.Long)
		short, n := rate(i, b.Short)
		if sent[i] >= t.Phases[0].From+b.Long && n >= 20 && long > b.Max && short > b.Max {
			return true
		}
	}
	return false
}
