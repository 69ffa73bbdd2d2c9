package assert_test

import (
	"slices"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
)

// twin is a wrong SUT with the assertion of goodRules that names what is wrong.
type twin struct {
	mutant
	names string
	with  func(*setup) // a defect outside the breaker
}

func twins() []twin {
	out := []twin{
		{mutant: mutant{name: "has no fallback"}, names: "fallback", with: func(s *setup) { s.NoFallback = true }},
		{mutant: mutant{name: "rejects slowly"}, names: "fail-fast", with: func(s *setup) {
			s.Fallback, s.SecondTook = span{s.Fallback.hi + 100*ms, s.Fallback.hi + 200*ms}, span{s.SecondTook.hi + 100*ms, s.SecondTook.hi + 200*ms}
		}},
		{mutant: change("opens at 40 %", func(c *breakerref.Config) { c.FailureRate = 40 }, "stays"), names: "stays"},
	}
	ids := map[string]string{
		"opens": "trips", "no leak": "no-leak", "waits": "waits", "probes": "probes", "closes": "closes", "reopens": "reopens",
		"not stuck": "not-stuck",
	}
	for _, m := range defects() {
		if id := ids[m.rules[0]]; id != "" {
			out = append(out, twin{mutant: m, names: id})
		}
	}
	return out
}

// A wrong twin never passes what names its defect, and fails it wherever the
// set-up lets it be told.
func TestWrongTwins(t *testing.T) {
	for _, f := range append(foolings(), fooling{name: "plain", with: func(*setup) {}}) {
		t.Run(f.name, func(t *testing.T) {
			for _, w := range twins() {
				for seed := range seeds() {
					s := plain()
					s.Seed = seed
					f.with(&s)
					if w.fits != nil && !w.fits(s) {
						continue
					}
					rules := goodRules(s)
					if s.Make = w.make; w.with != nil {
						w.with(&s)
					}
					r, rep := judged(s, rules)
					v := verdict(rep, w.names)
					if w.rules != nil && !shown(w.mutant, s, r, v) {
						continue
					}
					soft := slices.Contains(f.softer, w.name) || slices.Contains(f.undecided, w.names)
					if v.Result == assert.Pass || v.Result != assert.Fail && !soft {
						t.Errorf("%s, seed %d: %s is %s\n%s", w.name, seed, v.ID, v.Result, describe(r, rep))
						break
					}
				}
			}
		})
	}
}

// The number of good probes that close can be told when they go one by one under
// a burst.
func TestAfterSuccessesOneByOne(t *testing.T) {
	oneByOne := func(r *fault.Rule) {
		passing(r)
		r.Hold = &fault.Hold{Probes: 3, Rejected: 10, Max: 400 * ms, OneByOne: true}
	}
	for permitted, want := range map[int]assert.Result{3: assert.Pass, 4: assert.Fail, 2: assert.Fail} {
		s := plain()
		s.Phases = []phase{
			{Name: "trip", Calls: 20, Workers: 1, Gap: 5 * ms, Until: true, Faults: unavailable()},
			{Name: "close", Duration: 6 * time.Second, Rate: 400, Faults: unavailable(oneByOne)},
			{Name: "after", Duration: 2 * time.Second, Rate: 100},
		}
		s.Make = change("", func(c *breakerref.Config) { c.Permitted = permitted }).make
		r, rep := judged(s, []assert.Assertion{{ID: "closes", Phase: "close", Rule: assert.Closes{Breaker: "cb", AfterSuccesses: 3}}})
		if v := rep.Verdicts[0]; v.Result != want {
			t.Errorf("permitted %d: %s, want %s\n%s", permitted, v.Result, want, describe(r, rep))
		}
	}
}
