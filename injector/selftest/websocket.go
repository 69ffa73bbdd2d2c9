package selftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// webSocketProtocol is what the protocol is called.
const webSocketProtocol = "WebSocket"

// shake is the handshake of RFC 6455, section 1.3, and shaken is the key of its answer.
const (
	shake = "GET /feed HTTP/1.1\r\nHost: selftest\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
	shaken = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// says is a masked frame of the caller. The frames here are made and read by hand, so that
// what the injector reads and writes them with cannot hide its own mistake.
func says(opcode byte, text string) string {
	key := [4]byte{0xA1, 0x7, 0x5C, 0xE3}
	b := append([]byte{0x80 | opcode, 0x80 | byte(len(text))}, key[:]...)
	for i := range len(text) {
		b = append(b, text[i]^key[i%4])
	}
	return string(b)
}

// talks is a handshake and what is said behind it.
func talks(texts ...string) string {
	var b strings.Builder
	b.WriteString(shake)
	for _, t := range texts {
		b.WriteString(says(1, t))
	}
	return b.String()
}

// hangup is the close frame of a caller, 1000.
func hangup() string { return says(8, "\x03\xe8") }

// frames writes what came behind the head, for a reader: one word for each frame.
func frames(o Observation) string {
	head, rest, whole := bytes.Cut(o.Bytes, []byte("\r\n\r\n"))
	if !whole || !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		return brief(o.Bytes)
	}
	words := []string{"101"}
	for len(rest) > 0 {
		var word string
		word, rest = frame(rest)
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// frame reads one frame that a dependency sent.
func frame(b []byte) (word string, rest []byte) {
	cut := fmt.Sprintf("cut(%q)", b[:min(len(b), 40)])
	head, size := 2, 0
	if len(b) < head {
		return cut, nil
	}
	switch short := b[1]; {
	case short > 127:
		return "masked", nil
	case short == 126:
		head = 4
	case short == 127:
		head = 10
	default:
		size = int(short)
	}
	if len(b) < head {
		return cut, nil
	}
	switch head {
	case 4:
		size = int(binary.BigEndian.Uint16(b[2:]))
	case 10:
		size = int(binary.BigEndian.Uint64(b[2:])) // One that is no int is not there either.
	}
	if size < 0 || len(b)-head < size {
		return cut, nil
	}
	kind, known := map[byte]string{0: "more", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}[b[0]&15]
	if !known || b[0]&0x70 != 0 {
		kind = fmt.Sprintf("%#x", b[0])
	}
	if b[0]&0x80 == 0 {
		kind += "-" // It is not the last of its message.
	}
	return kind + "(" + content(kind, b[head:head+size]) + ")", b[head+size:]
}

// content writes a payload.
func content(kind string, p []byte) string {
	switch {
	case kind == "close" && len(p) >= 2:
		return strings.TrimSpace(fmt.Sprint(binary.BigEndian.Uint16(p), " ", string(p[2:])))
	case len(p) > 40:
		return fmt.Sprintf("%d bytes", len(p))
	}
	return string(p)
}

// hears reports whether these frames came behind a sound 101, and how it ended.
func hears(words string, end End) func(Observation) bool {
	return func(o Observation) bool {
		return o.End == end && frames(o) == strings.TrimSpace("101 "+words) &&
			bytes.Contains(o.Bytes, []byte("Sec-Websocket-Accept: "+shaken+"\r\n"))
	}
}

// wsSocket is a rule for WebSockets.
func wsSocket(w fault.WebSocket) fault.Rule {
	return fault.Rule{Action: fault.ActionPass, Match: fault.Match{WebSocket: true}, WebSocket: &w}
}

// webSockets are the contracts of WebSocket.
func webSockets() []contract {
	all := slices.Concat(wsHandshakes(), closes(), messageFaults(), messagesSpoilt(), selections(), silences())
	for i := range all {
		all[i].protocol, all[i].show = webSocketProtocol, frames
		if all[i].stub.WebSocket == nil {
			all[i].stub.WebSocket = &injector.WebSocketStub{}
		}
	}
	return all
}

// wsHandshakes are those that fail, or are late.
func wsHandshakes() []contract {
	nothing := fault.WebSocket{Messages: []fault.WSMessage{{To: fault.ToClient, At: []uint64{99}, Do: fault.WSDrop}}}
	late := wsSocket(nothing)
	late.Latency = fault.Latency{Min: 80 * ms, Max: 80 * ms}
	return []contract{
		{
			fault: "websocket, and no fault is due", expected: "101 with the right key, and each message comes back",
			rule: wsSocket(nothing), request: talks("a", "", strings.Repeat("x", 100)),
			holds: hears("text(a) text() text(100 bytes)", None),
		},
		{
			fault: "respond: 403 to a handshake", expected: "a complete 403 and no WebSocket",
			rule:    fault.Rule{Action: fault.ActionRespond, Match: fault.Match{WebSocket: true}, Respond: fault.Respond{Status: 403}},
			request: shake, holds: looks(`HTTP/1\.1 403 .*\r\n\r\n`, None),
		},
		{
			fault: "websocket: {accept: wrong}", expected: "101 with the key of another handshake",
			rule: wsSocket(fault.WebSocket{Accept: fault.AcceptWrong}), request: shake,
			holds: func(o Observation) bool {
				return bytes.Contains(o.Bytes, []byte("Sec-Websocket-Accept: ")) && !bytes.Contains(o.Bytes, []byte(shaken)) && frames(o) == "101"
			},
		},
		{
			fault: "websocket: {accept: missing}", expected: "101 without a key",
			rule: wsSocket(fault.WebSocket{Accept: fault.AcceptMissing}), request: shake,
			holds: func(o Observation) bool {
				return !bytes.Contains(bytes.ToLower(o.Bytes), []byte("accept")) && frames(o) == "101"
			},
		},
		{
			fault: "latency: 80ms, websocket", expected: "101 not before 80 ms, then all as it should be",
			rule: late, request: talks("a"), holds: all(hears("text(a)", None), func(o Observation) bool { return o.first() >= 80*ms }),
		},
	}
}

// closes are ends of a connection.
func closes() []contract {
	end := func(c fault.WSClose) fault.Rule { return wsSocket(fault.WebSocket{Close: &c}) }
	talk := talks("a", "b", "c")
	return []contract{
		{
			fault: "close: {after: 2, code: 1011, reason: broken}", expected: "two messages, a close frame 1011 with the reason, then FIN, as the caller has answered",
			rule: end(fault.WSClose{After: 2, Code: 1011, Reason: "broken"}), request: talk + hangup(),
			holds: hears("text(a) text(b) close(1011 broken)", FIN),
		},
		{
			fault: "close: {code: 1012}, unanswered", expected: "a close frame 1012 at once, then FIN a second later", patience: 2 * fault.CloseWait,
			rule: end(fault.WSClose{Code: 1012}), request: shake,
			holds: all(hears("close(1012)", FIN), func(o Observation) bool { return o.Ended >= fault.CloseWait }),
		},
		{
			fault: "close: {code: 65535, by: reset}", expected: "a close frame with a code that nobody may send, then RST",
			rule: end(fault.WSClose{Code: 65535, By: fault.ActionReset}), request: shake, holds: hears("close(65535)", RST),
		},
		{
			fault: "close: {after: 1, of: to_server, code: 1005}", expected: "a close frame without a code, in place of the answer, then FIN",
			rule: end(fault.WSClose{After: 1, Of: fault.ToServer, Code: 1005}), request: talk + hangup(), holds: hears("close()", FIN),
		},
		{
			fault: "close: {after: 1, code: 1006}", expected: "one message, then FIN without a close frame",
			rule: end(fault.WSClose{After: 1, Code: 1006}), request: talk, holds: hears("text(a)", FIN),
		},
		{
			fault: "close: {after: 1, code: 1006, by: reset}", expected: "one message, then RST without a close frame",
			rule: end(fault.WSClose{After: 1, Code: 1006, By: fault.ActionReset}), request: talk, holds: hears("text(a)", RST),
		},
	}
}

// messageFaults are faults of single messages.
func messageFaults() []contract {
	one := func(m fault.WSMessage) fault.Rule { return wsSocket(fault.WebSocket{Messages: []fault.WSMessage{m}}) }
	second := []uint64{2}
	talk := talks("aa", "bb", "cc")
	return []contract{
		{
			fault: "messages: {to: to_client, at: [2], do: drop}", expected: "the first and the third message", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSDrop}), holds: hears("text(aa) text(cc)", None),
		},
		{
			fault: "messages: {to: to_server, at: [2], do: drop}", expected: "answers to the first and the third message", request: talk,
			rule: one(fault.WSMessage{To: fault.ToServer, At: second, Do: fault.WSDrop}), holds: hears("text(aa) text(cc)", None),
		},
		{
			fault: "messages: {to: to_client, at: [2], do: delay, delay: 80ms}", expected: "the second message not before 80 ms, the third behind it; a pong is not delayed",
			request: talk + says(9, "p"),
			rule:    one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSDelay, Delay: fault.Latency{Min: 80 * ms, Max: 80 * ms}}),
			holds:   all(hears("text(aa) pong(p) text(bb) text(cc)", None), notBefore(80*ms)),
		},
		{
			fault: "messages: {to: to_client, at: [2], do: duplicate}", expected: "the second message twice", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSDuplicate}), holds: hears("text(aa) text(bb) text(bb) text(cc)", None),
		},
		{
			fault: "messages: {to: to_client, at: [2], do: reorder}", expected: "the third message before the second", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSReorder}), holds: hears("text(aa) text(cc) text(bb)", None),
		},
	}
}

