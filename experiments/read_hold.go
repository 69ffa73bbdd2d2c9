package experiments

import (
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// hold reads how arrivals are parked at an injector. How many belong to one
// half-open visit is what its breaker is declared to permit.
func (r *reader) hold(v yamldoc.Value, injector string, latency time.Duration) *fault.Hold {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{max: 200ms}")
	defer m.Done()
	h := &fault.Hold{Probes: r.probes(v, injector), OneByOne: m.Get("one_by_one").Bool(false)}
	h.Rejected = m.Get("rejected").Count(max(10, 2*h.Probes), 1)
	most := m.Need("max")
	h.Max = most.Duration(0)
	if h.Probes == 0 {
		return h
	}
	if latency == fault.Never {
		most.Problemf("a request that is held may then be late by any time; give the latency a cap")
		return h
	}
	limit, among := r.patience(injector)
	allowed := limit / 5 * 3
	if took := h.Max + min(latency, fault.Never-h.Max); took > allowed {
		most.Problemf("a request would be held for up to %s (max and latency), above %s, 0.6 of the shortest of %s; "+
			"a longer hold could make it slow or time out, and so a failure by itself",
			yamldoc.FormatDuration(took), yamldoc.FormatDuration(allowed), strings.Join(among, ", "))
	}
	return h
}

// probes returns how many calls the declared breakers at an injector permit when
// they are half-open; 0 where that is not known, which is a problem or follows from one.
func (r *reader) probes(v yamldoc.Value, injector string) int {
	if injector == "" {
		return 0
	}
	n, name := 0, ""
	for _, b := range r.plan.Breakers {
		switch {
		case r.breakers.vague[b.Name] && (b.Injector == injector || b.Injector == ""):
			return 0
		case b.Injector != injector || !b.Declared:
		case n == 0 || n == b.Config.Permitted:
			n, name = b.Config.Permitted, b.Name
		default:
			v.Problemf("breakers %s and %s at injector %s permit %d and %d calls; a hold cannot wait for both",
				name, b.Name, injector, n, b.Config.Permitted)
			return 0
		}
	}
	if n == 0 && !r.breakers.blind {
		v.Problemf("needs to know how many probes to wait for: declare permitted_calls of the breaker at injector %s", injector)
	}
	return n
}

// patience returns the shortest time after which an answer that is late counts as
// a failure or as slow, and the times that it was chosen among.
func (r *reader) patience(injector string) (time.Duration, []string) {
	shortest := r.plan.Timeout
	among := []string{"load.timeout " + yamldoc.FormatDuration(shortest)}
	add := func(name string, d time.Duration) {
		if d > 0 {
			shortest = min(shortest, d)
			among = append(among, name+" "+yamldoc.FormatDuration(d))
		}
	}
	for _, b := range r.plan.Breakers {
		if b.Injector == injector && b.Declared {
			add("slow_calls.over of "+b.Name, b.Config.SlowDuration)
		}
		if b.Injector == injector {
			add("slow> of "+b.Name, b.Failure.Slow)
		}
	}
	for _, ref := range r.plan.SUT.services() {
		if ref.Injector == injector {
			add("timeout of the reference service", ref.Timeout)
			add("slow> of the reference service", ref.Failure.Slow)
			add("slow_calls.over of the reference service", ref.Breaker.SlowDuration)
		}
	}
	return shortest, among
}
