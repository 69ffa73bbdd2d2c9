package injector

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/h2"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// exchange is one request on its way through the injector.
type exchange struct {
	*Injector
	w       *answerWriter
	stream  h2.Stream // nil: over HTTP/1.1
	r       *http.Request
	body    *watchedBody // the caller's
	phase   *phase       // of the arrival; of an added fault, if that hit it
	arrived time.Time
	verdict fault.Verdict
	spot    *spot // nil: not held
	spared  string
	uses    bool // of the limits, one faulted request; and one that is held
	holds   bool
	own     answer   // that the request asked for
	notes   []string // on what it asked for
	late    bool     // it waited for the door to open

	room struct { // for what w and body point to, with one allocation
		writer answerWriter
		body   watchedBody
	}
	asks asks

	from time.Time // when it came, or was let go by a hold
	owed bool      // the verdict's latency is one of the answer, and has not passed yet
}

// ending is how an exchange ended.
type ending struct {
	outcome trace.Outcome
	status  int
	grpc    string // of an answer; empty: it is none of gRPC
	at      time.Time
	left    bool // the caller closed before the answer was complete
	cut     bool // the connection must not carry anything more
	// byAnother says that another stream's fault ended the connection.
	byAnother bool
	detail    string
}

// exchange plays a request: arrival, decision, hold, latency, action, end. c is nil over HTTP/2. It
// reports whether that is over for good, so that nobody can know of x any more.
func (i *Injector) exchange(x *exchange, c *conn, w http.ResponseWriter, r *http.Request) (over bool) {
	if watch := i.watcher.Load(); watch != nil {
		(*watch)(r)
	}
	x.Injector, x.r, x.arrived = i, r, i.now()
	x.room.writer.ResponseWriter, x.room.body.ReadCloser = w, r.Body
	x.w, x.body = &x.room.writer, &x.room.body
	stage := i.phase.Load()
	r.Body = x.body
	defer x.giveBack()
	x.decide(stage, fault.Request{
		Method: r.Method, Path: r.URL.Path, Header: x.asks.header, Query: x.asks.query, Peer: r.RemoteAddr, Body: x.asks.look,
	})
	brief := x.brief()
	if c != nil && brief {
		c.ahead.brief.Store(true)
	} else if c != nil {
		c.ahead.look()
	}
	handle := i.cfg.Recorder.Arrived(x.attempt())
	if rule := x.verdict.Rule; rule != nil && rule.Hold != nil {
		x.spot = x.phase.lots[rule].park(i.offset(x.arrived))
	}
	x.end(handle, x.play())
	return brief
}

// end records how the exchange ended, and drops the connection where nothing may follow.
func (x *exchange) end(handle int, e ending) {
	i := x.Injector
	at := i.offset(e.at)
	i.cfg.Recorder.Departed(handle, func(a *trace.Attempt) {
		a.Outcome, a.Status, a.GRPC, a.Detail = e.outcome, e.status, e.grpc, x.told(e.detail)
		if a.Stream = e.status == http.StatusSwitchingProtocols; a.Stream {
			a.Closed = i.offset(time.Now())
		}
		if e.left {
			a.Abandon = at
		} else {
			a.Dep = at
		}
	})
	if x.spot != nil {
		x.spot.leave()
		x.spot.answered(i.offset(time.Now())) // not before the caller could know: at is
	}
	if e.cut {
		if e.outcome == trace.OutcomeFIN {
			x.breakOff()
		}
		panic(http.ErrAbortHandler) // the documented way to have the server drop a connection
	}
}

// brief reports whether the request is answered at once, in one piece.
func (x *exchange) brief() bool {
	if rule := x.verdict.Rule; rule != nil {
		answers := rule.Action == fault.ActionRespond || rule.Action == fault.ActionPass && x.cfg.Upstream == ""
		waits := rule.Hold != nil || rule.ReadRate > 0 || x.verdict.Latency > 0
		if !answers || waits || rule.Form != (fault.Form{}) || rule.H2 != nil || rule.WebSocket != nil {
			return false
		}
		if rule.Action == fault.ActionRespond {
			return x.phase.answers[rule].inOnePiece()
		}
	}
	return x.healthy == nil && x.cfg.Stub.Latency == 0 && x.cfg.Stub.WebSocket == nil && x.stub.inOnePiece()
}

