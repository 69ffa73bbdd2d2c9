package predict

import (
	"fmt"
	"math"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
)

// negatives are wrong services that an assertion is there to notice: each is right
// but for the one thing that its rule is about. A rule without any is only known to
// be able to pass.
func negatives(plan *experiments.Plan, a assert.Assertion, right run) []defect {
	switch r := a.Rule.(type) {
	case assert.Opens:
		ds := wrongOpening(r, openedAt(plan, r.Breaker, a.Phase, right))
		if r.AtCall > 0 || r.WithinCalls > 0 {
			ds = append(ds, unshared(plan, r.Breaker)...)
		}
		return ds
	case assert.StaysClosed:
		return []defect{opensIn(plan, r.Breaker, a.Phase)}
	case assert.Leak:
		return []defect{mutated("leak", r.Breaker, "lets every tenth call through that it should reject")}
	case assert.OpenDuration:
		return wrongWait(plan, r)
	case assert.HalfOpenProbes:
		return append(wrongProbes(r), unshared(plan, r.Breaker)...)
	case assert.ReopensOnFailedProbe:
		return []defect{mutated("closes_on_failed_probes", r.Breaker, "closes although its probes failed")}
	case assert.Closes:
		return wrongClose(r)
	case assert.NeverStuck:
		return []defect{{breaker: r.Breaker, config: setWait(time.Hour), says: "never ends its wait"}}
	case assert.RecoveryTime:
		return []defect{neverCloses(r.Breaker)}
	case assert.AbandonedAfter:
		return []defect{wrongTimeout(r)}
	case assert.DownstreamCalls:
		return wrongCalls(plan, r, a.Phase)
	default:
		if ds := wrongRetries(plan, a.Rule); ds != nil {
			return ds
		}
		return wrongAnswers(plan, a)
	}
}

// wrongAnswers are the defects of rules about what clients get.
func wrongAnswers(plan *experiments.Plan, a assert.Assertion) []defect {
	switch r := a.Rule.(type) {
	case assert.ShortLatency:
		late := beyond(r.Bounds)
		return []defect{{phase: a.Phase, tardy: late, says: fmt.Sprintf("takes %s longer to answer what it rejects", late)}}
	case assert.Latency:
		late := beyond(r.Bounds)
		return []defect{{phase: a.Phase, targets: r.Targets, slow: late, says: fmt.Sprintf("takes %s longer to answer", late)}}
	case assert.FallbackShare:
		return shares(r.Min, r.Max, defect{noFallback: true, says: "has no fallback"}, always(match.ClassFallback, a.Phase, nil))
	case assert.FallbackForbidden:
		d := always(match.ClassFallback, a.Phase, forbiddenTargets(plan, r))
		d.says = "falls back where it must not"
		return []defect{d}
	case assert.Share:
		return wrongShare(plan, r, a.Phase)
	}
	if a.Rule == nil { // the steady state, which has no rule in the plan
		return []defect{always(errorClass, a.Phase, nil)}
	}
	return wrongAround(plan, a)
}

// shares picks the defects of the bounds that are given.
func shares(least, most *float64, low, high defect) []defect {
	var ds []defect
	if least != nil {
		ds = append(ds, low)
	}
	if most != nil {
		ds = append(ds, high)
	}
	return ds
}

// always is a service that gives one class of answer in a phase.
func always(class, phase string, targets []string) defect {
	says := fmt.Sprintf("answers every call with class %s", class)
	if class == errorClass {
		says = "answers every call with an error"
	}
	return defect{phase: phase, targets: targets, class: class, says: says}
}

// wrongShare has too few answers of a subject, or too many.
func wrongShare(plan *experiments.Plan, r assert.Share, phase string) []defect {
	low, high := always(errorClass, phase, r.Targets), always(r.Subject, phase, r.Targets)
	switch r.Subject {
	case assert.SubjectShort:
		low, high = neverOpens(r.Breaker), opensIn(plan, r.Breaker, phase)
	case assert.SubjectError:
		low, high = always(match.ClassPrimary, phase, r.Targets), low
	case match.ClassFallback:
		low = defect{noFallback: true, says: "has no fallback"}
	case match.Unclassified:
		low, high = always(match.ClassPrimary, phase, r.Targets), low
	}
	return shares(r.Min, r.Max, low, high)
}

// openedAt is at which outcome of a phase a right service opened, or 0.
func openedAt(plan *experiments.Plan, breaker, phase string, right run) int {
	for i, p := range plan.Phases {
		for _, c := range own(right.phases[i].changes, breaker) {
			if (phase == "" || p.Name == phase) && c.to == breakerref.Open {
				return c.outcomes
			}
		}
	}
	return 0
}

// wrongOpening opens too late, never, or too soon; a right service opens at an
// outcome of this number.
func wrongOpening(r assert.Opens, right int) []defect {
	var ds []defect
	if most := max(r.AtCall, r.WithinCalls); most > 0 && right > 0 && right <= most {
		ds = append(ds, defect{breaker: r.Breaker, late: most + 1 - right, says: fmt.Sprintf("opens at outcome %d", most+1)})
	} else {
		ds = append(ds, neverOpens(r.Breaker))
	}
	if r.NotBefore > 0 {
		ds = append(ds, defect{breaker: r.Breaker, says: "opens at the first failure", config: func(c *breakerref.Config) {
			c.WindowType, c.Window, c.MinimumCalls = breakerref.CountBased, 1, 1
		}})
	}
	return ds
}