// messagesSpoilt are faults in which a message is another one, or several.
func messagesSpoilt() []contract {
	one := func(m fault.WSMessage) fault.Rule { return wsSocket(fault.WebSocket{Messages: []fault.WSMessage{m}}) }
	second := []uint64{2}
	talk := talks("aa", "bb", "cc")
	return []contract{
		{
			fault: "messages: {to: to_client, at: [2], do: corrupt}", expected: "a sound frame of two bytes, of which one is another", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSCorrupt}),
			holds: func(o Observation) bool {
				return hears("text(aa) text(bc) text(cc)", None)(o) || hears("text(aa) text(cb) text(cc)", None)(o)
			},
		},
		{
			fault: "messages: {to: to_client, at: [2], do: cut, by: reset}", expected: "one message, the head and half of the next one, then RST", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSCut, By: fault.ActionReset}), holds: hears(`text(aa) cut("\x81\x02b")`, RST),
		},
		{
			fault: "messages: {to: to_client, at: [2], do: cut, by: close}", expected: "one message, the head and half of the next one, then FIN", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSCut, By: fault.ActionClose}), holds: hears(`text(aa) cut("\x81\x02b")`, FIN),
		},
		{
			fault: "messages: {to: to_client, at: [2], do: oversize, size: 70000B}", expected: "the second message has 70000 bytes, in one sound frame", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSOversize, Size: 70_000}), holds: hears("text(aa) text(70000 bytes) text(cc)", None),
		},
		{
			fault: "messages: {to: to_client, at: [2], do: fragment, size: 1B}", expected: "the second message in two frames", request: talk,
			rule: one(fault.WSMessage{To: fault.ToClient, At: second, Do: fault.WSFragment, Size: 1}), holds: hears("text(aa) text-(b) more(b) text(cc)", None),
		},
		{
			fault: "messages: {to: to_client, at: [1], control: true, do: drop}", expected: "the message and no pong, as that came first",
			request: shake + says(9, "p") + says(1, "aa"),
			rule:    one(fault.WSMessage{To: fault.ToClient, At: []uint64{1}, Control: true, Do: fault.WSDrop}), holds: hears("text(aa)", None),
		},
	}
}

