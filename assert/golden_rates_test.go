package assert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// pressed is a healthy second and then so many calls a second, each of which the dependency
// keeps for 100 ms.
func pressed(rate float64) func(*setup) {
	return func(s *setup) {
		s.Phases = []phase{
			{Name: "baseline", Duration: 2 * time.Second, Rate: 50},
			{Name: "press", Duration: 4 * time.Second, Rate: rate, Faults: unavailable(passing, slowly(100*ms))},
		}
	}
}

// flooded is a healthy time and then so many calls a second.
func flooded(rate float64, bunch int) func(*setup) {
	return func(s *setup) {
		s.Phases = []phase{
			{Name: "baseline", Duration: 2 * time.Second, Rate: 50},
			{Name: "press", Duration: 4 * time.Second, Rate: rate, Bunch: bunch},
		}
	}
}

// waiting is a load of so many clients that wait for their answers.
func waiting(n int) func(*setup) {
	return func(s *setup) {
		pressed(10)(s)
		s.Phases[1] = phase{Name: "press", Calls: 40 * n, Workers: n, Faults: unavailable(passing, slowly(100*ms))}
	}
}

// keyed gives calls to the two targets a header each.
func keyed(checkout, pay string) func(*assert.Spec) {
	return func(s *assert.Spec) {
		for i, v := range []string{checkout, pay} {
			if v != "" {
				s.Targets[i].Headers = map[string]string{"X-User": v}
			}
		}
	}
}

func atOnce(n int, reaches bool) assert.DownstreamConcurrency {
	return assert.DownstreamConcurrency{Injector: "payments", Max: n, Reaches: reaches}
}

// perSecond bounds arrivals.
func perSecond(n int, change ...func(*assert.DownstreamRate)) assert.DownstreamRate {
	r := assert.DownstreamRate{Injector: "payments", Window: time.Second, Max: n}
	for _, f := range change {
		f(&r)
	}
	return r
}

func bursting(n int) func(*assert.DownstreamRate) {
	return func(r *assert.DownstreamRate) { r.Burst = n }
}

func atDoor(r *assert.DownstreamRate) { r.Of, r.Injector = assert.RateAnswers, "" }

// refusing asks how calls are rejected.
func refusing(retryAfter, keeps bool) func(*assert.DownstreamRate) {
	return func(r *assert.DownstreamRate) {
		r.Rejected = &assert.Rejection{Status: 429, RetryAfter: retryAfter, KeepsConnection: keeps}
	}
}

// oneConnection has all calls sent on one.
func oneConnection(t *trace.Trace) {
	for i := range t.Calls {
		t.Calls[i].Port = 40000
	}
}

func inTurn(s *setup) {
	flooded(1, 0)(s)
	s.Phases[1] = phase{Name: "press", Calls: 600, Workers: 1, Gap: 0}
	s.Base = fixed(100 * time.Microsecond)
}

// overBoundary is 100 calls shortly before a window of 6 s of the clock ends, and 100 after
// that: scenario 5, scaled 1:10.
func overBoundary(s *setup) {
	s.Phases = []phase{
		{Name: "baseline", Duration: 2 * time.Second, Rate: 10},
		{Name: "quiet", Duration: 3948 * ms, Rate: 0.1, Unmeasured: true},
		{Name: "press", Duration: 200 * ms, Rate: 1000, Bunch: 100},
	}
}

var perMinute = assert.DownstreamRate{Injector: "payments", Window: 6 * time.Second, Max: 100, Burst: 100}

// cached takes the attempts of all but one in so many calls.
func cached(k int) func(*trace.Trace) {
	return func(t *trace.Trace) {
		n := 0
		t.Attempts = slices.DeleteFunc(t.Attempts, func(a trace.Attempt) bool {
			n++
			return a.Phase == "press" && n%k != 0
		})
	}
}

// twiceOver has every attempt made twice.
func twiceOver(t *trace.Trace) {
	for _, a := range slices.Clone(t.Attempts) {
		a.Seq += len(t.Attempts)
		a.Arr, a.Dep = a.Arr+50*time.Microsecond, a.Dep+50*time.Microsecond
		t.Attempts = append(t.Attempts, a)
	}
}

