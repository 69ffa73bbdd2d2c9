package injector

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// WebSocketStub is what a healthy dependency says to those who ask for a WebSocket (RFC
// 6455). It takes the first subprotocol that is offered and no extension, answers pings with
// pongs and a close with its like.
type WebSocketStub struct {
	Open   []string // text messages that it sends at once
	Answer []string // text messages in answer to each message; none: the message itself is sent back
}

// mostFrame is the largest payload of a frame that is taken; a longer one ends the connection.
const mostFrame = fault.MostMessage

// asksForSocket reports whether the request is to become a WebSocket.
func (x *exchange) asksForSocket() bool {
	// Nearly none does, and one look tells.
	return len(x.r.Header["Upgrade"]) > 0 && fault.AsksForWebSocket(fault.Request{Method: x.r.Method, Header: x.header})
}

// socketRule is what the rule does to WebSockets, or nil.
func (x *exchange) socketRule() *fault.WebSocket {
	if x.verdict.Rule == nil {
		return nil
	}
	return x.verdict.Rule.WebSocket
}

// checkSockets says which rule is for WebSockets where there are none.
func (i *Injector) checkSockets(rules []*fault.Rule) error {
	if i.cfg.Upstream != "" || i.cfg.Stub.WebSocket != nil {
		return nil
	}
	var errs []error
	for _, r := range rules {
		if r.WebSocket != nil {
			errs = append(errs, fmt.Errorf("rule %s is for WebSockets, which this stub does not speak; give it a WebSocket or an upstream", r.ID))
		}
	}
	return errors.Join(errs...)
}

// stubSocket shakes hands as the stub, and plays it.
func (x *exchange) stubSocket() ending {
	header, refusal := x.shake()
	if refusal != nil {
		return x.reply(x.dated(newAnswer(*refusal)))
	}
	stub := x.cfg.Stub.WebSocket
	if x.socketRule() == nil {
		nc, from, err := x.switchTo(header)
		if err != nil {
			return x.gone()
		}
		defer func() { _ = nc.Close() }() // A caller who is gone already is no error.
		at := x.w.last
		stop := context.AfterFunc(x.r.Context(), func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
		defer stop()
		stub.serve(from, nc)
		return ending{outcome: trace.OutcomeAnswered, status: http.StatusSwitchingProtocols, at: at}
	}
	near, far := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		defer func() { _ = far.Close() }() // A pipe has no error of closing.
		stub.serve(bufio.NewReader(far), far)
	})
	defer served.Wait()
	return x.relay(near, header)
}

// shake looks at a handshake: the header of the 101, or why there is none (RFC 6455,
// section 4.2).
func (x *exchange) shake() (http.Header, *fault.Respond) {
	key := x.r.Header.Get("Sec-WebSocket-Key")
	if nonce, err := base64.StdEncoding.DecodeString(key); err != nil || len(nonce) != 16 {
		return nil, &fault.Respond{Status: http.StatusBadRequest, Body: "faultline: Sec-WebSocket-Key is not 16 bytes in base64\n"}
	}
	if x.r.Header.Get("Sec-WebSocket-Version") != "13" {
		return nil, &fault.Respond{
			Status: http.StatusUpgradeRequired, Headers: map[string]string{"Sec-WebSocket-Version": "13", "Upgrade": "websocket"},
			Body: "faultline: only version 13 of WebSocket is spoken\n",
		}
	}
	header := http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Accept": {wire.AcceptKey(key)}}
	if first, _, _ := strings.Cut(x.r.Header.Get("Sec-WebSocket-Protocol"), ","); first != "" {
		header["Sec-Websocket-Protocol"] = []string{strings.TrimSpace(first)}
	}
	return header, nil
}

