package assert_test

import (
	"fmt"
	"os"
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
	fast := s.Fallback.hi + s.SecondTook.hi + 20*ms
	if s.Retry.Rejections {
		fast += time.Duration(s.Retry.Attempts) * s.Retry.Backoff.hi
	}
	return []assert.Assertion{
		{ID: "trips", Phase: "trip", Rule: assert.Opens{Breaker: "cb", AtCall: min(c.MinimumCalls, c.Window)}},
		{ID: "trips-soon", Phase: "trip", Rule: assert.Opens{Breaker: "cb", WithinCalls: c.Window, Within: 30 * time.Second}},
		{ID: "no-leak", Phase: "outage", Rule: assert.Leak{Breaker: "cb"}},
		{ID: "waits", Phase: "outage", Rule: assert.OpenDuration{Breaker: "cb", Equals: c.Wait, Tolerance: 0.05}},
		{ID: "probes", Phase: "probes", Rule: assert.HalfOpenProbes{Breaker: "cb", Exactly: c.Permitted}},
		{ID: "reopens", Phase: "outage", Rule: assert.ReopensOnFailedProbe{Breaker: "cb"}},
		{ID: "closes", Phase: "recovery", Rule: assert.Closes{Breaker: "cb", Within: c.Wait + 2*time.Second}},
		{ID: "closes-after", Phase: "recovery", Rule: assert.Closes{Breaker: "cb", AfterSuccesses: min(c.MinimumCalls, c.Permitted)}},
		{ID: "not-stuck", Phase: "recovery", Rule: assert.NeverStuck{Breaker: "cb", Tolerance: 0.1}},
		{ID: "fail-fast", Phase: "outage", Rule: assert.ShortLatency{Breaker: "cb", Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: fast}}}},
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

// verdict finds a verdict by its assertion.
func verdict(rep assert.Report, id string) assert.Verdict {
	for _, v := range rep.Verdicts {
		if v.ID == id {
			return v
		}
	}
	return assert.Verdict{}
}

// describe prints a report for a failed test.
func describe(r result, rep assert.Report) string {
	var b strings.Builder
	for _, h := range r.truth {
		fmt.Fprintf(&b, "  true: instance %d at %v: %v to %v\n", h.instance, h.at, h.from, h.to)
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

// fooling is a way to build a breaker into a service that made judging by single
// instants call a right one leaky.
type fooling struct {
	name      string
	with      func(*setup)
	undecided []string // what a right SUT may leave inconclusive
	softer    []string // twins whose rule may be inconclusive; of others it fails
}

func foolings() []fooling {
	return []fooling{
		{name: "pool of three", with: func(s *setup) { s.Pool, s.Base = 3, span{5 * ms, 20 * ms} }, softer: []string{
			"permits ten", "permits one more",
			// A pool that is full is a plateau at the dependency, as a full bulkhead makes one: what is
			// rejected meanwhile, and the breaker does not explain, may be the bulkhead's.
			"closes after failed probes", "leaks every second", "leaks every third",
		}},
		{name: "slow fallback", with: func(s *setup) {
			s.Fallback = span{250 * ms, 350 * ms}
			s.Phases[2].Faults = unavailable(held(3, 900*ms))
		}, softer: []string{"waits a fifth longer", "closes after failed probes"}},
		{name: "retry outside the breaker", with: func(s *setup) {
			s.Retry = retry{Attempts: 3, Backoff: span{10 * ms, 30 * ms}}
		}},
		{name: "retry outside the breaker, of rejections too", with: func(s *setup) {
			s.Retry = retry{Attempts: 3, Backoff: span{10 * ms, 30 * ms}, Rejections: true}
		}, softer: []string{"closes after failed probes"}},
		{name: "retry inside the breaker", with: func(s *setup) {
			s.Unit, s.Retry = assert.UnitCall, retry{Attempts: 2, Backoff: span{2 * ms, 5 * ms}, Inside: true}
		}},
		{name: "permitted 30 with minimum 10", with: func(s *setup) {
			s.Breaker.Permitted = 30
			s.Phases[2].Faults, s.Phases[2].Rate = unavailable(held(30, 600*ms)), 400
		}, softer: []string{"permits ten"}},
		{
			name: "low traffic", with: func(s *setup) {
				for i := range s.Phases {
					if s.Phases[i].Rate > 0 {
						s.Phases[i].Rate, s.Phases[i].Duration = 2, 5*s.Phases[i].Duration
					}
				}
			}, undecided: []string{"no-leak", "waits", "probes", "reopens", "closes", "fail-fast", "not-stuck"},
			softer: []string{"permits ten", "permits one more", "waits a fifth longer", "closes after failed probes", "leaks every tenth"},
		},
		{name: "second source behind another injector", with: func(s *setup) { s.Second, s.SecondTook = true, span{5 * ms, 30 * ms} }},
		{
			name: "pauses of the service", with: func(s *setup) { s.Stalls = stalls{Every: 1500 * ms, Took: span{50 * ms, 200 * ms}} },
			undecided: []string{"trips", "no-leak", "waits", "probes", "reopens", "closes", "stays", "fail-fast", "not-stuck", "honest"},
		},
	}
}

// seeds is how many times each case is simulated.
func seeds() uint64 {
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		return 40
	}
	return 1
}

func TestRightServicesPass(t *testing.T) {
	for _, f := range append(foolings(), fooling{name: "plain", with: func(*setup) {}}) {
		t.Run(f.name, func(t *testing.T) {
			for seed := range seeds() {
				s := plain()
				s.Seed = seed
				f.with(&s)
				rules := goodRules(s)
				r, rep := judged(s, rules)
				for _, v := range rep.Verdicts {
					// Nothing in plain lets the probes go one by one.
					undecided := v.ID == "closes-after" || strings.Contains(strings.Join(f.undecided, " "), v.ID)
					// A service that pauses is slow, and may open for what a pause brings together.
					slow := (v.ID == "fail-fast" || v.ID == "honest") && s.Stalls.Every > 0
					if v.Result == assert.Fail && !slow || v.Result != assert.Pass && !undecided {
						t.Fatalf("seed %d: %s is %s\n%s", seed, v.ID, v.Result, describe(r, rep))
					}
				}
			}
		})
	}
}