// header reads a header of the request; net/http keeps Host apart.
func (x *exchange) header(key string) string {
	if http.CanonicalHeaderKey(key) == "Host" {
		return x.r.Host
	}
	return x.r.Header.Get(key)
}

// query reads a parameter of the request.
func (x *exchange) query(key string) string { return x.r.URL.Query().Get(key) }

// attempt is the record of the arrival.
func (x *exchange) attempt() trace.Attempt {
	a := trace.Attempt{
		Injector: x.cfg.Name,
		Phase:    x.phase.name,
		Peer:     x.r.RemoteAddr,
		Method:   x.r.Method,
		Path:     x.r.URL.Path,
		Arr:      x.offset(x.arrived),
		Spared:   x.spared,
		Stream:   x.asksForSocket(),
		Late:     x.late,
	}
	if len(x.cfg.Correlator.Phases) > 0 { // Else there are no calls.
		a.ID, a.By, _ = x.cfg.Correlator.Identify(match.Request{Header: x.r.Header, URI: x.r.RequestURI, Body: x.asks.look})
	}
	if x.verdict.Rule != nil {
		a.Rule, a.Action, a.Delay = x.verdict.Rule.ID, string(x.verdict.Rule.Action), x.verdict.Latency
	}
	return a
}

// look returns the beginning of the request's body, which stays in the body. It
// waits until that much has come or the body has ended, so it is only done when a
// call's token may be in there, or when a fault is for what is in there.
func (x *exchange) look() []byte {
	var head bytes.Buffer
	_, _ = io.CopyN(&head, x.body, match.MaxLook) // That the body ended, or broke, is seen again by who reads on.
	x.body.head = bytes.NewReader(head.Bytes())
	return head.Bytes()
}

// play carries out the verdict.
func (x *exchange) play() ending {
	x.owed = x.verdict.Latency > 0 && x.verdict.Rule.Latency.Late()
	x.w.keep = x.owed
	body, err := x.takeBody()
	if err != nil && !x.body.failed.Load() {
		x.log.LogAttrs(x.r.Context(), slog.LevelError, "a request was dropped, as its body could not be kept while it waits",
			slog.String("injector", x.cfg.Name), slog.Any("error", err))
		return ending{outcome: trace.OutcomeFIN, at: time.Now(), cut: true}
	}
	if err != nil {
		return x.gone()
	}
	defer func() { _ = body.Close() }() // what could not be removed is a temporary file
	x.from = x.arrived
	if x.spot != nil {
		if err := x.spot.wait(x.r.Context(), x.phase.ended, x.offset); err != nil {
			return x.gone()
		}
		x.from = time.Now()
	}
	if x.verdict.Latency > 0 && !x.owed {
		due := x.from.Add(x.verdict.Latency)
		if !x.sleepUntil(due) {
			return x.gone()
		}
		x.meter.waited(due)
	}
	return x.act()
}

// takeBody reads the request's body before any wait: the server notices that a
// caller left only when nothing of the body is unread, and a connection that is
// closed with unread bytes sends RST where FIN was meant. A body that the
// upstream is to get is kept; one that can be passed on at once is left alone.
func (x *exchange) takeBody() (io.Closer, error) {
	rule := x.verdict.Rule
	if rule != nil && rule.ReadRate > 0 {
		x.narrow()
		x.r.Body = &slowBody{ReadCloser: x.r.Body, pace: pace{rate: rule.ReadRate}, wait: x.readUntil}
	}
	if x.body.ReadCloser == http.NoBody {
		x.body.ended.Store(true) // As most have none.
		return x.body, nil
	}
	if x.healthy == nil || rule != nil && rule.Action != fault.ActionPass {
		_, err := io.Copy(io.Discard, x.r.Body)
		return x.r.Body, err
	}
	if x.spot == nil && (x.verdict.Latency == 0 || x.owed) {
		return x.r.Body, nil
	}
	body, err := spool(x.r.Body)
	if err != nil {
		return nil, err
	}
	x.r.Body = body
	return body, nil
}

// smallBuffer is the receive buffer of a connection that is read slowly. Linux doubles it.
// It holds two of the largest segments of loopback: with less, sender and receiver wait for
// one another.
const smallBuffer = 128 << 10

// narrow has the kernel take little in advance, where it can.
func (x *exchange) narrow() {
	c, ok := connOf(x.r)
	if !ok {
		return
	}
	if b, ok := c.Conn.(interface{ SetReadBuffer(bytes int) error }); ok {
		_ = b.SetReadBuffer(smallBuffer) // A kernel that will not only feels it later.
	}
}