// selections are ways to pick messages.
func selections() []contract {
	drop := func(s fault.Select) fault.Rule {
		return wsSocket(fault.WebSocket{Messages: []fault.WSMessage{{To: fault.ToClient, Select: s, Do: fault.WSDrop}}})
	}
	eight := talks("1", "2", "3", "4", "5", "6", "7", "8")
	return []contract{
		{
			fault: "messages: {to: to_client, every: 3, do: drop}", expected: "of eight messages, all but the third and the sixth", request: eight,
			rule:  drop(fault.Select{Kind: fault.SelectEvery, Every: 3}),
			holds: hears("text(1) text(2) text(4) text(5) text(7) text(8)", None),
		},
		{
			fault: "messages: {to: to_client, first: 6, do: drop}", expected: "of eight messages, the last two", request: eight,
			rule:  drop(fault.Select{Kind: fault.SelectFirst, First: 6}),
			holds: hears("text(7) text(8)", None),
		},
		{
			fault: "messages: {to: to_client, ratio: 25%, do: drop}", expected: "of eight messages, six: the second and the sixth are missing", request: eight,
			rule:  drop(fault.Select{Kind: fault.SelectRatio, Num: 1, Den: 4}),
			holds: hears("text(1) text(3) text(4) text(5) text(7) text(8)", None),
		},
	}
}

// silences are what does not come.
func silences() []contract {
	talk := talks("a", "b") + says(9, "p") + hangup()
	return []contract{
		{
			fault: "stall: {after: 1, to: to_client}", expected: "one message; then no message, pong, close or end, whatever the caller says",
			rule: wsSocket(fault.WebSocket{Stall: &fault.WSStall{After: 1, To: fault.ToClient}}), request: talk, holds: hears("text(a)", None),
		},
		{
			fault: "stall: {to: both}", expected: "101 and nothing more",
			rule: wsSocket(fault.WebSocket{Stall: &fault.WSStall{To: fault.BothWays}}), request: talk, holds: hears("", None),
		},
		{
			fault: "stall: {after: 1, to: to_server}", expected: "what the dependency says by itself, and one answer; no pong and no answer to the close",
			rule: wsSocket(fault.WebSocket{Stall: &fault.WSStall{After: 1, To: fault.ToServer}}), request: talk,
			stub: injector.Stub{WebSocket: &injector.WebSocketStub{Open: []string{"hello"}}}, holds: hears("text(hello) text(a)", None),
		},
		{
			fault: "stall: {to: both}, and the phase ends", expected: "101 and nothing more; then FIN, when the phase ends", ends: true,
			rule: wsSocket(fault.WebSocket{Stall: &fault.WSStall{To: fault.BothWays}}), request: talk, holds: hears("", FIN),
		},
		{
			fault: "no_pong: {first: 1}", expected: "no pong to the first ping, one to the second, and the message",
			rule:    wsSocket(fault.WebSocket{NoPong: &fault.Select{Kind: fault.SelectFirst, First: 1}}),
			request: shake + says(9, "p") + says(1, "a") + says(9, "q"), holds: hears("text(a) pong(q)", None),
		},
		{
			fault: "ignore_close: true", expected: "the messages and a pong; neither a close frame nor an end", rule: wsSocket(fault.WebSocket{IgnoreClose: true}),
			request: talk, holds: hears("text(a) text(b) pong(p)", None),
		},
	}
}
