package injector_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

func TestAnswers(t *testing.T) {
	type seen struct {
		Status         int
		Type, Retry    string
		Length         string
		Body           string
		RecordedStatus int
	}
	for _, c := range []struct {
		name    string
		method  string
		respond fault.Respond
		want    seen
	}{
		{"status alone", "GET", fault.Respond{Status: 503}, seen{503, "", "", "0", "", 503}},
		{"text", "POST", fault.Respond{Status: 500, Body: "broken"}, seen{500, "text/plain; charset=utf-8", "", "6", "broken", 500}},
		{"JSON", "GET", fault.Respond{Status: 200, Body: ` {"state":"PAID"}`}, seen{200, "application/json", "", "17", ` {"state":"PAID"}`, 200}},
		{"no JSON", "GET", fault.Respond{Status: 200, Body: `{no}`}, seen{200, "text/plain; charset=utf-8", "", "4", `{no}`, 200}},
		{"headers", "GET", fault.Respond{Status: 429, Body: "{}", Headers: map[string]string{"retry-after": "3", "content-type": "text/x"}}, seen{429, "text/x", "3", "2", "{}", 429}},
		{"HEAD", "HEAD", fault.Respond{Status: 200, Body: "not sent"}, seen{200, "", "", "8", "", 200}},
		{"no content", "GET", fault.Respond{Status: 204}, seen{204, "", "", "", "", 204}},
		{"big", "GET", fault.Respond{Status: 200, Body: strings.Repeat("x", 1<<20)}, seen{200, "text/plain; charset=utf-8", "", "1048576", strings.Repeat("x", 1<<20), 200}},
	} {
		check := func(t *testing.T, d dependency, want seen) {
			req, err := http.NewRequest(c.method, d.URL()+"/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			a := d.only(t)
			h := resp.Header
			got := seen{resp.StatusCode, h.Get("Content-Type"), h.Get("Retry-After"), h.Get("Content-Length"), string(body), a.Status}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("answer (-want +got):\n" + diff)
			}
			if a.Outcome != trace.OutcomeAnswered || a.Method != c.method || a.Path != "/x" || a.Dep < a.Arr || a.Peer == "" {
				t.Errorf("recorded %+v", a)
			}
		}
		t.Run("fault/"+c.name, func(t *testing.T) {
			r := rule(fault.ActionRespond)
			r.Respond = c.respond
			check(t, start(t, injector.Config{}, r), c.want)
		})
		t.Run("stub/"+c.name, func(t *testing.T) {
			check(t, start(t, injector.Config{Stub: injector.Stub{Respond: c.respond}}), c.want)
		})
	}
}

// The caller cannot have had the answer before Dep, nor sent its request after
// Arr: what it does next is ordered by these.
func TestInstantsBoundWhatTheCallerKnew(t *testing.T) {
	d := start(t, injector.Config{Stub: injector.Stub{Respond: fault.Respond{Body: "ok"}}})
	o := observe(t, d.Addr())
	const n = 3000
	buf := make([]byte, 4096)
	sent, got := make([]time.Duration, n), make([]time.Duration, n)
	for k := range n {
		sent[k] = d.rec.Since(time.Now())
		io.WriteString(o.conn, request("GET", 0))
		for have := ""; !strings.HasSuffix(have, "\r\n\r\nok"); {
			m, err := o.conn.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			have += string(buf[:m])
		}
		got[k] = d.rec.Since(time.Now())
	}
	for k, a := range d.attempts(t) {
		if a.Arr < sent[k] || a.Dep > got[k] {
			t.Errorf("call %d: sent %v, arrived %v, departed %v, answered %v", k, sent[k], a.Arr, a.Dep, got[k])
		}
	}
}

