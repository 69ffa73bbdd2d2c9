package assert_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden is one verdict that a person reads.
type golden struct {
	name  string
	with  func(*setup) // of plain
	trace func(*trace.Trace)
	spec  func(*assert.Spec)
	last  bool        // it is about the verdict that the judge adds by itself
	first assert.Rule // an assertion of phase trip that others may lean on
	phase string
	rule  assert.Rule
	want  assert.Result
}

func low(s *setup) {
	for i := range s.Phases {
		if s.Phases[i].Rate > 0 {
			s.Phases[i].Rate = 2
		}
	}
}

// wrong builds the SUT with another breaker than is declared.
func wrong(f func(*breakerref.Config)) func(*setup) {
	return func(s *setup) { s.Make = change("", f).make }
}

func made(m mutant) func(*setup) { return func(s *setup) { s.Make = m.make } }

// only leaves the phases with these names.
func only(names ...string) func(*setup) {
	return func(s *setup) {
		var left []phase
		for _, n := range names {
			for _, p := range s.Phases {
				if p.Name == n {
					left = append(left, p)
				}
			}
		}
		s.Phases = left
	}
}

func both(fs ...func(*setup)) func(*setup) {
	return func(s *setup) {
		for _, f := range fs {
			f(s)
		}
	}
}

// oneByOne releases good probes one at a time in phase recovery.
func oneByOne(s *setup) {
	hold := func(r *fault.Rule) {
		passing(r)
		r.Hold = &fault.Hold{Probes: 3, Rejected: 10, Max: 400 * ms, OneByOne: true}
	}
	s.Phases[3].Faults, s.Phases[3].Rate = unavailable(hold), 400
	s.SUTTimeout = 0
}

var (
	defaults   = wrong(func(c *breakerref.Config) { c.Window, c.MinimumCalls = 100, 100 })
	tenProbes  = wrong(func(c *breakerref.Config) { c.Permitted = 10 })
	twice      = wrong(func(c *breakerref.Config) { c.Wait *= 2 })
	half       = wrong(func(c *breakerref.Config) { c.Wait /= 2 })
	forEver    = wrong(func(c *breakerref.Config) { c.Wait = 1000 * time.Hour })
	atForty    = wrong(func(c *breakerref.Config) { c.FailureRate = 40 })
	fewCalls   = func(s *setup) { s.Phases[0].Calls = 5 }
	running    = func(s *setup) { s.Running = []bool{} }
	undeclared = func(s *setup) { s.Undeclared = true }
	baseline   = func(s *setup) {
		s.Phases = append([]phase{{Name: "baseline", Calls: 30, Workers: 1, Gap: 5 * ms}}, s.Phases...)
	}
	fallbacks = assert.FallbackShare{Breaker: "cb", Min: new(1.0), Of: []assert.CallSet{assert.SetShort, assert.SetFailed}}
	tenth     = assert.Opens{Breaker: "cb", AtCall: 10}
	three     = assert.HalfOpenProbes{Breaker: "cb", Exactly: 3}
	twoSecond = assert.OpenDuration{Breaker: "cb", Equals: 2 * time.Second, Tolerance: 0.05}
	fast      = assert.ShortLatency{Breaker: "cb", Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: 10 * ms}}}
)

