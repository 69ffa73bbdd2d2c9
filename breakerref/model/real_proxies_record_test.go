package model_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// lane is one pool behind a real proxy: a host that is watched, and the healthy rest.
type lane struct {
	name   string
	cfg    model.Config
	backup bool          // the rest is asked only while the watched host is out
	rest   int           // hosts beside the watched one
	passes int           // so many requests in a row that miss the host say that it was out
	open   time.Duration // about how long the host is out
	steady bool          // it never goes out
	conf   string        // in the words of the proxy
	dir    string        // where the proxy lives, if it has to be asked afterwards

	watched *watchedHost
	others  []*httptest.Server
	restHit lastHit
	client  *http.Client
	url     string

	begun    time.Time // before the first request
	stalled  time.Time // since when the machine was slow; zero: never
	requests int
	misses   []time.Time // sent, of those in a row just now
	events   []realEvent
	held     *heldRequest
}

// lastHit is the instant of a server's last request.
type lastHit struct {
	mu sync.Mutex
	at time.Time
}

func (h *lastHit) set(t time.Time) { h.mu.Lock(); h.at = t; h.mu.Unlock() }
func (h *lastHit) get() time.Time  { h.mu.Lock(); defer h.mu.Unlock(); return h.at }

// watchedHost answers each request as it is told, when it is told.
type watchedHost struct {
	*httptest.Server
	hits   chan *hit
	mu     sync.Mutex
	checks []span // active checks, from their arrival until the proxy was content
}

type hit struct {
	at       time.Time
	answer   chan int       // the status to answer with
	answered chan time.Time // just before that
}

// checkPath is where active checks go. They always succeed.
const checkPath = "/check"

// check answers an active check and waits until the proxy hangs up, having seen that.
func (w *watchedHost) check(rw http.ResponseWriter, arrived time.Time) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checks = append(w.checks, span{arrived, wallNow()})
}

// start starts the servers of a lane.
func (l *lane) start(t *testing.T) {
	t.Helper()
	w := &watchedHost{hits: make(chan *hit)}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		now := wallNow()
		if r.URL.Path == checkPath {
			w.check(rw, now)
			return
		}
		h := &hit{at: now, answer: make(chan int, 1), answered: make(chan time.Time, 1)}
		select {
		case w.hits <- h:
		case <-r.Context().Done():
			return
		}
		status := <-h.answer
		h.answered <- wallNow()
		rw.WriteHeader(status)
	}))
	t.Cleanup(w.Close)
	l.watched = w
	for range l.rest {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { l.restHit.set(wallNow()) }))
		t.Cleanup(s.Close)
		l.others = append(l.others, s)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	l.client = &http.Client{Transport: transport}
}

// heldRequest is a request that the watched host has not answered yet.
type heldRequest struct {
	call int
	hit  *hit
	done chan error
}

// ask sends a request and waits until the watched host has it, or it is answered
// without it: then held is nil.
func (l *lane) ask(ctx context.Context) (held *heldRequest, err error) {
	l.requests++
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("build a request: %w", err)
	}
	h := &heldRequest{call: l.requests, done: make(chan error, 1)}
	sent := wallNow()
	go func() { h.done <- l.do(req) }()
	select {
	case h.hit = <-l.watched.hits:
		l.slow(sent, h.hit.at)
		l.misses = nil
		l.events = append(l.events, realEvent{kind: given, call: h.call, lo: sent, hi: h.hit.at})
		return h, nil
	case err := <-h.done:
		l.slow(sent, wallNow())
		l.misses = append(l.misses, sent)
		if n := len(l.misses); n >= l.passes {
			hi := wallNow()
			if at := l.restHit.get(); at.After(sent) {
				hi = at
			}
			l.events = append(l.events, realEvent{kind: missed, lo: l.misses[n-l.passes], hi: hi})
		}
		return nil, err
	}
}

func (l *lane) do(req *http.Request) error {
	resp, err := l.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the proxy: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("read the proxy's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("the proxy answered %s", resp.Status)
	}
	return nil
}

// stall is how long nothing takes on a machine that is not too slow.
const stall = 30 * time.Millisecond

// slow notes when something first took too long.
func (l *lane) slow(from, to time.Time) {
	if l.stalled.IsZero() && to.Sub(from) > stall {
		l.stalled = from
	}
}

// slack is how long after its answer a proxy may take to note how a request ended.
const slack = 3 * time.Millisecond

