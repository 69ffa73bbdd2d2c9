package injector_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// h2Client is a client of HTTP/2 with prior knowledge, closed with the test.
func h2Client(t testing.TB) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func resetBy(code fault.ErrCode) fault.Rule {
	r := rule(fault.ActionPass)
	r.H2 = &fault.H2{Reset: &fault.StreamReset{Code: code, At: fault.CutStart}}
	return r
}

// One port speaks both.
func TestBothProtocolsOnOnePort(t *testing.T) {
	d := start(t, injector.Config{Stub: injector.Stub{Respond: fault.Respond{Body: "hello"}}}, ratio(rule(fault.ActionRespond), 1, 2))
	for range 2 {
		for _, c := range []*http.Client{client(t), h2Client(t)} {
			if status, body, err := get(c, d.URL()); err != nil || status != 503 && body != "hello" {
				t.Errorf("%d %q %v", status, body, err)
			}
		}
	}
	hit := 0
	for _, a := range d.attempts(t) {
		if a.Rule != "" {
			hit++
		}
		if a.Outcome != trace.OutcomeAnswered || a.Method != http.MethodGet || a.Path != "/" {
			t.Errorf("%+v", a)
		}
	}
	if hit != 2 {
		t.Errorf("%d of 4 requests over two protocols were hit by one rule of 1 in 2", hit)
	}
}

