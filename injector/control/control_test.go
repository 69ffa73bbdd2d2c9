package control_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// patience bounds what must happen at once on any machine.
const patience = 10 * time.Second

// api is an API under test, with what it controls.
type api struct {
	*control.Server
	t    testing.TB
	rec  *trace.Recorder
	deps []*injector.Injector
	open *[]*websocket.Conn // streams
}

// begin starts an API over injectors with these names, each with the phases out (503) and
// slow (50 ms), in front of which is the phase that is entered.
func begin(t testing.TB, cfg control.Config, in injector.Config, names ...string) api {
	t.Helper()
	a := api{t: t, rec: trace.NewRecorder(time.Now()), open: new([]*websocket.Conn)}
	for _, name := range names {
		in := in
		in.Name, in.Recorder = name, a.rec
		all := fault.Select{Kind: fault.SelectAll}
		in.Script = fault.Script{Phases: map[string][]fault.Rule{
			"out":  {{ID: "", Select: fault.Select{Kind: fault.SelectRatio, Num: 1, Den: 2}, Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}}},
			"slow": {{Select: all, Action: fault.ActionPass, Latency: fault.Latency{Min: 50 * time.Millisecond, Max: 50 * time.Millisecond}}},
		}}
		i, err := injector.Start(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { i.Close() })
		a.deps = append(a.deps, i)
	}
	cfg.Injectors, cfg.Recorder = a.deps, a.rec
	s, err := control.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.Server = s
	t.Cleanup(func() {
		a.hangUp()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// until polls for what happens in another goroutine that tells nobody.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("still not: " + what)
		}
	}
}

// answer is what the API said.
type answer struct {
	status int
	header http.Header
	body   string
}

// code is the word of a problem.
func (a answer) code() string {
	var p control.Problem
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Code
}

