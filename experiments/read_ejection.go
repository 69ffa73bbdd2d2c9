package experiments

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Eject is how the reference service takes its dependency's only host out, as Envoy's outlier
// detection does: in place of a breaker.
type Eject struct {
	After int           `json:"after" yaml:"after"` // failures in a row
	Base  time.Duration `json:"base" yaml:"base"`   // the first ejection lasts so long, the k-th in a row k times
	Max   time.Duration `json:"max" yaml:"max"`     // at most
	Tick  time.Duration `json:"tick" yaml:"tick"`   // how often it looks whether one is over
	Share float64       `json:"max_ejected" yaml:"max_ejected"`
}

// Config is the model that the reference service ejects by: Envoy's, with one host.
func (e *Eject) Config() model.Config {
	c, _ := model.Preset("envoy") // There is one of that name.
	c.Trip.Failures = e.After
	c.Open.Wait, c.Open.MaxWait, c.Open.Interval = e.Base, e.Max, e.Tick
	c.Hosts = model.Hosts{Count: 1, MaxEjected: int(math.Round(e.Share * 100))}
	return c
}

// ejection reads of a breaker that it ejects and returns a host.
func (r *reader) ejection(v yamldoc.Value, b *assert.Breaker) {
	if !v.Exists() {
		return
	}
	m := v.Map("{after: 5}")
	b.Ejection = &assert.Ejection{After: m.Need("after").Count(1, 1)}
	m.Done()
	if b.Declared {
		v.Problemf("has no numbers of a window, a wait or half-open beside it: a host is ejected by failures in a row, and comes back with all its traffic")
		b.Declared = false
	}
}

// eject reads how the reference service takes a host out.
func eject(v yamldoc.Value) *Eject {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{after: 5, base: 2s, tick: 500ms}")
	defer m.Done()
	e := &Eject{
		After: m.Get("after").Count(5, 1), Base: m.Get("base").Duration(30 * time.Second), Max: m.Get("max").Duration(300 * time.Second),
		Tick: m.Get("tick").Duration(10 * time.Second), Share: m.Get("max_ejected").Share(1),
	}
	if e.Max < e.Base {
		m.Key("base").Problemf("%s is above max %s", yamldoc.FormatDuration(e.Base), yamldoc.FormatDuration(e.Max))
	}
	return e
}

// refuseStates notes a rule about states that a breaker that ejects does not have.
func (a *assertion) refuseStates(rule assert.Rule) {
	b, ok := a.plan.breaker(a.about)
	if !ok || b.Ejection == nil {
		return
	}
	switch r := rule.(type) {
	case assert.StaysClosed:
	case assert.Opens:
		if r.AtCall > 0 || r.WithinCalls > 0 || r.NotBefore > 0 {
			a.asked.Problemf("breaker %s ejects a host after failures in a row; ask ejection.opens", a.about)
		}
	case assert.Leak, assert.OpenDuration, assert.HalfOpenProbes, assert.ReopensOnFailedProbe, assert.Closes, assert.NeverStuck:
		a.asked.Problemf("breaker %s ejects a host and gives it all traffic again, so it has no half-open; ask ejection.opens, ejection.duration or ejection.returns", a.about)
	}
}

// ejecting reads the breaker of a rule that only one that ejects can fulfil.
func (a *assertion) ejecting(v yamldoc.Value) string {
	name := a.breaker(v)
	if b, ok := a.plan.breaker(name); ok && b.Ejection == nil && !a.breakers.vague[name] {
		v.Problemf("breaker %s is not declared as one that ejects; give it ejection: {after: 5}", name)
	}
	return name
}

// ejectionRule reads a rule about ejections, or the age of a fallback; nil: it is another one.
func (a *assertion) ejectionRule(kind string, v yamldoc.Value) assert.Rule {
	switch kind {
	case assert.EjectionOpens{}.Kind():
		return assert.EjectionOpens{Breaker: a.ejecting(v), Late: a.Get("late").Count(0, 0)}
	case assert.EjectionReturns{}.Kind():
		return assert.EjectionReturns{Breaker: a.ejecting(v)}
	case assert.EjectionDuration{}.Kind():
		return a.ejectionDuration(v)
	case assert.FallbackStaleness{}.Kind():
		return a.staleness(v)
	}
	return nil
}

func (a *assertion) ejectionDuration(v yamldoc.Value) assert.Rule {
	rule := assert.EjectionDuration{Breaker: a.ejecting(v), Tick: a.Get("tick").Duration(0), Tolerance: a.Get("tolerance").Share(0.05)}
	growth := a.Get("growth")
	rule.Growth = assert.Growth(growth.OneOf("", string(assert.GrowthLinear), string(assert.GrowthDouble)))
	switch a.Choice("equals", "sequence") {
	case "equals":
		rule.Equals = a.Get("equals").Duration(0)
	case "sequence":
		rule.Sequence = durations(a.Get("sequence"))
		if growth.Exists() {
			growth.Problemf("goes with equals; a sequence says how each lasts")
		}
	default:
		a.Lacks(a.Value, []string{"equals", "sequence"}, "says neither equals, for the first ejection, nor sequence, for one after the other")
	}
	return rule
}

// putEjection writes a rule about ejections.
func putEjection(o *yamldoc.Out, rule assert.Rule) {
	switch r := rule.(type) {
	case assert.EjectionOpens:
		o.Put(r.Kind(), r.Breaker)
		o.PutIf(r.Late > 0, "late", r.Late)
	case assert.EjectionReturns:
		o.Put(r.Kind(), r.Breaker)
	case assert.EjectionDuration:
		o.Put(r.Kind(), r.Breaker)
		o.PutIf(r.Equals > 0, "equals", r.Equals)
		putSequence(o, r.Sequence)
		o.PutIf(r.Growth != assert.GrowthNone, "growth", string(r.Growth))
		o.PutIf(r.Tick > 0, "tick", r.Tick)
		o.Put("tolerance", yamldoc.FormatShare(r.Tolerance))
	}
}

func ejectOut(e *Eject) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("after", e.After)
	o.Put("base", e.Base)
	o.Put("max", e.Max)
	o.Put("tick", e.Tick)
	o.Put("max_ejected", yamldoc.FormatShare(e.Share))
	return o
}

func ejectSchema() schema {
	duration := ref(durationDef)
	return object(keys{"after": count(1), "base": duration, "max": duration, "tick": duration, "max_ejected": ref(shareDef)})
}

// ejectionSchemas are the rules about ejections.
func ejectionSchemas() map[string]ruleSchema {
	name, duration := ref(nameDef), ref(durationDef)
	return map[string]ruleSchema{
		assert.EjectionOpens{}.Kind():   {value: name, beside: keys{"late": count(0)}},
		assert.EjectionReturns{}.Kind(): {value: name},
		assert.EjectionDuration{}.Kind(): {name, keys{
			"equals": duration, "sequence": some(duration), "growth": oneOf("linear", "double"), "tick": duration, "tolerance": ref(shareDef),
		}, []string{"equals", "sequence"}},
	}
}