// answer lets the watched host answer a request.
func (l *lane) answer(h *heldRequest, o model.Outcome) error {
	status := http.StatusOK
	if o == model.Failure {
		status = http.StatusServiceUnavailable
	}
	h.hit.answer <- status
	answered := <-h.hit.answered
	err := <-h.done
	hi := wallNow().Add(slack)
	l.slow(answered, hi)
	if at := l.restHit.get(); at.After(answered) { // The next host had its turn: the proxy knows.
		hi = at
	}
	l.misses = nil // They say something of one stretch of time, and events are in order.
	l.events = append(l.events, realEvent{kind: ended, call: h.call, outcome: o, lo: answered, hi: hi})
	return err
}

// request sends a request that the watched host answers at once.
func (l *lane) request(ctx context.Context, o model.Outcome) error {
	h, err := l.ask(ctx)
	if h == nil {
		return err
	}
	return l.answer(h, o)
}

// record asks until the deadline: first by a script, then at random.
func (l *lane) record(ctx context.Context, r *rand.Rand, until time.Time) error {
	p := &player{lane: l, r: r, until: until}
	p.script(ctx)
	for p.goes(ctx) {
		p.random(ctx)
	}
	p.release(ctx, model.Success)
	return p.err
}

// player asks a lane. It stops at the first error.
type player struct {
	*lane
	r     *rand.Rand
	until time.Time
	err   error
}

func (p *player) goes(ctx context.Context) bool {
	return p.err == nil && ctx.Err() == nil && wallNow().Before(p.until)
}

// send sends n requests that end so if they reach the watched host.
func (p *player) send(ctx context.Context, n int, draw func() model.Outcome) {
	for ; n > 0 && p.goes(ctx); n-- {
		p.err = p.request(ctx, draw())
		p.settle(ctx)
	}
}

// settle gives the proxy time to do what follows from an outcome: Envoy's worker hears
// from its main thread that a host is out. The pauses differ, so that nothing beats
// in time with a timer of the proxy.
func (p *player) settle(ctx context.Context) {
	begun, d := wallNow(), 15*time.Millisecond+time.Duration(p.r.IntN(20))*time.Millisecond
	pause(ctx, d)
	p.slow(begun.Add(d), wallNow())
}

func always(o model.Outcome) func() model.Outcome { return func() model.Outcome { return o } }

func (p *player) mixed(success float64) func() model.Outcome {
	return func() model.Outcome {
		if p.r.Float64() < success {
			return model.Success
		}
		return model.Failure
	}
}

// look asks for so long, so that a return shows when it comes.
func (p *player) look(ctx context.Context, d time.Duration, draw func() model.Outcome) {
	for end := wallNow().Add(d); p.goes(ctx) && wallNow().Before(end); {
		p.send(ctx, 1, draw)
	}
}

// hold starts a request whose answer is to come late.
func (p *player) hold(ctx context.Context) {
	if p.held == nil && p.goes(ctx) {
		p.held, p.err = p.ask(ctx)
	}
}

func (p *player) release(ctx context.Context, o model.Outcome) {
	if p.held != nil {
		p.err = p.answer(p.held, o)
		p.held = nil
		p.settle(ctx)
	}
}

// script shows what sets the breaker apart: how many failures it takes, that a
// success between them matters or not, how long the host is out, also when it fails
// again as soon as it is back, and what late answers do.
func (p *player) script(ctx context.Context) {
	trip := p.cfg.Trip.Failures * (1 + p.rest*btoi(!p.backup))
	good, bad := always(model.Success), always(model.Failure)
	p.send(ctx, 2+p.rest, good)
	p.send(ctx, trip, bad)
	p.look(ctx, p.open*3/2, good)
	p.look(ctx, 4*p.open, bad)
	p.look(ctx, 2*p.open, good)
	p.hold(ctx)
	p.look(ctx, p.open/2, bad)
	p.release(ctx, model.Failure)
	p.look(ctx, p.open*3/2, bad)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// random does one thing at random.
func (p *player) random(ctx context.Context) {
	hosts := 1 + p.rest*btoi(!p.backup)
	part := time.Duration(float64(p.open) * (0.1 + 1.4*p.r.Float64()))
	switch p.r.IntN(7) {
	case 0:
		p.send(ctx, hosts*(1+p.r.IntN(p.cfg.Trip.Failures+2)), always(model.Failure))
	case 1:
		p.send(ctx, hosts*(1+p.r.IntN(2)), always(model.Success))
	case 2:
		p.send(ctx, hosts*(2+p.r.IntN(10)), p.mixed(0.3))
	case 3:
		pause(ctx, min(part, wallNow().Sub(p.until).Abs()))
	case 4:
		p.look(ctx, part, p.mixed(oneOf(p.r, 0, 0.1, 1)))
	case 5:
		p.hold(ctx)
	default:
		p.release(ctx, oneOf(p.r, model.Success, model.Failure))
	}
}