// switchTo takes the connection from net/http and sends the 101.
func (x *exchange) switchTo(header http.Header) (net.Conn, *bufio.Reader, error) {
	if err := x.r.Context().Err(); err != nil {
		return nil, nil, err
	}
	nc, buf, err := x.w.Hijack()
	if err != nil {
		return nil, nil, err
	}
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = header.Write(&head) // A buffer takes everything.
	head.WriteString("\r\n")
	if _, err := nc.Write(head.Bytes()); err != nil {
		_ = nc.Close()
		return nil, nil, err
	}
	// The server's reader would cancel the request's context when the caller has said its
	// last; what was said before is still to be relayed.
	early := make([]byte, buf.Reader.Buffered())
	if _, err := io.ReadFull(buf.Reader, early); err != nil {
		_ = nc.Close()
		return nil, nil, err
	}
	return nc, bufio.NewReader(io.MultiReader(bytes.NewReader(early), nc)), nil
}

// serve plays the stub on a connection, until it ends.
func (s *WebSocketStub) serve(from io.Reader, to io.Writer) {
	send := func(f wire.Frame) bool {
		_, err := to.Write(f.Append(nil))
		return err == nil
	}
	text := func(all []string) bool {
		return !slices.ContainsFunc(all, func(t string) bool {
			return !send(wire.Frame{Fin: true, Opcode: wire.OpText, Payload: []byte(t)})
		})
	}
	for going := text(s.Open); going; {
		f, err := wire.ReadFrame(from, mostFrame)
		switch {
		case errors.Is(err, wire.ErrTooLong):
			send(wire.CloseFrame(1009, "faultline: the frame is too long"))
			return
		case err != nil:
			return
		case !f.Masked || f.RSV != 0:
			send(wire.CloseFrame(1002, "faultline: the frame has no mask, or an extension that was not agreed on"))
			return
		}
		f.Masked = false
		switch {
		case f.Opcode == wire.OpClose:
			send(f)
			return
		case f.Opcode == wire.OpPing:
			f.Opcode = wire.OpPong
			going = send(f)
		case f.Opcode == wire.OpPong:
		case len(s.Answer) == 0:
			going = send(f)
		case f.Fin:
			going = text(s.Answer)
		}
	}
}

// upgrade is where an upstream's WebSocket is left for the exchange.
type upgrade struct {
	conn   io.ReadWriteCloser
	header http.Header
}

// upgradeKey is the context key of an *upgrade.
type upgradeKey struct{}

// errTaken says that a WebSocket was not passed on blindly, but left for the exchange.
var errTaken = errors.New("the exchange relays this WebSocket")

// takeUpgrade leaves a WebSocket to the exchange that has faults for it.
func takeUpgrade(res *http.Response) error {
	u, ok := res.Request.Context().Value(upgradeKey{}).(*upgrade)
	conn, can := res.Body.(io.ReadWriteCloser)
	if !ok || !can || res.StatusCode != http.StatusSwitchingProtocols {
		return nil
	}
	u.conn, u.header = conn, res.Header
	res.Body = http.NoBody // It is closed now, and conn is not.
	return errTaken
}

// askForSocket prepares a request whose WebSocket is to be relayed. No extension is offered:
// a message that was compressed together with others could not be dropped.
func (x *exchange) askForSocket(r *http.Request) (*http.Request, *upgrade) {
	u := &upgrade{}
	r = r.Clone(context.WithValue(r.Context(), upgradeKey{}, u))
	r.Header.Del("Sec-WebSocket-Extensions")
	return r, u
}

// relay has the caller and a dependency talk, frame by frame, and the rule's faults among
// them. It closes conn.
func (x *exchange) relay(conn io.ReadWriteCloser, header http.Header) ending {
	switch x.socketRule().Accept {
	case fault.AcceptWrong:
		header.Set("Sec-WebSocket-Accept", wire.AcceptKey("another one"))
	case fault.AcceptMissing:
		header.Del("Sec-WebSocket-Accept")
	}
	s := newSocket(x, conn)
	nc, from, err := x.switchTo(header)
	if err != nil {
		_ = conn.Close() // Nobody is there to hear of it.
		return x.gone()
	}
	at := x.w.last
	s.run(nc, from)
	return ending{outcome: trace.OutcomeAnswered, status: http.StatusSwitchingProtocols, at: at, detail: s.String()}
}
