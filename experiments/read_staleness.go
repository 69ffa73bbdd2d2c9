package experiments

import (
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// staleness reads how old an answer of the fallback may be.
func (a *assertion) staleness(v yamldoc.Value) assert.Rule {
	m := v.Map(`{max: 5m, from: "header:Age"}`)
	defer m.Done()
	rule := assert.FallbackStaleness{Breaker: a.onlyBreaker()}
	rule.Max = m.Need("max").Duration(0)
	from := m.Need("from")
	rule.From = match.AgeFrom(from.NonEmpty())
	if rule.From != "" {
		if err := rule.From.Check(); err != nil {
			from.Problemf("%q is neither header:NAME nor a path of JSON such as $.as_of (RFC 9535)", rule.From)
		}
	}
	a.distinctFallback(v)
	return rule
}

// Ages are the places where answers say how old they are, of which assertions speak, with that
// where the SUT says what its clock shows.
func (p *Plan) Ages() []match.AgeFrom {
	var out []match.AgeFrom
	for _, a := range p.Assertions {
		if r, ok := a.Rule.(assert.FallbackStaleness); ok && !slices.Contains(out, r.From) {
			out = append(out, r.From)
		}
	}
	if len(out) > 0 && !slices.Contains(out, assert.AgeOfDate) {
		out = append(out, assert.AgeOfDate)
	}
	return out
}

func stalenessSchema() ruleSchema {
	return ruleSchema{
		value:  object(keys{"max": ref(durationDef), "from": {"type": "string", "pattern": `^(header:.+|\$.*)$`}}, "max", "from"),
		beside: keys{"breaker": ref(nameDef)},
	}
}

// putStaleness writes what is asked of the age of a fallback.
func putStaleness(o *yamldoc.Out, r assert.FallbackStaleness) {
	m := &yamldoc.Out{}
	m.Put("max", r.Max)
	m.Put("from", string(r.From))
	o.Put(r.Kind(), m)
	o.Put("breaker", r.Breaker)
}
