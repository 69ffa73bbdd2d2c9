package injector_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// The tests of this file and of those whose names begin alike hold what users of other
// injectors have met. docs/issues.md says which test answers which of them.

// A ratio of 0 leaves the wire as it is: what ended with a FIN still does.
func TestRatioOfZeroLeavesTheWireAlone(t *testing.T) {
	const n = 100
	closing := "GET / HTTP/1.1\r\nHost: dep\r\nConnection: close\r\n\r\n"
	for name, r := range map[string]fault.Rule{
		"reset":             rule(fault.ActionReset),
		"reset by stealth":  stealthy(rule(fault.ActionReset)),
		"reset afterwards":  formed(fault.Form{After: &fault.After{Do: fault.AfterReset}}),
		"reset in the body": formed(fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: 1, By: fault.ActionReset}}),
	} {
		for ratioOf, want := range map[uint64]string{0: "FIN", 1: "RST"} { // The control: the fault itself is an RST.
			d := start(t, bodied("whole"), ratio(r, ratioOf, 1))
			for range n {
				o := observe(t, d.Addr())
				o.say(closing)
				seen, end := o.rest()
				if end != want || want == "FIN" && !strings.HasSuffix(seen, "whole") {
					t.Fatalf("%s at a ratio of %d: %q and %s", name, ratioOf, seen, end)
				}
				o.conn.Close()
			}
		}
	}
	for ratioOf, want := range map[uint64]string{0: "FIN", 1: "RST"} {
		d := startTCP(t, echoes, ratio(onTCP(fault.TCP{Down: endOf(1, fault.ActionReset)}), ratioOf, 1))
		o := observe(t, d.Addr())
		io.WriteString(o.conn, "hello")
		o.conn.(*net.TCPConn).CloseWrite()
		if seen, end := o.rest(); end != want || want == "FIN" && seen != "hello" {
			t.Errorf("bytes that are passed on, at a ratio of %d: %q and %s", ratioOf, seen, end)
		}
	}
}

// The first two fail and all others succeed, in whatever connections they come.
func TestTheFirstTwoFail(t *testing.T) {
	r := answering(503)
	r.Select = fault.Select{Kind: fault.SelectFirst, First: 2}
	for _, reused := range []bool{true, false} {
		d := start(t, injector.Config{}, r)
		c := client(t)
		c.Transport.(*http.Transport).DisableKeepAlives = !reused
		for n := range 10 {
			want := http.StatusOK
			if n < 2 {
				want = 503
			}
			if status, _, err := get(c, d.URL()); status != want || err != nil {
				t.Errorf("call %d: %d, %v", n, status, err)
			}
		}
	}
}

// When the faults are over nothing of them is left, be it ended by a phase or cleared.
func TestAllIsWellAfterwards(t *testing.T) {
	for name, r := range map[string]fault.Rule{
		"reset": rule(fault.ActionReset), "stealthy reset": stealthy(rule(fault.ActionReset)),
		"refuse": rule(fault.ActionRefuse), "garbage": {Action: fault.ActionGarbage, Garbage: 50, Select: fault.Select{Kind: fault.SelectAll}},
	} {
		if r.Action == fault.ActionRefuse && runtime.GOOS == "windows" {
			continue // selftest says so.
		}
		for _, end := range []func(d dependency) error{
			func(d dependency) error { return d.Enter("next") },
			func(d dependency) error { return d.Clear() },
		} {
			d := start(t, injector.Config{}, r)
			c := client(t)
			for range 20 {
				if status, _, err := get(c, d.URL()); err == nil {
					t.Errorf("%s: %d", name, status)
				}
			}
			if err := end(d); err != nil {
				t.Fatal(err)
			}
			for n := range 100 {
				if status, _, err := get(c, d.URL()); status != http.StatusOK || err != nil {
					t.Errorf("%s: call %d afterwards: %d, %v", name, n, status, err)
				}
			}
		}
	}
}

