package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// described is the document, as a reader of it sees it.
type described struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]json.RawMessage `json:"content"`
			Headers map[string]json.RawMessage `json:"headers"`
		} `json:"responses"`
		RequestBody json.RawMessage `json:"requestBody"`
	} `json:"paths"`
	compiler *jsonschema.Compiler
}

func describedBy(t *testing.T, text string) described {
	t.Helper()
	var d described
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	raw, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d.compiler = jsonschema.NewCompiler()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("mem:///openapi.json", raw); err != nil {
		t.Fatal(err)
	}
	return d
}

// check says what is wrong with a value by the schema at a place in the document.
func (d described) check(place []string, text []byte) error {
	for k, p := range place {
		place[k] = strings.NewReplacer("~", "~0", "/", "~1").Replace(p)
	}
	schema, err := d.compiler.Compile("mem:///openapi.json#/" + strings.ReplaceAll(strings.Join(place, "/"), " ", "%20"))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// answered checks an answer against the document.
func (d described) answered(method, path string, got answer) error {
	status := fmt.Sprint(got.status)
	r, ok := d.Paths[path][strings.ToLower(method)].Responses[status]
	if !ok {
		return fmt.Errorf("status %s is not described", status)
	}
	kind := got.header.Get("Content-Type")
	if _, ok := r.Content[kind]; !ok {
		return fmt.Errorf("the type %q is not described", kind)
	}
	for name := range r.Headers {
		if got.header.Get(name) == "" && name != control.HeaderOpen {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	texts := []string{got.body}
	switch media, _, _ := mime.ParseMediaType(kind); media {
	case "text/plain":
		quoted, _ := json.Marshal(got.body)
		texts = []string{string(quoted)}
	case "application/x-ndjson":
		texts = slices.Collect(strings.Lines(got.body))
	}
	for _, text := range texts {
		place := []string{"paths", path, strings.ToLower(method), "responses", status, "content", kind, "schema"}
		if err := d.check(place, []byte(text)); err != nil {
			return fmt.Errorf("%w in %s", err, text)
		}
	}
	return nil
}

// Each operation gives each status that the document has for it, and no other, and what it
// answers is as described; so is what it is sent, where that is accepted.
func TestDocumentIsTrue(t *testing.T) {
	one := begin(t, control.Config{}, injector.Config{Lease: time.Hour}, "dep")
	two := begin(t, control.Config{Order: []string{"out"}}, injector.Config{}, "one", "two")
	guarded := begin(t, control.Config{Token: token}, injector.Config{}, "dep")
	lapsed := begin(t, control.Config{}, injector.Config{Lease: time.Nanosecond}, "dep")
	notOS := begin(t, control.Config{}, injector.Config{Listen: net.Listen}, "dep")
	doc := describedBy(t, one.want(200, "", "GET", "/openapi.json", "").body)

	const (
		fullPlan = `{"phases":{"out":[{"id":"a","match":{"method":"GET","path":"/*","header":{"A":"b"}},"select":{"kind":"ratio","num":1,"den":2},
			"hold":{"probes":1,"rejected":1,"max":1000},"latency":{"min":1,"max":2},"action":"respond","respond":{"status":503,"headers":{"B":"c"},"body":"x","retry_after":{"in":1000000000}},
			"form":{"drip":{"chunks":2,"over":1000}}},{"select":{"kind":"all"},"action":"reset","stealth":true}]}}`
		fault    = `{"rule":{"select":{"kind":"all"},"action":"reset"},"ttl":"1m"}`
		refusing = `{"rule":{"select":{"kind":"all"},"action":"refuse"},"ttl":"1m"}`
	)
	long := strings.Repeat(" ", 5<<20)
	seen := map[string]bool{}
	try := func(a api, method, path, body string, headers ...string) {
		t.Helper()
		got := a.ask(method, path, body, headers...)
		plain, _, _ := strings.Cut(path, "?")
		seen[fmt.Sprintf("%s %s %d", method, plain, got.status)] = true
		if err := doc.answered(method, plain, got); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
		if sent := doc.Paths[plain][strings.ToLower(method)].RequestBody; sent != nil && body != "" && got.status < 300 {
			place := []string{"paths", plain, strings.ToLower(method), "requestBody", "content", "application/json", "schema"}
			if err := doc.check(place, []byte(body)); err != nil {
				t.Errorf("%s %s accepted what is not described: %v", method, path, err)
			}
		}
	}
	until(t, "the lease is over", func() bool { return lapsed.state().Injectors[0].Lease.Lapsed })
	for range 2 {
		one.call(0)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			method = strings.ToUpper(method)
			try(guarded, method, path, "")
			try(guarded, method, path, "", "Host", "evil.example")
			if doc.Paths[path][strings.ToLower(method)].RequestBody != nil {
				try(one, method, path, "{", "Content-Type", "text/plain")
				try(one, method, path, "{")
				try(one, method, path, long)
			}
		}
	}
	for _, path := range []string{"/v1/state", "/v1/plan", "/v1/ledger", "/metrics", "/openapi.json"} {
		try(one, "GET", path, "")
	}
	for _, op := range [][2]string{{"GET", "/v1/plan"}, {"PUT", "/v1/plan"}, {"POST", "/v1/faults"}, {"DELETE", "/v1/faults"}, {"POST", "/v1/clear"}} {
		try(two, op[0], op[1]+"?injector=", fault)
		try(two, op[0], op[1]+"?injector=three", "")
	}
	try(one, "GET", "/v1/ledger?since=x", "")
	try(one, "PUT", "/v1/plan", fullPlan)
	try(one, "GET", "/v1/plan", "")
	try(one, "PUT", "/v1/plan", hangs, "If-Match", `"x"`)
	try(one, "PUT", "/v1/plan", `{"phases":{"":[]}}`)
	try(one, "POST", "/v1/faults", fault)
	try(one, "GET", "/v1/state", "")
	try(one, "POST", "/v1/faults", `{"rule":{"action":"reset"},"ttl":"1m"}`)
	try(one, "POST", "/v1/faults", `{"rule":{"action":"reset"},"ttl":"1h"}`)
	try(one, "DELETE", "/v1/faults", "")
	try(one, "POST", "/v1/clear", "")
	try(one, "POST", "/v1/clear", "{}")
	try(one, "POST", "/v1/lease", "{}")
	try(one, "POST", "/v1/phase", `{"name":"out"}`)
	try(one, "GET", "/v1/state", "")
	try(one, "POST", "/v1/phase", `{"name":"nowhere"}`)
	try(one, "POST", "/v1/phase", `{}`)
	try(two, "POST", "/v1/phase", `{"next":true}`)
	try(two, "POST", "/v1/phase", `{"next":true}`)
	try(two, "POST", "/v1/lease", "")
	try(lapsed, "PUT", "/v1/plan", hangs)
	try(lapsed, "POST", "/v1/faults", fault)
	try(lapsed, "POST", "/v1/phase", `{"name":"out"}`)
	try(lapsed, "GET", "/v1/state", "")
	try(notOS, "POST", "/v1/faults", refusing)
	try(notOS, "PUT", "/v1/plan", `{"phases":{"out":[{"select":{"kind":"all"},"action":"refuse"}]}}`)
	try(notOS, "POST", "/v1/phase", `{"name":"out"}`)
	try(notOS, "PUT", "/v1/plan", `{"phases":{"out":[{"select":{"kind":"all"},"action":"refuse"}]}}`)

	try(one, "GET", "/v1/stream", "")
	var open []*websocket.Conn
	for range 32 {
		c, resp, err := one.stream(nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		seen[fmt.Sprintf("GET /v1/stream %d", resp.StatusCode)] = true
	}
	_, text, err := open[0].ReadMessage()
	if err == nil {
		err = doc.check([]string{"components", "schemas", "StreamMessage"}, text)
	}
	if err != nil {
		t.Error(err)
	}
	try(one, "GET", "/v1/stream", "", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")

	promised := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for status := range op.Responses {
				promised[strings.ToUpper(method)+" "+path+" "+status] = true
			}
		}
	}
	// A port that the system does not give back cannot be had in a test.
	delete(promised, "POST /v1/clear 500")
	delete(promised, "DELETE /v1/faults 500")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(promised)), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("promised - given +:\n%s", diff)
	}
}

// The document says no when something is not as described.
func TestDocumentRefuses(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	doc := describedBy(t, a.want(200, "", "GET", "/openapi.json", "").body)
	for what, text := range map[string]string{
		"Rule":     `{"select":{"kind":"all"},"action":"hang","speed":1}`,
		"Select":   `{"num":1}`,
		"Latency":  `{"min":"1s"}`,
		"State":    `{}`,
		"Problem":  `{"code":1,"message":""}`,
		"NewFault": `{"rule":{"select":{"kind":"all"},"action":"explode"},"ttl":"1s"}`,
	} {
		if err := doc.check([]string{"components", "schemas", what}, []byte(text)); err == nil {
			t.Errorf("%s may be %s", what, text)
		}
	}
}
