package experiments

import "github.com/faultline-go/faultline/breakerref/model"

// policiesSchema is what the reference service has around a call beside its breaker.
func policiesSchema() keys {
	return keys{
		"retry":           retrySchema(),
		"rate_limiter":    limiterSchema(),
		"time_limiter":    {"anyOf": []schema{ref(durationDef), object(keys{"timeout": ref(durationDef), "cancel": boolean()}, "timeout")}},
		"bulkhead":        bulkheadSchema(),
		"order":           some(oneOf(PolicyWords()...)),
		"rejections_fail": boolean(),
	}
}

// serviceApart are the keys of the reference service that exclude each other.
func serviceApart() []schema {
	return []schema{apart("breaker", "model"), apart("paging", "fallback"), apart("paging", "cache")}
}

// waitSchema is a wait that is always the same, or grows, or is drawn.
func waitSchema(all ...schema) schema {
	wait := object(keys{
		"first": ref(durationDef), "factor": {"type": "number", "minimum": 0.01, "maximum": 100},
		"max": ref(durationDef), "jitter": ref(shareDef),
	}, "first").with("dependentRequired", map[string][]string{"max": {"factor"}})
	if len(all) > 0 {
		wait = wait.with("allOf", all)
	}
	return schema{"anyOf": []schema{ref(durationDef), wait}}
}

func retrySchema() schema {
	outcome := schema{"anyOf": []schema{ref(failureDef), oneOf(onOpen, onFull, onLimited)}}
	return object(keys{
		"attempts": count(2), "wait": waitSchema(),
		"budget": object(keys{"ratio": ref(shareDef), "min_per_second": count(0), "window": ref(durationDef)}, "ratio"),
		"on":     some(outcome), "methods": some(methodSchema()), "retry_after": boolean(),
	}, "attempts")
}

func limiterSchema() schema {
	kind := func(key string, kinds ...string) schema {
		of := schema{"properties": map[string]any{"kind": schema{"enum": kinds}}}
		return schema{"if": required(key), "then": of}
	}
	return object(keys{
		"kind": oneOf(LimiterKinds()...), "limit": count(1), "period": ref(durationDef), "burst": count(1),
		"wait": ref(durationDef), "align": oneOf(alignClock, alignFirstCall), "by": {"type": "string"}, "told": boolean(),
	}, "kind", "limit").with("allOf", []schema{
		kind("burst", KindTokenBucket, KindGCRA), kind("wait", KindResilience4j), kind("align", KindFixedWindow),
		{"if": schema{"properties": map[string]any{"kind": schema{"enum": []string{KindTokenBucket, KindGCRA}}}}, "then": required("burst")},
	})
}

func bulkheadSchema() schema {
	own := object(keys{
		"max": count(1), "wait": ref(durationDef), "queue": count(0), "core": count(1), "keep_alive": ref(durationDef),
	}, "max").with("allOf", []schema{apart("wait", "queue")}).
		with("dependentRequired", map[string][]string{"core": {"queue"}, "keep_alive": {"queue", "core"}})
	return schema{"anyOf": []schema{count(1), own}}
}

// modelSchema is a breaker of another library.
func modelSchema() schema {
	own := object(keys{
		"preset": oneOf(model.Presets()...), "window": {"anyOf": []schema{count(1), ref(durationDef)}}, "minimum_calls": count(1),
		"failure_rate": ref(shareDef), "failures": count(1), "wait": ref(durationDef), "permitted_calls": count(1),
	}, "preset")
	return schema{"anyOf": []schema{oneOf(model.Presets()...), own}}
}
