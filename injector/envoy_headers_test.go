package injector_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// envoyAnswered is what a caller sees of an answer.
type envoyAnswered struct {
	Status       int
	Body         string // of a long one, its length
	Type         string
	GRPC         string
	Message      string
	Late, Slowly bool // by at least 300 ms before the head; 1 s to 4 s for the body, where 2 s are asked for
}

// envoyCase is what a request asks for and gets, of Envoy as of an injector.
type envoyCase struct {
	asks  string // headers, as name: value, one a line; without x-envoy-fault-
	want  envoyAnswered
	notes string // of the ledger of the injector
	long  bool   // it asks for an answer of 20000 bytes
}

// envoyCases hold for both. TestZooEnvoyHeaders says so of Envoy.
func envoyCases() []envoyCase {
	passed := envoyAnswered{Status: 200, Body: "sound", Type: "text/plain"}
	aborted := func(status int) envoyAnswered {
		return envoyAnswered{Status: status, Body: "fault filter abort", Type: "text/plain"}
	}
	grpc := func(code string) envoyAnswered {
		return envoyAnswered{Status: 200, Type: "application/grpc", GRPC: code, Message: "fault filter abort"}
	}
	late := func(a envoyAnswered) envoyAnswered { a.Late = true; return a }
	const asGRPC = "\ncontent-type: application/grpc"
	return []envoyCase{
		{asks: "", want: passed},
		{asks: "abort-request: 503", want: aborted(503)},
		{asks: "abort-request: 200", want: aborted(200)},
		{asks: "abort-request: 599", want: aborted(599)},
		{asks: "abort-request: +418", want: aborted(418)},
		{asks: "abort-request: 503\nabort-request: 504", want: aborted(503)},
		{asks: "abort-request: 199", want: passed, notes: `x-envoy-fault-abort-request "199" is no status from 200 to 599 and is ignored`},
		{asks: "abort-request: 600", want: passed, notes: "is no status"},
		{asks: "abort-request: soon", want: passed, notes: `"soon" is no number and is ignored`},
		{asks: "abort-request: -503", want: passed, notes: "is no number"},
		{asks: "abort-request: 5e2", want: passed, notes: "is no number"},
		{asks: "abort-request: 600\nabort-grpc-request: 5", want: aborted(200), notes: "is no status"},
		{asks: "abort-grpc-request: 14", want: aborted(200)},
		{asks: "abort-grpc-request: 14" + asGRPC, want: grpc("14")},
		{asks: "abort-grpc-request: 0" + asGRPC, want: grpc("0")},
		{asks: "abort-grpc-request: 99" + asGRPC + "+proto", want: grpc("99")},
		{asks: "abort-grpc-request: 14\ncontent-type: application/grpc-web", want: aborted(200)},
		{asks: "abort-grpc-request: x" + asGRPC, want: passed, notes: "is no number"},
		{asks: "abort-request: 503\nabort-grpc-request: 5" + asGRPC, want: grpc("14")},
		{asks: "abort-request: 400" + asGRPC, want: grpc("13")},
		{asks: "abort-request: 401" + asGRPC, want: grpc("16")},
		{asks: "abort-request: 403" + asGRPC, want: grpc("7")},
		{asks: "abort-request: 404" + asGRPC, want: grpc("12")},
		{asks: "abort-request: 429" + asGRPC, want: grpc("14")},
		{asks: "abort-request: 502" + asGRPC, want: grpc("14")},
		{asks: "abort-request: 504" + asGRPC, want: grpc("14")},
		{asks: "abort-request: 500" + asGRPC, want: grpc("2")},
		{asks: "abort-request: 503\nabort-request-percentage: 0", want: passed},
		{asks: "abort-request: 503\nabort-request-percentage: 100", want: aborted(503)},
		{asks: "abort-request: 503\nabort-request-percentage: 400", want: aborted(503)},
		{asks: "abort-request: 503\nabort-request-percentage: many", want: aborted(503), notes: `x-envoy-fault-abort-request-percentage "many" is no number`},
		{asks: "abort-request-percentage: many", want: passed},
		{asks: "delay-request: 300", want: late(passed)},
		{asks: "delay-request: 300\nabort-request: 500", want: late(aborted(500))},
		{asks: "delay-request: 300\nabort-grpc-request: 4" + asGRPC, want: late(grpc("4"))},
		{asks: "delay-request: 300\ndelay-request-percentage: 0", want: passed},
		{asks: "delay-request: 0", want: passed},
		{asks: "delay-request: -300", want: passed, notes: "is no number"},
		{asks: "delay-request: 0.3", want: passed, notes: "is no number"},
		{asks: "throughput-response: 10", long: true, want: envoyAnswered{Status: 200, Body: "20000 bytes", Type: "text/plain", Slowly: true}},
		{asks: "throughput-response: 0", long: true, want: envoyAnswered{Status: 200, Body: "20000 bytes", Type: "text/plain"}},
		{asks: "throughput-response: 10\nthroughput-response-percentage: 0", long: true, want: envoyAnswered{Status: 200, Body: "20000 bytes", Type: "text/plain"}},
		{asks: "throughput-response: fast", long: true, want: envoyAnswered{Status: 200, Body: "20000 bytes", Type: "text/plain"}, notes: "is no number"},
		{asks: "throughput-response: 1\nabort-request: 503", want: aborted(503)},
	}
}