func goldens() []golden {
	const pass, fail, dunno, skipped = assert.Pass, assert.Fail, assert.Inconclusive, assert.Skipped
	return []golden{
		{name: "opens at the tenth", phase: "trip", rule: tenth, want: pass},
		{name: "opens within, in time", phase: "trip", rule: assert.Opens{Breaker: "cb", WithinCalls: 20, Within: time.Second, NotBefore: 10 * ms}, want: pass},
		{name: "opens too late", with: wrong(func(c *breakerref.Config) { c.Window, c.MinimumCalls = 12, 12 }), phase: "trip", rule: tenth, want: fail},
		{name: "opens too early in time", phase: "trip", rule: assert.Opens{Breaker: "cb", NotBefore: time.Second}, want: fail},
		{name: "does not open: minimum left at its default", with: defaults, phase: "trip", rule: tenth, want: fail},
		{name: "does not open, too few calls", with: fewCalls, phase: "trip", rule: tenth, want: dunno},
		{name: "does not open, undeclared", with: both(defaults, undeclared), phase: "trip", rule: tenth, want: fail},
		{name: "opens under an open loop", with: only("outage"), phase: "outage", rule: tenth, want: dunno},
		{name: "opens on a window that is not empty", with: baseline, phase: "trip", rule: tenth, want: dunno},
		{name: "opens early in a service that was running", with: both(running, wrong(func(c *breakerref.Config) { c.MinimumCalls = 8 })), phase: "trip", rule: tenth, want: dunno},
		{name: "does not open in a service that was running, as was seen long enough", with: both(running, baseline, defaults), phase: "trip", rule: assert.Opens{Breaker: "cb", Within: time.Second}, want: fail},
		{name: "opens early in a service that was running, after its window was filled", with: both(running, baseline, atForty), phase: "trip", rule: assert.Opens{Breaker: "cb", AtCall: 5}, want: fail},
		{name: "opens in time in a service that was running, after its window was filled", with: both(running, baseline), phase: "trip", rule: assert.Opens{Breaker: "cb", AtCall: 5}, want: pass},
		{name: "opens while open", phase: "probes", rule: tenth, want: dunno},
		{name: "opens in a phase that did not run", phase: "nowhere", rule: tenth, want: dunno},
		{name: "opens, and it is not said what a retry asks", with: func(s *setup) {
			s.Unit, s.Retry = assert.UnitUnknown, retry{Attempts: 2, Backoff: span{5 * ms, 8 * ms}}
		}, phase: "trip", rule: tenth, want: dunno},
		{name: "opens, and lets every second call through", with: made(leaky("", 2)), phase: "trip", rule: tenth, want: dunno},

		{name: "stays closed", phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: pass},
		{name: "opens where it should stay closed", with: atForty, phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: fail},
		{name: "opens where it should stay closed, in a service that was running", with: both(running, only("ratio"), atForty), phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: dunno},
		{name: "opens where it should stay closed, in a service that was running, after its window was filled", with: both(running, only("ratio"), baseline, atForty), phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: fail},
		{name: "opens where it should stay closed, and it is not said what a retry asks", with: both(atForty, func(s *setup) {
			s.Unit, s.Retry = assert.UnitUnknown, retry{Attempts: 2, Backoff: span{5 * ms, 8 * ms}}
		}), phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: dunno},
		{name: "stays closed, too few calls", with: func(s *setup) { s.Phases[4].Calls = 12 }, phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: dunno},
		{name: "opens at half of the calls failing", with: func(s *setup) { s.Phases[4].Faults = unavailable(ratio(50)) }, phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: dunno},
		{name: "stays closed, calls come rarely", with: func(s *setup) { s.Phases[4].Gap = 2500 * ms }, phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: dunno},
		{name: "stays closed while open", phase: "probes", rule: assert.StaysClosed{Breaker: "cb"}, want: dunno},

		{name: "no leak", phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: pass},
		{name: "leaks every tenth", with: made(leaky("", 10)), phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: fail},
		{name: "leaks every second", with: made(leaky("", 2)), phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: fail},
		{name: "leak, few calls", with: func(s *setup) { s.Phases[1].Rate = 1 }, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: dunno},
		{name: "leak of an undeclared breaker", with: undeclared, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: dunno},
		{name: "leak, or half the wait", with: half, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: dunno},
		{name: "leak of a breaker that does not open", with: both(defaults, only("trip", "recovery")), first: tenth, phase: "recovery", rule: assert.Leak{Breaker: "cb"}, want: skipped},

		{name: "open for two seconds", phase: "outage", rule: twoSecond, want: pass},
		{name: "open for twice as long", with: twice, phase: "outage", rule: twoSecond, want: fail},
		{name: "open for half as long", with: half, phase: "outage", rule: twoSecond, want: fail},
		{name: "open, seldom asked", with: low, phase: "outage", rule: twoSecond, want: dunno},
		{name: "open for longer than the phase", with: forEver, phase: "outage", rule: twoSecond, want: dunno},
		{
			name: "open in turn", with: func(s *setup) { s.Breaker.WaitMultiplier = 1.5 }, phase: "outage",
			rule: assert.OpenDuration{Breaker: "cb", Sequence: []time.Duration{2 * time.Second, 3 * time.Second}, Tolerance: 0.05}, want: pass,
		},
		{name: "open, with leaks in between", with: made(leaky("", 50)), phase: "outage", rule: twoSecond, want: dunno},

		{name: "three probes", phase: "probes", rule: three, want: pass},
		{name: "ten probes", with: tenProbes, phase: "probes", rule: three, want: fail},
		{name: "two probes", with: wrong(func(c *breakerref.Config) { c.Permitted = 2 }), phase: "probes", rule: three, want: fail},
		{name: "at most three probes", phase: "probes", rule: assert.HalfOpenProbes{Breaker: "cb", Max: 3}, want: pass},
		{name: "probes that are not held", phase: "outage", rule: three, want: dunno},
		{name: "probes behind a pool of one", with: func(s *setup) { s.Pool = 1 }, phase: "probes", rule: three, want: dunno},
		{name: "probes where there are none", phase: "ratio", rule: three, want: dunno},
		{name: "probes of a breaker that does not open", with: both(defaults, only("trip", "recovery")), first: tenth, phase: "recovery", rule: three, want: skipped},

		{name: "reopens", phase: "outage", rule: assert.ReopensOnFailedProbe{Breaker: "cb"}, want: pass},
		{name: "closes after failed probes", with: made(lies("", breakerref.HalfOpen, false)), phase: "outage", rule: assert.ReopensOnFailedProbe{Breaker: "cb"}, want: fail},
		{name: "no failed probes", phase: "recovery", rule: assert.ReopensOnFailedProbe{Breaker: "cb"}, want: dunno},

		{name: "closes", phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 4 * time.Second}, want: pass},
		{name: "closes too late", phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 100 * ms}, want: fail},
		{name: "closes in time after the last faulted outcome, which came late", with: func(s *setup) {
			s.Phases = []phase{s.Phases[0], {Name: "outage", Duration: 2100 * ms, Rate: 100, Faults: unavailable(slowly(900 * ms))}, s.Phases[3]}
		}, phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 2100 * ms}, want: pass},
		{name: "never closes", with: made(lies("", breakerref.HalfOpen, true)), phase: "recovery", rule: assert.Closes{Breaker: "cb"}, want: fail},
		{name: "closes after three", with: oneByOne, phase: "recovery", rule: assert.Closes{Breaker: "cb", AfterSuccesses: 3}, want: pass},
		{name: "closes after four", with: both(oneByOne, wrong(func(c *breakerref.Config) { c.Permitted = 4 })), phase: "recovery", rule: assert.Closes{Breaker: "cb", AfterSuccesses: 3}, want: fail},
		{name: "closes after two", with: both(oneByOne, wrong(func(c *breakerref.Config) { c.Permitted = 2 })), phase: "recovery", rule: assert.Closes{Breaker: "cb", AfterSuccesses: 3}, want: fail},
		{name: "closes after so many, all at once", phase: "recovery", rule: assert.Closes{Breaker: "cb", AfterSuccesses: 3}, want: dunno},
		{name: "closes, closed already", phase: "end", rule: assert.Closes{Breaker: "cb"}, want: dunno},
		{name: "closes, too short a phase", with: func(s *setup) { s.Phases[3].Duration = 300 * ms }, phase: "recovery", rule: assert.Closes{Breaker: "cb"}, want: dunno},

		{name: "not stuck", phase: "recovery", rule: assert.NeverStuck{Breaker: "cb", Tolerance: 0.1}, want: pass},
		{name: "stuck", with: forEver, phase: "recovery", rule: assert.NeverStuck{Breaker: "cb", Tolerance: 0.1}, want: fail},
		{name: "not stuck, no load", with: both(only("trip", "outage", "recovery"), func(s *setup) { s.Phases[2].Calls, s.Phases[2].Workers = 1, 1 }), phase: "recovery", rule: assert.NeverStuck{Breaker: "cb", Tolerance: 0.1}, want: dunno},
		{name: "not stuck, closed already", phase: "end", rule: assert.NeverStuck{Breaker: "cb", Tolerance: 0.1}, want: dunno},

		{name: "fails fast", phase: "outage", rule: fast, want: pass},
		{name: "fails slowly", with: func(s *setup) { s.Fallback = fixed(50 * ms) }, phase: "outage", rule: fast, want: fail},
		{name: "fails fast, few calls", with: func(s *setup) { s.Phases[1].Rate = 5 }, phase: "outage", rule: fast, want: pass},
		{name: "fails slowly, few calls", with: func(s *setup) { s.Phases[1].Rate = 5; s.Fallback = span{1 * ms, 11 * ms} }, phase: "outage", rule: fast, want: dunno},
		{name: "fails fast, never rejected", phase: "end", rule: fast, want: dunno},

		{name: "fallback", phase: "outage", rule: fallbacks, want: pass},
		{name: "no fallback", with: func(s *setup) { s.NoFallback = true }, phase: "outage", rule: fallbacks, want: fail},
		{name: "fallback, few calls", with: func(s *setup) { s.Phases[1].Rate = 2 }, phase: "outage", rule: fallbacks, want: dunno},
		{name: "fallback where it should not", phase: "outage", rule: assert.FallbackShare{Breaker: "cb", Max: new(0.0), Of: []assert.CallSet{assert.SetAll}}, want: fail},
		{name: "no fallback while closed", phase: "end", rule: assert.FallbackShare{Breaker: "cb", Max: new(0.0), Of: []assert.CallSet{assert.SetAll}}, want: pass},

		{name: "fallback before any fault", with: baseline, trace: func(t *trace.Trace) {
			gone := map[string]bool{}
			for i := range t.Calls {
				if c := &t.Calls[i]; c.Phase == "baseline" && i%10 == 0 {
					c.Class, gone[c.ID] = "fallback", true
				}
			}
			t.Attempts = slices.DeleteFunc(t.Attempts, func(a trace.Attempt) bool { return gone[a.ID] })
		}, phase: "baseline", rule: assert.FallbackShare{Breaker: "cb", Max: new(0.0), Of: []assert.CallSet{assert.SetAll}}, want: fail},

		{name: "never opens, load that was dropped", with: wrong(func(c *breakerref.Config) { c.Window, c.MinimumCalls = 1e4, 1e4 }), trace: func(t *trace.Trace) {
			for i := range t.Phases {
				t.Phases[i].Dropped = 30
			}
		}, phase: "outage", rule: assert.Opens{Breaker: "cb", Within: time.Second}, want: fail},
		{name: "load that was dropped", trace: func(t *trace.Trace) { t.Phases[3].Dropped = 30 }, phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: ms}, want: dunno},
		{name: "attempts that joined no call", trace: func(t *trace.Trace) {
			for i := range t.Attempts {
				if i%50 == 0 {
					t.Attempts[i].ID = "elsewhere/" + t.Attempts[i].ID
				}
			}
		}, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: dunno},
		{name: "fault that never fired", trace: func(t *trace.Trace) {
			for i := range t.Attempts {
				if t.Attempts[i].Phase == "trip" {
					t.Attempts[i].Rule = "another"
				}
			}
		}, phase: "trip", rule: tenth, want: dunno},
		{name: "dependency that is never called", trace: func(t *trace.Trace) { t.Attempts = nil }, phase: "trip", rule: tenth, want: dunno},
		{name: "calls that a cache answers", with: baseline, trace: func(t *trace.Trace) {
			for i := range t.Attempts {
				if t.Attempts[i].Phase == "baseline" && i%10 == 0 {
					t.Attempts[i].Injector = "cache"
				}
			}
		}, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: dunno},
	}
}

