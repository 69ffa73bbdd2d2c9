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

// asksAgain has one call in a hundred of an outage ask for the same thing again when it was answered well.
func asksAgain(t *trace.Trace) {
	good := 0
	for _, a := range t.Attempts {
		if a.Status != 200 || a.Phase != "outage" {
			continue
		}
		if good++; good%50 == 0 {
			a.Seq, a.Arr, a.Dep = a.Seq+len(t.Attempts), a.Dep+ms/100, a.Dep+ms
			t.Attempts = append(t.Attempts, a)
		}
	}
}

// goesOn has the SUT answer when the first attempt has failed, and go on; of some calls it lets go,
// as a breaker has it do.
func goesOn(t *trace.Trace) {
	ends := map[string]time.Duration{}
	for _, a := range t.Attempts {
		if _, later := ends[a.ID]; !later {
			ends[a.ID] = a.Done() + ms/10
		}
	}
	for i := range t.Calls {
		t.Calls[i].End = ends[t.Calls[i].ID]
	}
	without(t, func(a trace.Attempt) bool { return a.Arr > ends[a.ID] && strings.HasSuffix(a.ID, "7") })
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
		{name: "POST is not tried again", with: func(s *setup) { s.Pay, s.Retry.Reads, s.Retry.Spares = 2, true, true }, rule: exactly(3), want: fail},
		{name: "POST is not tried again, and not looked at", with: func(s *setup) { s.Pay, s.Retry.Reads, s.Retry.Spares = 2, true, true }, rule: assert.RetryAttempts{Injector: "payments", Exactly: 3, Targets: []string{"checkout"}}, want: pass},
		{name: "resets in the phase after, of which a library sends again", with: func(s *setup) {
			s.Retry.Library, s.Phases[2].Faults = true, unavailable(reset)
		}, rule: exactly(3), want: pass},
		{name: "asks again now and then", with: both(attempts(1), failsBy(ratio(50))), trace: asksAgain, rule: mostTries(1), want: dunno},
		{name: "goes on when it has answered", trace: goesOn, rule: exactly(3), want: dunno},
		{name: "goes on when it has answered, one too many", with: attempts(4), trace: goesOn, rule: exactly(3), want: fail},
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
