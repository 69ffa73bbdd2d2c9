package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// WebSocket is what becomes of a WebSocket (RFC 6455) whose handshake a rule hit. The
// handshake itself fails by ActionRespond, comes late by the rule's latency, and is reset or
// hung up on like any request. No extension is agreed on, so that a message is on the wire
// what it says. When the phase ends, what has not happened yet does not happen any more, and
// a connection that has stalled, or did not answer a close, is closed by FIN.
type WebSocket struct {
	Accept   BadAccept   `json:"accept,omitempty" yaml:"accept,omitempty"`
	Messages []WSMessage `json:"messages,omitempty" yaml:"messages,omitempty"` // the first that selects a message decides alone
	Close    *WSClose    `json:"close,omitempty" yaml:"close,omitempty"`
	Stall    *WSStall    `json:"stall,omitempty" yaml:"stall,omitempty"`
	// NoPong selects pings of the caller that get no pong: they are swallowed.
	NoPong *Select `json:"no_pong,omitempty" yaml:"no_pong,omitempty"`
	// IgnoreClose swallows the caller's close frames: none is answered, and the connection
	// stays open until the caller leaves or the phase ends.
	IgnoreClose bool `json:"ignore_close,omitempty" yaml:"ignore_close,omitempty"`
}

// BadAccept is what is wrong with the Sec-WebSocket-Accept of a 101.
type BadAccept string

// The wrong ones.
const (
	AcceptWrong   BadAccept = "wrong"   // that of another key
	AcceptMissing BadAccept = "missing" // there is none
)

// WSDirection is the way that a message goes.
type WSDirection string

// The directions.
const (
	ToClient WSDirection = "to_client"
	ToServer WSDirection = "to_server"
	BothWays WSDirection = "both"
)

// WSMessage is a fault of single messages. They are counted by connection and direction, from
// the first after the handshake on, whatever becomes of them. Faults of one direction select
// messages that differ, but for a last one of SelectAll, which takes all that are left.
type WSMessage struct {
	To      WSDirection `json:"to" yaml:"to"`                     // ToClient or ToServer
	Select  Select      `json:"select,omitzero" yaml:"select"`    // SelectAll, First, After, Every, Ratio or Script; or else At
	At      []uint64    `json:"at,omitempty" yaml:"at"`           // the numbers of messages, from 1
	Control bool        `json:"control,omitempty" yaml:"control"` // pings, pongs and closes are counted and hit like messages
	Do      WSDo        `json:"do" yaml:"do"`
	Delay   Latency     `json:"delay,omitzero" yaml:"delay"` // of WSDelay
	Size    int64       `json:"size,omitempty" yaml:"size"`  // of WSOversize: bytes of payload that a shorter message is filled up to; of WSFragment: of each frame
	By      Action      `json:"by,omitempty" yaml:"by"`      // of WSCut: ActionReset or ActionClose
}

// WSDo is what is done to a message.
type WSDo string

// What may be done.
const (
	WSDrop      WSDo = "drop"
	WSDelay     WSDo = "delay"     // sent so long after it came, whatever else comes; what is behind it waits for it, but not longer than that
	WSDuplicate WSDo = "duplicate" // sent twice in a row
	WSReorder   WSDo = "reorder"   // sent after the next message of its direction; before a close or the end, if none comes
	WSCorrupt   WSDo = "corrupt"   // one bit of its payload is another, in a sound frame; text stays text. An empty message has none
	WSCut       WSDo = "cut"       // the head of its first frame and half of the payload, then the end of that connection; the other one is closed by FIN
	WSOversize  WSDo = "oversize"
	WSFragment  WSDo = "fragment"
)

// WSDos are all of them.
func WSDos() []WSDo {
	return []WSDo{WSDrop, WSDelay, WSDuplicate, WSReorder, WSCorrupt, WSCut, WSOversize, WSFragment}
}

// WSClose ends the connection after some messages, with a close frame of this code. Of what
// is no code on the wire, 1005 is a close frame without a code and 1006 is no close frame.
// The connection then ends by FIN when the caller has answered the frame, left, or let
// [CloseWait] pass; by RST at once. What the dependency sends after that is dropped; a real
// one has its connection closed.
type WSClose struct {
	After  uint64      `json:"after,omitempty" yaml:"after"` // so many messages, the last of which still passes; 0: at once after the handshake
	Of     WSDirection `json:"of,omitempty" yaml:"of"`       // that are counted; empty: ToClient
	Code   uint16      `json:"code" yaml:"code"`
	Reason string      `json:"reason,omitempty" yaml:"reason"` // at most 123 bytes
	By     Action      `json:"by,omitempty" yaml:"by"`         // ActionClose or ActionReset; empty: ActionClose
}

// CloseWait is how long the answer to a close frame is waited for.
const CloseWait = time.Second

// Codes that are no code on the wire (RFC 6455, section 7.4.1).
const (
	CloseNoCode   = 1005
	CloseAbnormal = 1006
	closeTLS      = 1015
)