func TestVerdicts(t *testing.T) {
	var b strings.Builder
	for _, g := range allGoldens() {
		s := plain()
		if g.with != nil {
			g.with(&s)
		}
		r := simulate(s)
		if g.trace != nil {
			g.trace(r.trace)
		}
		r.spec.Assertions = []assert.Assertion{{ID: "this", Phase: g.phase, Rule: g.rule}}
		if g.rule == nil {
			r.spec.Assertions = nil
		}
		if g.spec != nil {
			g.spec(&r.spec)
		}
		if g.first != nil {
			r.spec.Assertions = append(r.spec.Assertions, assert.Assertion{ID: "trips", Phase: "trip", Rule: g.first})
		}
		rep := assert.Evaluate(r.spec, r.trace)
		v := rep.Verdicts[0]
		if g.last {
			v = rep.Verdicts[len(rep.Verdicts)-1]
		}
		if v.Result != g.want {
			t.Errorf("%s: %s, want %s\n%s", g.name, v.Result, g.want, describe(r, rep))
		} else {
			fmt.Fprintf(&b, "# %s\n%s\n", g.name, text(v))
		}
	}
	compare(t, "verdicts.txt", b.String())
}

// text is a verdict as the golden file shows it.
func text(v assert.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in phase %s: %s\n", v.Kind, v.Phase, v.Result)
	for _, f := range [][2]string{
		{"blocked by", v.BlockedBy},
		{"expected", v.Expected},
		{"observed", v.Observed},
		{"margin", v.Margin},
		{"resolution", v.Resolution},
		{"why", v.Reason},
		{"to do", v.Remedy},
		{"calls", strings.Join(v.Evidence, " ")},
	} {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %-11s %s\n", f[0]+":", f[1])
		}
	}
	return b.String()
}

