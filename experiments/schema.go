package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/match"
)

// Schema returns the format of an experiment as a JSON Schema (2020-12), for
// editors. It knows the form of a file; what no run could decide only LoadPlan
// tells. What each key means is what README.md says.
func Schema() ([]byte, error) {
	root := experimentSchema()
	describe(root, "", readmeRows())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "faultline experiment"
	root["description"] = "What is sent to a system under test, what goes wrong behind it, and what has to hold."
	root["$defs"] = definitions()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // People read the expressions, too.
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return out.Bytes(), nil
}

// schema is a part of a JSON Schema.
type schema map[string]any

// keys are the keys of a mapping.
type keys map[string]schema

// The scalars of the format, in the schema's definitions.
const (
	textDef       = "text"
	nameDef       = "name"
	durationDef   = "duration"
	sizeDef       = "size"
	throughputDef = "throughput"
	shareDef      = "share"
	rateDef       = "rate"
	pathDef       = "path"
	urlDef        = "url"
	failureDef    = "failure"
	criteria      = "criterion"
)

// definitions are the scalars. A text may be written without quotes, so that it
// looks like a number or a bool.
func definitions() schema {
	const number, length = `(0|[1-9][0-9]*)(\.[0-9]+)?`, `([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)`
	const duration = `(0|[1-9][0-9]*)(\.[0-9]+)?(ns|us|µs|ms|s|m|h)(` + length + `)*`
	pattern := func(p, what string) schema {
		return schema{"type": "string", "pattern": "^" + p + "$", "description": what}
	}
	word := pattern(`[A-Za-z0-9][A-Za-z0-9._-]*`, "letters, digits, _ and -")
	word["type"] = []string{"string", "number", "boolean"}
	failed := pattern(`([1-5]xx|[1-5][0-9][0-9]|reset|eof|timeout|grpc(: ?(`+strings.Join(match.GRPCCodes(), "|")+`))?|slow ?> ?`+duration+`)`, "")
	return schema{
		textDef:       schema{"type": []string{"string", "number", "boolean"}},
		nameDef:       word,
		durationDef:   pattern(duration, "a duration, as 5s, 250ms or 1m30s"),
		sizeDef:       pattern(`^[0-9]+ *([KMG]iB|kB|MB|GB|B)$`, "a number of bytes, as 64KiB or 200B"),
		throughputDef: pattern(`^[0-9]+ *([KMG]iB|kB|MB|GB|B)/s$`, "bytes a second, as 100KiB/s"),
		shareDef:      pattern(number+`%`, "a share in percent, as 50% or 0.5%"),
		rateDef:       pattern(`(0|[1-9][0-9]*)/[smh]`, "a rate, as 100/s, 30/m or 5/h"),
		pathDef:       pattern(`/.*`, "a path, as /pay*"),
		urlDef:        pattern(`https?://.+`, "an address, as http://127.0.0.1:8080"),
		failureDef:    schema{"anyOf": []schema{{"type": "string", "pattern": failed["pattern"]}, {"type": "integer", "minimum": 100, "maximum": 599}}},
		criteria: pattern(`([A-Za-z0-9][A-Za-z0-9_-]*\.share *[<>]= *`+number+`%|([A-Za-z0-9][A-Za-z0-9_-]*\.)?latency\.(p50|p90|p95|p99|max) *<= *`+duration+`)`,
			"a criterion, as primary.share >= 99.5% or latency.p99 <= 300ms"),
	}
}

func ref(def string) schema { return schema{"$ref": "#/$defs/" + def} }

// oneOf is a text that is one of these words.
func oneOf(words ...string) schema { return schema{"type": "string", "enum": words} }

// count is a whole number from least up.
func count(least int) schema {
	return schema{"type": "integer", "minimum": least, "maximum": math.MaxInt32}
}

func boolean() schema { return schema{"type": "boolean"} }

// isTrue is a key that is true or left out.
func isTrue() schema { return schema{"const": true} }

func list(item schema) schema { return schema{"type": "array", "items": item} }

// some is one item, or a list of at least one.
func some(item schema) schema {
	return schema{"anyOf": []schema{item, {"type": "array", "items": item, "minItems": 1}}}
}

// object is a mapping of known keys, some of which must be there.
func object(props keys, need ...string) schema {
	s := schema{"type": "object", "properties": props, "additionalProperties": false}
	if len(need) > 0 {
		s["required"] = need
	}
	return s
}

// named is a mapping whose keys are names.
func named(value schema) schema {
	return schema{"type": "object", "additionalProperties": value}
}

// with adds a condition to a part.
func (s schema) with(key string, value any) schema {
	s[key] = value
	return s
}

