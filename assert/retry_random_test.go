package assert_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
)

// retrying draws a SUT that tries again, and the load of a baseline, an outage and an end.
func (d drawn) retrying() setup {
	s := d.setup()
	s.Retry = retry{Attempts: d.int(1, 4, "attempts"), Backoff: d.span(2, 150, "backoff"), Inside: d.rare(3, "inside")}
	s.Unit = assert.UnitAttempt
	if s.Retry.Inside {
		s.Unit = assert.UnitCall
	}
	p := &s.Retry.policy
	if d.rare(2, "grows") {
		p.Growth = float64(d.int(2, 3, "growth"))
	}
	p.Most = d.ms(150, 600, "most")
	p.Stops = true
	s.Retry.Rejections = !s.Retry.Inside && d.rare(4, "rejections")
	p.Honours = true
	if d.rare(3, "spares") {
		p.Reads, p.Spares, s.Pay = true, true, d.int(2, 4, "pay")
	}
	if d.rare(3, "budget") {
		p.Ratio, p.Capacity = float64(d.int(5, 50, "percent"))/100, float64(d.int(2, 20, "capacity"))
	}
	p.Library = d.rare(4, "library")
	if d.rare(2, "never opens") {
		s.Breaker.Window, s.Breaker.MinimumCalls = 100_000, 100_000
	}
	if d.rare(3, "client leaves") {
		s.ClientTimeout = d.ms(50, 1900, "client timeout")
		s.Propagates = true
	}
	s.Phases = []phase{
		d.load(phase{Name: "baseline"}, 2*time.Second),
		d.load(phase{Name: "outage", Faults: d.outage()}, 5*time.Second),
		d.load(phase{Name: "end"}, 2*time.Second),
	}
	return s
}

// outage draws what is wrong, and perhaps when to come again.
func (d drawn) outage() []fault.Rule {
	if d.rare(3, "retry after") {
		return unavailable(tooMany(time.Duration(d.int(1, 2, "seconds"))*time.Second, d.rare(2, "date")))
	}
	return d.faults()
}

// retryRules is what such a SUT fulfils, if the trace can tell.
func retryRules(s setup) []assert.Assertion {
	var as []assert.Assertion
	p := s.Retry.policy
	for _, ph := range append(s.Phases, phase{}) {
		add := func(id string, r assert.Rule) {
			as = append(as, assert.Assertion{ID: ph.Name + " " + id, Phase: ph.Name, Rule: r})
		}
		add("max", mostTries(s.Retry.Attempts))
		if p.Capacity == 0 && !p.Spares {
			add("exactly", exactly(s.Retry.Attempts))
		}
		most := float64(s.Retry.Attempts)
		if p.Library {
			most++
		}
		add("amplified", amplified(most, assert.OverCalls))
		add("amplified admitted", amplified(most, assert.OverAdmitted))
		add("least", spaced(func(r *assert.RetrySpacing) { r.Min = s.Retry.Backoff.lo }))
		add("most", spaced(func(r *assert.RetrySpacing) { r.Max = p.Most }))
		if p.Growth > 0 {
			add("grows", spaced(func(r *assert.RetrySpacing) { r.Growth, r.Max = p.Growth, p.Most }))
		}
		add("asked", spaced(func(r *assert.RetrySpacing) { r.RetryAfter = true }))
		if p.Capacity > 0 {
			add("budget", assert.RetryBudget{Injector: "payments", Ratio: p.Ratio, Burst: int(p.Capacity) + 2, Window: time.Second})
		}
		if p.Spares && !p.Library {
			add("forbidden", assert.RetryForbidden{Injector: "payments", Methods: []string{"POST"}})
		}
		add("cancels", assert.CancelPropagates{Injector: "payments", Within: 200 * ms})
	}
	return as
}

// A SUT that keeps its own rules of retrying never fails them.
func TestRightRetriesNeverFail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawn{rt}.retrying()
		r, rep := judged(s, retryRules(s))
		for _, v := range rep.Verdicts {
			if v.Result == assert.Fail && keeps(s, rule(v)) {
				rt.Fatalf("%s fails: %s, %s\n%+v\n%s", v.ID, v.Observed, v.Reason, s, describe(r, rep))
			}
		}
	})
}

// keeps reports whether the simulated SUT fulfils a rule: one that does not let go when its
// client leaves does not, nor one with a queue of which nobody is taken out; and one that pauses
// waits for longer.
func keeps(s setup, rule string) bool {
	switch rule {
	case "cancels":
		return s.Propagates && s.Stalls.Every == 0 && s.Pool == 0
	case "most", "grows":
		return s.Stalls.Every == 0 && s.Pool == 0
	}
	return true
}

