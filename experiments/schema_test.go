package experiments

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// compiledSchema is the schema as a validator reads it.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	src, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaKeys holds the schema to the reader: the same keys, and each with what
// README.md says of it.
func TestSchemaKeys(t *testing.T) {
	src, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(src, &root); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	schemaKeys(root, "", func(path string, key map[string]any) {
		found[path] = true
		if key["description"] == nil && !slices.Contains(speakForThemselves(), path) {
			t.Errorf("%s has no description", path)
		}
	})
	if diff := cmp.Diff(readerKeys(t), sortedSet(found)); diff != "" {
		t.Errorf("keys of the reader (-) and of the schema (+):\n%s", diff)
	}
}

// speakForThemselves are the keys that README.md has a row but no words for.
func speakForThemselves() []string {
	return []string{"load.targets[].name", "load.targets[].method", "phases[].name"}
}

// schemaKeys visits all keys of a schema by their paths.
func schemaKeys(s map[string]any, path string, visit func(string, map[string]any)) {
	for _, group := range []string{"properties", "patternProperties"} {
		props, _ := s[group].(map[string]any)
		for key, value := range props {
			part, ok := value.(map[string]any)
			if !ok || group == "properties" && s["type"] != "object" {
				continue // A condition.
			}
			name := key
			if group == "patternProperties" {
				name = "NAME" + classEnd(key)
			}
			visit(path+name, part)
			schemaKeys(part, path+name+".", visit)
		}
	}
	if below, ok := s["additionalProperties"].(map[string]any); ok {
		schemaKeys(below, path+"NAME.", visit)
	}
	if items, ok := s["items"].(map[string]any); ok {
		schemaKeys(items, strings.TrimSuffix(path, ".")+"[].", visit)
	}
	for _, group := range []string{"oneOf", "anyOf"} {
		parts, _ := s[group].([]any)
		for _, part := range parts {
			if m, ok := part.(map[string]any); ok {
				schemaKeys(m, path, visit)
			}
		}
	}
}

// fits validates a file.
func fits(t *testing.T, s *jsonschema.Schema, file string, src []byte) error {
	t.Helper()
	doc := yamldoc.Parse(file, src)
	return s.Validate(doc.Root().Plain())
}

// TestSchemaTakesGoodFiles validates whatever loads, and its plan.
func TestSchemaTakesGoodFiles(t *testing.T) {
	s := compiledSchema(t)
	zoo, err := filepath.Glob("../target/zoo/*/experiment*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(goodFiles(t), zoo, glob(t, "*.plan.yaml")) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, s, file, src); err != nil {
			t.Errorf("%s: %#v", file, err)
		}
	}
}