// afterwards has calls answered at once, before their attempts.
func afterwards(t *trace.Trace) {
	arrived := map[string]time.Duration{}
	for _, a := range t.Attempts {
		arrived[a.ID] = a.Arr
	}
	for i := range t.Calls {
		if at, ok := arrived[t.Calls[i].ID]; ok {
			c := &t.Calls[i]
			c.First, c.End = (c.Send+at)/2, (c.Send+at)/2
		}
	}
}

// bulkheadGoldens are about how many are under way at once.
func bulkheadGoldens() []golden {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	blind := func(s *setup) { s.Aggregate = true }
	return []golden{
		{name: "bulkhead", with: both(pressed(400), places(20, 0)), phase: "press", rule: atOnce(20, true), want: pass},
		{name: "bulkhead, one too many", with: both(pressed(400), places(21, 0)), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "bulkhead, one too few", with: both(pressed(400), places(19, 0)), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "bulkhead, fewer, and nobody asks", with: both(pressed(400), places(19, 0)), phase: "press", rule: atOnce(20, false), want: pass},
		{name: "bulkhead that loses places", with: both(pressed(400), places(20, 50)), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "no bulkhead", with: pressed(400), phase: "press", rule: atOnce(20, false), want: fail},
		{name: "no bulkhead, too little load", with: pressed(100), phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "bulkhead, too little load to use it", with: both(pressed(100), places(20, 0)), phase: "press", rule: atOnce(20, true), want: dunno},
		{name: "bulkhead that waits", with: both(waiting(40), func(s *setup) { s.Pool = 20 }), phase: "press", rule: atOnce(20, true), want: pass},
		{name: "bulkhead that waits, one too many", with: both(waiting(40), func(s *setup) { s.Pool = 21 }), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "bulkhead that waits, one too few", with: both(waiting(40), func(s *setup) { s.Pool = 19 }), phase: "press", rule: atOnce(20, true), want: dunno},
		{name: "bulkhead, few clients", with: both(waiting(20), func(s *setup) { s.Pool = 20 }), phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "bulkhead, quick dependency", with: both(flooded(400, 0), places(20, 0)), phase: "press", rule: atOnce(20, true), want: dunno},
		{name: "bulkhead, of what is given up", with: both(pressed(400), places(20, 0), func(s *setup) {
			s.SUTTimeout, s.Phases[1].Faults = 100*ms, hanging()
		}), phase: "press", rule: atOnce(5, false), want: fail},
		{name: "bulkhead, while the breaker is open", with: both(pressed(400), places(20, 0), func(s *setup) { s.Phases[1].Faults = unavailable(slowly(100 * ms)) }), phase: "press", rule: atOnce(40, true), want: dunno},
		{name: "aggregate: bulkhead", with: both(pressed(400), places(20, 0), blind), phase: "press", rule: atOnce(20, true), want: pass},
		{name: "aggregate: bulkhead, one too many", with: both(pressed(400), places(21, 0), blind), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "no bulkhead, and a cache", with: pressed(400), trace: cached(5), phase: "press", rule: atOnce(20, true), want: dunno},
		{name: "aggregate: bulkhead, one too few", with: both(pressed(400), places(19, 0), blind), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "aggregate: bulkhead that waits", with: both(waiting(40), func(s *setup) { s.Pool = 20 }, blind), phase: "press", rule: atOnce(20, true), want: pass},
		{name: "aggregate: bulkhead that waits, one too few", with: both(waiting(40), func(s *setup) { s.Pool = 19 }, blind), phase: "press", rule: atOnce(20, true), want: dunno},
		{name: "aggregate: no bulkhead, and a cache", with: both(pressed(400), blind), trace: cached(5), phase: "press", rule: atOnce(20, true), want: dunno},
		{name: "aggregate: no bulkhead, too little load, and every answer an error", with: both(pressed(160), failing, blind), phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "aggregate: bulkhead, one too few, and every answer an error", with: both(pressed(400), failing, places(19, 0), blind), phase: "press", rule: atOnce(20, true), want: fail},
		{name: "aggregate: bulkhead, while the breaker is open", with: both(pressed(400), places(20, 0), func(s *setup) { s.Phases[1].Faults = unavailable(slowly(100 * ms)) }, blind), phase: "press", rule: atOnce(40, true), want: dunno},
		{name: "no bulkhead, of streams", with: pressed(400), trace: func(t *trace.Trace) {
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Phase == "press" {
					a.Stream, a.Closed = true, a.Dep
				}
			}
		}, phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "bulkhead, one too many, in a process that stands still", with: both(pressed(400), places(20, 0)), trace: func(t *trace.Trace) {
			at := t.Phases[1].From + time.Second
			t.Marks = append(t.Marks, trace.Mark{At: at + 50*ms, Dur: 50 * ms, Kind: trace.MarkStall})
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Dep > at && a.Dep < at+50*ms {
					a.Dep = at + 50*ms // It was noted when this process went on.
				}
			}
		}, phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "no bulkhead, and no CPU", with: pressed(400), trace: func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].To, Dur: t.Phases[1].To - t.Phases[1].From, Kind: trace.MarkPressure, Text: "0.9"})
		}, phase: "press", rule: atOnce(20, false), want: fail},
		{name: "bulkhead, one too many, and no CPU", with: both(pressed(400), places(21, 0)), trace: func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].To, Dur: t.Phases[1].To - t.Phases[1].From, Kind: trace.MarkPressure, Text: "0.9"})
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Phase == "press" {
					a.Delay = 100 * ms
				}
			}
		}, phase: "press", rule: atOnce(20, false), want: fail},
		{name: "bulkhead, one too many, whose requests take their time by themselves, and no CPU", with: both(pressed(400), places(21, 0)), trace: func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].To, Dur: t.Phases[1].To - t.Phases[1].From, Kind: trace.MarkPressure, Text: "0.9"})
		}, phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "bulkhead, one too many for a moment, and no CPU", with: both(pressed(400), places(20, 0)), trace: func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].To, Dur: t.Phases[1].To - t.Phases[1].From, Kind: trace.MarkPressure, Text: "0.9"})
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Phase == "press" && i%100 == 0 {
					a.Dep += 20 * ms // It was noted late that the answer was sent.
				}
			}
		}, phase: "press", rule: atOnce(20, false), want: dunno},
		{name: "bulkhead, in a phase that did not run", phase: "nowhere", rule: atOnce(20, false), want: dunno},
	}
}