// misbehaviour is a defect of retries, with the rules that must not pass.
type misbehaviour struct {
	name  string
	with  func(*setup)
	fits  func(setup) bool
	rules []string
}

func misbehaviours() []misbehaviour {
	always := func(setup) bool { return true }
	several := func(s setup) bool { return s.Retry.Attempts > 1 && !s.Retry.Spares && s.Retry.Capacity == 0 }
	return []misbehaviour{
		{"tries once more", func(s *setup) { s.Retry.Attempts++ }, func(s setup) bool { return !s.Retry.Spares && s.Retry.Capacity == 0 }, []string{"max", "exactly"}},
		{"does not try again", func(s *setup) { s.Retry.Attempts = 1 }, several, []string{"exactly"}},
		{"does not wait", func(s *setup) { s.Retry.Backoff, s.Retry.Growth = span{}, 0 }, func(s setup) bool { return s.Retry.Backoff.lo >= 20*ms }, []string{"least"}},
		{"waits always as long", func(s *setup) { s.Retry.Growth = 0 }, func(s setup) bool { return s.Retry.Growth > 0 && 2*s.Retry.Backoff.hi < s.Retry.Most }, []string{"grows"}},
		{"does not do as asked", func(s *setup) { s.Retry.Honours = false }, always, []string{"asked"}},
		{"has no budget", func(s *setup) { s.Retry.Capacity = 0 }, func(s setup) bool { return s.Retry.Capacity > 0 }, []string{"budget"}},
		{"tries POST again", func(s *setup) { s.Retry.Spares = false }, func(s setup) bool { return s.Retry.Spares && s.Retry.Attempts > 1 && s.Retry.Capacity == 0 }, []string{"forbidden"}},
		{"does not cancel", func(s *setup) { s.Propagates = false }, func(s setup) bool { return s.Propagates }, []string{"cancels"}},
		{"tries again for nobody", func(s *setup) { s.Retry.Stops = false }, func(s setup) bool {
			return s.Propagates && s.Retry.Attempts > 1 && s.Retry.Backoff.hi < 50*ms && s.Phases[1].Faults[0].Action == fault.ActionHang
		}, []string{"cancels"}},
	}
}

// A SUT that retries wrongly passes no rule that names what is wrong, where it made a
// difference to what was sent.
func TestWrongRetriesNeverPass(t *testing.T) {
	all := misbehaviours()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawn{rt}.retrying()
		m := rapid.SampledFrom(all).Draw(rt, "misbehaviour")
		if !m.fits(s) {
			return
		}
		rules := retryRules(s)
		m.with(&s)
		r, rep := judged(s, rules)
		for _, v := range rep.Verdicts {
			if v.Result == assert.Pass && slices.Contains(m.rules, rule(v)) {
				rt.Fatalf("%s passes although it %s: %s\n%+v\n%s", v.ID, m.name, v.Observed, s, describe(r, rep))
			}
		}
	})
}

// Each misbehaviour is found, at least once, where nothing else is in the way.
func TestWrongRetriesFail(t *testing.T) {
	for _, m := range misbehaviours() {
		s := insistent()
		s.Retry.Most, s.Retry.Honours, s.Retry.Stops = 600*ms, true, true
		switch m.rules[0] {
		case "asked":
			s.Phases[1].Faults = unavailable(tooMany(time.Second, false))
		case "budget":
			s.Retry.Ratio, s.Retry.Capacity = 0.2, 10
		case "forbidden":
			s.Retry.Reads, s.Retry.Spares, s.Pay = true, true, 2
		case "cancels":
			s.ClientTimeout, s.Propagates, s.Phases[1].Faults = 300*ms, true, hanging()
			s.Retry.Backoff = span{10 * ms, 20 * ms}
		}
		if !m.fits(s) {
			t.Errorf("%s: does not fit", m.name)
		}
		rules := retryRules(s)
		right, rep := judged(s, rules)
		for _, v := range rep.Verdicts {
			if v.Phase == "outage" && slices.Contains(m.rules, rule(v)) && v.Result != assert.Pass {
				t.Errorf("right twin of one that %s: %s %s\n%s", m.name, v.ID, v.Result, describe(right, rep))
			}
		}
		m.with(&s)
		r, rep := judged(s, rules)
		for _, v := range rep.Verdicts {
			if v.Phase == "outage" && slices.Contains(m.rules, rule(v)) && v.Result != assert.Fail {
				t.Errorf("%s: %s %s\n%s", m.name, v.ID, v.Result, describe(r, rep))
			}
		}
	}
}