func TestAttemptsAreIdentifiedAndStamped(t *testing.T) {
	cor := match.Correlator{Run: 7, Phases: []string{"p", "next"}}
	d := start(t, injector.Config{Correlator: cor, Script: fault.Script{Phases: map[string][]fault.Rule{
		"p":    {ratio(rule(fault.ActionRespond), 1, 1)},
		"next": {{ID: "hosts", Match: fault.Match{Header: map[string]string{"host": "dep"}}, Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass}},
	}}})
	c := client(t)
	call := func(host string, carry bool, phase int) {
		req, err := http.NewRequest(http.MethodGet, d.URL()+"/a/b?c=d", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		if carry {
			cor.Carry(req.Header.Set, phase, 12)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	call("x", true, 0)
	d.Enter("next")
	call("dep", true, 1)
	call("x", false, 1)
	d.Enter("elsewhere")
	call("x", false, 1)
	type row struct{ ID, By, Phase, Rule, Path string }
	want := []row{
		{"p/12", "traceparent", "p", "p/1", "/a/b"},
		{"next/12", "traceparent", "next", "hosts", "/a/b"},
		{"", "", "next", "", "/a/b"},
		{"", "", "elsewhere", "", "/a/b"},
	}
	if diff := cmp.Diff([]fault.Count{{Rule: "hosts", Seen: 1, Hit: 1}}, d.Fired("next")); diff != "" {
		t.Error("fired (-want +got):\n" + diff)
	}
	var got []row
	for _, a := range d.attempts(t) {
		got = append(got, row{a.ID, a.By, a.Phase, a.Rule, a.Path})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("attempts (-want +got):\n" + diff)
	}
}

func TestFiredOfAPhaseThatNeverCame(t *testing.T) {
	d := start(t, injector.Config{Script: fault.Script{Phases: map[string][]fault.Rule{"later": {rule(fault.ActionReset)}}}})
	if diff := cmp.Diff([]fault.Count{{Rule: "later/1"}}, d.Fired("later")); diff != "" {
		t.Error("fired (-want +got):\n" + diff)
	}
	if got := d.Fired("unknown"); len(got) != 0 {
		t.Errorf("fired in an unknown phase: %+v", got)
	}
}

// Every request is recorded, those too that a server could answer by itself.
func TestOptionsStarIsRecorded(t *testing.T) {
	d := start(t, injector.Config{}, rule(fault.ActionRespond))
	o := observe(t, d.Addr())
	o.say("OPTIONS * HTTP/1.1\r\nHost: dep\r\n\r\n")
	resp, err := http.ReadResponse(o.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := d.only(t); resp.StatusCode != http.StatusServiceUnavailable || a.Path != "*" {
		t.Errorf("status %d, recorded %+v", resp.StatusCode, a)
	}
}

func TestStartErrors(t *testing.T) {
	rec := trace.NewRecorder(time.Now())
	other := start(t, injector.Config{})
	for _, c := range []struct {
		name string
		cfg  injector.Config
		want []string
	}{
		{"port in use", injector.Config{Recorder: rec, Addr: other.Addr()}, []string{"injector dep: ", other.Addr(), "taken by another process", "port 0"}},
		{"no address", injector.Config{Recorder: rec, Addr: "127.0.0.1"}, []string{"listen on 127.0.0.1", "host:port"}},
		{"no recorder", injector.Config{}, []string{"no recorder"}},
		{"upstream", injector.Config{Recorder: rec, Upstream: "localhost:80"}, []string{`"localhost:80"`, "http://host:port"}},
		{"unreadable upstream", injector.Config{Recorder: rec, Upstream: "http://a b"}, []string{"read upstream"}},
		{"both", injector.Config{Recorder: rec, Upstream: "http://127.0.0.1:1", Stub: injector.Stub{Latency: 1}}, []string{"both an upstream and a stub"}},
		{"stub", injector.Config{Recorder: rec, Stub: injector.Stub{Respond: fault.Respond{Status: 99}, Latency: -1}}, []string{"stub: respond.status: 99", "latency -1ns"}},
		{"script", injector.Config{Recorder: rec, Script: fault.Script{Phases: map[string][]fault.Rule{"p": {{}}}}}, []string{"phase p: fault 1: select.kind", "fault 1: action"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Name = "dep"
			i, err := injector.Start(t.Context(), c.cfg)
			if err == nil {
				i.Close()
				t.Fatal("it starts")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
	_, err := injector.Start(t.Context(), injector.Config{Name: "dep", Recorder: rec, Addr: other.Addr()})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestURL(t *testing.T) {
	for addr, host := range map[string]string{"": "127.0.0.1", "0.0.0.0:0": "127.0.0.1", "localhost:0": "127.0.0.1"} {
		d := start(t, injector.Config{Addr: addr})
		_, port, err := net.SplitHostPort(d.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if want := "http://" + net.JoinHostPort(host, port); d.URL() != want {
			t.Errorf("listening on %q: %s, want %s", addr, d.URL(), want)
		}
	}
}

// dying is a listener that breaks; the server closes it when it stops.
type dying struct {
	net.Listener
	closed chan struct{}
}

func (dying) Accept() (net.Conn, error) { return nil, errors.New("the network is gone") }

func (d dying) Close() error { close(d.closed); return d.Listener.Close() }

func TestCloseTellsOfAServerThatStopped(t *testing.T) {
	stopped := make(chan struct{})
	i, err := injector.Start(context.Background(), injector.Config{
		Name: "dep", Recorder: trace.NewRecorder(time.Now()),
		Listen: func(network, addr string) (net.Listener, error) {
			ln, err := net.Listen(network, addr)
			return dying{ln, stopped}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-stopped
	if err := i.Close(); err == nil || !strings.Contains(err.Error(), "the network is gone") {
		t.Errorf("Close says %v", err)
	}
}
