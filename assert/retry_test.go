package assert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// insistent is a SUT that makes three attempts, 100 ms and 200 ms apart and a half of that more
// or less, and whose breaker has no reason to open.
func insistent() setup {
	s := plain()
	s.Breaker.Window, s.Breaker.MinimumCalls = 100_000, 100_000
	s.Retry = retry{Attempts: 3, Backoff: span{50 * ms, 150 * ms}, policy: policy{Growth: 2}}
	s.Phases = []phase{
		{Name: "baseline", Duration: 2 * time.Second, Rate: 50},
		{Name: "outage", Duration: 6 * time.Second, Rate: 100, Faults: unavailable()},
		{Name: "end", Duration: 2 * time.Second, Rate: 50},
	}
	return s
}

// retried is a golden of insistent.
type retried struct {
	name  string
	with  func(*setup)
	trace func(*trace.Trace)
	spec  func(*assert.Spec)
	phase string // empty: outage
	rule  assert.Rule
	want  assert.Result
}

func exactly(n int) assert.Rule { return assert.RetryAttempts{Injector: "payments", Exactly: n} }

func mostTries(n int) assert.Rule { return assert.RetryAttempts{Injector: "payments", Max: n} }

func amplified(most float64, over assert.Over) assert.Rule {
	return assert.RetryAmplification{Injector: "payments", Max: most, Over: over}
}

// attempts is how many attempts a SUT makes.
func attempts(n int) func(*setup) { return func(s *setup) { s.Retry.Attempts = n } }

// waits is how long a SUT waits.
func waits(lo, hi time.Duration, growth float64) func(*setup) {
	return func(s *setup) { s.Retry.Backoff, s.Retry.Growth = span{lo, hi}, growth }
}

// failsBy is what is wrong in the outage.
func failsBy(change func(*fault.Rule)) func(*setup) {
	return func(s *setup) { s.Phases[1].Faults = unavailable(change) }
}

func opening(s *setup) {
	s.Breaker = declared()
	s.Breaker.Window, s.Breaker.MinimumCalls = 30, 30
}

func busyPool(s *setup) { s.Pool, s.Base = 1, span{8 * ms, 12 * ms} }

func reset(r *fault.Rule) { r.Action, r.Respond = fault.ActionReset, fault.Respond{} }

// tooMany has the dependency say so, and when to come again.
func tooMany(in time.Duration, date bool) func(*fault.Rule) {
	return func(r *fault.Rule) {
		r.Respond = fault.Respond{Status: 503, RetryAfter: &fault.RetryAfter{In: in, Date: date}}
	}
}

// briefly is an outage that is over soon.
func briefly(calls int) func(*setup) {
	return func(s *setup) {
		s.Phases[1] = phase{Name: "outage", Calls: calls, Workers: 1, Faults: s.Phases[1].Faults}
	}
}

// seenTwice has each call ask for the same thing twice, also where all is well.
func seenTwice(t *trace.Trace) {
	for _, a := range t.Attempts {
		a.Seq += len(t.Attempts)
		a.Arr, a.Dep = a.Arr+time.Microsecond, a.Dep+time.Microsecond
		t.Attempts = append(t.Attempts, a)
	}
}

// elsewhere has each call ask for another thing as well.
func elsewhere(t *trace.Trace) {
	seenTwice(t)
	for i := len(t.Attempts) / 2; i < len(t.Attempts); i++ {
		t.Attempts[i].Path = "/audit"
	}
}

// answersFirst has the SUT answer before it calls.
func answersFirst(t *trace.Trace) {
	for i := range t.Calls {
		t.Calls[i].End = t.Calls[i].Send + ms
	}
}

// without takes attempts out of a trace.
func without(t *trace.Trace, gone func(trace.Attempt) bool) {
	t.Attempts = slices.DeleteFunc(t.Attempts, gone)
}

