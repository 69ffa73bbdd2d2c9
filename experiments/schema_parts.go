package experiments

import (
	"maps"
	"slices"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// sutSchema is the system under test: of four ways to have one, one is taken.
func sutSchema() schema {
	props := keys{
		"reference": object(plus(serviceSchema(), keys{"workers": count(1), "routes": list(routeSchema())})).with("allOf", serviceApart()),
		"launch": object(keys{
			"command": some(ref(textDef)), "dir": ref(textDef), "env": named(ref(textDef)), "stop": ref(durationDef),
		}, "command"),
		"replicas":        named(ref(urlDef)).with("minProperties", 1),
		"base_url":        ref(urlDef),
		"ready":           object(keys{"get": ref(pathDef), "expect": statusSchema(), "timeout": ref(durationDef)}, "get"),
		"instance_header": {"type": "string"},
	}
	return object(props).with("oneOf", []schema{
		only([]string{"reference"}, []string{"launch", "replicas", "base_url", "ready", "instance_header"}),
		only([]string{"launch", "base_url", "ready"}, []string{"reference", "replicas"}),
		only([]string{"replicas"}, []string{"reference", "launch", "base_url", "instance_header"}),
		only([]string{"base_url"}, []string{"reference", "launch", "replicas"}),
	})
}

// plus are the keys of two mappings together.
func plus(a, b keys) keys {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// serviceSchema is how the reference service treats one dependency.
func serviceSchema() keys {
	return plus(policiesSchema(), keys{
		"injector": ref(nameDef),
		"breaker":  object(numbersSchema()),
		"model":    modelSchema(),
		"failure":  some(ref(failureDef)),
		"timeout":  ref(durationDef),
		"fallback": object(answerSchema()),
		"cache":    object(keys{"answers": count(1), "max_age": ref(durationDef)}, "answers"),
		"pool":     count(1),
		"ejection": ejectSchema(),
		"paging":   object(keys{"items": count(1), "page": count(1), "on_switch": oneOf(Switches()...)}, "items", "page"),
		"defect":   oneOf(Defects()...),
	})
}

// routeSchema is a path of the reference service that is served otherwise.
func routeSchema() schema {
	props := plus(serviceSchema(), keys{"path": ref(pathDef), "respond": object(answerSchema())})
	return object(props, "path").with("oneOf", []schema{
		only([]string{"respond"}, serviceKeys()), only([]string{}, []string{"respond"}),
	}).with("allOf", serviceApart())
}

func statusSchema() schema { return schema{"type": "integer", "minimum": 200, "maximum": 599} }

// fillSchema is what only a dependency's answer has.
func fillSchema() keys {
	return keys{
		"fill": ref(sizeDef), "header_fill": ref(sizeDef),
		"retry_after": {"anyOf": []schema{ref(durationDef), object(keys{"date": ref(durationDef)}, "date")}},
	}
}

// formSchema is how an answer is sent.
func formSchema() keys {
	var malformed []string
	for _, m := range fault.Malformations() {
		malformed = append(malformed, string(m))
	}
	then := oneOf("tell", "close", "reset", "half")
	return keys{
		"cut": object(keys{"at": oneOf("start", "line", "head", "body"), "bytes": ref(sizeDef), "by": oneOf("reset", "close", "hang")}, "at").
			with("if", required("bytes")).with("then", schema{"properties": map[string]any{"at": schema{"const": "body"}}}),
		"malformed":  oneOf(malformed...),
		"inform":     object(keys{"status": {"enum": []int{100, 102, 103}}, "times": count(1), "every": ref(durationDef)}, "status"),
		"drip":       object(keys{"chunks": count(1), "over": ref(durationDef)}, "chunks", "over"),
		"slice":      object(keys{"size": ref(sizeDef), "gap": ref(durationDef)}, "size"),
		"bandwidth":  ref(throughputDef),
		"connection": {"anyOf": []schema{then, object(keys{"then": then, "wait": ref(durationDef)}, "then")}},
	}
}

// answerSchema is a canned answer.
func answerSchema() keys {
	return keys{"status": statusSchema(), "headers": named(ref(textDef)), "body": ref(textDef)}
}

// numbersSchema are the numbers of a breaker.
func numbersSchema() keys {
	return keys{
		"window":          {"anyOf": []schema{count(1), ref(durationDef)}},
		"minimum_calls":   count(1),
		"failure_rate":    ref(shareDef),
		"wait":            waitSchema(apart("factor", "jitter")),
		"permitted_calls": count(1),
		"slow_calls":      object(keys{"rate": ref(shareDef), "over": ref(durationDef)}),
	}
}

func breakerSchema() schema {
	return object(plus(numbersSchema(), keys{
		"injector": ref(nameDef), "target": ref(nameDef), "targets": some(ref(nameDef)),
		"unit": oneOf("attempt", "call"), "failure": some(ref(failureDef)), "late_outcomes": oneOf(lateCounted, lateDropped), "state_probe": probeSchema(),
		"shared": boolean(), "ejection": object(keys{"after": count(1)}, "after"),
	})).with("allOf", []schema{apart("target", "targets")})
}

func injectorSchema() schema {
	stub := object(plus(plus(answerSchema(), fillSchema()), keys{
		"latency": ref(durationDef), "grpc": grpcSchema(),
		webSocketFault: object(keys{"open": some(ref(textDef)), "answer": some(ref(textDef))}),
	}))
	beside := []schema{apart("grpc", webSocketFault)}
	for _, key := range httpAnswerKeys() {
		beside = append(beside, apart("grpc", key))
	}
	return object(keys{
		"listen":   {"type": "string", "pattern": ":[0-9]+$"},
		"upstream": {"type": "string", "pattern": "^(https?|h2c)://.+$"},
		"stub":     stub.with("allOf", beside),
		"tls":      tlsSchema(),
		"tcp":      tcpSchema(),

		"envoy_headers": boolean(),
	}).with("oneOf", anyKey("upstream", "stub", "tcp")).with("allOf", []schema{apart("tcp", "tls"), {
		"if": required("tcp"), "then": schema{"properties": map[string]any{"envoy_headers": schema{"const": false}}},
	}})
}

func loadSchema() schema {
	target := object(keys{
		"name": ref(nameDef), "method": methodSchema(), "path": ref(pathDef), "headers": named(ref(textDef)),
		"body": ref(textDef), "weight": count(1), "depends_on": list(ref(nameDef)),
	}, "name", "path")
	class := object(keys{
		"status": some(statusSchema()), "header": named(ref(textDef)), "contains": some(ref(textDef)), "regex": some(ref(textDef)),
		"jsonpath": jsonPathSchema(),
	}).with("minProperties", 1)
	return object(keys{
		"rate": ref(rateDef), "timeout": ref(durationDef), "max_in_flight": count(1),
		"targets": list(target).with("minItems", 1), "classify": named(class), "reasons": named(class).with("propertyNames", oneOf(match.Reasons()...)),
	}, "targets")
}

// phaseSchema is a pause, a phase that ends by itself, or one with a duration.
func phaseSchema() schema {
	ends := anyKey(shapeCalls, shapeSessions, shapeSteps)
	return object(keys{
		"name": ref(nameDef), "pause": ref(durationDef), "duration": ref(durationDef), "measure": boolean(),
		"targets": some(ref(nameDef)), "load": shapesSchema(), "faults": list(faultSchema()),
	}, "name").with("oneOf", []schema{
		only([]string{"pause"}, []string{"duration", "measure", "targets", "load"}).with("title", "a pause"),
		{"required": []string{"load"}, "properties": map[string]any{"pause": false, "duration": false, "load": schema{"anyOf": ends}}},
		{"required": []string{"duration"}, "properties": map[string]any{"pause": false, "load": schema{"not": schema{"anyOf": ends}}}},
	})
}

// shapesSchema is what a phase sends: one shape, and what says more of it.
func shapesSchema() schema {
	var of []schema
	for _, shape := range shapes() {
		without := minus(shapes(), shape)
		for _, d := range details() {
			if len(minus(d.of, shape)) == len(d.of) {
				without = append(without, d.key)
			}
		}
		of = append(of, only([]string{shape}, without))
	}
	step := object(keys{"rate": ref(rateDef), "for": ref(durationDef)}, "rate", "for")
	return object(keys{
		shapeRate:     ref(rateDef),
		shapeRamp:     object(keys{"from": ref(rateDef), "to": ref(rateDef)}, "from", "to"),
		shapeSteps:    list(step).with("minItems", 1),
		shapeBurst:    object(keys{"calls": count(1), "every": ref(durationDef)}, "calls", "every"),
		shapeClients:  count(1),
		shapeSessions: sessionsSchema(),
		shapeCalls:    count(1),
		"arrivals":    oneOf("even", "poisson"),
		"think":       thinkSchema(),
		"concurrency": count(1), "gap": ref(durationDef), "until": oneOf("open", "closed"), "breaker": ref(nameDef),
	}).with("oneOf", of).with("dependentRequired", map[string][]string{"breaker": {"until"}})
}

func uniformSchema() schema {
	return list(ref(durationDef)).with("minItems", 2).with("maxItems", 2)
}

// matchSchema is whom a fault hits.
func matchSchema() schema {
	regex := object(keys{"regex": ref(textDef)}, "regex")
	return object(keys{
		"method": methodSchema(), "path": {"anyOf": []schema{ref(pathDef), regex}},
		"grpc":  {"type": "string", "pattern": `^[^/*]+/([^/*]+|\*)$`},
		"query": named(ref(textDef)), "header": named(schema{"anyOf": []schema{ref(textDef), regex}}),
		"jsonpath": jsonPathSchema(), "peer": {"type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]+)?$"},
		webSocketFault: isTrue(),
		"sni":          {"type": "string", "pattern": `^(\*\.)?[^*:/ ]+$`},
	}).with("allOf", []schema{apart("grpc", "method"), apart("grpc", "path")})
}

// jsonPathSchema is what is looked for in a body.
func jsonPathSchema() schema {
	return schema{"type": "object", "minProperties": 1, "additionalProperties": schema{"type": []string{"string", "number", "boolean", "null"}}}
}

// latencySchema is one law of latencies.
func latencySchema() schema {
	ramp, together := rampSchema("latency", ref(durationDef))
	return object(plus(ramp, lawSchemas())).with("oneOf", anyKey(laws()...)).with("dependentRequired", together)
}

// steadySchema is one that does not change with the time.
func steadySchema() schema { return object(lawSchemas()).with("oneOf", anyKey(steadyLaws()...)) }

// lawSchemas are the laws.
func lawSchemas() keys {
	number := schema{"type": "number", "minimum": 0.01, "maximum": 100}
	points := named(ref(durationDef)).with("propertyNames", schema{"pattern": `^p(0|[1-9][0-9]*)(\.[0-9]+)?$`}).with("required", []string{"p0", "p100"})
	return keys{
		"fixed": ref(durationDef), "uniform": uniformSchema(),
		"normal":      object(keys{"mean": ref(durationDef), "sd": ref(durationDef), "cap": ref(durationDef)}, "mean", "sd"),
		"lognormal":   object(keys{"median": ref(durationDef), "p99": ref(durationDef), "sigma": number, "cap": ref(durationDef)}, "median").with("oneOf", anyKey("p99", "sigma")),
		"exponential": object(keys{"mean": ref(durationDef), "cap": ref(durationDef)}, "mean"),
		"pareto":      object(keys{"min": ref(durationDef), "alpha": number, "cap": ref(durationDef)}, "min", "alpha", "cap"),
		"table":       object(keys{"points": points, "scale": oneOf("linear", "log")}, "points"),
		"trace":       {"anyOf": []schema{some(ref(durationDef)), object(keys{"file": ref(textDef)}, "file")}},
	}
}

// ratioSchema is a share, or one with how it is drawn.
func ratioSchema() schema {
	ramp, together := rampSchema("ratio", ref(shareDef))
	drawn := object(plus(ramp, keys{
		"of": ref(shareDef), "draw": oneOf(drawEven, drawShuffle, drawRandom),
		"block": {"type": "integer", "minimum": 2, "maximum": largestBlock},
	})).with("oneOf", anyKey(ratioShapes()...)).with("dependentRequired", together).with("not", schema{
		"anyOf": anyKey(rampFrom, rampSteps), "required": []string{"draw"}, "properties": map[string]any{"draw": schema{"const": drawShuffle}},
	}).with("if", required("block")).with("then", schema{
		"required": []string{"draw"}, "properties": map[string]any{"draw": schema{"const": drawShuffle}},
	})
	return schema{"anyOf": []schema{ref(shareDef), drawn}}
}

func faultSchema() schema {
	answer := object(plus(answerSchema(), fillSchema()), "status")
	return object(plus(formSchema(), keys{
		"injector": ref(nameDef),
		"match":    matchSchema(),
		"ratio":    ratioSchema(), "first": count(1), "script": {"type": "string", "pattern": "^[X.]*X[X.]*$"},
		"after": count(1), "every": count(2), "burst": object(keys{"length": count(1), "gap": count(1)}, "length", "gap"),
		"sticky": {"anyOf": []schema{
			oneOf("path", "peer"),
			object(keys{"header": {"type": "string"}, "cookie": ref(textDef)}).with("oneOf", anyKey("header", "cookie")),
		}},
		"refuse": isTrue(), "unreachable": isTrue(), "deaf": isTrue(),
		"respond": answer, "reset": isTrue(), "close": isTrue(), "hang": isTrue(), "garbage": ref(sizeDef), "pass": isTrue(), "read": ref(throughputDef),
		"grpc": grpcSchema(), "settings": settingsSchema(), "tls": handshakeSchema(),
		"h2":           h2Schema(),
		"latency":      requestLatencySchema(),
		"hold":         object(keys{"max": ref(durationDef), "rejected": count(1), "one_by_one": boolean()}, "max"),
		"stealth":      boolean(),
		webSocketFault: webSocketSchema(),
		tcpFault:       tcpFaultSchema(),
	})).with("anyOf", anyKey(slices.Concat(actions(), []string{"latency", "hold", "read", "h2"}, formKeys())...)).with("allOf", append(protocolSchemas(), []schema{
		{"if": schema{"anyOf": anyKey("reset", "close", "hang", "garbage", webSocketFault, tcpFault)}, "then": schema{"not": schema{"anyOf": anyKey(formKeys()...)}}},
		{"if": schema{"anyOf": anyKey(doors()...)}, "then": schema{"not": schema{"anyOf": anyKey(slices.Concat(ofRequests(), formKeys(), []string{"h2"})...)}}},
		apart("drip", "slice"), apart("cut", "connection"), lateSchema(),
		{"if": required("sticky"), "then": schema{"anyOf": anyKey(selections()...)}},
		apart(actions()...), apart(selections()...), apart("hang", "latency"), apart("hang", "hold"),
		apart(webSocketFault, "read"), apart(tcpFault, "read"), apart(tcpFault, "latency"), apart(tcpFault, "hold"), apart(tcpFault, "sticky"),
		apart(webSocketFault, "h2"), apart(tcpFault, "h2"),
		{"if": schema{"required": []string{"stealth"}, "properties": schema{"stealth": schema{"const": true}}}, "then": schema{"anyOf": anyKey("reset", "close")}},
	}...))
}