// TestSchemaRefusesBadForms takes single lines of a good file to what no file has.
func TestSchemaRefusesBadForms(t *testing.T) {
	s := compiledSchema(t)
	src, err := os.ReadFile("testdata/typo.base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := fits(t, s, "good", src); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"apiVersion: faultline/v1", "apiVersion: faultline/v2"},
		{"timeout: 5s", "timeout: 5"},
		{"timeout: 5s", "timeout: 05s"},
		{"rate: 100/s", "rate: 100"},
		{"rate: 100/s", "rate: 100/s, calls: 5"},
		{"rate: 100/s", "rat: 100/s"},
		{"rate: 100/s", "rate: 100/s, until: open"},
		{"rate: 100/s", "clients: 5, arrivals: poisson"},
		{"rate: 100/s", "ramp: { from: 1/s }"},
		{"duration: 10s", "durration: 10s"},
		{"duration: 10s", "pause: 10s"},
		{"calls: 20, until: open, breaker: payments }", "calls: 20, until: open, breaker: payments }, duration: 5s"},
		{"calls: 20, until: open,", "calls: 20,"},
		{"close: true", "close: true, reset: true"},
		{"close: true", "close: false"},
		{"first: 3,", "first: 3, ratio: 5%,"},
		{"first: 3,", "every: 1,"},
		{"first: 3,", "first: 3, after: 3,"},
		{"first: 3,", "burst: { length: 5 },"},
		{"first: 3,", "ratio: { draw: random },"},
		{"first: 3,", "ratio: { of: 5%, draw: random, block: 5 },"},
		{"first: 3,", "ratio: { of: 5%, block: 5 },"},
		{"first: 3,", "ratio: { of: 5%, draw: shuffle, block: 1 },"},
		{"first: 3,", "ratio: { from: 0%, to: 50% },"},
		{"first: 3,", "ratio: { from: 0%, over: 1s },"},
		{"first: 3,", "ratio: { to: 50%, over: 1s },"},
		{"first: 3,", "ratio: { of: 5%, to: 50%, over: 1s },"},
		{"first: 3,", "ratio: { of: 5%, from: 0%, to: 50%, over: 1s },"},
		{"first: 3,", "ratio: { from: 0%, to: 50%, over: 1s, draw: shuffle },"},
		{"first: 3,", "ratio: { steps: [] },"},
		{"first: 3,", "ratio: { steps: [{ at: 0s }] },"},
		{"first: 3,", "ratio: { steps: [{ at: 0s, latency: 5ms }] },"},
		{"hang: true", "latency: { from: 1ms, to: 5ms }"},
		{"hang: true", "latency: { to: 5ms, over: 1s }"},
		{"hang: true", "latency: { fixed: 5ms, over: 1s }"},
		{"hang: true", "latency: { steps: [{ at: 0s, ratio: 5% }] }"},
		{"first: 3,", "sticky: path,"},
		{"first: 3,", "first: 3, sticky: road,"},
		{"first: 3,", "first: 3, sticky: { header: a, cookie: b },"},
		{"hang: true", "hang: true, match: { grpc: a }"},
		{"hang: true", "hang: true, match: { grpc: a/b, path: /c }"},
		{"hang: true", "hang: true, match: { path: { rege: a } }"},
		{"hang: true", "hang: true, match: { header: { a: { rege: a } } }"},
		{"hang: true", "hang: true, match: { jsonpath: {} }"},
		{"hang: true", "hang: true, match: { peer: host }"},
		{"hang: true", "hang: true, match: { query: a }"},
		{"hang: true", "latency: { normal: { mean: 5ms } }"},
		{"hang: true", "latency: { lognormal: { median: 5ms } }"},
		{"hang: true", "latency: { lognormal: { median: 5ms, p99: 6ms, sigma: 1 } }"},
		{"hang: true", "latency: { pareto: { min: 5ms, alpha: 1 } }"},
		{"hang: true", "latency: { pareto: { min: 5ms, alpha: 0, cap: 1s } }"},
		{"hang: true", "latency: { table: { points: { p0: 5ms } } }"},
		{"hang: true", "latency: { table: { points: { p0: 5ms, x: 6ms, p100: 7ms } } }"},
		{"hang: true", "latency: { trace: [5] }"},
		{"hang: true", "latency: { trace: [] }"},
		{"hang: true", "hang: true, latency: { fixed: 5s }"},
		{"hang: true", "latency: { fixed: 5s, at: answer }"},
		{"hang: true", "latency: { at: response }"},
		{"hang: true", "latency: { fixed: 5s, at: request, mode: floor }"},
		{"hang: true", "latency: { fixed: 5s, at: response }, reset: true"},
		{"hang: true", "latency: { fixed: 5s, mode: floor }, respond: { status: 503 }"},
		{"hang: true", "tcp: { up: { latency: { fixed: 5s, at: response } } }"},
		{"hang: true", "tcp: {}"},
		{"hang: true", "tcp: { life: { for: 5s } }, latency: { fixed: 5s }"},
		{"hang: true", "tcp: { life: { by: reset } }"},
		{"hang: true", "tcp: { up: {} }"},
		{"hang: true", "tcp: { up: { bandwidth: 5KiB } }"},
		{"hang: true", "tcp: { up: { bandwidth: { rate: 5KiB/s } } }"},
		{"hang: true", "tcp: { up: { cut: { by: refuse } } }"},
		{"hang: true", "websocket: {}"},
		{"hang: true", "websocket: { accept: right }"},
		{"hang: true", "websocket: { accept: wrong }, drip: { chunks: 1, over: 5s }"},
		{"hang: true", "websocket: { accept: wrong }, read: 5KiB/s"},
		{"hang: true", "websocket: { accept: wrong }, hang: true"},
		{"hang: true", "websocket: { messages: [{ at: 3, drop: true }] }"},
		{"hang: true", "websocket: { messages: [{ to: both, drop: true }] }"},
		{"hang: true", "websocket: { messages: [{ to: client, at: 3 }] }"},
		{"hang: true", "websocket: { messages: [{ to: client, at: 3, drop: true, corrupt: true }] }"},
		{"hang: true", "websocket: { messages: [{ to: client, at: 3, first: 3, drop: true }] }"},
		{"hang: true", "websocket: { messages: [{ to: client, cut: true }] }"},
		{"hang: true", "websocket: { close: { after: 3 } }"},
		{"hang: true", "websocket: { stall: { after: 3 } }"},
		{"hang: true", "websocket: { no_pong: false }"},
		{"hang: true", "websocket: { no_pong: { first: 1, after: 1 } }"},
		{"hang: true", "hang: true, match: { websocket: false }"},
		{"stub: { status: 200 }", "tcp: { undialled: close }"},
		{"stub: { status: 200 }", "tcp: { upstream: 127.0.0.1:1 }, tls: true"},
		{"stub: { status: 200 }", "stub: { grpc: OK, websocket: {} }"},
		{"hang: true", "websocket: { accept: wrong }, h2: abort"},
		{"stub: { status: 200 }", "tcp: { upstream: localhost }"},
		{"stub: { status: 200 }", "stub: { websocket: { opens: a } }"},
		{"hang: true", "stealth: true, hang: true"},
		{"hang: true", "first: 3"},
		{"hang: true", "h2: gone"},
		{"hang: true", "h2: {}"},
		{"hang: true", "h2: { reset: CANCEL, goaway: CANCEL }"},
		{"hang: true", "h2: { reset: CANSEL }"},
		{"hang: true", "h2: { reset: { code: CANCEL, bytes: 3B } }"},
		{"hang: true", "h2: { goaway: { last: that } }"},
		{"hang: true", "hang: true, h2: abort"},
		{"hang: true", "cut: { at: body }, h2: abort"},
		{"hang: true", "settings: {}"},
		{"hang: true", "settings: { max_concurrent_streams: 0 }"},
		{"hang: true", "settings: { max_concurrent_streams: 1 }, latency: { fixed: 5ms }"},
		{"hang: true", "settings: { no_window_updates: false }"},
		{"hang: true", "grpc: DOWN"},
		{"hang: true", "grpc: { status: OK, end: no_trailers }"},
		{"hang: true", "grpc: { code: CANCEL }"},
		{"hang: true", "grpc: { frame: length_huge }"},
		{"hang: true", "grpc: { messages: [hello!] }"},
		{"hang: true", "grpc: OK, respond: { status: 200 }"},
		{"hang: true", "tls: alert"},
		{"hang: true", "tls: { alert: 256 }"},
		{"hang: true", "tls: stall, hold: { max: 5ms }"},
		{"hang: true", "tls: stall, drip: { chunks: 2, over: 1s }"},
		{"hang: true", "hang: true, match: { sni: 'a.*' }"},
		{"stub: { status: 200 }", "stub: { status: 200 }, tls: false"},
		{"stub: { status: 200 }", "stub: { status: 200 }, tls: { protocols: [h3] }"},
		{"stub: { status: 200 }", "stub: { status: 200, grpc: OK }"},
		{"stub: { status: 200 }", "upstream: h2://127.0.0.1:1"},
		{"status: 503", "status: 99"},
		{"target: checkout,", "target: checkout, targets: [checkout],"},
		{"stub: { status: 200 }", "stub: { status: 200 }, upstream: http://127.0.0.1:1"},
		{"  ready: { get: /health }\n", ""},
		{"  ready:", "  replicas: { a: http://127.0.0.1:1 }\n  ready:"},
		{"  ready:", "  reference: {}\n  ready:"},
		{"at_call: 10", "at_call: 10, max: 3"},
		{"at_call: 10", "at_call: 0"},
		{"breaker.leak: payments", "breaker.lek: payments"},
		{"breaker.leak: payments", "breaker.leak: payments, breaker.closes: payments"},
		{"breaker.leak: payments", "primary.share: { min: 0.5 }"},
		{"breaker.leak: payments", "primary.share: {}"},
		{"breaker.leak: payments", "primary.share: { min: 5% }, backup.share: { min: 5% }"},
		{"breaker.leak: payments", "primary.share: { min: 5% }, targets: [a], backup.share: { min: 5% }"},
		{"breaker.leak: payments", "targets: [a]"},
		{"breaker.leak: payments", "fallback.share: { min: 5% }, targets: [a]"},
		{"breaker.leak: payments", "all.share: { min: 5% }"},
		{"breaker.leak: payments", "short.share: { min: 5% }, of: all"},
		{"breaker.leak: payments", "downstream.abandoned_after: { max: 5s, tolerance: 5% }"},
		{"breaker.leak: payments", "downstream.calls: { when: open }"},
		{"breaker.leak: payments", "recovery.time: { max: 5s, for: 5s, target: primary >= 5% }"},
		{"equals: 1m", "equals: 1m, sequence: [1m]"},
		{"equals: 1m", "tolerance: 5%"},
		{"contains: QUEUED", "contain: QUEUED"},
		{"contains: QUEUED", ""},
		{"phases:", "steady_state: [primary > 5%]\nphases:"},
		{"phases:", "correlate: { order: [trace] }\nphases:"},
	} {
		bad := strings.Replace(string(src), c[0], c[1], 1)
		if bad == string(src) {
			t.Errorf("%q is not in the file", c[0])
		}
		if fits(t, s, "bad", []byte(bad)) == nil {
			t.Errorf("%q for %q is taken", c[1], c[0])
		}
		if _, err := LoadPlan("bad", []byte(bad), 1); err == nil {
			t.Errorf("%q for %q loads", c[1], c[0])
		}
	}
}

