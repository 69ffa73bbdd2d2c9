package injector_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// handshakeHead is the handshake of RFC 6455, section 1.3, with some headers more.
func handshakeHead(more ...string) string {
	return "GET /feed?x=1 HTTP/1.1\r\nHost: dep\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" + strings.Join(append(more, ""), "\r\n") + "\r\n"
}

// peer speaks frames on a connection.
type peer struct {
	net.Conn
	t    testing.TB
	from *bufio.Reader
	head *http.Response
}

// shakeHands opens a WebSocket; its answer may be another one than 101.
func shakeHands(t testing.TB, d dependency, head string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	p := &peer{Conn: c, t: t, from: bufio.NewReader(c)}
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	if p.head, err = http.ReadResponse(p.from, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// say sends a masked frame.
func (p *peer) say(op wire.Opcode, fin bool, text string) {
	p.t.Helper()
	f := wire.Frame{Fin: fin, Opcode: op, Masked: true, Key: [4]byte{9, 8, 7, 6}, Payload: []byte(text)}
	if _, err := p.Write(f.Append(nil)); err != nil {
		p.t.Error(err)
	}
}

func (p *peer) text(texts ...string) {
	p.t.Helper()
	for _, t := range texts {
		p.say(wire.OpText, true, t)
	}
}

// word is one frame for a reader: its opcode, a dash if more follows, and what it carries.
func word(f wire.Frame) string {
	dash := ""
	if !f.Fin {
		dash = "-"
	}
	if f.Opcode == wire.OpClose {
		return fmt.Sprintf("8%s:%d", dash, wire.CloseCode(f.Payload))
	}
	return fmt.Sprintf("%x%s:%s", byte(f.Opcode), dash, f.Payload)
}

// hear reads so many frames, or up to the end if n is below 0; then the end is the last word.
func hear(from io.Reader, n int) []string {
	var words []string
	for len(words) != n {
		f, err := wire.ReadFrame(from, 1<<20)
		switch {
		case errors.Is(err, io.EOF):
			return append(words, "FIN")
		case errors.Is(err, syscall.ECONNRESET):
			return append(words, "RST")
		case err != nil:
			return append(words, err.Error())
		}
		words = append(words, word(f))
	}
	return words
}

// wants compares what is heard with it.
func (p *peer) wants(want ...string) {
	p.t.Helper()
	n := len(want)
	if last := want[n-1]; last == "FIN" || last == "RST" || last == io.ErrUnexpectedEOF.Error() {
		n = -1
	}
	if diff := cmp.Diff(want, hear(p.from, n)); diff != "" {
		p.t.Error("heard (-want +got):\n" + diff)
	}
}

// socketRule is a rule for WebSockets.
func socketRule(w fault.WebSocket) fault.Rule {
	return fault.Rule{
		Action: fault.ActionPass, Match: fault.Match{WebSocket: true}, Select: fault.Select{Kind: fault.SelectAll}, WebSocket: &w,
	}
}

func every(n uint64) fault.Select { return fault.Select{Kind: fault.SelectEvery, Every: n} }

func echo() injector.Config {
	return injector.Config{Stub: injector.Stub{WebSocket: &injector.WebSocketStub{}}}
}

func TestSocketStub(t *testing.T) {
	d := start(t, echo())
	p := shakeHands(t, d, handshakeHead("Sec-WebSocket-Protocol: v2, v1", "Sec-WebSocket-Extensions: permessage-deflate"))
	if h := p.head.Header; p.head.StatusCode != http.StatusSwitchingProtocols || h.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" || h.Get("Sec-WebSocket-Protocol") != "v2" || h.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("%d %v", p.head.StatusCode, h)
	}
	p.text("a")
	p.say(wire.OpText, false, "b")
	p.say(wire.OpPing, true, "p")
	p.say(wire.OpContinue, true, "c")
	p.say(wire.OpClose, true, "\x03\xe9")
	p.wants("1:a", "1-:b", "a:p", "0:c", "8:1001", "FIN")
	if a := d.only(t); a.Outcome != trace.OutcomeAnswered || a.Status != 101 || a.Detail != "" || a.Dep < a.Arr || a.Method != http.MethodGet {
		t.Errorf("%+v", a)
	}
}

func TestSocketStubTalks(t *testing.T) {
	cfg := echo()
	cfg.Stub.WebSocket.Open, cfg.Stub.WebSocket.Answer = []string{"hello", "you"}, []string{"yes", "no"}
	d := start(t, cfg)
	p := shakeHands(t, d, handshakeHead())
	p.wants("1:hello", "1:you")
	p.say(wire.OpText, false, "b")
	p.say(wire.OpContinue, true, "c")
	p.wants("1:yes", "1:no")
	if _, err := p.Write([]byte("\x81\x00")); err != nil { // It has no mask.
		t.Error(err)
	}
	p.wants("8:1002", "FIN")
	p = shakeHands(t, d, handshakeHead())
	p.wants("1:hello", "1:you")
	if _, err := p.Write([]byte("\x82\xff\x00\x00\x00\x00\xff\xff\xff\xff")); err != nil {
		t.Error(err)
	}
	p.wants("8:1009", "FIN")
}

func TestSocketStubRefuses(t *testing.T) {
	for want, head := range map[int]string{
		400: strings.Replace(handshakeHead(), "dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=", 1),
		426: strings.Replace(handshakeHead(), "Version: 13", "Version: 8", 1),
		200: strings.Replace(handshakeHead(), "Upgrade: websocket", "Upgrade: tea", 1),
	} {
		d := start(t, echo(), socketRule(fault.WebSocket{IgnoreClose: true}))
		if p := shakeHands(t, d, head); p.head.StatusCode != want {
			t.Errorf("%d, want %d", p.head.StatusCode, want)
		}
		if a := d.only(t); a.Status != want || a.Detail != "" || (want == 200) != (a.Rule == "") {
			t.Errorf("%+v", a)
		}
	}
}

func TestSocketRuleNeedsSockets(t *testing.T) {
	_, err := injector.Start(t.Context(), injector.Config{
		Name: "dep", Recorder: trace.NewRecorder(time.Now()),
		Script: fault.Script{Phases: map[string][]fault.Rule{"p": {socketRule(fault.WebSocket{IgnoreClose: true})}}},
	})
	if err == nil || !strings.Contains(err.Error(), "rule p/1 is for WebSockets") {
		t.Error(err)
	}
}

// The ledger tells what was done to messages, and the attempt is still one with a request.
func TestSocketLedger(t *testing.T) {
	d := start(t, echo(), socketRule(fault.WebSocket{
		Messages: []fault.WSMessage{
			{To: fault.ToServer, At: []uint64{2}, Do: fault.WSDrop},
			{To: fault.ToClient, At: []uint64{1}, Do: fault.WSDuplicate},
			{To: fault.ToClient, At: []uint64{2}, Do: fault.WSReorder},
		},
		NoPong: &fault.Select{Kind: fault.SelectAll},
		Close:  &fault.WSClose{After: 4, Of: fault.ToClient, Code: 4001, By: fault.ActionReset},
	}))
	p := shakeHands(t, d, handshakeHead())
	p.say(wire.OpPing, true, "p")
	p.text("a", "b", "c", "d", "e")
	p.wants("1:a", "1:a", "1:d", "1:c", "1:e", "8:4001", "RST")
	a := d.only(t)
	const want = "websocket: 4 messages to client, 5 to server; 1 close 4001; 1 drop to server; 1 duplicate to client; 1 no pong; 1 reorder to client; ended by RST"
	if a.Detail != want || a.Rule != "p/1" || a.Unread() || a.Status != 101 {
		t.Errorf("%+v", a)
	}
}

// A message that waits for a next one goes before the close, if there is none.
func TestSocketReorderOfTheLast(t *testing.T) {
	d := start(t, echo(), socketRule(fault.WebSocket{Messages: []fault.WSMessage{{To: fault.ToServer, Select: every(2), Do: fault.WSReorder}}}))
	p := shakeHands(t, d, handshakeHead())
	p.text("a", "b", "c", "d")
	p.say(wire.OpClose, true, "\x03\xe8")
	p.wants("1:a", "1:c", "1:b", "1:d", "8:1000", "FIN")
}

// A message in fragments is one message, and a ping between them is none.
func TestSocketFragmentsAreOneMessage(t *testing.T) {
	d := start(t, echo(), socketRule(fault.WebSocket{Messages: []fault.WSMessage{
		{To: fault.ToServer, At: []uint64{1}, Do: fault.WSDrop},
		{To: fault.ToServer, At: []uint64{3}, Do: fault.WSFragment, Size: 2},
		{To: fault.ToClient, At: []uint64{1}, Do: fault.WSDuplicate},
	}}))
	p := shakeHands(t, d, handshakeHead())
	for range 2 {
		p.say(wire.OpText, false, "a")
		p.say(wire.OpPing, true, "p")
		p.say(wire.OpContinue, true, "b")
	}
	p.text("cdefg")
	p.wants("a:p", "a:p", "1-:a", "0:b", "1-:a", "0:b", "1-:cd", "0-:ef", "0:g")
}

// A delay ends when it is due, whatever else comes.
func TestSocketDelayDoesNotRearm(t *testing.T) {
	const delay = 100 * time.Millisecond
	d := start(t, echo(), socketRule(fault.WebSocket{Messages: []fault.WSMessage{
		{To: fault.ToClient, Select: fault.Select{Kind: fault.SelectAll}, Do: fault.WSDelay, Delay: fault.Latency{Min: delay, Max: delay}},
	}}))
	p := shakeHands(t, d, handshakeHead())
	stop := make(chan struct{})
	var talking sync.WaitGroup
	began := time.Now()
	talking.Go(func() {
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			p.text("x")
			p.say(wire.OpPing, true, "p")
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	pongs := 0
	for {
		w := hear(p.from, 1)[0]
		if w == "a:p" {
			pongs++
			continue
		}
		if took := time.Since(began); w != "1:x" || took < delay {
			t.Errorf("%s after %v", w, took)
		}
		break
	}
	if pongs < 2 {
		t.Errorf("%d pongs before the message: they wait for it", pongs)
	}
	close(stop)
	talking.Wait()
}

// When the phase ends, messages pass again.
func TestSocketPhaseEnds(t *testing.T) {
	d := start(t, echo(), socketRule(fault.WebSocket{
		Messages: []fault.WSMessage{{To: fault.ToServer, Select: every(2), Do: fault.WSDrop}},
		Stall:    &fault.WSStall{After: 100, To: fault.BothWays}, NoPong: &fault.Select{Kind: fault.SelectAll},
	}))
	p := shakeHands(t, d, handshakeHead())
	p.say(wire.OpPing, true, "lost")
	p.text("a", "lost", "b")
	p.wants("1:a", "1:b")
	d.Enter("other")
	for range 200 {
		p.text("c")
		p.wants("1:c")
	}
	p.say(wire.OpPing, true, "p")
	p.wants("a:p")
	p.say(wire.OpClose, true, "\x03\xe8")
	p.wants("8:1000", "FIN")
}

// A delay that was begun ends at once when faults are cleared.
func TestSocketClear(t *testing.T) {
	d := start(t, echo(), socketRule(fault.WebSocket{Messages: []fault.WSMessage{
		{To: fault.ToClient, At: []uint64{1}, Do: fault.WSDelay, Delay: fault.Latency{Min: time.Hour, Max: time.Hour}},
	}}))
	p := shakeHands(t, d, handshakeHead())
	p.text("a", "b")
	p.say(wire.OpPing, true, "p")
	p.wants("a:p")
	d.Clear()
	p.wants("1:a", "1:b")
	p.Close()
	until(t, "nothing is active", func() bool { return d.State().Active == 0 })
}

// Stalled connections end with the caller, with the phase and with the injector, and leave
// nothing behind.
func TestSocketsStalled(t *testing.T) {
	const n = 200
	before := runtime.NumGoroutine()
	d := start(t, echo(), socketRule(fault.WebSocket{Stall: &fault.WSStall{After: 2, To: fault.BothWays}}))
	stalled := func() []*peer {
		all := make([]*peer, n)
		for i := range all {
			all[i] = shakeHands(t, d, handshakeHead())
			all[i].text("a")
			all[i].wants("1:a")
			all[i].text("b")
			if t.Failed() {
				t.FailNow()
			}
		}
		if s := d.State(); s.Held != n {
			t.Errorf("%+v", s)
		}
		return all
	}
	for _, p := range stalled() {
		p.Close()
	}
	until(t, "callers left", func() bool { return d.State().Active == 0 })
	all := stalled()
	d.Enter("p")
	for _, p := range all {
		p.wants("FIN")
		p.Close()
	}
	until(t, "the phase ended", func() bool { return d.State().Active == 0 })
	all = stalled()
	began := time.Now()
	as := d.attempts(t)
	t.Logf("closed with %d stalled connections in %v", n, time.Since(began))
	if len(as) != 3*n {
		t.Errorf("%d attempts", len(as))
	}
	for i, end := range []string{"by the caller", "with the phase, by FIN", "with the injector"} {
		if a := as[i*n+n/2]; !strings.HasSuffix(a.Detail, "1 stall both ways; ended "+end) || a.Outcome != trace.OutcomeAnswered {
			t.Errorf("%+v", a)
		}
	}
	for _, p := range all {
		p.Close()
	}
	settle(t, before)
}
