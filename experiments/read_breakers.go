package experiments

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// readBreakers reads the breakers that assertions speak of.
func (r *reader) readBreakers(v yamldoc.Value) {
	m := v.Map()
	for _, e := range m.Entries() {
		name := checkWord(e.Key, e.Name, "_-")
		r.breaker(name, e.Value.Map())
		r.breakers.declare(e.Key, name)
	}
	r.breakers.end(v, m.Exists())
}

func (r *reader) breaker(name string, m *yamldoc.Map) {
	defer m.Done()
	b := assert.Breaker{
		Name:     name,
		Injector: r.injectors.referOr(m.Get("injector")),
		Unit:     assert.Unit(m.Get("unit").OneOf("", string(assert.UnitAttempt), string(assert.UnitCall))),
		Failure:  failure(m.Get("failure")),
	}
	b.Config, b.Declared = breakerConfig(m)
	b.Config.Name = name
	b.Targets = r.breakerTargets(m, b.Injector)
	r.plan.Breakers = append(r.plan.Breakers, b)
}

// breakerTargets reads whose calls ask a breaker: those of all targets that depend
// on its injector, unless it is said.
func (r *reader) breakerTargets(m *yamldoc.Map, injector string) []string {
	var items []yamldoc.Value
	switch m.Choice("target", "targets") {
	case "target":
		items = []yamldoc.Value{m.Get("target")}
	case "targets":
		items = m.Get("targets").Items()
	default:
		return r.dependents(m, injector)
	}
	for _, item := range items {
		for _, t := range r.plan.Targets {
			if injector != "" && item.Text("") == t.Name && !t.Depends(injector) {
				item.Problemf("target %s does not depend on injector %s, where this breaker's calls arrive", t.Name, injector)
			}
		}
	}
	return r.targets.referAll(items)
}

// dependents returns the targets whose calls reach an injector.
func (r *reader) dependents(m *yamldoc.Map, injector string) []string {
	var all []string
	for _, t := range r.plan.Targets {
		if t.Depends(injector) {
			all = append(all, t.Name)
		}
	}
	if len(all) == 0 && injector != "" && !r.targets.blind {
		m.Problemf("no target depends on injector %s, so no call could ask this breaker", injector)
	}
	return all
}

// breakerConfig reads a breaker's numbers and reports whether any was given. What
// is not given is Resilience4j's default.
func breakerConfig(m *yamldoc.Map) (breakerref.Config, bool) {
	c := breakerref.Default()
	window, wait := m.Get("window"), m.Get("wait")
	readWindow(&c, window)
	c.MinimumCalls = m.Get("minimum_calls").Count(c.MinimumCalls, 0)
	c.FailureRate = percent(m.Get("failure_rate"), c.FailureRate)
	c.Wait = wait.DurationOrZero(c.Wait)
	c.Permitted = m.Get("permitted_calls").Count(c.Permitted, 0)
	slow := m.Get("slow_calls").Map()
	c.SlowRate = percent(slow.Get("rate"), c.SlowRate)
	c.SlowDuration = slow.Get("over").DurationOrZero(c.SlowDuration)
	slow.Done()
	if c.Wait%time.Millisecond != 0 {
		wait.Problemf("%v is not in whole milliseconds, which is all that is counted", c.Wait)
	}
	validate(c, m, slow)
	declared := false
	for _, key := range []string{"window", "minimum_calls", "failure_rate", "wait", "permitted_calls", "slow_calls"} {
		declared = declared || m.Has(key)
	}
	return c, declared
}

// readWindow reads a sliding window: 10 is the last ten calls, 10s those of the
// last ten seconds.
func readWindow(c *breakerref.Config, v yamldoc.Value) {
	text := v.Text("")
	if text == "" || strings.Trim(text, "0123456789") == "" {
		c.Window = v.Count(c.Window, 0)
		return
	}
	d := v.Duration(0)
	if d%time.Second != 0 {
		v.Problemf("%v is not in whole seconds, in which a sliding window is kept", d)
	}
	if d > 0 {
		c.WindowType, c.Window = breakerref.TimeBased, int(d/time.Second)
	}
}

// percent reads a share as a number of 0..100.
func percent(v yamldoc.Value, def float32) float32 {
	if _, ok := v.ExactShare(); !ok {
		return def
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(v.Text(""), "%"), 32)
	if err != nil {
		v.Problemf("%v", err)
	}
	return float32(f)
}

// validate reports what the breaker itself says of its numbers, each at its key.
func validate(c breakerref.Config, m, slow *yamldoc.Map) {
	for _, err := range unjoin(c.Validate()) {
		property, _, _ := strings.Cut(err.Error(), " ")
		at := m.Value
		switch property {
		case "slidingWindowSize":
			at = m.Get("window")
		case "minimumNumberOfCalls":
			at = m.Get("minimum_calls")
		case "failureRateThreshold":
			at = m.Get("failure_rate")
		case "waitDurationInOpenState":
			at = m.Get("wait")
		case "permittedNumberOfCallsInHalfOpenState":
			at = m.Get("permitted_calls")
		case "slowCallRateThreshold":
			at = slow.Get("rate")
		case "slowCallDurationThreshold":
			at = slow.Get("over")
		}
		at.Problemf("%v", err)
	}
}

// unjoin takes joined errors apart.
func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}