// coalesces has every second call wait for what another one gets.
func coalesces(t *trace.Trace) {
	without(t, func(a trace.Attempt) bool { return strings.HasSuffix(a.ID, "1") || strings.HasSuffix(a.ID, "3") })
}

// dies has the SUT die half-way: nothing that was under way then, or came later, is answered.
func dies(t *trace.Trace) {
	const at = 5 * time.Second
	t.Marks = append(t.Marks, trace.Mark{At: at, Kind: trace.MarkExit})
	for i := range t.Calls {
		if c := &t.Calls[i]; c.End > at {
			c.End, c.Status, c.Err = max(c.Send, at), 0, trace.ErrReset
		}
	}
	without(t, func(a trace.Attempt) bool { return a.Arr > at })
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Done() > at {
			a.Dep, a.Abandon = trace.None, at
		}
	}
}

// streams has each attempt become one.
func streams(t *trace.Trace) {
	for i := range t.Attempts {
		t.Attempts[i].Stream, t.Attempts[i].Closed = true, t.Attempts[i].Done()+time.Second
	}
}

func retryGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	noIDs := func(s *setup) { s.Aggregate = true }
	library := both(failsBy(reset), func(s *setup) { s.Retry.Library = true })
	return []retried{
		{name: "three attempts", rule: exactly(3), want: pass},
		{name: "one too many", with: attempts(4), rule: exactly(3), want: fail},
		{name: "one too few", with: attempts(2), rule: exactly(3), want: fail},
		{name: "none", with: attempts(1), rule: exactly(3), want: fail},
		{name: "at most three", rule: mostTries(3), want: pass},
		{name: "more than at most three", with: attempts(4), rule: mostTries(3), want: fail},
		{name: "fewer than at most three", with: attempts(1), rule: mostTries(3), want: pass},
		{name: "nothing failed", phase: "baseline", rule: mostTries(3), want: dunno},
		{name: "two calls", with: briefly(2), rule: exactly(3), want: dunno},
		{name: "a breaker that asks for each attempt", with: both(opening, briefly(20)), rule: exactly(3), want: pass},
		{name: "a breaker that cuts the second call short", with: both(opening, func(s *setup) { s.Breaker.MinimumCalls, s.Breaker.Window = 4, 4 }), rule: exactly(3), want: dunno},
		{name: "a breaker that asks for each call", with: both(opening, func(s *setup) { s.Unit, s.Retry.Inside = assert.UnitCall, true }), rule: exactly(3), want: pass},
		{name: "rejections that are tried again", with: both(opening, briefly(40), func(s *setup) { s.Retry.Rejections = true }), rule: mostTries(3), want: pass},
		{name: "a library that sends again by itself", with: library, rule: exactly(3), want: dunno},
		{name: "a library that sends again by itself, at most", with: library, rule: mostTries(4), want: pass},
		{name: "resets, and no library sends again", with: failsBy(reset), rule: exactly(3), want: pass},
		{name: "asks twice for each call", trace: seenTwice, rule: mostTries(3), want: dunno},
		{name: "asks for two things for each call", trace: elsewhere, rule: exactly(3), want: pass},
		{name: "answers before it calls", trace: answersFirst, rule: exactly(3), want: dunno},
		{name: "answers before it calls, one too many", with: attempts(4), trace: answersFirst, rule: mostTries(3), want: fail},
		{name: "no ids", with: noIDs, rule: exactly(3), want: dunno},
		{name: "some calls wait for what others get", trace: coalesces, rule: exactly(3), want: dunno},
		{name: "some calls wait for what others get, one too many", with: attempts(4), trace: coalesces, rule: exactly(3), want: fail},
		{name: "dies half-way", trace: dies, rule: exactly(3), want: pass},
		{name: "dies half-way, one too few", with: attempts(2), trace: dies, rule: exactly(3), want: fail},
		{name: "attempts become streams", trace: streams, rule: exactly(3), want: dunno},
		{name: "two instances", with: both(opening, briefly(40), func(s *setup) { s.Instances = 2 }), rule: exactly(3), want: pass},
		{name: "pauses", with: func(s *setup) { s.Stalls = stalls{Every: 500 * ms, Took: span{50 * ms, 200 * ms}} }, rule: exactly(3), want: pass},
		{name: "a door that is shut", with: func(s *setup) { s.Phases[1].Faults = shutting(fault.ActionRefuse) }, rule: mostTries(3), want: dunno},
		{name: "clients that do not wait", with: func(s *setup) { s.ClientTimeout = 100 * ms }, rule: exactly(3), want: dunno},

		{name: "three times the load", rule: amplified(1.1, assert.OverCalls), want: fail},
		{name: "three times the load, as is allowed", rule: amplified(3, assert.OverCalls), want: pass},
		{name: "hardly any load once open", with: opening, rule: amplified(1.1, assert.OverCalls), want: pass},
		{name: "load for each admitted call", rule: amplified(1.1, assert.OverAdmitted), want: fail},
		{name: "load, and nothing failed", phase: "baseline", rule: amplified(1.1, assert.OverCalls), want: dunno},
		{name: "load, two calls", with: briefly(2), rule: amplified(3, assert.OverCalls), want: dunno},
		{name: "load, no ids, three times", with: noIDs, rule: amplified(1.1, assert.OverCalls), want: fail},
		{name: "load, no ids, as is allowed", with: noIDs, rule: amplified(3.2, assert.OverCalls), want: pass},
		{name: "load, no ids, just as is allowed", with: noIDs, rule: amplified(3, assert.OverCalls), want: dunno},
		{name: "load, no ids, once open", with: both(noIDs, opening), rule: amplified(1.1, assert.OverCalls), want: pass},
		{name: "load, no ids, for each admitted call", with: noIDs, rule: amplified(1.1, assert.OverAdmitted), want: fail},
	}
}

