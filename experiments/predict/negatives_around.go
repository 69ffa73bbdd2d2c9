package predict

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
)

// undeclared says what a service whose inside is not known does not tell of itself, where a
// rule is about that; empty: it is not.
func undeclared(plan *experiments.Plan, r assert.Rule) string {
	if plan.SUT.Reference != nil {
		return ""
	}
	switch r.(type) {
	case assert.DownstreamRate:
		return "which rate limiter the service has"
	case assert.DownstreamConcurrency:
		return "which bulkhead the service has"
	case assert.HerdSync:
		return "whether its instances wait equally long"
	}
	return ""
}

// wrongAround are the defects of rules about what lies around a call beside its breaker.
func wrongAround(plan *experiments.Plan, a assert.Assertion) []defect {
	switch r := a.Rule.(type) {
	case assert.DownstreamRate:
		return wrongRate(r)
	case assert.DownstreamConcurrency:
		return wrongConcurrency(r)
	case assert.Isolation:
		return wrongIsolation(r, a.Phase)
	case assert.HerdPeak:
		return herding(plan)
	case assert.SLO:
		return []defect{{phase: a.Phase, targets: r.Targets, class: errorClass, says: "answers every call with an error"}}
	}
	if ds := wrongEjections(plan, a.Rule); ds != nil {
		return ds
	}
	return wrongReports(a.Rule)
}

// wrongRate lets half as many more through, or half as many, or does not answer the others.
func wrongRate(r assert.DownstreamRate) []defect {
	times := func(says string, num, den int) defect {
		return defect{says: says, around: func(s *experiments.Reference) {
			if s.RateLimiter != nil {
				wrong := *s.RateLimiter
				wrong.Limit = max(1, (wrong.Limit*num+den-1)/den)
				wrong.Burst = (wrong.Burst*num + den - 1) / den
				s.RateLimiter = &wrong
			}
		}}
	}
	ds := []defect{times("lets half as many more through", 3, 2)}
	if r.Min > 0 {
		ds = append(ds, times("lets half as many through", 1, 2))
	}
	if r.Rejected != nil {
		ds = append(ds, mutated("limiter_mute", "", "does not answer what its rate limiter refuses"))
	}
	return ds
}

// wrongConcurrency has one place more, or one less.
func wrongConcurrency(r assert.DownstreamConcurrency) []defect {
	places := func(more int, says string) defect {
		return defect{says: says, around: func(s *experiments.Reference) {
			if b := s.Bulkhead; b != nil {
				wrong := *b
				wrong.MaxConcurrentCalls = max(0, wrong.MaxConcurrentCalls+more)
				s.Bulkhead = &wrong
			}
			if p := s.ThreadPool; p != nil && p.Max+more > 0 {
				wrong := *p
				wrong.Max, wrong.Core = wrong.Max+more, max(1, wrong.Core+more)
				s.ThreadPool = &wrong
			}
			if s.Pool > 1 {
				s.Pool += more
			}
		}}
	}
	ds := []defect{places(1, "lets one attempt more through at a time")}
	if r.Reaches {
		ds = append(ds, places(-1, "lets one attempt less through at a time"))
	}
	return ds
}

// herding holds calls back while the breaker refuses them, and lets all go as soon as it does
// not any more. Others hear at once, or nobody could see what the breaker does.
func herding(plan *experiments.Plan) []defect {
	var held []string
	for _, t := range plan.Targets {
		if t.Method != http.MethodGet {
			held = append(held, t.Method)
		}
	}
	if plan.SUT.Reference == nil || len(held) == 0 || len(held) == len(plan.Targets) {
		return nil
	}
	return []defect{{
		says: "tries " + strings.Join(held, ", ") + " again until its breaker lets it",
		around: func(s *experiments.Reference) {
			s.Retry = &experiments.Retry{Attempts: 1000, Wait: 20 * time.Millisecond, On: &experiments.RetryOn{Open: true}, Methods: held}
		},
	}}
}

// wrongIsolation lets others suffer.
func wrongIsolation(r assert.Isolation, phase string) []defect {
	var ds []defect
	if r.Share != nil {
		d := always(errorClass, phase, r.Targets)
		ds = append(ds, d)
	}
	if len(r.Latency) > 0 {
		late := beyond(r.Latency)
		ds = append(ds, defect{phase: phase, targets: r.Targets, slow: late, says: fmt.Sprintf("takes %s longer to answer", late)})
	}
	return ds
}