// A hang and a connection that is not answered are two things: in the one the caller is
// connected and waits for an answer, in the other he is not connected.
func TestAHangIsNoConnectTimeout(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("connections that are not answered can be had on Linux only")
	}
	for _, a := range []fault.Action{fault.ActionHang, fault.ActionUnreachable, fault.ActionDeaf} {
		d := start(t, injector.Config{}, rule(a))
		ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
		connected := false
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected = true },
		}), http.MethodGet, d.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client(t).Do(req)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || connected != (a != fault.ActionUnreachable) {
			t.Errorf("%s: connected %v, then %v", a, connected, err)
		}
	}
}

// resent sends n requests one after another, each with a key of its own, and returns how many
// errors the caller saw.
func resent(t *testing.T, c *http.Client, d dependency, method, key string, n int) (seen int) {
	t.Helper()
	for k := range n {
		req, err := http.NewRequest(method, d.URL(), strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodPost {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("{}")), nil }
		}
		if key != "" {
			req.Header.Set(key, strconv.Itoa(k))
		}
		resp, err := c.Do(req)
		if err != nil {
			seen++
			continue
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return seen
}

// A request that the client's library sends once more, without a word to the caller, has the
// verdict of the first one if the rule goes by its key: the ratio is that of calls.
func TestARetryHasTheVerdictOfItsCall(t *testing.T) {
	const n = 1000
	r := stealthy(ratio(rule(fault.ActionReset), 1, 5))
	d := start(t, injector.Config{}, r)
	if seen := resent(t, client(t), d, http.MethodGet, "X-Call", n); seen > n/10 {
		t.Fatalf("the control: this client hides nothing, it saw %d errors", seen)
	}
	r.Select.Sticky = fault.Sticky{By: fault.StickyHeader, Name: "X-Call"}
	d = start(t, injector.Config{}, r)
	seen := resent(t, client(t), d, http.MethodGet, "X-Call", n)
	arrived := len(d.attempts(t))
	if seen != n/5 || arrived <= n {
		t.Errorf("of %d calls in %d attempts %d failed, want a fifth", n, arrived, seen)
	}
}

// A POST with an Idempotency-Key is resent by Go's client, as a GET is: a connection that dies
// without a byte is hidden from the caller, one that dies in the status line is not.
func TestAPostWithAKeyIsResent(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		key    string
		rule   fault.Rule
		hidden bool
	}{
		{"", stealthy(rule(fault.ActionReset)), false},
		{"Idempotency-Key", stealthy(rule(fault.ActionReset)), true},
		{"Idempotency-Key", stealthy(rule(fault.ActionClose)), true},
		{"Idempotency-Key", rule(fault.ActionReset), false},
		{"Idempotency-Key", rule(fault.ActionClose), false},
	} {
		d := start(t, injector.Config{}, ratio(c.rule, 1, 5))
		seen := resent(t, client(t), d, http.MethodPost, c.key, n)
		as := d.attempts(t)
		hit := 0
		for _, a := range as {
			if a.Rule != "" {
				hit++
			}
		}
		if c.hidden != (seen < hit) || c.hidden != (len(as) > n) || !c.hidden && seen != n/5 {
			t.Errorf("%q, %s, stealth %v: sent %d, arrived %d, hit %d, seen %d", c.key, c.rule.Action, c.rule.Stealth, n, len(as), hit, seen)
		}
		if hit != (len(as)+2)/5 { // To the nearest.
			t.Errorf("%d of %d attempts were hit", hit, len(as))
		}
	}
}

// What drips is not packed or kept by what the caller says that it accepts, nor unpacked if
// the upstream has packed it.
func TestDripToAClientThatTakesGzip(t *testing.T) {
	text := strings.Repeat("a body that packs well, ", 100)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, text)
	z.Close()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" { // As Go's client says.
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
			return
		}
		io.WriteString(w, text)
	})
	const over = 300 * ms
	for name, cfg := range map[string]injector.Config{"stub": bodied(text), "upstream": {Upstream: up.URL}} {
		d := start(t, cfg, dripped(5, over))
		c := client(t)
		if status, body, err := get(c, d.URL()); status != http.StatusOK || err != nil || body != text {
			t.Errorf("%s: a client that unpacks: %d, %d bytes, %v", name, status, len(body), err)
		}
		c.Transport.(*http.Transport).DisableCompression = true // Its pieces come as they are sent.
		req := asking(t, d.URL())
		req.Header.Set("Accept-Encoding", "gzip")
		_, pieces, body := arrivals(t, c, req)
		if want := map[string]string{"stub": text, "upstream": packed.String()}[name]; body != want {
			t.Errorf("%s: %d bytes, want %d that are the same", name, len(body), len(want))
		}
		if last := pieces[len(pieces)-1]; last < over || last-pieces[0] < over/2 || len(pieces) < 2 {
			t.Errorf("%s: pieces after %v, want them over %v", name, pieces, over)
		}
	}
}

