package assert_test

import (
	"os"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
)

// twin is a wrong SUT with the assertion that names what is wrong with it.
type twin struct {
	mutant
	names string
	with  func(*setup) // a defect outside the breaker
}

func twins() []twin {
	return []twin{
		{mutant: change("permitted 10", func(c *breakerref.Config) { c.Permitted = 10 }), names: "probes"},
		{mutant: change("permitted 2", func(c *breakerref.Config) { c.Permitted = 2 }), names: "probes"},
		{mutant: change("window and minimum at their default", func(c *breakerref.Config) { c.Window, c.MinimumCalls = 100, 100 }), names: "trips"},
		{mutant: change("opens at the 9th", func(c *breakerref.Config) { c.MinimumCalls = 9 }), names: "trips"},
		{mutant: change("opens at the 11th", func(c *breakerref.Config) { c.Window, c.MinimumCalls = 11, 11 }), names: "trips"},
		{mutant: change("waits twice as long", func(c *breakerref.Config) { c.Wait *= 2 }), names: "waits"},
		{mutant: change("waits half as long", func(c *breakerref.Config) { c.Wait /= 2 }), names: "waits"},
		{mutant: change("waits 10 % longer", func(c *breakerref.Config) { c.Wait += c.Wait / 8 }), names: "waits"},
		{mutant: change("opens at 40 %", func(c *breakerref.Config) { c.FailureRate = 40 }), names: "stays"},
		{mutant: change("never half-opens", func(c *breakerref.Config) { c.Wait = time.Hour }), names: "not-stuck"},
		{mutant: leaky(10), names: "no-leak"},
		{mutant: leaky(37), names: "no-leak"},
		{mutant: lies("closes after failed probes", breakerref.HalfOpen, false), names: "reopens"},
		{mutant: lies("opens after good probes", breakerref.HalfOpen, true), names: "closes"},
		{mutant: lies("ignores failures", breakerref.Closed, false), names: "trips"},
		{mutant: deaf(), names: "not-stuck"},
		{mutant: mutant{name: "no fallback"}, names: "fallback", with: func(s *setup) { s.NoFallback = true }},
		{mutant: mutant{name: "slow rejections"}, names: "fail-fast", with: func(s *setup) { s.Fallback = fixed(200 * ms) }},
	}
}

// seeds is how many times each case is simulated.
func seeds() uint64 {
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		return 20
	}
	return 2
}

// surroundings are ways to build the same breaker in.
func surroundings() map[string]func(*setup) {
	return map[string]func(*setup){
		"plain":           func(*setup) {},
		"slow dependency": func(s *setup) { s.Base = span{40 * ms, 80 * ms}; s.Phases[1].Faults = unavailable(slowly(60 * ms)) },
		"slow service":    func(s *setup) { s.Own, s.Post = span{5 * ms, 30 * ms}, span{2 * ms, 10 * ms} },
		"pool of three":   func(s *setup) { s.Pool = 3; s.Base = span{5 * ms, 20 * ms} },
		"pauses":          func(s *setup) { s.Stalls = stalls{Every: 2 * time.Second, Took: span{50 * ms, 150 * ms}} },
		"retry outside":   func(s *setup) { s.Retry = retry{Attempts: 3, Backoff: span{10 * ms, 30 * ms}} },
	}
}

func TestRightServicePasses(t *testing.T) {
	s := plain()
	r, rep := judged(s, goodRules(s))
	for _, v := range rep.Verdicts {
		// Nothing in plain holds the probes one by one, so the count of successes cannot be told.
		if v.Result != assert.Pass && v.ID != "closes-after" {
			t.Errorf("%s is %s", v.ID, v.Result)
		}
	}
	if t.Failed() {
		t.Log("\n" + describe(r, rep))
	}
}

func TestRightServiceNeverFailsInAnySurroundings(t *testing.T) {
	for name, change := range surroundings() {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds() {
				s := plain()
				s.Seed = seed
				change(&s)
				r, rep := judged(s, goodRules(s))
				for _, v := range rep.Verdicts {
					if v.Result == assert.Fail && v.ID != "fail-fast" {
						t.Fatalf("seed %d: %s fails\n%s", seed, v.ID, describe(r, rep))
					}
				}
			}
		})
	}
}

func TestWrongTwins(t *testing.T) {
	for _, w := range twins() {
		t.Run(w.name, func(t *testing.T) {
			for name, change := range surroundings() {
				for seed := range seeds() {
					s := plain()
					s.Seed = seed
					rules := goodRules(s)
					change(&s)
					s.Make = w.make
					if w.with != nil {
						w.with(&s)
					}
					r, rep := judged(s, rules)
					for _, v := range rep.Verdicts {
						if v.ID != w.names {
							continue
						}
						if v.Result == assert.Pass || name == "plain" && v.Result != assert.Fail {
							t.Fatalf("%s, seed %d: %s is %s\n%s", name, seed, v.ID, v.Result, describe(r, rep))
						}
					}
				}
			}
		})
	}
}

// TestAfterSuccessesOneByOne lets probes go one at a time under a burst, so that
// the number of good ones that close it can be told.
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