// required is the condition that a mapping has all of these keys.
func required(names ...string) schema { return schema{"required": names} }

// anyKey is the condition that a mapping has at least one of these keys.
func anyKey(names ...string) []schema {
	conditions := make([]schema, len(names))
	for i, name := range names {
		conditions[i] = required(name)
	}
	return conditions
}

// apart is the condition that a mapping has at most one of these keys.
func apart(names ...string) schema {
	var both []schema
	for i, a := range names {
		for _, b := range names[:i] {
			both = append(both, required(b, a))
		}
	}
	return schema{"not": schema{"anyOf": both}}
}

// only is the condition that a mapping has these keys and none of the others.
func only(need, without []string) schema {
	no := map[string]bool{}
	for _, name := range without {
		no[name] = false
	}
	return schema{"required": need, "properties": no}
}

// minus are the words of a list without some.
func minus(all []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// boundSchema is a bound that may be written with its comparison.
func boundSchema(op, def string) schema {
	pattern, _ := definitions()[def].(schema)["pattern"].(string)
	return schema{"type": "string", "pattern": "^(" + op + ")? *" + strings.TrimPrefix(pattern, "^")}
}

// experimentSchema is the whole file.
func experimentSchema() schema {
	return object(keys{
		"apiVersion": oneOf("faultline/v1"),
		"kind":       oneOf("Experiment"),
		"metadata": object(keys{
			"name": ref(nameDef), "description": ref(textDef), "tags": list(ref(nameDef)),
		}, "name"),
		"seed":      {"type": "integer", "minimum": 0, "maximum": json.Number("18446744073709551615")},
		"sut":       sutSchema(),
		"injectors": named(injectorSchema()).with("minProperties", 1),
		"correlate": object(keys{
			"order": some(schema{"type": "string", "pattern": "^(traceparent|header:.+|template|template:.+|single_flight|aggregate)$"}), "min_join": ref(shareDef),
		}),
		"load":         loadSchema(),
		"breakers":     named(breakerSchema()).with("minProperties", 1),
		"phases":       list(phaseSchema()).with("minItems", 1),
		"steady_state": some(ref(criteria)),
		"integrity": object(keys{
			"dropped": boundSchema("<=", shareDef), "lateness_p99": boundSchema("<=", durationDef), "join": boundSchema(">=", shareDef),
		}),
		"assert": list(assertionSchema()).with("minItems", 1),
	}, "apiVersion", "kind", "metadata", "sut", "injectors", "load", "phases", "assert").with("anyOf", []schema{required("breakers"), onlyTCPSchema()})
}

// assertionSchema is one assertion: id, phase, and the keys of one kind of rule.
func assertionSchema() schema {
	var kinds []schema
	for kind, rule := range ruleSchemas() {
		props := keys{
			"id":    {"type": []string{"string", "integer"}, "pattern": "^[a-z0-9-]+$"},
			"phase": ref(nameDef),
			kind:    rule.value,
		}
		maps.Copy(props, rule.beside)
		s := object(props, "id", "phase", kind)
		if strings.HasPrefix(kind, "*") {
			delete(props, kind)
			byClass(s, kind, rule.value)
		}
		if rule.oneOf != nil {
			s["oneOf"] = anyKey(rule.oneOf...)
		}
		kinds = append(kinds, s)
	}
	slices.SortFunc(kinds, func(a, b schema) int {
		return strings.Compare(fmt.Sprint(a["required"], a["patternProperties"]), fmt.Sprint(b["required"], b["patternProperties"]))
	})
	return schema{"type": "object", "oneOf": kinds}
}

// byClass makes a rule of one whose key begins with the name of a class: it has one
// such key, which is none of the rules that only look so.
func byClass(s schema, kind string, value schema) {
	s["required"] = []string{"id", "phase"}
	props, _ := s["properties"].(keys)
	s["patternProperties"] = keys{"^[A-Za-z0-9][A-Za-z0-9_-]*" + strings.ReplaceAll(kind[1:], ".", `\.`) + "$": value}
	var others []string
	for _, subject := range []string{assert.SubjectAll, assert.SubjectShort, assert.SubjectError} {
		others = append(others, subject+ofShare, subject+ofLatency)
	}
	s["propertyNames"] = schema{"not": schema{"enum": append(others, assert.FallbackShare{}.Kind())}}
	// Beside targets, which may be left out, and the rule itself.
	n := len(props) - 1
	s["anyOf"] = []schema{
		{"properties": map[string]bool{"targets": false}, "minProperties": n + 1, "maxProperties": n + 1},
		{"required": []string{"targets"}, "minProperties": n + 2, "maxProperties": n + 2},
	}
}