// request asks for the case's fault.
func (c envoyCase) request(t testing.TB, url string) *http.Request {
	t.Helper()
	path := url + "/"
	if c.long {
		path = url + "/long"
	}
	r, err := http.NewRequest(http.MethodGet, path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(c.asks, "\n") {
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case name == "content-type":
			r.Header.Add(name, value)
		case ok:
			r.Header.Add("x-envoy-fault-"+name, value)
		}
	}
	return r
}

// ask sends it.
func (c envoyCase) ask(t testing.TB, client *http.Client, url string) envoyAnswered {
	t.Helper()
	begin := time.Now()
	resp, err := client.Do(c.request(t, url))
	if err != nil {
		t.Fatalf("%s: %v", c.asks, err)
	}
	defer resp.Body.Close()
	head := time.Now()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", c.asks, err)
	}
	took := time.Since(head)
	got := envoyAnswered{
		Status: resp.StatusCode, Body: string(body), Type: strings.Split(resp.Header.Get("Content-Type"), ";")[0],
		GRPC: resp.Header.Get("Grpc-Status"), Message: resp.Header.Get("Grpc-Message"),
		Late: head.Sub(begin) >= 300*time.Millisecond, Slowly: took >= time.Second && took <= 4*time.Second,
	}
	if len(body) == 20000 {
		got.Body = "20000 bytes"
	}
	return got
}

// envoyUpstream answers soundly.
func envoyUpstream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if r.URL.Path == "/long" {
		w.Write(make([]byte, 20000))
		return
	}
	io.WriteString(w, "sound")
}

func TestEnvoyHeaders(t *testing.T) {
	for _, c := range envoyCases() {
		synctest.Test(t, func(t *testing.T) { // Where time is what it should be.
			p := newPipes()
			stub := injector.Stub{Respond: fault.Respond{Body: "sound", Headers: map[string]string{"Content-Type": "text/plain"}}}
			if c.long {
				stub.Body, stub.Fill = "", 20000
			}
			d := start(t, injector.Config{Listen: p.listen, EnvoyHeaders: true, Stub: stub})
			client := newClient(p)
			begin := time.Now()
			got := c.ask(t, client, "http://dep")
			if took := time.Since(begin); took > 50*time.Millisecond && !got.Late && !got.Slowly {
				t.Errorf("%s: took %v", c.asks, took) // An abort is not slowed.
			}
			client.CloseIdleConnections()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.asks, diff)
			}
			a := d.attempts(t)[0]
			faulted := got.Late || got.Slowly || strings.Contains(got.Body+got.Message, "abort")
			if a.Rule == injector.EnvoyRule != faulted || a.Outcome != trace.OutcomeAnswered || a.Status != got.Status {
				t.Errorf("%s: the ledger has %+v", c.asks, a)
			}
			if !strings.Contains(a.Detail, c.notes) || c.notes == "" && a.Detail != "" {
				t.Errorf("%s: the ledger says %q, want %q", c.asks, a.Detail, c.notes)
			}
		})
	}
}

// Unless it is asked for, the headers are as any others.
func TestEnvoyHeadersAreOptIn(t *testing.T) {
	d := start(t, injector.Config{})
	c := envoyCase{asks: "abort-request: 503\ndelay-request: 300"}
	if got := c.ask(t, client(t), d.URL()); got.Status != 200 || d.State().Faulted != 0 {
		t.Errorf("%+v", got)
	}
	in, err := injector.Start(t.Context(), injector.Config{Recorder: trace.NewRecorder(time.Now()), EnvoyHeaders: true, TCP: &injector.TCP{Upstream: "127.0.0.1:1"}})
	if err == nil || !strings.Contains(err.Error(), "envoy headers are those of requests") {
		in.Close()
		t.Errorf("with TCP: %v", err)
	}
	own := rule(fault.ActionReset)
	own.ID = injector.EnvoyRule
	if _, err := injector.Start(t.Context(), injector.Config{Recorder: trace.NewRecorder(time.Now()), EnvoyHeaders: true, Script: scriptOf(own)}); err == nil {
		t.Error("a rule has the id of what requests ask for")
	}
}