// spaced asks something of waits.
func spaced(change func(*assert.RetrySpacing)) assert.Rule {
	r := assert.RetrySpacing{Injector: "payments"}
	change(&r)
	return r
}

func spacingGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	least := spaced(func(r *assert.RetrySpacing) { r.Min = 50 * ms })
	most := spaced(func(r *assert.RetrySpacing) { r.Max = 350 * ms })
	doubled := spaced(func(r *assert.RetrySpacing) { r.Growth = 2 })
	jitter := spaced(func(r *assert.RetrySpacing) { r.Jitter = 0.2 })
	asked := spaced(func(r *assert.RetrySpacing) { r.RetryAfter = true })
	honours := func(s *setup) { s.Retry.Honours = true }
	return []retried{
		{name: "waits long enough", rule: least, want: pass},
		{name: "does not wait", with: waits(0, 0, 0), rule: least, want: fail},
		{name: "waits too little", with: waits(30*ms, 90*ms, 2), rule: least, want: fail},
		{name: "does not wait, and a library sends again", with: both(waits(0, 0, 0), failsBy(reset), func(s *setup) { s.Retry.Library = true }), rule: least, want: dunno},
		{name: "waits long enough, and a library sends again", with: both(failsBy(reset), func(s *setup) { s.Retry.Library = true }), rule: least, want: dunno},
		{name: "does not wait, but for a connection", with: both(waits(0, 0, 0), busyPool), rule: least, want: fail},
		{name: "waits long enough, and is slow anyway", with: func(s *setup) { s.Own = span{20 * ms, 30 * ms} }, rule: least, want: dunno},
		{name: "waits, few calls", with: briefly(3), rule: least, want: dunno},
		{name: "waits, once open", with: opening, rule: least, want: dunno},
		{name: "waits not too long", rule: most, want: pass},
		{name: "waits too long", with: waits(300*ms, 400*ms, 2), rule: most, want: fail},
		{name: "waits about too long", with: waits(349*ms, 350*ms, 0), rule: most, want: dunno},
		{name: "waits twice as long each time", rule: spaced(func(r *assert.RetrySpacing) { r.Growth = 1.8 }), want: pass},
		{name: "waits as long each time", with: waits(50*ms, 150*ms, 0), rule: doubled, want: fail},
		{name: "waits twice as long each time, up to a limit", with: both(attempts(4), waits(90*ms, 110*ms, 2), func(s *setup) { s.Retry.Most = 250 * ms }), rule: spaced(func(r *assert.RetrySpacing) { r.Growth, r.Max = 2, 260*ms }), want: pass},
		{name: "waits a little longer each time", with: both(attempts(4), waits(95*ms, 105*ms, 1.5)), rule: doubled, want: fail},
		{name: "grows, few calls", with: briefly(20), rule: doubled, want: dunno},
		{name: "grows, two attempts", with: attempts(2), rule: doubled, want: dunno},
		{name: "waits differ", rule: jitter, want: pass},
		{name: "waits are alike", with: waits(100*ms, 100*ms, 2), rule: jitter, want: fail},
		{name: "waits differ a little", with: waits(95*ms, 105*ms, 2), rule: jitter, want: fail},
		{name: "waits are too short to differ", with: waits(5*ms, 10*ms, 0), rule: jitter, want: dunno},
		{name: "waits differ, few calls", with: briefly(20), rule: jitter, want: dunno},
		{name: "all at once", rule: spaced(func(r *assert.RetrySpacing) { r.Min, r.Growth, r.Jitter, r.Max = 50*ms, 1.8, 0.2, 310*ms }), want: pass},
		{name: "comes when it is asked to", with: both(honours, failsBy(tooMany(time.Second, false))), rule: asked, want: pass},
		{name: "comes sooner than it is asked to", with: failsBy(tooMany(time.Second, false)), rule: asked, want: fail},
		{name: "comes at the date", with: both(honours, failsBy(tooMany(2*time.Second, true))), rule: asked, want: pass},
		{name: "comes before the date", with: failsBy(tooMany(2*time.Second, true)), rule: asked, want: fail},
		{name: "comes before the header's date", with: failsBy(func(r *fault.Rule) {
			r.Respond = fault.Respond{Status: 503, Headers: map[string]string{"retry-after": "Tue, 14 Nov 2023 22:14:20 GMT"}}
		}), rule: asked, want: fail},
		{name: "comes after the header's seconds", with: both(waits(1100*ms, 1200*ms, 0), failsBy(func(r *fault.Rule) {
			r.Respond = fault.Respond{Status: 503, Headers: map[string]string{"Retry-After": "1"}}
		})), rule: asked, want: pass},
		{name: "is not asked to wait", rule: asked, want: dunno},
		{name: "no more attempts after a Retry-After", with: both(attempts(1), failsBy(tooMany(time.Second, false))), rule: asked, want: dunno},
	}
}

func budgetGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	budget := assert.RetryBudget{Injector: "payments", Ratio: 0.2, Burst: 15, Window: 2 * time.Second}
	bounded := func(s *setup) { s.Retry.Ratio, s.Retry.Capacity = 0.2, 10 }
	post := assert.RetryForbidden{Injector: "payments", Methods: []string{"POST"}}
	reads := func(s *setup) { s.Pay, s.Retry.Reads = 2, true }
	spares := both(reads, func(s *setup) { s.Retry.Spares = true })
	return []retried{
		{name: "within its budget", with: bounded, rule: budget, want: pass},
		{name: "without a budget", rule: budget, want: fail},
		{name: "twice the budget", with: func(s *setup) { s.Retry.Ratio, s.Retry.Capacity = 0.4, 20 }, rule: budget, want: fail},
		{name: "budget, nothing failed", phase: "baseline", with: bounded, rule: budget, want: dunno},
		{name: "budget, no ids", with: both(bounded, func(s *setup) { s.Aggregate = true }), rule: budget, want: dunno},
		{name: "budget by the second", with: bounded, rule: assert.RetryBudget{Injector: "payments", PerSecond: 30, Window: time.Second}, want: pass},

		{name: "POST is not sent again", with: spares, rule: post, want: pass},
		{name: "POST is sent again", with: reads, rule: post, want: fail},
		{name: "POST is sent again, of some targets", with: reads, rule: assert.RetryForbidden{Injector: "payments", Targets: []string{"pay"}, Paths: []string{"/charge*"}}, want: fail},
		{name: "nothing of the kind", with: spares, rule: assert.RetryForbidden{Injector: "payments", Methods: []string{"PATCH"}}, want: dunno},
		{name: "POST is not sent again, nothing failed", with: spares, phase: "baseline", rule: post, want: dunno},
		{name: "a library sends POST again", with: both(spares, failsBy(reset), func(s *setup) { s.Retry.Library = true }), rule: post, want: fail},
		{name: "a library sends POST again that was refused", with: both(spares, failsBy(reset), func(s *setup) { s.Retry.Library = true }), spec: func(s *assert.Spec) {
			s.Phases[1].Faults["payments"][0].H2 = &fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR"}}
		}, rule: post, want: dunno},
	}
}

func cancelGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	cancels := assert.CancelPropagates{Injector: "payments", Within: 100 * ms}
	leaves := func(after time.Duration) func(*setup) {
		return func(s *setup) {
			s.Phases[1].Faults, s.ClientTimeout, s.Propagates, s.Retry.Stops = hanging(), after, true, true
		}
	}
	keeps := func(s *setup) { s.Propagates = false }
	return []retried{
		{name: "lets go when its client leaves", with: leaves(300 * ms), rule: cancels, want: pass},
		{name: "lets go by its own timeout", with: both(leaves(300*ms), keeps), rule: cancels, want: fail},
		{name: "lets go never", with: both(leaves(300*ms), keeps, func(s *setup) { s.SUTTimeout = 0 }), rule: cancels, want: fail},
		{name: "lets go, and tries again", with: both(leaves(300*ms), func(s *setup) { s.Retry.Stops = false }), rule: cancels, want: fail},
		{name: "lets go by its own timeout, soon after", with: both(leaves(1930*ms), keeps, attempts(1)), rule: cancels, want: dunno},
		{name: "lets go before", with: both(leaves(3*time.Second), attempts(1)), rule: cancels, want: dunno},
		{name: "no client leaves", rule: cancels, want: dunno},
		{name: "lets go when its client leaves, no ids", with: both(leaves(300*ms), func(s *setup) { s.Aggregate = true }), rule: cancels, want: dunno},
		{name: "dies, and so lets go", with: leaves(300 * ms), trace: dies, rule: cancels, want: pass},
		{name: "dies, and did not let go before", with: both(leaves(300*ms), keeps), trace: dies, rule: cancels, want: fail},
		{name: "lets go, of an outage that is too short", with: both(leaves(300*ms), keeps, attempts(1), func(s *setup) { s.Phases[1].Duration = 320 * ms }), rule: cancels, want: dunno},
	}
}

func TestRetryVerdicts(t *testing.T) {
	var b strings.Builder
	for _, g := range slices.Concat(retryGoldens(), spacingGoldens(), budgetGoldens(), cancelGoldens()) {
		s := insistent()
		if g.with != nil {
			g.with(&s)
		}
		r := simulate(s)
		if g.trace != nil {
			g.trace(r.trace)
		}
		if g.phase == "" {
			g.phase = "outage"
		}
		if g.spec != nil {
			g.spec(&r.spec)
		}
		r.spec.Assertions = []assert.Assertion{{ID: "this", Phase: g.phase, Rule: g.rule}}
		rep := assert.Evaluate(r.spec, r.trace)
		v := rep.Verdicts[0]
		if v.Result != g.want {
			t.Errorf("%s: %s, want %s\n%s", g.name, v.Result, g.want, describe(r, rep))
		} else {
			fmt.Fprintf(&b, "# %s\n%s\n", g.name, text(v))
		}
	}
	compare(t, "retries.txt", b.String())
}