// unshared has a breaker in each instance where one is declared for all of them; it is none where
// there is one instance.
func unshared(plan *experiments.Plan, breaker string) []defect {
	if !declaration(plan, breaker).Shared || len(plan.SUT.Replicas) < 2 {
		return nil
	}
	return []defect{{breaker: breaker, apart: true, says: "has a breaker in each instance, where all are to share it"}}
}

// mutated is a mutant of a breaker.
func mutated(name, breaker, says string) defect {
	m, _ := mutant.Find(name) // Each is there: a test plays them.
	return defect{breaker: breaker, mutant: m, says: says}
}

func neverOpens(breaker string) defect {
	return mutated("never_opens", breaker, "never opens")
}

func neverCloses(breaker string) defect {
	return mutated("never_closes", breaker, "never closes again")
}

// opensIn opens without a cause in a phase; where none is named, in the first
// measured one that sends calls.
func opensIn(plan *experiments.Plan, breaker, phase string) defect {
	for _, p := range plan.Phases {
		if phase == "" && p.Measure && !pause(p) { // the first
			phase = p.Name
		}
	}
	return defect{breaker: breaker, opensIn: phase, says: "opens without a cause"}
}

// wrongWait stays open for twice the tolerance longer, and shorter.
func wrongWait(plan *experiments.Plan, r assert.OpenDuration) []defect {
	off := max(2*r.Tolerance, 0.1)
	want := r.Equals
	if len(r.Sequence) > 0 {
		want = r.Sequence[0]
	}
	if c, ok := config(plan, r.Breaker); ok && want == 0 {
		want = c.Wait
	}
	scaled := func(by float64) defect {
		return defect{
			breaker: r.Breaker, says: fmt.Sprintf("waits %s instead of %s", times(want, by), want),
			config: func(c *breakerref.Config) {
				c.Wait, c.WaitMax = times(c.Wait, by), times(c.WaitMax, by)
			},
		}
	}
	ds := []defect{scaled(1 + off)}
	if off < 1 {
		ds = append(ds, scaled(1-off))
	}
	return ds
}

func times(d time.Duration, by float64) time.Duration {
	return time.Duration(math.Round(float64(d)*by/float64(time.Millisecond))) * time.Millisecond
}

func setWait(d time.Duration) func(*breakerref.Config) {
	return func(c *breakerref.Config) { c.Wait, c.WaitMax, c.WaitMultiplier = d, 0, 0 }
}

// wrongProbes lets one probe more through, and one less.
func wrongProbes(r assert.HalfOpenProbes) []defect {
	permits := func(n int) defect {
		return defect{
			breaker: r.Breaker, says: fmt.Sprintf("lets %s through", plural(n, "probe")),
			config: func(c *breakerref.Config) { c.Permitted = n },
		}
	}
	ds := []defect{permits(max(r.Exactly, r.Max) + 1)}
	if r.Exactly > 1 {
		ds = append(ds, permits(r.Exactly-1))
	}
	return ds
}

// wrongClose never closes, or one good probe later.
func wrongClose(r assert.Closes) []defect {
	ds := []defect{neverCloses(r.Breaker)}
	if n := r.AfterSuccesses; n > 0 {
		ds = append(ds, defect{
			breaker: r.Breaker, says: fmt.Sprintf("closes after %d good probes", n+1),
			config: func(c *breakerref.Config) { c.Permitted, c.MinimumCalls = n+1, max(c.MinimumCalls, n+1) },
		})
	}
	return ds
}

// wrongTimeout waits too long for a dependency.
func wrongTimeout(r assert.AbandonedAfter) defect {
	timeout := time.Duration(0)
	says := "waits for " + r.Injector + " without end"
	if r.Equals > 0 {
		timeout = times(r.Equals, 1+max(2*r.Tolerance, 0.5))
		says = fmt.Sprintf("gives %s up after %s", r.Injector, timeout)
	}
	return defect{injector: r.Injector, timeout: &timeout, says: says}
}

// wrongCalls makes too many calls to a dependency, or too few.
func wrongCalls(plan *experiments.Plan, r assert.DownstreamCalls, phase string) []defect {
	high := defect{injector: r.Injector, twice: true, says: "makes every call twice"}
	low := defect{phase: phase, silent: true, says: "answers without calling " + r.Injector}
	switch {
	case r.When == assert.StateOpen:
		high = mutated("leak", r.Breaker, "lets every tenth call through that it should reject")
	case r.When == assert.StateHalfOpen:
		high = defect{breaker: r.Breaker, config: func(c *breakerref.Config) { c.Permitted = math.MaxInt16 }, says: "lets every call through when half-open"}
		low = defect{breaker: r.Breaker, config: func(c *breakerref.Config) { c.Permitted = 1 }, says: "lets one probe through"}
	case r.When == "" && faulted(plan, phase, r.Injector) && breakerAt(plan, r.Injector) != "":
		high = neverOpens(breakerAt(plan, r.Injector))
	}
	var ds []defect
	if r.Min != nil {
		ds = append(ds, low)
	}
	if r.Max != nil {
		ds = append(ds, high)
	}
	return ds
}

// beyond is a delay that breaks every bound.
func beyond(bounds []assert.QuantileBound) time.Duration {
	worst := time.Duration(0)
	for _, b := range bounds {
		worst = max(worst, b.Max)
	}
	return 2 * worst
}