// A share is exact in each hundred, and those of delay and abort are independent.
func TestEnvoyHeaderPercentages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		d := start(t, injector.Config{Listen: p.listen, EnvoyHeaders: true})
		client := newClient(p)
		c := envoyCase{asks: "abort-request: 503\nabort-request-percentage: 50\ndelay-request: 300\ndelay-request-percentage: 50"}
		both, late, aborted := 0, 0, 0
		for n := range 400 {
			got := c.ask(t, client, "http://dep")
			if got.Status == 503 {
				aborted++
			}
			if got.Late {
				late++
			}
			if got.Late && got.Status == 503 {
				both++
			}
			if n%100 == 99 && (aborted != (n+1)/2 || late != (n+1)/2) {
				t.Errorf("of %d requests %d were aborted and %d late", n+1, aborted, late)
			}
		}
		if both < 60 || both > 140 {
			t.Errorf("%d of 400 were both, want about 100", both)
		}
		client.CloseIdleConnections()
		envoyCase{}.ask(t, client, "http://dep") // This one asks for nothing.
		want := injector.RuleState{ID: injector.EnvoyRule, Action: fault.ActionPass, Seen: 400, Hit: uint64(aborted + late - both)}
		if s := d.State(); len(s.Rules) != 1 || !cmp.Equal(s.Rules[0], want) {
			t.Errorf("the state has %+v, want %+v", s.Rules, want)
		}
		client.CloseIdleConnections()
		if s := d.State(); s.Faulted != uint64(aborted+late-both) {
			t.Errorf("%d of them are counted", s.Faulted)
		}
	})
}

// What a request asks for comes before the rules, within the limits, and not when faults are off.
func TestEnvoyHeadersAreBounded(t *testing.T) {
	asked := envoyCase{asks: "abort-request: 418"}
	for name, c := range map[string]struct {
		cfg    injector.Config
		do     func(d dependency) // before the second request
		want   []int
		spared string
	}{
		"before rules": {want: []int{418, 418}},
		"faulted":      {cfg: injector.Config{Limits: injector.Limits{Faulted: 1}}, want: []int{418, 200}, spared: "rule header/envoy: limit faulted"},
		"storm":        {cfg: injector.Config{Limits: injector.Limits{PerSecond: 1}}, want: []int{418, 200}, spared: "rule header/envoy: limit per_second"},
		"after it":     {cfg: injector.Config{Limits: injector.Limits{PerSecond: 1}}, do: func(dependency) { time.Sleep(time.Second) }, want: []int{418, 418}},
		"cleared":      {do: func(d dependency) { d.Clear() }, want: []int{418, 200}},
		"one added":    {do: func(d dependency) { d.Clear(); d.Apply(rule(fault.ActionRespond), time.Minute) }, want: []int{418, 503}},
		"entered":      {do: func(d dependency) { d.Clear(); d.Enter("p") }, want: []int{418, 418}},
		"lapsed":       {cfg: injector.Config{Lease: time.Second}, do: func(dependency) { time.Sleep(2 * time.Second) }, want: []int{418, 200}},
		"renewed":      {cfg: injector.Config{Lease: time.Second}, do: func(d dependency) { time.Sleep(2 * time.Second); d.Renew() }, want: []int{418, 200}},
		"too early":    {cfg: injector.Config{Lease: time.Second}, do: func(d dependency) { time.Sleep(2 * time.Second); d.Enter("p"); d.Renew() }, want: []int{418, 200}},
		"and entered":  {cfg: injector.Config{Lease: time.Second}, do: func(d dependency) { time.Sleep(2 * time.Second); d.Renew(); d.Enter("p") }, want: []int{418, 418}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			c.cfg.Listen, c.cfg.EnvoyHeaders = p.listen, true
			d := start(t, c.cfg, rule(fault.ActionRespond))
			client := newClient(p)
			got := []int{asked.ask(t, client, "http://dep").Status}
			if c.do != nil {
				c.do(d)
			}
			got = append(got, asked.ask(t, client, "http://dep").Status)
			client.CloseIdleConnections()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if last := d.attempts(t)[1]; last.Spared != c.spared {
				t.Errorf("%s: the ledger has %+v", name, last)
			}
		})
	}
}

// Clear ends a delay that a request asked for.
func TestClearEndsAnEnvoyDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		d := start(t, injector.Config{Listen: p.listen, EnvoyHeaders: true})
		client := newClient(p)
		go func() {
			time.Sleep(time.Second)
			d.Clear()
		}()
		begin := time.Now()
		envoyCase{asks: "delay-request: 99999999999999999999"}.ask(t, client, "http://dep") // Beyond 64 bits.
		if took := time.Since(begin); took != 0 && took > 100*time.Millisecond {
			t.Errorf("a number that is none took %v", took)
		}
		envoyCase{asks: "delay-request: 18446744073709551615"}.ask(t, client, "http://dep")
		if took := time.Since(begin); took < time.Second || took > 2*time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
		client.CloseIdleConnections()
	})
}

// Over HTTP/2 a status of gRPC is one HEADERS, as clients of gRPC want it.
func TestEnvoyHeadersOverHTTP2(t *testing.T) {
	d := start(t, injector.Config{EnvoyHeaders: true})
	got := envoyCase{asks: "abort-request: 503\ncontent-type: application/grpc"}.ask(t, h2Client(t), d.URL())
	want := envoyAnswered{Status: 200, Type: "application/grpc", GRPC: "14", Message: "fault filter abort"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	resp, err := h2Client(t).Do(envoyCase{asks: "abort-grpc-request: 7\ncontent-type: application/grpc"}.request(t, d.URL()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.Header.Get("Content-Length") != "" || resp.Header.Get("Grpc-Status") != "7" || len(resp.Trailer) > 0 {
		t.Errorf("%+v", resp)
	}
}