// TestSchemaTakesGoodForms takes what is not in a good file of its own.
func TestSchemaTakesGoodForms(t *testing.T) {
	s := compiledSchema(t)
	src, err := os.ReadFile("testdata/typo.base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"duration: 10s\n    load: { rate: 100/s }", "load: { steps: [{ rate: 100/s, for: 10s }] }"},
		{"rate: 100/s", "rate: 100/s, arrivals: poisson"},
		{"rate: 100/s", "clients: 3, think: 5ms"},
		{"breaker.leak: payments", "fallback.latency: { p99: 5s }"},
		{"breaker.leak: payments", "fallback.latency: { p99: 5s }, targets: checkout"},
		{"breaker.leak: payments", "unclassified.share: { max: 0% }"},
		{"breaker.leak: payments", "fallback.forbidden: {}"},
		{"stub: { status: 200 }", "upstream: h2c://127.0.0.1:1"},
		{"stub: { status: 200 }", "stub: { status: 200 }, tls: { protocols: h2 }"},
		{"hang: true", "settings: { initial_window_size: 1KiB }, match: { peer: 127.0.0.1 }"},
		{"hang: true", "h2: { reset: { code: CANCEL } }, latency: { fixed: 5ms }"},
	} {
		good := []byte(strings.Replace(string(src), c[0], c[1], 1))
		if err := fits(t, s, "good", good); err != nil {
			t.Errorf("%q: %v", c[1], err)
		}
		if _, err := LoadPlan("good", good, 1); err != nil {
			t.Errorf("%q: %v", c[1], err)
		}
	}
}
