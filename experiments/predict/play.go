package predict

import (
	"errors"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// Play plays a plan in virtual time with a service that does what the plan declares, but for a
// mutant; the zero one is none. own is the service's own time, before it asks its breaker and
// again before it answers: services of other times are as right, and meet the breaker at other
// moments. What the service reports of itself is asked for as well. Equal arguments give equal
// traces. The error says that the plan is not valid, or leaves the mutant no room.
func Play(plan *experiments.Plan, m mutant.Mutant, own time.Duration) (*trace.Trace, error) {
	if len(plan.Phases) == 0 {
		return nil, errors.New("the plan has no phases; give it one that sends calls")
	}
	ran, err := play(plan, own, defect{mutant: m, says: m.Says}, about(plan))
	return ran.trace, err
}

// Foreseen reports whether Play can tell what comes of an assertion: not where what it is
// about is up to what nothing declares, as what is said on connections that are cut, or what
// users send who go by their answers.
func Foreseen(plan *experiments.Plan, a assert.Assertion) bool {
	if rule, _ := throughStream(plan, a.Phase); rule != "" {
		return false
	}
	if bySessions(plan, a) != "" || byEjection(plan, a) != "" {
		return false
	}
	reason, _ := unforeseen(plan, a)
	return reason == ""
}

// Quick are own times of services that are all right, and quick.
func Quick() []time.Duration { return append([]time.Duration{quick}, others()[:2]...) }
