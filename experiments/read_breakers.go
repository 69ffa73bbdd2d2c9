package experiments

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// readBreakers reads the breakers that assertions speak of.
func (r *reader) readBreakers(v yamldoc.Value) {
	m := v.Map("{NAME: {wait: 5s}}")
	for _, e := range m.Entries() {
		name := checkWord(e.Key, e.Name, "_-")
		flawed := r.flawed()
		r.breaker(name, e.Value)
		if flawed() {
			r.breakers.doubt(name)
		}
		r.breakers.declare(e.Key, name)
	}
	r.breakers.end(v, m.Exists())
	r.breakers.blind = r.breakers.blind && (v.Exists() || !r.onlyTCP())
}

func (r *reader) breaker(name string, v yamldoc.Value) {
	m := v.Map("{window: 10, wait: 5s}")
	defer m.Done()
	b := assert.Breaker{
		Name:     name,
		Injector: r.injectors.referOr(m.Get("injector")),
		Unit:     assert.Unit(m.Get("unit").OneOf("", string(assert.UnitAttempt), string(assert.UnitCall))),
		Failure:  failure(m.Get("failure")),
	}
	b.LateDropped = m.Get("late_outcomes").OneOf(lateCounted, lateCounted, lateDropped) == lateDropped
	r.refuseUnjoined(m.Get("injector"), b.Injector, "no breaker can be judged there")
	b.Config, b.Declared = breakerConfig(m)
	b.Config.Name = name
	b.Targets = r.breakerTargets(m, b.Injector)
	r.ejection(m.Get("ejection"), &b)
	r.stateProbe(name, m.Get("state_probe"))
	shared := m.Get("shared")
	if b.Shared = shared.Bool(false); b.Shared {
		r.shared = append(r.shared, shared)
	}
	r.plan.Breakers = append(r.plan.Breakers, b)
}

// What becomes of an outcome whose call was admitted in an earlier state.
const (
	lateCounted = "counted"
	lateDropped = "dropped"
)

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
			if injector != "" && item.Text("") == t.Name && !r.mayReach(t, injector) {
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
		if r.mayReach(t, injector) {
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
	readWindow(&c, m.Get("window"))
	c.MinimumCalls = m.Get("minimum_calls").Count(c.MinimumCalls, 1)
	c.FailureRate = percent(m.Get("failure_rate"), c.FailureRate)
	readOpenWait(&c, m.Get("wait"))
	c.Permitted = m.Get("permitted_calls").Count(c.Permitted, 1)
	slow := m.Get("slow_calls").Map("{rate: 80%, over: 500ms}")
	c.SlowRate = percent(slow.Get("rate"), c.SlowRate)
	c.SlowDuration = slow.Get("over").Duration(c.SlowDuration)
	slow.Done()
	declared := false
	for _, key := range []string{"window", "minimum_calls", "failure_rate", "wait", "permitted_calls", "slow_calls"} {
		declared = declared || m.Has(key)
	}
	return c, declared
}

// readOpenWait reads how long a breaker stays open: always the same, longer with each
// opening in a row, or by chance. Resilience4j has no breaker of both kinds.
func readOpenWait(c *breakerref.Config, v yamldoc.Value) {
	if !v.IsMap() {
		c.Wait = wholeMillis(v, v.Duration(c.Wait))
		return
	}
	m := v.Map("{first: 5s, factor: 2, max: 1m}")
	defer m.Done()
	first, most, factor, jitter := m.Need("first"), m.Get("max"), m.Get("factor"), m.Get("jitter")
	c.Wait = wholeMillis(first, first.Duration(c.Wait))
	if factor.Exists() {
		c.WaitMultiplier = decimal(factor)
	}
	c.WaitMax = wholeMillis(most, most.Duration(0))
	c.WaitRandom = jitter.Share(0)
	switch {
	case most.Exists() && !factor.Exists():
		m.Lacks(most, []string{"factor"}, "a wait that does not grow has no limit; give a factor, such as 2")
	case factor.Exists() && jitter.Exists():
		jitter.Problemf("stands beside factor; a breaker's wait grows or is drawn, not both")
	case c.WaitRandom >= 1:
		jitter.Problemf("must be below 100%%")
	}
}

// readWindow reads a sliding window: 10 is the last ten calls, 10s those of the
// last ten seconds.
func readWindow(c *breakerref.Config, v yamldoc.Value) {
	text, ok := v.Scalar("a number of calls such as 10, or a time such as 10s")
	if !ok {
		return
	}
	if digits := strings.TrimPrefix(text, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		c.Window = v.Count(c.Window, 1)
		return
	}
	d, err := yamldoc.ParseDuration(text)
	switch {
	case err != nil:
		v.Problemf("%q is not a window; write 10 for the last ten calls, or 10s for those of the last ten seconds", text)
	case d < time.Second:
		v.Problemf("%s is too small; a window of time is at least 1s", text)
	case d%time.Second != 0:
		v.Problemf("%s is not in whole seconds, in which a sliding window is kept", text)
	case d/time.Second > math.MaxInt32:
		v.Problemf("%s is too large; a window of time is at most %ds", text, math.MaxInt32)
	default:
		c.WindowType, c.Window = breakerref.TimeBased, int(d/time.Second)
	}
}

// percent reads a share above zero as a number up to 100.
func percent(v yamldoc.Value, def float32) float32 {
	share, ok := v.ExactShare()
	switch {
	case !ok:
		return def
	case share.Num == 0:
		v.Problemf("must be above 0%%")
		return def
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(v.Text(""), "%"), 32)
	if err != nil {
		v.Problemf("%v", err)
	}
	return float32(f)
}

// refuseShared notes breakers that are said to be shared by instances of a service that has one.
func (r *reader) refuseShared() {
	for _, v := range r.shared {
		if r.plan.SUT.Reference != nil {
			v.Problemf("says nothing of the reference service, which is one instance")
		}
	}
}