// What Go's client does on each code: it gives an error at once on some, and resends on others.
func TestResetCodesAtGoClient(t *testing.T) {
	for _, c := range []struct {
		code   fault.ErrCode
		resent bool
	}{
		{"CANCEL", false},
		{"ENHANCE_YOUR_CALM", false},
		{"NO_ERROR", false},
		{"INTERNAL_ERROR", false},
		{"REFUSED_STREAM", true},
	} {
		t.Run(string(c.code), func(t *testing.T) {
			d := start(t, injector.Config{}, resetBy(c.code))
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, d.URL(), nil)
			begun := time.Now()
			_, err := h2Client(t).Do(req)
			if err == nil {
				t.Fatal("answered")
			}
			n := len(d.attempts(t))
			// It waits between two, so a machine however slow gets at least to the second, and none to many.
			if c.resent != (n > 1) || n > 6 {
				t.Errorf("%d attempts in %v: %v", n, time.Since(begun), err)
			}
			if !c.resent && !strings.Contains(err.Error(), string(c.code)) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// PROTOCOL_ERROR has Go's client resend without a wait: the storm guard ends that, and the call.
func TestStormIsGuarded(t *testing.T) {
	if !fault.ErrCode("PROTOCOL_ERROR").Storms() || fault.ErrCode("CANCEL").Storms() {
		t.Error("which codes storm")
	}
	const most = 20
	d := start(t, injector.Config{Limits: injector.Limits{PerSecond: most}}, resetBy("PROTOCOL_ERROR"))
	begun := time.Now()
	if status, _, err := get(h2Client(t), d.URL()); status != 200 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	took := time.Since(begun)
	hit, spared := 0, 0
	for _, a := range d.attempts(t) {
		switch {
		case a.Rule != "":
			hit++
		case a.Spared == "rule p/1: limit per_second":
			spared++
		}
	}
	// A machine on which this takes a second may hit more, and rightly so.
	if spared != 1 || hit < most || hit > most && took < time.Second {
		t.Errorf("%d attempts were hit and %d spared in %v; one call should make %d and 1", hit, spared, took, most)
	}
}

// A fault that a protocol does not know is told, once in the log.
func TestMisfits(t *testing.T) {
	sliced := rule(fault.ActionPass)
	sliced.Form.Slice = &fault.Slice{Size: 1, Gap: ms}
	sliced.Match.Path = "/sliced"
	var log bytes.Buffer
	d := start(t, injector.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, sliced, resetBy("CANCEL"))
	for range 2 {
		if status, body, err := get(h2Client(t), d.URL()+"/sliced"); status != 501 || !strings.Contains(body, "slice has no meaning over HTTP/2.0") {
			t.Errorf("%d %q %v", status, body, err)
		}
	}
	if status, body, err := get(client(t), d.URL()); status != 501 || !strings.Contains(body, "h2 has no meaning over HTTP/1.1") {
		t.Errorf("%d %q %v", status, body, err)
	}
	for n, want := range []string{"slice has no meaning over HTTP/2.0", "slice has no meaning over HTTP/2.0", "h2 has no meaning over HTTP/1.1"} {
		if a := d.attempts(t)[n]; a.Detail != "the fault was not played: "+want || a.Unread() {
			t.Errorf("attempt %d: %+v", n, a)
		}
	}
	want := []injector.Misfit{{Rule: "p/1", What: "slice has no meaning over HTTP/2.0", Met: 2}, {Rule: "p/2", What: "h2 has no meaning over HTTP/1.1", Met: 1}}
	if diff := cmp.Diff(want, d.Misfits()); diff != "" {
		t.Error("misfits (-want +got):\n" + diff)
	}
	if n := strings.Count(log.String(), "a fault was not played"); n != 2 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// inVirtualH2 runs f in a bubble with an injector on a network in memory, and a client of HTTP/2.
func inVirtualH2(t *testing.T, cfg injector.Config, f func(t *testing.T, d dependency, c *http.Client), rules ...fault.Rule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		cfg.Listen, cfg.Addr = n.Listen, "dep:80"
		d := start(t, cfg, rules...)
		tr := &http.Transport{DialContext: n.DialContext, Protocols: new(http.Protocols)}
		tr.Protocols.SetUnencryptedHTTP2(true)
		f(t, d, &http.Client{Transport: tr})
		tr.CloseIdleConnections()
	})
}

// Latencies are exact, whatever runs beside on the connection.
func TestH2LatencyIsExact(t *testing.T) {
	slow := rule(fault.ActionRespond)
	slow.Latency = fault.Latency{Min: 70 * ms, Max: 70 * ms}
	inVirtualH2(t, injector.Config{}, func(t *testing.T, d dependency, c *http.Client) {
		var calls sync.WaitGroup
		for i := range 20 {
			time.Sleep(ms * time.Duration(i))
			calls.Go(func() { get(c, "http://dep/") })
		}
		calls.Wait()
		peers := map[string]bool{}
		for _, a := range d.attempts(t) {
			peers[a.Peer] = true
			if a.Dep-a.Arr != 70*ms {
				t.Errorf("attempt %d took %v", a.Seq, a.Dep-a.Arr)
			}
		}
		if len(peers) != 1 {
			t.Errorf("%d connections", len(peers))
		}
	}, slow)
}

// A caller that gives up one stream is noticed at once, and the others are not disturbed.
func TestH2CallerLeaves(t *testing.T) {
	hang := rule(fault.ActionHang)
	hang.Match.Path = "/hang"
	inVirtualH2(t, injector.Config{Stub: injector.Stub{Latency: time.Second}}, func(t *testing.T, d dependency, c *http.Client) {
		var calls sync.WaitGroup
		calls.Go(func() {
			if status, _, err := get(c, "http://dep/"); status != 200 || err != nil {
				t.Errorf("%d, %v", status, err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*ms)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://dep/hang", strings.NewReader("body"))
		if _, err := c.Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		calls.Wait()
		for _, a := range d.attempts(t) {
			hung := a.Path == "/hang"
			if hung && (a.Outcome != trace.OutcomeHang || a.Abandon < 30*ms || a.Abandon > 31*ms) || !hung && a.Outcome != trace.OutcomeAnswered {
				t.Errorf("recorded %+v", a)
			}
		}
	}, hang)
}

// A fault of the connection hits the other streams on it; they are recorded as hit by it, and not as
// given up by their caller.
func TestH2BlastRadius(t *testing.T) {
	for _, c := range []struct {
		rule fault.Rule
		want trace.Outcome
	}{
		{rule(fault.ActionClose), trace.OutcomeFIN},
		{fault.Rule{Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass, H2: &fault.H2{Abort: true}}, trace.OutcomeReset},
	} {
		c.rule.Match.Path = "/hit"
		inVirtualH2(t, injector.Config{Stub: injector.Stub{Latency: time.Second}}, func(t *testing.T, d dependency, cl *http.Client) {
			var calls sync.WaitGroup
			for range 9 {
				calls.Go(func() {
					if _, _, err := get(cl, "http://dep/"); err == nil {
						t.Error("answered")
					}
				})
			}
			time.Sleep(10 * ms)
			if _, _, err := get(cl, "http://dep/hit"); err == nil {
				t.Error("answered")
			}
			calls.Wait()
			as := d.attempts(t)
			if len(as) != 10 {
				t.Errorf("%d attempts: resent", len(as))
			}
			for _, a := range as {
				if a.Outcome != c.want || a.Abandon != trace.None {
					t.Errorf("recorded %+v, want %s", a, c.want)
				}
			}
		}, c.rule)
	}
}

// A phase of settings begins on new connections, and ends with what was held back given.
func TestH2SettingsOfAPhase(t *testing.T) {
	narrow := fault.Rule{Action: fault.ActionSettings, Select: fault.Select{Kind: fault.SelectAll}, Settings: &fault.H2Settings{NoUpdates: true}}
	inVirtualH2(t, injector.Config{Script: fault.Script{Phases: map[string][]fault.Rule{"narrow": {narrow}}}}, func(t *testing.T, d dependency, c *http.Client) {
		post := func() (int, error) {
			resp, err := c.Post("http://dep/", "text/plain", strings.NewReader(strings.Repeat("x", 200_000)))
			if err != nil {
				return 0, err
			}
			return resp.StatusCode, resp.Body.Close()
		}
		if status, err := post(); status != 200 {
			t.Error(status, err)
		}
		if err := d.Enter("narrow"); err != nil {
			t.Error(err)
		}
		var calls sync.WaitGroup
		var ended time.Duration
		calls.Go(func() {
			if status, err := post(); status != 200 {
				t.Error(status, err)
			}
			ended = d.rec.Since(time.Now())
		})
		time.Sleep(time.Minute)
		if err := d.Enter(""); err != nil {
			t.Error(err)
		}
		calls.Wait()
		if ended < time.Minute || ended > time.Minute+10*ms {
			t.Errorf("the upload ended at %v", ended)
		}
		if diff := cmp.Diff([]fault.Count{{Rule: "narrow/1", Seen: 1, Hit: 1}}, d.Fired("narrow")); diff != "" {
			t.Error("connections (-want +got):\n" + diff)
		}
	})
}

// Nothing is left after Close, with streams in every state.
func TestH2CloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	hang := rule(fault.ActionHang)
	hang.Match.Path = "/hang"
	d := start(t, injector.Config{Stub: injector.Stub{Respond: fault.Respond{Fill: 50 << 20}}}, hang)
	c := h2Client(t)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			if i%2 == 0 {
				get(c, d.URL()+"/hang")
				return
			}
			if resp, err := c.Get(d.URL()); err == nil { // Its body is not read.
				time.Sleep(ms)
				resp.Body.Close()
			}
		})
	}
	until(t, "50 hang", func() bool { return len(d.snapshot()) == 100 })
	d.attempts(t)
	calls.Wait()
	c.CloseIdleConnections()
	settle(t, before)
}

// A healthy gRPC answer, as a client of HTTP/2 sees it.
func TestGRPCStubAtAClient(t *testing.T) {
	d := start(t, injector.Config{Stub: injector.Stub{Respond: fault.Respond{GRPC: &fault.GRPC{Messages: []string{"aGVsbG8="}}}}})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/a.B/C", bytes.NewReader([]byte{0, 0, 0, 0, 0}))
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	resp, err := h2Client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != 10 || binary.BigEndian.Uint32(body[1:]) != 5 || string(body[5:]) != "hello" {
		t.Errorf("%q, %v", body, err)
	}
	if resp.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("trailers %v", resp.Trailer)
	}
}