// WSStall has nothing more come through after some messages: no message, ping, pong, close
// or FIN. What is sent in that direction is read and dropped. It ends when the caller
// leaves; or with the phase, by FIN.
type WSStall struct {
	After uint64      `json:"after,omitempty" yaml:"after"` // so many messages of these directions together
	To    WSDirection `json:"to" yaml:"to"`
}

// check looks at the parts, and at those who stand in each other's way.
func (w WebSocket) check(ps *problems) {
	if w.Accept == "" && len(w.Messages) == 0 && w.Close == nil && w.Stall == nil && w.NoPong == nil && !w.IgnoreClose {
		ps.add("websocket", "says nothing; write accept, messages, close, stall, no_pong or ignore_close")
	}
	if w.Accept != "" && w.Accept != AcceptWrong && w.Accept != AcceptMissing {
		ps.add("websocket.accept", "%q is none of wrong, missing", w.Accept)
	}
	before := len(*ps)
	for n, m := range w.Messages {
		m.check(ps, fmt.Sprintf("websocket.messages.%d", n+1))
	}
	if len(*ps) == before {
		w.checkShared(ps)
	}
	if w.Close != nil {
		w.Close.check(ps)
	}
	if s := w.Stall; s != nil && s.To != ToClient && s.To != ToServer && s.To != BothWays {
		ps.add("websocket.stall.to", "%q is none of to_client, to_server, both", s.To)
	}
	if w.NoPong != nil {
		checkPlain(*w.NoPong, ps, "websocket.no_pong")
	}
}

// check looks at one fault of messages.
func (m WSMessage) check(ps *problems, field string) {
	if m.To != ToClient && m.To != ToServer {
		ps.add(field+".to", "%q is none of to_client, to_server", m.To)
	}
	m.checkSelection(ps, field)
	if !slices.Contains(WSDos(), m.Do) {
		ps.add(field+".do", "%q is none of %s", m.Do, words(WSDos()))
		return
	}
	if m.Control && slices.Contains([]WSDo{WSReorder, WSOversize, WSFragment}, m.Do) {
		ps.add(field+".control", "has no meaning with %s: control frames have at most 125 bytes, are in one piece, and keep their place", m.Do)
	}
	var delay problems
	m.Delay.check(&delay)
	for _, p := range delay {
		ps.add(field+".delay", "%s", p.Text)
	}
	m.Delay.placeless(field+".delay", "a message", ps)
	if m.Delay.Ramp != nil {
		ps.add(field+".delay", "has no meaning with a ramp: messages are delayed by their numbers, and not by the time")
	}
	if late := m.Delay.Longest() > 0; late != (m.Do == WSDelay) {
		ps.add(field+".delay", "is %q with %s; only a delay has one, which is above 0", m.Delay, m.Do)
	}
	if m.Do == WSOversize || m.Do == WSFragment {
		if m.Size < 1 || m.Size > MostMessage {
			ps.add(field+".size", "is %d bytes; write 1 to %d", m.Size, MostMessage)
		}
	} else if m.Size != 0 {
		ps.add(field+".size", "has no meaning with %s", m.Do)
	}
	m.checkBy(ps, field)
}

func (m WSMessage) checkBy(ps *problems, field string) {
	switch {
	case m.Do != WSCut && m.By != "":
		ps.add(field+".by", "has no meaning with %s", m.Do)
	case m.Do == WSCut && m.By != ActionReset && m.By != ActionClose:
		ps.add(field+".by", "%q is none of reset, close", m.By)
	case m.Do == WSCut && m.By == ActionReset && m.To == ToServer:
		ps.add(field+".by", "the connection to the dependency is closed, not reset; write close")
	}
}

// MostMessage is how large a message may be made, in bytes.
const MostMessage = 64 << 20

// checkSelection looks at the one way in which messages are selected.
func (m WSMessage) checkSelection(ps *problems, field string) {
	if len(m.At) == 0 {
		checkPlain(m.Select, ps, field+".select")
		return
	}
	if m.Select != (Select{}) {
		ps.add(field+".at", "messages are selected by their numbers or by select; leave one of them out")
	}
	seen := map[uint64]bool{}
	for _, n := range m.At {
		if n == 0 || seen[n] {
			ps.add(field+".at", "%d: numbers begin with 1, and each is there once", n)
		}
		seen[n] = true
	}
}

// checkPlain takes the selections that need no seed and no key.
func checkPlain(s Select, ps *problems, field string) {
	if s.Ramp != nil {
		ps.add(field, "has no meaning with a ramp: messages are selected by their numbers, and not by the time")
		return
	}
	plain := []SelectKind{SelectAll, SelectRatio, SelectFirst, SelectAfter, SelectEvery, SelectScript}
	if !slices.Contains(plain, s.Kind) || s.Sticky != (Sticky{}) {
		ps.add(field, "messages are selected by one of %s, and by no key; not by %q", words(plain), s.Kind)
		return
	}
	var own problems
	s.check(&own)
	for _, p := range own {
		ps.add(field, "%s", p.Text)
	}
}