// No rule about retries passes where nothing happened, or on one sample; each has a verdict that
// passes, one that fails and one that does neither.
func TestNoRetriesNeverPass(t *testing.T) {
	all := slices.Concat(retryGoldens(), spacingGoldens(), budgetGoldens(), cancelGoldens())
	full := simulate(insistent())
	quiet := *full.trace
	quiet.Attempts = nil
	traces := map[string]*trace.Trace{"empty": {}, "phases only": {Phases: full.trace.Phases, Marks: full.trace.Marks}, "no attempt": &quiet}
	for _, p := range full.trace.Phases {
		traces["one call of "+p.Name] = thin(full.trace, p.Name)
	}
	seen := map[string]bool{}
	for name, tr := range traces {
		spec := full.spec
		for _, g := range all {
			seen[g.rule.Kind()+" "+string(g.want)] = true
			for _, phase := range []string{"", "outage", "end"} {
				spec.Assertions = append(spec.Assertions, assert.Assertion{ID: g.name, Phase: phase, Rule: g.rule})
			}
		}
		for _, v := range assert.Evaluate(spec, tr).Verdicts {
			if v.Result == assert.Pass || v.Result == assert.Fail && !strings.HasPrefix(name, "one call") {
				t.Errorf("%s trace: %s of %q in phase %q is %s: %s", name, v.Kind, v.ID, v.Phase, v.Result, v.Observed)
			}
		}
	}
	for _, kind := range []string{"retry.max_attempts", "retry.amplification", "retry.spacing", "retry.budget", "retry.forbidden", "cancel.propagates"} {
		for _, r := range []assert.Result{assert.Pass, assert.Fail, assert.Inconclusive} {
			if !seen[kind+" "+string(r)] {
				t.Errorf("%s has no golden verdict that is %s", kind, r)
			}
		}
	}
}

// A machine without free CPU excuses waits and cancellations that miss by less than it makes of
// them, and nothing else.
func TestCrowdExcusesLateRetries(t *testing.T) {
	cancels := assert.CancelPropagates{Injector: "payments", Within: 100 * ms}
	hangs := func(after time.Duration) func(*setup) {
		return func(s *setup) {
			s.Phases[1].Faults, s.ClientTimeout, s.SUTTimeout, s.Retry.Attempts = hanging(), 300*ms, after, 1
		}
	}
	for name, c := range map[string]struct {
		with func(*setup)
		rule assert.Rule
		want assert.Result
	}{
		"lets go late":         {hangs(800 * ms), cancels, assert.Inconclusive},
		"lets go far too late": {hangs(1900 * ms), cancels, assert.Fail},
		"waits a little long":  {waits(300*ms, 400*ms, 0), spaced(func(r *assert.RetrySpacing) { r.Max = 250 * ms }), assert.Inconclusive},
		"waits far too long":   {waits(1500*ms, 1600*ms, 0), spaced(func(r *assert.RetrySpacing) { r.Max = 250 * ms }), assert.Fail},
		"makes one too many":   {attempts(4), exactly(3), assert.Fail},
	} {
		s := insistent()
		c.with(&s)
		r := simulate(s)
		for at := 250 * ms; at < 12*time.Second; at += 250 * ms {
			r.trace.Marks = append(r.trace.Marks, trace.Mark{At: at, Dur: 250 * ms, Kind: trace.MarkPressure, Text: "0.9"})
		}
		r.spec.Assertions = []assert.Assertion{{ID: "this", Phase: "outage", Rule: c.rule}}
		if v := assert.Evaluate(r.spec, r.trace).Verdicts[0]; v.Result != c.want {
			t.Errorf("%s: %s, want %s: %s; %s", name, v.Result, c.want, v.Observed, v.Reason)
		}
	}
}
