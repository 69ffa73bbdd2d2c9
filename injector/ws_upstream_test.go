package injector_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// dependencySocket is a real dependency that speaks WebSocket: it says what it is told to,
// and tells what it hears, up to the end.
type dependencySocket struct {
	url   string
	says  []wire.Frame
	asked chan *http.Request
	heard chan []string
}

func socketUpstream(t *testing.T, says ...wire.Frame) *dependencySocket {
	u := &dependencySocket{says: says, asked: make(chan *http.Request, 1), heard: make(chan []string, 1)}
	u.url = upstream(t, func(w http.ResponseWriter, r *http.Request) {
		u.asked <- r.Clone(r.Context())
		nc, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(patience))
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Mine: yes\r\n"+
			"Sec-WebSocket-Accept: "+wire.AcceptKey(r.Header.Get("Sec-WebSocket-Key"))+"\r\n\r\n")
		for _, f := range u.says {
			nc.Write(f.Append(nil))
		}
		var words []string
		for {
			f, err := wire.ReadFrame(buf.Reader, 1<<20)
			if err != nil {
				u.heard <- append(words, err.Error())
				return
			}
			if !f.Masked || f.Key != [4]byte{9, 8, 7, 6} {
				words = append(words, "masked otherwise")
			}
			words = append(words, word(f))
			if f.Opcode == wire.OpClose {
				f.Masked = false
				nc.Write(f.Append(nil))
			}
		}
	}).URL
	return u
}

func said(op wire.Opcode, fin bool, text string) wire.Frame {
	return wire.Frame{Fin: fin, Opcode: op, Payload: []byte(text)}
}

func (u *dependencySocket) wants(t *testing.T, want ...string) {
	t.Helper()
	select {
	case got := <-u.heard:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("the dependency heard (-want +got):\n" + diff)
		}
	case <-time.After(patience):
		t.Error("the dependency's connection did not end")
	}
}

// What no fault hits passes as it came, frame by frame.
func TestSocketOfAnUpstream(t *testing.T) {
	u := socketUpstream(t, said(wire.OpText, false, "a"), said(wire.OpPing, true, "p"), said(wire.OpContinue, true, "b"), said(wire.OpBinary, true, "c"))
	d := start(t, injector.Config{Upstream: u.url + "/base"}, socketRule(fault.WebSocket{Messages: []fault.WSMessage{
		{To: fault.ToServer, At: []uint64{2}, Do: fault.WSDrop},
		{To: fault.ToClient, At: []uint64{2}, Do: fault.WSDuplicate},
		{To: fault.ToServer, At: []uint64{3}, Do: fault.WSOversize, Size: 10},
	}}))
	p := shakeHands(t, d, handshakeHead("Sec-WebSocket-Extensions: permessage-deflate", "X-Own: me"))
	r := <-u.asked
	if h := r.Header; r.RequestURI != "/base/feed?x=1" || h.Get("Sec-WebSocket-Extensions") != "" || h.Get("X-Own") != "me" || p.head.Header.Get("X-Mine") != "yes" || p.head.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("%s %v %v", r.RequestURI, h, p.head)
	}
	p.wants("1-:a", "9:p", "0:b", "2:c", "2:c")
	p.say(wire.OpPong, true, "p")
	p.say(wire.OpText, false, "1")
	p.say(wire.OpContinue, true, "2")
	p.text("dropped", "long")
	p.say(wire.OpClose, true, "\x03\xe8")
	p.wants("8:1000")
	p.Close()
	u.wants(t, "a:p", "1-:1", "0:2", "1:long"+wire.Filler[:6], "8:1000", "EOF")
	if a := d.only(t); a.Status != 101 || a.Outcome != trace.OutcomeAnswered ||
		a.Detail != "websocket: 2 messages to client, 3 to server; 1 drop to server; 1 duplicate to client; 1 oversize to server; ended by the caller" {
		t.Errorf("%+v", a)
	}
}