// ask sends a request. Headers are names and values in turn; a body is called JSON.
func (a api) ask(method, path, body string, headers ...string) answer {
	a.t.Helper()
	req, err := http.NewRequest(method, a.URL()+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if method == http.MethodPost || method == http.MethodPut {
		req.Header.Set("Content-Type", "application/json")
	}
	for k := 0; k < len(headers); k += 2 {
		if headers[k] == "Host" {
			req.Host = headers[k+1]
		}
		req.Header.Set(headers[k], headers[k+1])
	}
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// want asks and compares the status, and the word of a problem.
func (a api) want(status int, code, method, path, body string, headers ...string) answer {
	a.t.Helper()
	got := a.ask(method, path, body, headers...)
	if got.status != status || got.status >= 400 && got.code() != code {
		a.t.Errorf("%s %s %s %v: %d %s, want %d %s", method, path, body, headers, got.status, got.body, status, code)
	}
	return got
}

// call sends a request to the dependency.
func (a api) call(n int) int {
	a.t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(a.deps[n].URL())
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (a api) state() control.State {
	a.t.Helper()
	var s control.State
	if err := json.Unmarshal([]byte(a.want(200, "", "GET", "/v1/state", "").body), &s); err != nil {
		a.t.Fatal(err)
	}
	return s
}

const hangs = `{"phases":{"out":[{"select":{"kind":"all"},"action":"hang"}]}}`

// A plan is read, replaced where it is the one that was read, and refused when it is wrong.
func TestPlan(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	first := a.want(200, "", "GET", "/v1/plan", "")
	var script fault.Script
	if err := json.Unmarshal([]byte(first.body), &script); err != nil || script.Phases["out"][0].ID != "out/1" {
		t.Errorf("%v, %s", err, first.body)
	}
	tag := first.header.Get("ETag")
	if got := a.state().Injectors[0].ETag; got != tag || tag == "" {
		t.Errorf("the state has the tag %s, the plan %s", got, tag)
	}
	second := a.want(200, "", "PUT", "/v1/plan", first.body, "If-Match", tag)
	if again := second.header.Get("ETag"); again == tag || second.body != `{"injector":"dep","plan":2}`+"\n" {
		t.Errorf("%s, tag %s", second.body, again)
	}
	refused := a.want(412, "stale", "PUT", "/v1/plan", hangs, "If-Match", tag)
	if got := refused.header.Get("ETag"); got != second.header.Get("ETag") {
		t.Errorf("who is stale is told the tag %s", got)
	}
	a.want(412, "stale", "PUT", "/v1/plan", hangs, "If-Match", "W/"+second.header.Get("ETag"))
	a.want(200, "", "PUT", "/v1/plan", hangs, "If-Match", `"x", `+second.header.Get("ETag"))
	a.want(200, "", "PUT", "/v1/plan", hangs, "If-Match", "*")
	wrong := a.want(422, "invalid", "PUT", "/v1/plan", `{"phases":{"out":[{"select":{"kind":"ratio","num":3,"den":2},"action":"hang"},{"select":{"kind":"all"},"action":"explode"}]}}`)
	var p control.Problem
	if err := json.Unmarshal([]byte(wrong.body), &p); err != nil || len(p.Problems) != 2 || !strings.Contains(p.Problems[0], "phase out: fault 1: select.num: a ratio of 3 in 2") {
		t.Errorf("%v, %s", err, wrong.body)
	}
	a.want(422, "invalid", "PUT", "/v1/plan", `{"phases":{"out":[`+strings.Repeat(`{},`, 1000)+`{}]}}`)
	if got := a.state().Injectors[0].Plan; got != 4 {
		t.Errorf("plan %d is in force", got)
	}
	for say, body := range map[string]string{
		"unknown field":        `{"phasez":{}}`,
		"key \"phases\" twice": `{"phases":{},"phases":{}}`,
		"key \"PHASES\" twice": `{"phases":{},"PHASES":{}}`,
		"goes on after":        `{} {}`,
		"is not JSON":          `{"phases":`,
		"not what is expected": `[]`,
		"not UTF-8":            "{\"phases\":{\"\xff\":[]}}",
		"nested more than":     strings.Repeat("[", 100),
	} {
		if got := a.want(400, "bad_body", "PUT", "/v1/plan", body); !strings.Contains(got.body, strings.ReplaceAll(say, `"`, `\"`)) {
			t.Errorf("%s: %s", body, got.body)
		}
	}
}

// An added fault acts at once, and is gone after its time, or with a clear.
func TestFaults(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	const rule = `{"rule":{"select":{"kind":"all"},"action":"respond","respond":{"status":418}},"ttl":"15m"}`
	got := a.want(201, "", "POST", "/v1/faults", rule)
	if !strings.Contains(got.body, `"id":"added/1","until":"20`) {
		t.Error(got.body)
	}
	if s := a.call(0); s != 418 {
		t.Errorf("the dependency answers %d", s)
	}
	for _, clear := range [][2]string{{"DELETE", "/v1/faults"}, {"POST", "/v1/clear"}, {"POST", "/v1/clear?injector=dep"}} {
		a.want(201, "", "POST", "/v1/faults", rule)
		if got := a.want(200, "", clear[0], clear[1], ""); got.body != `{"cleared":["dep"]}`+"\n" {
			t.Error(got.body)
		}
		if s := a.call(0); s != 200 {
			t.Errorf("after %s the dependency answers %d", clear, s)
		}
	}
	for body, code := range map[string]string{
		`{"rule":{"select":{"kind":"all"},"action":"hang"}}`:               "invalid",
		`{"rule":{"select":{"kind":"all"},"action":"hang"},"ttl":"0s"}`:    "invalid",
		`{"rule":{"select":{"kind":"all"},"action":"hang"},"ttl":"16m"}`:   "invalid",
		`{"rule":{"select":{"kind":"all"},"action":"hang"},"ttl":"30"}`:    "invalid",
		`{"rule":{"select":{"kind":"all"},"action":"explode"},"ttl":"1s"}`: "invalid",
	} {
		a.want(422, code, "POST", "/v1/faults", body)
	}
	for body, says := range map[string]string{
		`{"rule":{"action":"hang"},"ttl":1000}`:                               "ttl is a JSON number, and a string belongs there",
		`{"rule":{"action":"pass","latency":"5ms"},"ttl":"1s"}`:               "rule.latency is a JSON string, and an object belongs there",
		`{"rule":{"action":"pass","latency":{"min":"5ms"}},"ttl":"1s"}`:       "rule.latency.min is a JSON string, and a number of nanoseconds belongs there",
		`{"rule":{"action":"respond","respond":{"status":"503"}},"ttl":"1s"}`: "rule.respond.status is a JSON string, and a number of its range belongs there",
		`{"rule":{"action":"pass","stealth":1},"ttl":"1s"}`:                   "rule.stealth is a JSON number, and true or false belongs there",
		`{"rule":{"action":"pass","latency":{"trace":5}},"ttl":"1s"}`:         "rule.latency.trace is a JSON number, and an array belongs there",
		`[]`: "it is a JSON array, and an object belongs there",
	} {
		if got := a.want(400, "bad_body", "POST", "/v1/faults", body); !strings.Contains(got.body, says) {
			t.Errorf("%s: %s, not %q", body, got.body, says)
		}
	}
	a.want(400, "bad_body", "POST", "/v1/faults", ``)
}

func TestPhases(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "one", "two")
	for _, next := range []string{"out", "slow"} {
		if got := a.want(200, "", "POST", "/v1/phase", `{"next":true}`); got.body != `{"phase":"`+next+`"}`+"\n" {
			t.Errorf("%s, want %s", got.body, next)
		}
	}
	a.want(409, "no_next", "POST", "/v1/phase", `{"next":true}`)
	a.want(404, "unknown_phase", "POST", "/v1/phase", `{"name":"outage"}`)
	a.want(422, "invalid", "POST", "/v1/phase", `{}`)
	a.want(422, "invalid", "POST", "/v1/phase", `{"next":true,"name":"out"}`)
	a.want(200, "", "POST", "/v1/phase", `{"name":""}`)
	for _, i := range a.state().Injectors {
		if i.Phase != "" {
			t.Errorf("%s is in phase %q", i.Injector, i.Phase)
		}
	}
	var marks []string
	for _, m := range a.rec.Snapshot(trace.Header{}).Marks {
		if m.Subject == "two" {
			marks = append(marks, string(m.Kind)+" "+m.Text)
		}
	}
	if diff := cmp.Diff([]string{"fault_on out", "fault_on slow", "fault_off out", "fault_off slow"}, marks); diff != "" {
		t.Error(diff)
	}
	a.want(400, "which_injector", "GET", "/v1/plan", "")
	a.want(404, "unknown_injector", "GET", "/v1/plan?injector=three", "")
	a.want(200, "", "GET", "/v1/plan?injector=two", "")
}

func TestLease(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{Lease: time.Minute}, "dep")
	if got := a.want(200, "", "POST", "/v1/lease", ""); !strings.Contains(got.body, `{"until":"20`) {
		t.Error(got.body)
	}
	short := begin(t, control.Config{}, injector.Config{Lease: time.Millisecond}, "dep")
	until(t, "the lease lapsed", func() bool { return short.state().Injectors[0].Lease.Lapsed })
	short.want(409, "lapsed", "POST", "/v1/phase", `{"name":"out"}`)
	short.want(409, "lapsed", "PUT", "/v1/plan", hangs)
	short.want(409, "lapsed", "POST", "/v1/faults", `{"rule":{"select":{"kind":"all"},"action":"hang"},"ttl":"1s"}`)
	if s := short.call(0); s != 200 {
		t.Errorf("the dependency answers %d", s)
	}
	none := begin(t, control.Config{}, injector.Config{}, "dep")
	none.want(409, "no_lease", "POST", "/v1/lease", `{}`)
}

// The ledger is read from a place on; what had no end is told of.
func TestLedger(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{Limits: injector.Limits{Faulted: 1}}, "dep")
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	for range 4 {
		a.call(0)
	}
	got := a.want(200, "", "GET", "/v1/ledger", "")
	var all []string
	for line := range strings.Lines(got.body) {
		var l control.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Seq != l.N+1 || l.Injector != "dep" {
			t.Errorf("%+v", l)
		}
		all = append(all, l.Rule+":"+l.Spared)
	}
	if diff := cmp.Diff([]string{"out/1:", ":", ":rule out/1: limit faulted", ":"}, all); diff != "" {
		t.Error(diff)
	}
	if next := got.header.Get(control.HeaderNext); next != "4" {
		t.Errorf("next is %s", next)
	}
	// An answer reaches its caller an instant before its line has its end.
	got = a.want(200, "", "GET", "/v1/ledger?since=3", "")
	if strings.Count(got.body, "\n") != 1 || !strings.HasPrefix(got.body, `{"n":3,"seq":4,`) {
		t.Error(got.body)
	}
	if got = a.want(200, "", "GET", "/v1/ledger?since=9", ""); got.body != "" || got.header.Get(control.HeaderNext) != "9" {
		t.Errorf("%q, next %s", got.body, got.header.Get(control.HeaderNext))
	}
	a.want(400, "bad_since", "GET", "/v1/ledger?since=-1", "")
	a.want(200, "", "PUT", "/v1/plan", hangs)
	a.want(201, "", "POST", "/v1/faults", `{"rule":{"select":{"kind":"all"},"action":"pass","latency":{"min":60000000000,"max":60000000000}},"ttl":"1m"}`)
}

