package experiments

import (
	"maps"

	"github.com/faultline-go/faultline/assert"
)

// ruleSchema is the form of one kind of rule.
type ruleSchema struct {
	value  schema   // behind the rule's key
	beside keys     // further keys of the assertion
	oneOf  []string // of which it has exactly one
}

// ruleSchemas are all kinds of rules; *.share stands for the share of any class.
func ruleSchemas() map[string]ruleSchema {
	name, duration := ref(nameDef), ref(durationDef)
	shares := object(keys{"min": ref(shareDef), "max": ref(shareDef)}).with("minProperties", 1)
	times := keys{}
	for _, q := range quantiles() {
		times[q.key] = duration
	}
	latencies := object(times).with("minProperties", 1)
	targets := keys{"targets": some(name)}
	all := map[string]ruleSchema{
		assert.Opens{}.Kind(): {value: name, beside: keys{
			"at_call": count(1), "within_calls": count(1), "within": duration, "not_before": duration,
		}},
		assert.StaysClosed{}.Kind():          {value: name},
		assert.Leak{}.Kind():                 {value: name, beside: keys{"max": count(0)}},
		assert.OpenDuration{}.Kind():         {name, keys{"equals": duration, "sequence": some(duration), "tolerance": ref(shareDef)}, []string{"equals", "sequence"}},
		assert.HalfOpenProbes{}.Kind():       {name, keys{"exactly": count(1), "max": count(1)}, []string{"exactly", "max"}},
		assert.ReopensOnFailedProbe{}.Kind(): {value: name},
		assert.Closes{}.Kind():               {value: name, beside: keys{"within": duration, "after_successes": count(1)}},
		assert.NeverStuck{}.Kind():           {value: name, beside: keys{"tolerance": ref(shareDef)}},
		assert.ShortLatency{}.Kind():         {value: latencies, beside: keys{"breaker": name}},
		assert.FallbackShare{}.Kind():        {value: shares, beside: keys{"breaker": name, "of": some(oneOf("short", "failed", "open", "all"))}},
		assert.FallbackForbidden{}.Kind(): {value: object(keys{
			"routes": some(ref(pathDef)), "methods": some(methodSchema()),
		})},
		assert.FallbackStaleness{}.Kind(): stalenessSchema(),
		assert.FallbackContinuity{}.Kind(): {value: object(keys{
			"items": name, "source": name, "told": some(name),
		}, "items"), beside: keys{"breaker": name}},
		assert.RecoveryTime{}.Kind(): {value: object(keys{
			"max": duration, "target": ref(criteria), "for": duration,
		}, "max", "target", "for"), beside: keys{"breaker": name}},
		assert.AbandonedAfter{}.Kind(): {value: object(keys{
			"injector": name, "equals": duration, "tolerance": ref(shareDef), "max": duration,
		}).with("oneOf", []schema{required("equals"), only([]string{"max"}, []string{"equals", "tolerance"})})},
		assert.DownstreamCalls{}.Kind(): {value: object(keys{
			"injector": name, "min": count(1), "max": count(0), "when": oneOf("open", "closed", "half_open"), "per_instance": boolean(),
		}).with("anyOf", anyKey("min", "max")), beside: keys{"breaker": name}},
		assert.Latency{Subject: assert.SubjectAll}.Kind(): {value: latencies, beside: targets},
		assert.Share{Subject: assert.SubjectError}.Kind(): {value: shares, beside: targets},
		assert.Share{Subject: assert.SubjectShort}.Kind(): {value: shares, beside: keys{"breaker": name, "targets": some(name)}},
		"*" + ofShare:   {value: shares, beside: targets},
		"*" + ofLatency: {value: latencies, beside: targets},
	}
	maps.Copy(all, reportSchemas())
	maps.Copy(all, ejectionSchemas())
	maps.Copy(all, retrySchemas())
	maps.Copy(all, rateSchemas())
	return all
}

func methodSchema() schema {
	return schema{"type": "string", "pattern": "^[A-Z0-9!#$%&'*+.^_`|~-]+$"}
}