// failing has the dependency fail, and a breaker that never minds.
func failing(s *setup) {
	s.Phases[1].Faults = unavailable(slowly(100 * ms))
	s.Breaker.Window, s.Breaker.MinimumCalls = 5000, 5000
}

// limiterGoldens are about how many pass in a time.
func limiterGoldens() []golden {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	least := func(r *assert.DownstreamRate) { r.Min = r.Max * 9 / 10 }
	byUser := func(r *assert.DownstreamRate) { r.By = "x-user" }
	hung := saying(reply{}, bucket(10, 100))
	return []golden{
		{name: "limiter", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second))), phase: "press", rule: perSecond(100, least), want: pass},
		{name: "limiter, one tenth too many", with: both(flooded(400, 0), shaped(slidingLog(110, time.Second))), phase: "press", rule: perSecond(100), want: fail},
		{name: "limiter, too few", with: both(flooded(400, 0), shaped(slidingLog(50, time.Second))), phase: "press", rule: perSecond(100, least), want: fail},
		{name: "no limiter", with: flooded(400, 0), phase: "press", rule: perSecond(100), want: fail},
		{name: "limiter, too little load", with: both(flooded(120, 0), shaped(slidingLog(100, time.Second))), phase: "press", rule: perSecond(100), want: dunno},
		{name: "fixed window, twice at the boundary", with: both(flooded(400, 0), func(s *setup) {
			s.Phases[1] = phase{Name: "press", Duration: 4 * time.Second, Rate: 150, Bunch: 135}
		}, shaped(fixedWindow(100, 900*ms))), phase: "press", rule: perSecond(100), want: fail},
		{name: "bucket", with: both(flooded(400, 0), shaped(bucket(50, 100))), phase: "press", rule: perSecond(100, bursting(50), least), want: pass},
		{name: "bucket, larger", with: both(flooded(400, 0), shaped(bucket(75, 100))), phase: "press", rule: perSecond(100, bursting(50)), want: fail},
		{name: "bucket, faster", with: both(flooded(400, 0), shaped(bucket(50, 110))), phase: "press", rule: perSecond(100, bursting(50)), want: fail},
		{name: "bucket, all at once", with: both(flooded(300, 150), shaped(bucket(50, 100))), phase: "press", rule: perSecond(100, bursting(50)), want: pass},
		{name: "sliding counter, over the boundary", with: both(overBoundary, shaped(slidingCounter(100, 6*time.Second))), phase: "press", rule: perMinute, want: pass},
		{name: "fixed window, over the boundary", with: both(overBoundary, shaped(fixedWindow(100, 6*time.Second))), phase: "press", rule: perMinute, want: fail},
		{name: "limiter that lets nothing through", with: both(flooded(400, 0), shaped(func() func(time.Duration) bool {
			return func(now time.Duration) bool { return now < 2*time.Second }
		})), phase: "press", rule: perSecond(100), want: dunno},
		{name: "limiter, before calls that wait for a connection", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second)), func(s *setup) {
			s.Pool, s.Phases[1].Faults = 20, unavailable(passing, slowly(180*ms))
		}), phase: "press", rule: perSecond(100), want: dunno},

		{name: "no limiter, and a cache", with: flooded(400, 0), trace: cached(5), phase: "press", rule: perSecond(100, least), want: dunno},
		{name: "limiter, before calls that are made twice", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second))), trace: twiceOver, phase: "press", rule: perSecond(100), want: fail},
		{name: "limiter, and the dependency is asked after the answer", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second))), trace: afterwards, phase: "press", rule: perSecond(100), want: pass},

		{name: "limiter, before calls that take all kinds of time", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second)), func(s *setup) { s.Net = span{ms, 150 * ms} }), phase: "press", rule: perSecond(100), want: dunno},

		{name: "limiter, by key", with: both(pays, flooded(400, 0)), spec: keyed("a", "b"), phase: "press", rule: perSecond(250, byUser), want: dunno},
		{name: "no limiter, by key", with: both(pays, flooded(400, 0)), spec: keyed("a", "b"), phase: "press", rule: perSecond(100, byUser), want: fail},
		{name: "no limiter, by a key that each call has alone", with: both(pays, flooded(400, 0)), spec: keyed("{{.ID}}", "{{.UUID}}"), phase: "press", rule: perSecond(100, byUser), want: dunno},
		{name: "no limiter, by a key that only some have", with: both(pays, flooded(400, 0)), spec: keyed("", "b"), phase: "press", rule: perSecond(100, byUser), want: fail},
		{name: "limiter, by a key that nobody has", with: flooded(400, 0), phase: "press", rule: perSecond(100, byUser), want: dunno},
		{name: "aggregate: by key", with: both(flooded(400, 0), func(s *setup) { s.Aggregate = true }), spec: keyed("a", "b"), phase: "press", rule: perSecond(100, byUser), want: dunno},
		{name: "aggregate: no limiter", with: both(flooded(400, 0), func(s *setup) { s.Aggregate = true }), phase: "press", rule: perSecond(100), want: fail},
		{name: "aggregate: limiter", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second)), func(s *setup) { s.Aggregate = true }), phase: "press", rule: perSecond(100), want: pass},

		{name: "door", with: both(flooded(400, 0), shaped(slidingLog(100, time.Second))), phase: "press", rule: perSecond(100, atDoor, least), want: pass},
		{name: "no door", with: flooded(400, 0), phase: "press", rule: perSecond(100, atDoor), want: fail},
		{name: "door, refuses well, and what it lets in hangs now and then", with: both(flooded(400, 0), shaped(bucket(10, 100)), func(s *setup) {
			s.ClientTimeout, s.SUTTimeout, s.Phases[1].Faults = 400*ms, 0, hanging()
			ratio(10)(&s.Phases[1].Faults[0])
		}), phase: "press", rule: perSecond(100, atDoor, bursting(10), refusing(true, false)), want: pass},
		{name: "door, refuses well", with: both(flooded(400, 0), shaped(bucket(10, 100))), phase: "press", rule: perSecond(100, atDoor, bursting(10), refusing(true, false)), want: pass},

		{name: "limiter, refuses well", with: both(flooded(400, 0), shaped(bucket(10, 100))), phase: "press", rule: perSecond(100, bursting(10), refusing(true, false)), want: pass},
		{name: "limiter, refuses with another status", with: both(flooded(400, 0), saying(full(), bucket(10, 100))), phase: "press", rule: perSecond(100, bursting(10), refusing(false, false)), want: fail},
		{name: "limiter, does not say when to come again", with: both(flooded(400, 0), saying(reply{status: 429, class: match.ClassRejected}, bucket(10, 100))), phase: "press", rule: perSecond(100, bursting(10), refusing(true, false)), want: fail},
		{name: "limiter, lets them hang", with: both(flooded(400, 0), hung, func(s *setup) { s.ClientTimeout = time.Second }), phase: "press", rule: perSecond(100, bursting(10), refusing(false, false)), want: fail},
		{name: "limiter, lets them hang until the load is stopped", with: both(flooded(400, 0), hung), trace: func(t *trace.Trace) {
			for i := range t.Calls {
				if c := &t.Calls[i]; c.Err == trace.ErrTimeout {
					c.Err, c.End = trace.ErrCanceled, t.Phases[1].To+2*time.Second
				}
			}
		}, phase: "press", rule: perSecond(100, bursting(10), refusing(false, false)), want: fail},
		{name: "limiter, one tenth too many, and no CPU", with: both(flooded(400, 0), shaped(slidingLog(110, time.Second))), trace: func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].To, Dur: t.Phases[1].To - t.Phases[1].From, Kind: trace.MarkPressure, Text: "0.9"})
		}, phase: "press", rule: perSecond(100), want: fail},
		{name: "no limiter in a service that dies", with: flooded(400, 0), trace: func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].From + 2*time.Second, Kind: trace.MarkExit})
		}, phase: "press", rule: perSecond(100), want: dunno},
		{name: "limiter, refuses nobody", with: both(flooded(400, 0), shaped(bucket(1000, 1000))), phase: "press", rule: perSecond(1000, bursting(1000), refusing(false, false)), want: dunno},
		{name: "limiter, refuses on a connection that goes on", with: both(inTurn, shaped(bucket(10, 100))), trace: oneConnection, phase: "press", rule: perSecond(100, bursting(10), refusing(true, true)), want: pass},
		{name: "limiter, refuses and hangs up", with: both(inTurn, shaped(bucket(10, 100))), trace: func(t *trace.Trace) {
			oneConnection(t)
			refused := false
			for i := range t.Calls {
				c := &t.Calls[i]
				if was := refused; true {
					refused = c.Status == 429
					if was && i%3 == 0 {
						c.Status, c.Err, c.Class, refused = 0, trace.ErrEOF, match.Unclassified, false
					}
				}
			}
			gone := map[string]bool{}
			for _, c := range t.Calls {
				gone[c.ID] = c.Err == trace.ErrEOF
			}
			t.Attempts = slices.DeleteFunc(t.Attempts, func(a trace.Attempt) bool { return gone[a.ID] })
		}, phase: "press", rule: perSecond(100, bursting(10), refusing(true, true)), want: fail},
		{name: "limiter, ends the connection of each that it refuses", with: both(inTurn, shaped(bucket(10, 100))), trace: func(t *trace.Trace) {
			port := 40000
			for i := range t.Calls {
				if t.Calls[i].Port = port; t.Calls[i].Status == 429 {
					port++
				}
			}
		}, phase: "press", rule: perSecond(100, bursting(10), refusing(true, true)), want: fail},
		{name: "limiter, connections that end now and then", with: both(inTurn, shaped(bucket(10, 100))), trace: func(t *trace.Trace) {
			for i := range t.Calls {
				t.Calls[i].Port = 40000 + i/2
			}
		}, phase: "press", rule: perSecond(100, bursting(10), refusing(true, true)), want: pass},
		{name: "limiter, refuses on connections of which nothing is known", with: both(inTurn, shaped(bucket(10, 100))), phase: "press", rule: perSecond(100, bursting(10), refusing(true, true)), want: dunno},
	}
}

