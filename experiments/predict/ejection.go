package predict

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/experiments"
)

// ejects reports whether a breaker is one of faultline's own service that ejects a host, of which
// all is known.
func ejects(plan *experiments.Plan, b assert.Breaker) bool {
	if b.Ejection == nil || plan.SUT.Reference == nil {
		return false
	}
	return slices.ContainsFunc(services(plan.SUT.Reference), func(s *experiments.Reference) bool {
		return s.Injector == b.Injector && s.Ejection != nil
	})
}

// foretold reports whether what a breaker does follows from what is declared.
func foretold(plan *experiments.Plan, b assert.Breaker) bool { return b.Declared || ejects(plan, b) }

// byEjection says of an assertion about what comes of a proxy that ejects a host that it is not
// foreseen, or is empty: how long an ejection lasts is the proxy's, and not declared.
func byEjection(plan *experiments.Plan, a assert.Assertion) string {
	about := breakersOf(plan, a)
	for _, b := range plan.Breakers {
		if b.Ejection != nil && slices.Contains(about, b.Name) && !ejects(plan, b) {
			return "breaker " + b.Name + " ejects a host, and for how long is not declared"
		}
	}
	return ""
}

// wrongEjections are the defects of rules about ejections.
func wrongEjections(plan *experiments.Plan, rule assert.Rule) []defect {
	wrong := func(breaker, says string, change func(*model.Config)) defect {
		return defect{breaker: breaker, model: change, says: says}
	}
	switch r := rule.(type) {
	case assert.EjectionOpens:
		after := declaration(plan, r.Breaker).Ejection.After // Or it is not foreseen.
		ejectsAfter := func(n int) defect {
			return wrong(r.Breaker, fmt.Sprintf("ejects after %s in a row", plural(n, "failure")), func(c *model.Config) { c.Trip.Failures = n })
		}
		ds := []defect{ejectsAfter(after + r.Late + 1)}
		if after > 1 {
			ds = append(ds, ejectsAfter(after-1))
		}
		return ds
	case assert.EjectionDuration:
		return wrongEjected(r, wrong)
	case assert.EjectionReturns:
		return []defect{wrong(r.Breaker, "lets one call try when the host comes back", func(c *model.Config) {
			c.HalfOpen = model.HalfOpen{Admit: model.Total, Permits: 1, Successes: 1, Failures: 1}
		})}
	}
	return nil
}

// wrongEjected ejects for too long, for too short a time, or always for as long.
func wrongEjected(r assert.EjectionDuration, wrong func(breaker, says string, change func(*model.Config)) defect) []defect {
	want := firstEjection(r)
	off := 2 * (max(time.Duration(float64(want)*r.Tolerance), want/20) + r.Tick)
	lasts := func(d time.Duration) defect {
		return wrong(r.Breaker, fmt.Sprintf("ejects for %s instead of %s at first", d, want), func(c *model.Config) {
			c.Open.Wait, c.Open.MaxWait = d, max(c.Open.MaxWait, d)
		})
	}
	ds := []defect{lasts(want + off)}
	if off < want {
		ds = append(ds, lasts(want-off))
	}
	if r.Growth != assert.GrowthNone || len(r.Sequence) > 1 {
		ds = append(ds, wrong(r.Breaker, "ejects always for as long", func(c *model.Config) { c.Open.MaxWait = c.Open.Wait }))
	}
	return ds
}

// firstEjection is how long the first ejection of a phase is to last.
func firstEjection(r assert.EjectionDuration) time.Duration {
	if len(r.Sequence) > 0 {
		return r.Sequence[0]
	}
	return r.Equals
}