// The caller's own retries meet the faults, as these are made where the dependency is: of
// attempts the ratio is exact, whatever is tried again.
func TestRetriesOfTheCallerMeetTheFaults(t *testing.T) {
	const calls, tries = 300, 3
	d := start(t, injector.Config{}, ratio(answering(503), 1, 2))
	c := client(t)
	failed, sent := 0, 0
	for range calls {
		status := 0
		for n := 0; n < tries && status != http.StatusOK; n++ {
			var err error
			if status, _, err = get(c, d.URL()); err != nil {
				t.Fatal(err)
			}
			sent++
		}
		if status != http.StatusOK {
			failed++
		}
	}
	if count := d.Fired("p")[0]; failed != 0 || sent <= calls || count.Seen != uint64(sent) || count.Hit != uint64(sent+1)/2 {
		t.Errorf("%d calls failed; of %d attempts: %+v", failed, sent, count)
	}
}

// The load generator tells failures apart, as the faults are: nothing is put under a common
// code. What went wrong in TLS, or is no HTTP/1.1, is told in the detail.
func TestFailuresAreToldApart(t *testing.T) {
	plain := func(r fault.Rule) string { return start(t, bodied("text"), r).URL() }
	for _, c := range []struct {
		name   string
		url    string
		want   trace.ErrKind
		detail string
	}{
		{"refused", plain(rule(fault.ActionRefuse)), trace.ErrRefused, ""},
		{"stealthy reset", plain(stealthy(rule(fault.ActionReset))), trace.ErrReset, ""},
		{"reset in the body", plain(formed(fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: 1, By: fault.ActionReset}})), trace.ErrReset, ""},
		{"stealthy FIN", plain(stealthy(rule(fault.ActionClose))), trace.ErrEOF, ""},
		{"FIN in the body", plain(formed(fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: 1, By: fault.ActionClose}})), trace.ErrEOF, ""},
		{"hang", plain(rule(fault.ActionHang)), trace.ErrTimeout, ""},
		{"deaf", plain(rule(fault.ActionDeaf)), trace.ErrTimeout, ""},
		// What Go's client makes of half a status line hides the end of the connection.
		{"half a status line, then reset", plain(rule(fault.ActionReset)), trace.ErrProtocol, "malformed HTTP"},
		{"half a status line, then FIN", plain(rule(fault.ActionClose)), trace.ErrProtocol, "malformed HTTP"},
		{"no status", plain(formed(fault.Form{Malformed: fault.BadStatusLine})), trace.ErrProtocol, "malformed HTTP"},
		{"TLS", startTLS(t, onTLS(fault.TLSUnknownCA)).URL(), trace.ErrTLS, "certificate"},
		{"HTTP/2", "http://" + speaksHTTP2(t), trace.ErrProtocol, "malformed HTTP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			limit := patience
			if c.want == trace.ErrTimeout {
				limit = 300 * ms
			}
			a, err := attack.New(attack.Config{
				BaseURL: c.url, Recorder: trace.NewRecorder(time.Now()), Timeout: limit,
				Correlator: match.Correlator{Run: 1, Phases: []string{"probe"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			call, err := a.Once(t.Context(), 0, 0, match.Target{Path: "/"})
			if err != nil {
				t.Fatal(err)
			}
			if call.Err != c.want || !strings.Contains(call.Detail, c.detail) {
				t.Errorf("%+v, want %s with %q", call, c.want, c.detail)
			}
			if err := a.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// speaksHTTP2 is a server that speaks nothing else.
func speaksHTTP2(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveTCP(t, ln, func(c net.Conn) {
		c.Read(make([]byte, 100))
		io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	})
	return ln.Addr().String()
}