func TestRateVerdicts(t *testing.T) {
	var b strings.Builder
	take := func(name string, want assert.Result, v assert.Verdict) {
		if v.Result != want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Result, want, text(v))
		}
		fmt.Fprintf(&b, "# %s\n%s\n", name, text(v))
	}
	for _, g := range rateGoldens() {
		s := plain()
		if g.with != nil {
			g.with(&s)
		}
		r := simulate(s)
		if g.trace != nil {
			g.trace(r.trace)
		}
		r.spec.Assertions = []assert.Assertion{{ID: "this", Phase: g.phase, Rule: g.rule}}
		if g.spec != nil {
			g.spec(&r.spec)
		}
		if g.first != nil {
			r.spec.Assertions = append(r.spec.Assertions, assert.Assertion{ID: "trips", Phase: "trip", Rule: g.first})
		}
		take(g.name, g.want, assert.Evaluate(r.spec, r.trace).Verdicts[0])
	}
	for _, s := range servedStories() {
		tr, spec := worked(s.shifts...), shop()
		if s.change != nil {
			s.change(tr)
		}
		spec.Assertions = []assert.Assertion{{ID: "this", Phase: s.phase, Rule: s.rule}}
		take(s.name, s.want, assert.Evaluate(spec, tr).Verdicts[0])
	}
	compare(t, "rates.txt", b.String())
}