// A frame that is cut on its way to the dependency ends both connections.
func TestSocketCutToServer(t *testing.T) {
	u := socketUpstream(t)
	d := start(t, injector.Config{Upstream: u.url}, socketRule(fault.WebSocket{Messages: []fault.WSMessage{
		{To: fault.ToServer, At: []uint64{2}, Do: fault.WSCut, By: fault.ActionClose},
	}}))
	p := shakeHands(t, d, handshakeHead())
	p.text("one", "two")
	p.wants("FIN")
	p.Close()
	u.wants(t, "1:one", "unexpected EOF")
}

// The dependency's own end passes, after what it said; and what a caller said before it left
// arrives, even late.
func TestSocketEndsPass(t *testing.T) {
	late := fault.WebSocket{Messages: []fault.WSMessage{
		{To: fault.ToServer, Select: fault.Select{Kind: fault.SelectAll}, Do: fault.WSDelay, Delay: fault.Latency{Min: 20 * time.Millisecond, Max: 20 * time.Millisecond}},
		{To: fault.ToClient, Select: fault.Select{Kind: fault.SelectAll}, Do: fault.WSDelay, Delay: fault.Latency{Min: 20 * time.Millisecond, Max: 20 * time.Millisecond}},
	}}
	u := socketUpstream(t)
	d := start(t, injector.Config{Upstream: u.url}, socketRule(late))
	p := shakeHands(t, d, handshakeHead())
	p.text("one", "two")
	p.Close()
	u.wants(t, "1:one", "1:two", "EOF")

	gone := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x01a\x88\x02\x03\xf3")
	})
	d = start(t, injector.Config{Upstream: gone.URL}, socketRule(late))
	shakeHands(t, d, handshakeHead()).wants("1:a", "8:1011", "FIN")
}

// What is no WebSocket passes as ever, and so does one that no fault is for.
func TestSocketUpstreamElse(t *testing.T) {
	refuses := upstream(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	d := start(t, injector.Config{Upstream: refuses.URL}, socketRule(fault.WebSocket{IgnoreClose: true}))
	if p := shakeHands(t, d, handshakeHead()); p.head.StatusCode != http.StatusForbidden {
		t.Error(p.head)
	}
	if a := d.only(t); a.Status != http.StatusForbidden || a.Detail != "" {
		t.Errorf("%+v", a)
	}
	u := socketUpstream(t, said(wire.OpText, true, "a"))
	d = start(t, injector.Config{Upstream: u.url})
	p := shakeHands(t, d, handshakeHead("Sec-WebSocket-Extensions: permessage-deflate"))
	if r := <-u.asked; r.Header.Get("Sec-WebSocket-Extensions") == "" {
		t.Error("an extension is not offered, although no fault is for this connection")
	}
	p.text("b")
	p.wants("1:a")
	p.Close()
	u.wants(t, "1:b", "EOF")
	d = start(t, injector.Config{Upstream: "http://127.0.0.1:1"}, socketRule(fault.WebSocket{IgnoreClose: true}))
	if p := shakeHands(t, d, handshakeHead()); p.head.StatusCode != http.StatusBadGateway {
		t.Error(p.head)
	}
}

// A caller who does not read has the injector stop reading, not pile up.
func TestSocketBackPressure(t *testing.T) {
	const most = 64
	var written atomic.Int64
	big := said(wire.OpBinary, true, strings.Repeat("x", 1<<20)).Append(nil)
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		for range most {
			if _, err := nc.Write(big); err != nil {
				return
			}
			written.Add(1)
		}
	})
	d := start(t, injector.Config{Upstream: up.URL}, socketRule(fault.WebSocket{Messages: []fault.WSMessage{{To: fault.ToClient, At: []uint64{99}, Do: fault.WSDrop}}}))
	p := shakeHands(t, d, handshakeHead())
	for last := int64(-1); last != written.Load(); time.Sleep(300 * time.Millisecond) { // Until it is stuck.
		last = written.Load()
	}
	if n := written.Load(); n == most {
		t.Errorf("all %d MiB were taken from the dependency, and nobody reads them", n)
	}
	for range most {
		p.SetDeadline(time.Now().Add(patience)) // Of each: all of them take a slow machine longer.
		if f, err := wire.ReadFrame(p.from, 1<<21); err != nil || len(f.Payload) != 1<<20 {
			t.Fatal(len(f.Payload), err)
		}
	}
	p.wants("FIN")
}