// check looks at how a connection is to end.
func (c WSClose) check(ps *problems) {
	if c.Of != "" && c.Of != ToClient && c.Of != ToServer && c.Of != BothWays {
		ps.add("websocket.close.of", "%q is none of to_client, to_server, both", c.Of)
	}
	switch {
	case c.Code == 0:
		ps.add("websocket.close.code", "is 0; write the code, or 1006 for no close frame")
	case c.Code == closeTLS:
		ps.add("websocket.close.code", "1015 is a failed TLS handshake and never sent; it is a fault of TLS")
	case (c.Code == CloseNoCode || c.Code == CloseAbnormal) && c.Reason != "":
		ps.add("websocket.close.reason", "a reason stands behind a code on the wire, and %d is none there", c.Code)
	}
	if len(c.Reason) > 123 {
		ps.add("websocket.close.reason", "has %d bytes; a control frame has room for 123", len(c.Reason))
	}
	if c.By != "" && c.By != ActionClose && c.By != ActionReset {
		ps.add("websocket.close.by", "%q is none of close, reset", c.By)
	}
}

// wsHorizon is for how many messages it is looked whether two faults want the same one.
const wsHorizon = 10_000

// checkShared looks for messages that two faults of a direction want.
func (w WebSocket) checkShared(ps *problems) {
	for n, m := range w.Messages {
		for k, e := range w.Messages[:n] {
			if text := m.behind(e); text != "" {
				ps.add(fmt.Sprintf("websocket.messages.%d", n+1), "beside messages %d: %s", k+1, text)
			}
		}
	}
}

// behind says why m cannot stand behind e; it is empty when it can.
func (m WSMessage) behind(e WSMessage) string {
	switch {
	case e.To != m.To:
	case e.Select.Kind == SelectAll && (e.Control || !m.Control):
		return "that one already takes every message to there; put it last"
	case e.Control != m.Control:
		return "only one of them counts control frames, so that they would meet at some message; give both the same control"
	case m.Select.Kind != SelectAll:
		if at := meet(e, m); at > 0 {
			return fmt.Sprintf("both want message %d; select others, so that each fault hits all that it selects", at)
		}
	}
	return ""
}

// meet is the first message that both select, or 0.
func meet(a, b WSMessage) uint64 {
	for _, n := range slices.Concat(a.At, b.At) {
		if a.hits(n-1) && b.hits(n-1) {
			return n
		}
	}
	for n := range uint64(wsHorizon) {
		if a.hits(n) && b.hits(n) {
			return n + 1
		}
	}
	return 0
}

// hits reports whether the message with this index, from 0, is selected.
func (m WSMessage) hits(index uint64) bool {
	if len(m.At) > 0 {
		return slices.Contains(m.At, index+1)
	}
	return m.Select.Hit(index)
}

// clone copies what the caller might change.
func (w *WebSocket) clone() *WebSocket {
	if w == nil {
		return nil
	}
	c := *w
	c.Messages = slices.Clone(w.Messages)
	for i := range c.Messages {
		c.Messages[i].At = slices.Clone(c.Messages[i].At)
		c.Messages[i].Delay = c.Messages[i].Delay.clone()
	}
	if w.Close != nil {
		c.Close = new(*w.Close)
	}
	if w.Stall != nil {
		c.Stall = new(*w.Stall)
	}
	if w.NoPong != nil {
		c.NoPong = new(*w.NoPong)
	}
	return &c
}

// methodOfWebSocket is that of a handshake (RFC 6455, section 4.1).
const methodOfWebSocket = "GET"

// AsksForWebSocket reports whether r is to become a WebSocket; its handshake may still be a
// bad one.
func AsksForWebSocket(r Request) bool {
	return r.Method == methodOfWebSocket && hasToken(r.header("Connection"), "upgrade") && hasToken(r.header("Upgrade"), "websocket")
}

// hasToken reports whether a list of tokens has this one, whatever its case.
func hasToken(list, token string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), token) {
			return true
		}
	}
	return false
}

// checkWebSocket looks at what goes together with one.
func (r Rule) checkWebSocket(ps *problems) {
	if r.WebSocket == nil {
		return
	}
	if r.Action != ActionPass {
		ps.add("websocket", "has no meaning with action %s, which gives no WebSocket", r.Action)
	}
	if !r.Match.WebSocket {
		ps.add("match.websocket", "must be true: only requests that ask for a WebSocket get one")
	}
	if r.Form != (Form{}) {
		ps.add("form", "has no meaning with websocket; it is one of complete answers")
	}
	if r.ReadRate != 0 {
		ps.add("read_rate", "has no meaning with websocket: a handshake has no body")
	}
	r.WebSocket.check(ps)
}