// act does what the rule says, or what a healthy dependency would do.
func (x *exchange) act() ending {
	rule := x.verdict.Rule
	if rule == nil {
		return x.behave()
	}
	if rule.H2 != nil {
		if x.stream == nil {
			return x.misfit("h2")
		}
		if e, over := x.playH2(rule.H2); over {
			return e
		}
	}
	switch rule.Action {
	case fault.ActionPass:
		return x.behave()
	case fault.ActionRespond:
		return x.reply(x.dated(x.answerOf(rule)))
	case fault.ActionReset, fault.ActionClose:
		return x.sever(rule.Action)
	case fault.ActionGarbage:
		if x.stream != nil {
			return x.garbageH2()
		}
		return x.perform(wire.Garbage(rule.Garbage, x.verdict.Draw), 0)
	case fault.ActionHang:
		return x.hang()
	case fault.ActionRefuse, fault.ActionUnreachable, fault.ActionDeaf, fault.ActionTLS, fault.ActionTCP, fault.ActionSettings: // They see no requests.
	}
	return x.gone() // no such action passes fault.Validate
}

// behave answers as the healthy dependency.
func (x *exchange) behave() ending {
	if x.healthy != nil {
		return x.forward()
	}
	if late := x.cfg.Stub.Latency; late > 0 && !x.sleep(time.Now().Add(late), nil) {
		return x.gone()
	}
	if !x.ripen() {
		return x.gone()
	}
	if x.cfg.Stub.WebSocket != nil && x.form() == (fault.Form{}) && x.asksForSocket() {
		return x.stubSocket()
	}
	return x.reply(x.dated(x.stub))
}

// dated returns an answer with what depends on when it is sent.
func (x *exchange) dated(a answer) answer {
	if a.retry != nil {
		a.header = a.header.Clone()
		a.header.Set("Retry-After", retryAfter(*a.retry, time.Now()))
		a.fields = nil
	}
	return a
}

// hang says nothing until the caller leaves or the fault ends.
func (x *exchange) hang() ending {
	var e ending
	select {
	case <-x.r.Context().Done():
		e = x.gone()
	case <-x.phase.ended:
		if x.stream != nil {
			e = x.rst(http2.ErrCodeCancel)
		} else {
			e = x.sever(fault.ActionClose)
		}
	}
	if !e.byAnother {
		e.outcome = trace.OutcomeHang
	}
	return e
}

// gone is the end of an exchange whose caller left, or that the injector's own
// end cut short.
func (x *exchange) gone() ending {
	switch cause := context.Cause(x.r.Context()); {
	case errors.Is(cause, h2.ErrAborted): // Another request's fault hit the connection that they share.
		return ending{outcome: trace.OutcomeReset, at: time.Now(), cut: true, byAnother: true}
	case errors.Is(cause, h2.ErrClosed):
		return ending{outcome: trace.OutcomeFIN, at: time.Now(), cut: true, byAnother: true}
	case x.isClosing():
		return ending{outcome: trace.OutcomeFIN, at: time.Now(), cut: true}
	}
	if wrong := x.body.wrong.Load(); wrong != nil && x.stream == nil && x.r.Context().Err() == nil {
		return ending{outcome: trace.OutcomeFIN, at: time.Now(), cut: true, detail: "the body of the request cannot be read: " + (*wrong).Error()}
	}
	return ending{outcome: trace.OutcomeHang, at: time.Now(), left: true, cut: true}
}

// sleepUntil waits for a fault's sake; it returns false when the caller left or the injector
// ends. When faults are cleared, the wait is over.
func (x *exchange) sleepUntil(t time.Time) bool { return x.sleep(t, x.phase.cleared) }

// sleep waits until t or enough.
func (x *exchange) sleep(t time.Time, enough <-chan struct{}) bool {
	d := time.Until(t)
	if d <= 0 {
		return x.r.Context().Err() == nil
	}
	var rung <-chan struct{}
	var fired <-chan time.Time
	if x.alarm != nil {
		b := x.alarm.at(t)
		defer x.alarm.drop(b)
		rung = b.rung
	} else {
		timer := time.NewTimer(d)
		defer timer.Stop()
		fired = timer.C
	}
	select {
	case <-rung:
		return true
	case <-fired:
		return true
	case <-enough:
		return true
	case <-x.r.Context().Done():
		return false
	}
}
