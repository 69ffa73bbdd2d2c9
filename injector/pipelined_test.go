package injector_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// What a caller has sent behind a request must not make a FIN a RST, which is another fault, and may
// throw away what was sent before.
func TestFINBehindUnreadRequests(t *testing.T) {
	cut := rule(fault.ActionRespond)
	cut.Respond.Body, cut.Form.Cut = "0123456789", &fault.Cut{At: fault.CutBody, Bytes: 4, By: fault.ActionClose}
	stealth := stealthy(rule(fault.ActionClose))
	for name, c := range map[string]struct {
		rule fault.Rule
		want string
	}{
		"close": {rule(fault.ActionClose), "HTTP/1.1 "}, "stealth": {stealth, ""}, "cut": {cut, "\r\n\r\n0123"},
	} {
		for range 10 {
			d := start(t, injector.Config{}, c.rule)
			o := observe(t, d.Addr())
			o.say(request("GET", 0) + request("POST", 300_000))
			if seen, end := o.rest(); end != "FIN" || !strings.HasSuffix(seen, c.want) {
				t.Fatalf("%s: %q, %s; want %q and FIN", name, seen, end, c.want)
			}
			if a := d.attempts(t)[0]; a.Outcome != trace.OutcomeFIN {
				t.Errorf("%s: recorded %+v", name, a)
			}
		}
	}
}

// What comes in one piece with a request, and is none, is an attempt as what comes later is.
func TestGarbageInOnePieceWithARequest(t *testing.T) {
	for _, behind := range []string{"\x00\x01 garbage\r\n\r\n", "POST /y HTTP/1.1\r\nHo"} {
		d := start(t, injector.Config{})
		o := observe(t, d.Addr())
		if _, err := o.conn.Write([]byte(request("GET", 0) + behind)); err != nil {
			t.Fatal(err)
		}
		until(t, "the request is served", func() bool { return d.ended() >= 1 })
		if err := o.conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		seen, _ := o.rest()
		all := d.attempts(t)
		none := slices.DeleteFunc(slices.Clone(all), func(a trace.Attempt) bool { return !a.Unread() })
		if strings.Count(seen, "HTTP/1.1 ") != 2 || len(all) != 2 || len(none) != 1 || none[0].Phase != "p" {
			t.Errorf("behind %q: the caller saw %q, the ledger has %+v", behind, seen, all)
		}
	}
}

// Who sends more while he waits is missed all the same when he leaves.
func TestLeavingBehindMoreBytes(t *testing.T) {
	late := rule(fault.ActionPass)
	late.Latency.Min, late.Latency.Max = time.Hour, time.Hour
	held := rule(fault.ActionPass)
	held.Hold = &fault.Hold{Probes: 1, Rejected: 1, Max: time.Hour}
	for name, r := range map[string]fault.Rule{"hang": rule(fault.ActionHang), "latency": late, "hold": held} {
		for _, more := range []string{"\r\n", request("GET", 0), request("POST", 10_000), strings.Repeat("x", 60_000)} {
			d := start(t, injector.Config{}, r)
			o := observe(t, d.Addr())
			io.WriteString(o.conn, request("POST", 5))
			until(t, "it waits", func() bool { return d.State().Active == 1 })
			io.WriteString(o.conn, more)
			o.leave(t, false)
			until(t, name+": his place is free", func() bool { return d.State().Active == 0 })
			if a := d.attempts(t)[0]; a.Outcome != trace.OutcomeHang || a.Abandon == trace.None {
				t.Errorf("%s: recorded %+v, want that he left", name, a)
			}
		}
	}
}

// What came while a request was served is served after it, in order and once.
func TestRequestsThatCameMeanwhile(t *testing.T) {
	late := rule(fault.ActionPass)
	late.Latency.Min, late.Latency.Max = 20*time.Millisecond, 20*time.Millisecond
	for _, secure := range []bool{false, true} {
		var d dependency
		var o observer
		if secure {
			d = startTLS(t, late)
			conn, err := tls.Dial("tcp", d.Addr(), trusting(t, d))
			if err != nil {
				t.Fatal(err)
			}
			o = observer{conn, bufio.NewReader(conn)}
		} else {
			d = start(t, injector.Config{}, late)
			o = observe(t, d.Addr())
		}
		const n = 6
		for k := range n {
			io.WriteString(o.conn, request("POST", k*20_000))
			until(t, "it arrived", func() bool { return len(d.snapshot()) > 0 })
		}
		for k := range n {
			resp, err := http.ReadResponse(o.r, nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("answer %d: %v, %v", k, resp, err)
			}
			io.Copy(io.Discard, resp.Body)
		}
		o.conn.Close()
		all := d.attempts(t)
		if len(all) != n {
			t.Errorf("%d attempts, want %d: %+v", len(all), n, all)
		}
		for _, a := range all {
			if a.Outcome != trace.OutcomeAnswered {
				t.Errorf("recorded %+v", a)
			}
		}
	}
}