// compare holds text against a golden file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, run with -update after reading it (-want +got):\n%s", path, diff)
	}
}

// allGoldens are the verdicts that a person has read.
func allGoldens() []golden {
	return slices.Concat(goldens(), clientGoldens(), backGoldens(), runGoldens(), ageGoldens(), ejectionGoldens())
}

// thin is a trace with one call, the first of a phase, and its attempts.
func thin(t *trace.Trace, phase string) *trace.Trace {
	out := *t
	first := slices.IndexFunc(t.Calls, func(c trace.Call) bool { return c.Phase == phase })
	out.Calls, out.Attempts = t.Calls[first:first+1], nil
	for _, a := range t.Attempts {
		if a.ID == t.Calls[first].ID {
			out.Attempts = append(out.Attempts, a)
		}
	}
	return &out
}

// No rule passes where nothing happened, where nothing reached the dependency, or
// on one sample; and every rule has a verdict that passes and one that fails.
func TestNothingNeverPasses(t *testing.T) {
	s := plain()
	full := simulate(s)
	quiet := *full.trace
	quiet.Attempts = nil
	seen := map[string]bool{}
	traces := map[string]*trace.Trace{"empty": {}, "phases only": {Phases: full.trace.Phases, Marks: full.trace.Marks}, "no attempt": &quiet}
	for _, p := range s.Phases {
		traces["one call of "+p.Name] = thin(full.trace, p.Name)
	}
	for name, tr := range traces {
		spec := full.spec
		spec.SteadyState = healthy
		for _, g := range allGoldens() {
			if g.rule == nil {
				seen[assert.KindSteady+" "+string(g.want)] = true
				continue
			}
			seen[g.rule.Kind()+" "+string(g.want)] = true
			for _, phase := range []string{"", g.phase} {
				spec.Assertions = append(spec.Assertions, assert.Assertion{ID: g.name, Phase: phase, Rule: g.rule})
			}
		}
		for _, v := range assert.Evaluate(spec, tr).Verdicts {
			if v.Result == assert.Pass || v.Result == assert.Fail && !strings.HasPrefix(name, "one call") {
				t.Errorf("%s trace: %s in phase %q is %s: %s", name, v.Kind, v.Phase, v.Result, v.Observed)
			}
		}
	}
	for _, kind := range []string{
		"breaker.opens", "breaker.stays_closed", "breaker.leak", "breaker.open_duration", "breaker.half_open_probes",
		"breaker.reopens_on_failed_probe", "breaker.closes", "breaker.never_stuck", "short.latency", "fallback.share",
		"primary.share", "short.share", "error.share", "latency", "fallback.forbidden", "recovery.time",
		"downstream.abandoned_after", "downstream.calls", assert.KindSteady,
	} {
		for _, r := range []assert.Result{assert.Pass, assert.Fail, assert.Inconclusive} {
			if !seen[kind+" "+string(r)] && (kind != "short.share" && kind != "error.share" || r != assert.Inconclusive) {
				t.Errorf("%s has no golden verdict that is %s", kind, r)
			}
		}
	}
}
