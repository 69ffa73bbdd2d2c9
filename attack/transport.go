package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// MaxBody is how much of an answer's body classification sees, in bytes; the
// rest is read and thrown away. A call whose body was longer, and had to be
// looked into, says so in its Detail.
const MaxBody = 1 << 20

// errTimeout is the cause of a context that ended by a call's own timeout.
var errTimeout = errors.New("the call's timeout has passed")

// observer is the transport that vegeta's workers send through. It makes the
// call that the worker's number stands for and answers the worker itself.
type observer struct{ *Attacker }

// RoundTrip reads which call is meant from the headers that vegeta sets.
func (o observer) RoundTrip(req *http.Request) (*http.Response, error) {
	o.mu.Lock()
	r := o.runs[req.Header.Get("X-Vegeta-Attack")]
	o.mu.Unlock()
	seq, err := strconv.ParseUint(req.Header.Get("X-Vegeta-Seq"), 10, 64)
	if r == nil || err != nil {
		return nil, fmt.Errorf("unknown call %q of phase %q", req.Header.Get("X-Vegeta-Seq"), req.Header.Get("X-Vegeta-Attack"))
	}
	if due, ok := r.gate.begin(seq); ok {
		defer r.gate.end(seq)
		o.call(r.context(), r.order(seq, due))
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{},
		Body:    http.NoBody,
		Request: req,
	}, nil
}

// order is one call to be made.
type order struct {
	phase  int
	seq    uint64
	due    time.Time // zero: when it is sent
	target match.Target
	user   *user // nil: of no session
}

// order is call seq of the phase.
func (r *run) order(seq uint64, due time.Time) order {
	p := r.phase
	o := order{phase: p.Index, seq: seq, due: due}
	if s, ok := r.gate.(*sessions); ok {
		o.user = s.user(seq)
		o.target = o.user.next
		return o
	}
	o.target = match.Pick(p.Targets, pace.Draw(p.Seed, seq))
	return o
}

// call makes one call and records it. The target was checked before.
func (a *Attacker) call(ctx context.Context, o order) trace.Call {
	ctx, cancel := context.WithTimeoutCause(ctx, a.cfg.Timeout+jitter(o.phase, o.seq), errTimeout)
	defer cancel()
	var first, port atomic.Int64 // The transport may still write them when the call was canceled.
	first.Store(int64(trace.None))
	rec := a.cfg.Recorder
	req, err := a.build(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			if at, ok := got.Conn.LocalAddr().(*net.TCPAddr); ok {
				port.Store(int64(at.Port))
			}
		},
		GotFirstResponseByte: func() {
			first.CompareAndSwap(int64(trace.None), int64(rec.Since(time.Now())))
		},
	}), o)
	c := trace.Call{
		ID:       a.cfg.Correlator.ID(o.phase, o.seq),
		Phase:    a.cfg.Correlator.Phases[o.phase],
		Target:   o.target.Name,
		Instance: a.replica(o.seq).name,
	}
	rec.Sent(c.ID)
	c.Send = rec.Since(time.Now())
	c.Sched = c.Send
	if !o.due.IsZero() {
		c.Sched = rec.Since(o.due)
	}
	var got *received
	if err == nil {
		a.cfg.Correlator.Carry(req.Header.Set, o.phase, o.seq)
		got, err = a.exchange(req, &c, o.user)
	}
	c.First, c.Port = time.Duration(first.Load()), int(port.Load())
	c.End = rec.Since(time.Now())
	if err != nil {
		c.Err = kindOf(ctx, err)
	}
	if c.Err.Detailed() {
		c.Detail = err.Error()
	}
	if o.user != nil {
		c.Session = o.user.saw(&c, got)
	}
	rec.Ended(c)
	return c
}

// received is what a user of a session sees of an answer.
type received struct {
	url    *url.URL // of the request
	header http.Header
	body   []byte
	cut    bool // the body was longer than MaxBody
}

// exchange sends the request and reads all of the answer into c. What it returns is
// nil without an answer that was read to its end.
func (a *Attacker) exchange(req *http.Request, c *trace.Call, by *user) (*received, error) {
	needBody := a.looksInto()
	if by != nil {
		by.dress(req)
		needBody = needBody || by.needBody(by.step)
	}
	resp, err := a.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // What counts was read before.
	c.Status, c.RetryAfter = resp.StatusCode, resp.Header.Get("Retry-After")
	if a.cfg.InstanceHeader != "" && len(a.cfg.Replicas) == 0 {
		c.Instance = resp.Header.Get(a.cfg.InstanceHeader)
	}
	var body []byte
	if needBody {
		if body, err = io.ReadAll(io.LimitReader(resp.Body, MaxBody)); err != nil {
			return nil, err
		}
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return nil, err
	}
	cut := len(body) == MaxBody && rest > 0
	if cut && a.looksInto() {
		c.Detail = fmt.Sprintf("classified by the first %d of %d body bytes", MaxBody, MaxBody+rest)
	}
	c.Class = a.classes.Classify(c.Status, resp.Header.Get, body)
	c.Told = a.told(c.Status, resp.Header.Get, body)
	return &received{req.URL, resp.Header, body, cut}, nil
}

// looksInto reports whether anything is told by the body of an answer.
func (a *Attacker) looksInto() bool {
	return a.classes.NeedBody() || a.teller.NeedBody() || a.ages.NeedBody()
}

// told is what an answer says of itself, or nil.
func (a *Attacker) told(status int, header func(string) string, body []byte) *trace.Told {
	reason, by := a.teller.Tell(status, header, body)
	ages := a.ages.Read(header, body)
	if reason == "" && ages == nil {
		return nil
	}
	return &trace.Told{Reason: reason, By: by, Ages: ages}
}

// setBody gives a request a body that Go's transport cannot send twice. Without
// one it silently repeats a GET, or a request with an idempotency key, whose
// reused connection breaks; the request may have arrived by then.
func setBody(req *http.Request, body string) {
	keyed := req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
	bare := false // as a rule
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		bare = true
	}
	if body == "" && !bare && !keyed {
		return // An empty body that is not nil would be sent in chunks.
	}
	req.Body = io.NopCloser(bytes.NewReader([]byte(body)))
	req.ContentLength = int64(len(body))
	req.GetBody = nil
	if body == "" && bare {
		// As it is, and not in chunks: net/http need not try to read it first, which takes
		// it a goroutine and a timer. Nothing of this is on the wire.
		req.TransferEncoding = []string{"identity"}
	}
}
