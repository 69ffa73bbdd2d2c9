package assert_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// declared is the breaker of most tests.
func declared() breakerref.Config {
	c := breakerref.Default()
	c.Window, c.MinimumCalls, c.Permitted, c.Wait = 10, 10, 3, 2*time.Second
	return c
}

// unavailable is a fault that answers 503.
func unavailable(change ...func(*fault.Rule)) []fault.Rule {
	r := fault.Rule{
		Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionRespond, Respond: fault.Respond{Status: 503},
	}
	for _, f := range change {
		f(&r)
	}
	return []fault.Rule{r}
}

// slowly adds a latency to a fault.
func slowly(d time.Duration) func(*fault.Rule) {
	return func(r *fault.Rule) { r.Latency = fault.Latency{Min: d, Max: d} }
}

// held parks what arrives.
func held(n int, most time.Duration) func(*fault.Rule) {
	return func(r *fault.Rule) { r.Hold = &fault.Hold{Probes: n, Rejected: max(10, 2*n), Max: most} }
}

// passing lets what was held go on to the healthy dependency.
func passing(r *fault.Rule) { r.Action, r.Respond = fault.ActionPass, fault.Respond{} }

// ratio hits so many of a hundred requests.
func ratio(percent uint64) func(*fault.Rule) {
	return func(r *fault.Rule) { r.Select = fault.Select{Kind: fault.SelectRatio, Num: percent, Den: 100} }
}

// plain is a fast SUT without peculiarities under the load of a good experiment.
func plain() setup {
	return setup{
		Seed: 1, Breaker: declared(), Failure: match.DefaultFailure(), Unit: assert.UnitAttempt,
		Net: span{50 * time.Microsecond, 300 * time.Microsecond}, Own: span{100 * time.Microsecond, ms},
		Post: span{50 * time.Microsecond, 500 * time.Microsecond}, Base: span{2 * ms, 8 * ms},
		Fallback: span{100 * time.Microsecond, ms}, SUTTimeout: 2 * time.Second, ClientTimeout: 5 * time.Second,
		Phases: []phase{
			{Name: "trip", Calls: 20, Workers: 1, Gap: 5 * ms, Until: true, Faults: unavailable()},
			{Name: "outage", Duration: 7 * time.Second, Rate: 100, Faults: unavailable(slowly(20 * ms))},
			{Name: "probes", Duration: 7 * time.Second, Rate: 200, Faults: unavailable(held(3, 250*ms))},
			{Name: "recovery", Duration: 6 * time.Second, Rate: 100},
			{Name: "ratio", Calls: 100, Workers: 1, Gap: ms, Faults: unavailable(ratio(40))},
			{Name: "end", Duration: 2 * time.Second, Rate: 50},
		},
	}
}

// goodRules is what the right SUT of plain fulfils.
func goodRules(s setup) []assert.Assertion {
	c := s.Breaker
	m := min(c.MinimumCalls, c.Permitted)
	return []assert.Assertion{
		{ID: "trips", Phase: "trip", Rule: assert.Opens{Breaker: "cb", AtCall: min(c.MinimumCalls, c.Window)}},
		{ID: "trips-soon", Phase: "trip", Rule: assert.Opens{Breaker: "cb", WithinCalls: c.Window, Within: 30 * time.Second}},
		{ID: "no-leak", Phase: "outage", Rule: assert.Leak{Breaker: "cb"}},
		{ID: "waits", Phase: "outage", Rule: assert.OpenDuration{Breaker: "cb", Equals: c.Wait, Tolerance: 0.05}},
		{ID: "probes", Phase: "probes", Rule: assert.HalfOpenProbes{Breaker: "cb", Exactly: c.Permitted}},
		{ID: "reopens", Phase: "outage", Rule: assert.ReopensOnFailedProbe{Breaker: "cb"}},
		{ID: "closes", Phase: "recovery", Rule: assert.Closes{Breaker: "cb", Within: c.Wait + 2*time.Second}},
		{ID: "closes-after", Phase: "recovery", Rule: assert.Closes{Breaker: "cb", AfterSuccesses: m}},
		{ID: "not-stuck", Phase: "recovery", Rule: assert.NeverStuck{Breaker: "cb", Tolerance: 0.1}},
		{ID: "fail-fast", Phase: "outage", Rule: assert.ShortLatency{Breaker: "cb", Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: s.Fallback.hi + 20*ms}}}},
		{ID: "fallback", Phase: "outage", Rule: assert.FallbackShare{Breaker: "cb", Min: new(1.0), Of: []assert.CallSet{assert.SetShort, assert.SetFailed}}},
		{ID: "stays", Phase: "ratio", Rule: assert.StaysClosed{Breaker: "cb"}},
		{ID: "honest", Phase: "end", Rule: assert.FallbackShare{Breaker: "cb", Max: new(0.0), Of: []assert.CallSet{assert.SetAll}}},
	}
}

// judged is a run with its report.
func judged(s setup, as []assert.Assertion) (result, assert.Report) {
	r := simulate(s)
	r.spec.Assertions = as
	return r, assert.Evaluate(r.spec, r.trace)
}

// describe prints a report for a failed test.
func describe(r result, rep assert.Report) string {
	var b strings.Builder
	for _, h := range r.truth {
		fmt.Fprintf(&b, "  true: %v at %v: %v to %v\n", h.instance, h.at, h.from, h.to)
	}
	for _, t := range rep.Breakers {
		for _, s := range t.Segments {
			fmt.Fprintf(&b, "  seen: %s %v [%v %v] to [%v %v] %v\n", t.Instance, s.State, s.From.Lo, s.From.Hi, s.To.Lo, s.To.Hi, s.Last)
		}
	}
	for _, p := range r.trace.Phases {
		fmt.Fprintf(&b, "  phase %s %v to %v, %d calls\n", p.Name, p.From, p.To, p.Sent)
	}
	for _, c := range rep.Integrity {
		if !c.OK {
			fmt.Fprintf(&b, "  check %+v\n", c)
		}
	}
	for _, v := range rep.Verdicts {
		fmt.Fprintf(&b, "  %-14s %-12s %s | %s | %s | %s | %s\n", v.ID, v.Result, v.Expected, v.Observed, v.Margin, v.Reason, v.Remedy)
	}
	return b.String()
}

func TestPlain(t *testing.T) {
	s := plain()
	r, rep := judged(s, goodRules(s))
	t.Log("\n" + describe(r, rep))
}
