package selftest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// worker is an upstream on a socket, which notes when it is asked.
type worker struct {
	works time.Duration
	mu    sync.Mutex
	asked time.Time
}

// serve answers those who connect, until the listener is closed.
func (w *worker) serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		w.work(c)
	}
}

// work answers one request.
func (w *worker) work(c net.Conn) {
	defer func() { _ = c.Close() }() // The answer says so.
	if c.SetDeadline(time.Now().Add(10*time.Second)) != nil {
		return
	}
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return
	}
	w.mu.Lock()
	w.asked = time.Now()
	w.mu.Unlock()
	time.Sleep(w.works)
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone") // Who left is no error.
}

// setUp puts the worker behind the injector.
func (w *worker) setUp(ctx context.Context, cfg *injector.Config) (func(), error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen as an upstream: %w", err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { w.serve(ln) })
	cfg.Upstream = "http://" + ln.Addr().String()
	return func() { _ = ln.Close(); serving.Wait() }, nil
}

// since is how long after it was asked the caller's first byte came.
func (w *worker) since(o Observation) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return o.first() - w.asked.Sub(o.Begun)
}

// lateAnswers are latencies after the work of an upstream, seen from both sides; and one that a
// request asks for itself.
func lateAnswers() []contract {
	rule := func(at fault.LatencyAt, mode fault.LatencyMode) fault.Rule {
		return fault.Rule{Action: fault.ActionPass, Latency: fault.Latency{Min: 80 * ms, Max: 80 * ms, At: at, Mode: mode}}
	}
	behind := func(works, first time.Duration, c contract) contract {
		w := &worker{works: works}
		done := looks(`HTTP/1\.1 200 .*\r\n\r\ndone`, None)
		c.setUp = w.setUp
		c.holds = func(o Observation) bool { return done(o) && o.first() >= 80*ms && w.since(o) >= first }
		c.show = func(o Observation) string {
			return fmt.Sprintf("%s, %v after the upstream was asked", brief(o.Bytes), w.since(o).Round(time.Millisecond))
		}
		return c
	}
	envoy := func(_ context.Context, cfg *injector.Config) (func(), error) {
		cfg.EnvoyHeaders = true
		return func() {}, nil
	}
	return []contract{
		behind(20*ms, 100*ms, contract{
			fault: "latency: {fixed: 80ms, at: response}", expected: "the upstream is asked and works for 20 ms; the first byte 80 ms after that",
			rule: rule(fault.LatencyAtResponse, ""),
		}),
		behind(60*ms, 60*ms, contract{
			fault: "latency: {fixed: 80ms, mode: floor}", expected: "the upstream is asked and works for 60 ms; the first byte 80 ms after the request",
			rule: rule("", fault.LatencyFloor),
		}),
		{
			fault: "envoy_headers: true", expected: "the abort and the delay that the request asks for, before the fault of the phase",
			request: "GET /charges HTTP/1.1\r\nHost: selftest\r\nx-envoy-fault-abort-request: 418\r\nx-envoy-fault-delay-request: 80\r\n\r\n",
			rule:    fault.Rule{Action: fault.ActionReset}, setUp: envoy,
			holds: all(looks(`HTTP/1\.1 418 .*\r\n\r\nfault filter abort`, None), notBefore(80*ms)),
		},
	}
}