// rateGoldens are the verdicts of this file that a person has read.
func rateGoldens() []golden {
	return slices.Concat(bulkheadGoldens(), limiterGoldens(), herdGoldens())
}

// No rule passes where nothing happened, where nothing reached the dependency, or on one
// sample; and every rule has a verdict of each kind.
func TestRatesOfNothing(t *testing.T) {
	seen := map[string]bool{}
	rules := map[string]golden{}
	for _, g := range rateGoldens() {
		seen[g.rule.Kind()+" "+string(g.want)] = true
		rules[g.name] = g
	}
	for _, s := range servedStories() {
		seen[s.rule.Kind()+" "+string(s.want)] = true
		rules[s.name] = golden{name: s.name, phase: s.phase, rule: s.rule}
	}
	for _, r := range []assert.Rule{assert.DownstreamConcurrency{}, assert.DownstreamRate{}, assert.Isolation{}, assert.HerdPeak{}, assert.HerdSync{}, assert.SLO{}} {
		for _, result := range []assert.Result{assert.Pass, assert.Fail, assert.Inconclusive} {
			if !seen[r.Kind()+" "+string(result)] {
				t.Errorf("%s has no golden verdict that is %s", r.Kind(), result)
			}
		}
	}
	for name, full := range map[string]result{"pressed": sampleOf(pressed(400)), "herd": sampleOf(crowded), "day": {trace: worked(day(each(well(ms)))...), spec: shop()}} {
		quiet := *full.trace
		quiet.Attempts = nil
		traces := map[string]*trace.Trace{"empty": {}, "phases only": {Phases: full.trace.Phases, Marks: full.trace.Marks}, "no attempt": &quiet}
		for _, p := range full.trace.Phases {
			traces["one call of "+p.Name] = thin(full.trace, p.Name)
		}
		for what, tr := range traces {
			spec := full.spec
			for _, g := range rules {
				spec.Assertions = append(spec.Assertions, assert.Assertion{ID: g.name, Phase: g.phase, Rule: g.rule})
				if spec.Phases[len(spec.Phases)-1].Name != g.phase {
					spec.Assertions = append(spec.Assertions, assert.Assertion{ID: g.name, Phase: spec.Phases[1].Name, Rule: g.rule})
				}
			}
			for _, v := range assert.Evaluate(spec, tr).Verdicts {
				if served := v.Kind == "slo" && what == "no attempt"; served { // Some targets need no dependency.
					continue
				}
				if v.Result == assert.Pass || v.Result == assert.Fail && v.Kind != "slo" {
					t.Errorf("%s, %s trace: %s in phase %q is %s: %s: %s", name, what, v.ID, v.Phase, v.Result, v.Observed, v.Reason)
				}
			}
		}
	}
}

// sampleOf is a run of a changed plain setup.
func sampleOf(with func(*setup)) result {
	s := plain()
	with(&s)
	return simulate(s)
}
