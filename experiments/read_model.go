package experiments

import (
	"fmt"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// readModel reads a breaker that is not Resilience4j's: its name, or that with numbers of
// its own.
func readModel(m *yamldoc.Map) *Model {
	v := m.Get("model")
	if !v.Exists() {
		return nil
	}
	if m.Has("breaker") {
		m.Key("model").Problemf("model and breaker exclude each other; breaker is Resilience4j's")
	}
	if !v.IsMap() {
		if preset := v.OneOf("", model.Presets()...); preset != "" {
			return &Model{Preset: preset}
		}
		return nil
	}
	mm := v.Map("{preset: gobreaker, failures: 5, wait: 1s}")
	defer mm.Done()
	made := &Model{Preset: mm.Need("preset").OneOf("", model.Presets()...)}
	s := &made.Settings
	var window breakerref.Config
	readWindow(&window, mm.Get("window"))
	s.Calls = window.Window
	if window.WindowType == breakerref.TimeBased {
		s.Calls, s.Period = 0, seconds(window.Window)
	}
	s.Minimum = mm.Get("minimum_calls").Count(0, 1)
	s.Failures = mm.Get("failures").Count(0, 1)
	s.Wait = mm.Get("wait").Duration(0)
	s.Permitted = mm.Get("permitted_calls").Count(0, 1)
	rate := mm.Get("failure_rate")
	if s.Rate = rate.Share(0); rate.Exists() && s.Rate == 0 {
		rate.Problemf("must be above 0%%")
	}
	if made.Preset == "" {
		return made
	}
	if _, err := made.Config(); err != nil {
		v.Problemf("%v", err)
	}
	return made
}

// readCache reads which answers of the dependency are kept.
func readCache(m *yamldoc.Map) *Cache {
	v := m.Get("cache")
	if !v.Exists() {
		return nil
	}
	cm := v.Map("{answers: 100, max_age: 30s}")
	defer cm.Done()
	if m.Has("paging") {
		m.Key("cache").Problemf("paging and cache exclude each other; the second source of the list is the fallback")
	}
	return &Cache{Answers: cm.Need("answers").Count(1, 1), MaxAge: cm.Get("max_age").Duration(0)}
}

// refuseNoModel notes a defect that another breaker has no room for.
func (ref *Reference) refuseNoModel(v yamldoc.Value, d mutant.Mutant) {
	c, err := ref.Model.Config()
	if err != nil || ref.Defect == "" {
		return // It was told.
	}
	if why := misfit(c, d); why != "" {
		v.Problemf("%s %s", ref.Defect, why)
	}
}

// misfit says why a breaker cannot have a defect, or nothing.
func misfit(c model.Config, d mutant.Mutant) string {
	admit := c.HalfOpen.Admit
	none := admit == model.AdmitAll || admit == model.OnePerWait
	probes := d.Needs.HalfOpen || d.Name == "never_closes" || d.Name == "closes_at_once"
	switch {
	case none && probes:
		return fmt.Sprintf("needs a breaker with a half-open state, and %s has none", c.Name)
	case admit == model.Unlimited && d.Name == "permits_all":
		return fmt.Sprintf("needs a breaker that limits its probes, and %s lets everybody through", c.Name)
	case d.Base == mutant.Gobreaker && c.Late != model.LateDropped:
		return fmt.Sprintf("needs a breaker that drops late outcomes, and %s counts them", c.Name)
	case d.Needs.Library:
		return fmt.Sprintf("is a defect of Resilience4j's breaker, and this one is %s", c.Name)
	}
	return ""
}