// A fault that says nothing of whom it selects is for all, as in an experiment.
func TestFaultForAll(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	a.want(201, "", "POST", "/v1/faults", `{"rule":{"action":"respond","respond":{"status":418}},"ttl":"15m"}`)
	if s := a.call(0); s != 418 {
		t.Errorf("an added fault answered %d", s)
	}
	a.want(200, "", "POST", "/v1/clear", "")
	a.want(200, "", "PUT", "/v1/plan", `{"phases":{"out":[{"action":"respond","respond":{"status":418}}]}}`)
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	if s := a.call(0); s != 418 {
		t.Errorf("a planned fault answered %d", s)
	}
}

// What has no end yet is named, so that it can be read again.
func TestLedgerOfWhatIsOpen(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	a.want(200, "", "PUT", "/v1/plan", hangs)
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	ended := make(chan int)
	go func() { ended <- a.call(0) }()
	until(t, "a request arrived", func() bool { return a.state().Recorded > 0 })
	if got := a.want(200, "", "GET", "/v1/ledger", ""); got.header.Get(control.HeaderOpen) != "0" || got.header.Get(control.HeaderNext) != "1" {
		t.Errorf("%v", got.header)
	}
	a.want(200, "", "POST", "/v1/clear", "")
	if s := <-ended; s != 0 {
		t.Errorf("who hung got %d", s)
	}
	// A caller can see the end of its connection an instant before the ledger has it.
	until(t, "the line has its end", func() bool {
		got := a.want(200, "", "GET", "/v1/ledger", "")
		return got.header.Get(control.HeaderOpen) == "" && strings.Contains(got.body, `"outcome":"hang"`)
	})
}

// Of many who replace the same plan, one does.
func TestOneOfManyReplacesAPlan(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	// Long, so that one is still looked at when the next one comes.
	rules := make([]string, 60)
	for k := range rules {
		rules[k] = fmt.Sprintf(`{"match":{"path":"/%d"},"select":{"kind":"all"},"action":"hang"}`, k)
	}
	plan := `{"phases":{"out":[` + strings.Join(rules, ",") + `]}}`
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	for range 10 {
		tag := a.state().Injectors[0].ETag
		start, won := make(chan struct{}), make(chan int)
		for range 8 {
			go func() {
				req, _ := http.NewRequest(http.MethodPut, a.URL()+"/v1/plan", strings.NewReader(plan))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("If-Match", tag)
				<-start
				resp, err := tr.RoundTrip(req)
				if err != nil {
					won <- 0
					return
				}
				resp.Body.Close()
				won <- resp.StatusCode
			}()
		}
		close(start)
		winners := 0
		for range 8 {
			switch s := <-won; s {
			case 200:
				winners++
			case 412:
			default:
				t.Errorf("status %d", s)
			}
		}
		if winners != 1 {
			t.Fatalf("%d replaced the plan with the tag %s", winners, tag)
		}
	}
}
