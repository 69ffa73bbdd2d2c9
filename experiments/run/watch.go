package run

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// watch runs f beside the phases until the run stops.
func (r *runner) watch(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	r.watchers = append(r.watchers, func() { cancel(); wg.Wait() })
}

// watchSUT ends the run when what stands around it is not there: at once when an
// upstream is down, later when a launched SUT ends by itself.
func (r *runner) watchSUT(ctx context.Context, cancel context.CancelCauseFunc) {
	if err := r.upstreamsUp(ctx); err != nil {
		cancel(err)
	}
	if r.process == nil {
		return
	}
	r.watch(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-r.process.Exited():
			cancel(r.death())
		}
	})
}

// death records that the SUT ended by itself and returns it as an error.
func (r *runner) death() error {
	what := "the system under test ended during the run"
	if err := r.process.Err(); err != nil {
		what += ": " + err.Error()
	}
	r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkExit, Text: what})
	return &PreconditionError{What: what}
}

// reapPatience is how long the system may take to tell that a process has ended,
// after nobody listens for it any more.
const reapPatience = time.Second

// deadUnseen returns the death of a launched SUT that the load outran: calls that
// are refused end sooner than the system tells that the process did.
func (r *runner) deadUnseen(ctx context.Context) error {
	if r.process == nil {
		return nil
	}
	if r.process.Err() == nil {
		conn, err := dialURL(ctx, new(net.Dialer).DialContext, r.baseURL)
		if err == nil {
			_ = conn.Close() // Nothing was sent over it.
			return nil
		}
		late := time.NewTimer(reapPatience)
		defer late.Stop()
		select {
		case <-r.process.Exited():
		case <-late.C:
			return nil // It lives and listens to nobody, which the calls have told.
		}
	}
	return r.death()
}

// dialURL connects to the host and port of a URL.
func dialURL(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), rawURL string) (net.Conn, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // "http" and "https" are names of ports too.
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	return dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
}

// dialPatience is how long somebody who listens may take to accept a connection.
const dialPatience = 2 * time.Second

// upstreamsUp asks whether somebody listens at every upstream. It is asked when the
// SUT is ready, because its launch may be what starts them.
func (r *runner) upstreamsUp(ctx context.Context) error {
	dial := r.opt.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	for _, in := range r.plan.Injectors {
		upstream := upstreamOf(in)
		if upstream == "" {
			continue
		}
		conn, err := dialURL(ctx, dial, upstream)
		if err != nil {
			return &PreconditionError{
				What:   fmt.Sprintf("injector %s cannot reach its upstream %s: %v", in.Name, upstream, err),
				Remedy: upstreamRemedy(in),
			}
		}
		_ = conn.Close() // Nothing was sent over it.
	}
	return nil
}

// upstreamFailed tells of an upstream that could not be reached during the run: the
// SUT was then given failures that no experiment asked for.
func (r *runner) upstreamFailed(t *trace.Trace) error {
	for _, in := range r.plan.Injectors {
		failed, all := 0, 0
		for _, a := range t.Attempts {
			if a.Injector != in.Name {
				continue
			}
			all++
			if a.Outcome == trace.OutcomeUpstream {
				failed++
			}
		}
		if failed > 0 {
			return &PreconditionError{
				What:   fmt.Sprintf("injector %s could not reach its upstream %s for %d of %d %s", in.Name, upstreamOf(in), failed, all, arrivals(in)),
				Remedy: upstreamRemedy(in),
			}
		}
	}
	return nil
}

func upstreamRemedy(in experiments.Injector) string {
	if in.TCP != nil {
		return fmt.Sprintf("start what listens there, or correct injectors.%s.tcp.upstream", in.Name)
	}
	return fmt.Sprintf("start what listens there, correct injectors.%s.upstream, or have faultline answer with a stub", in.Name)
}

// The stall watch wakes every stallTick; when it wakes later than stallLimit
// after it should have, this process was not running, and neither were the
// clocks that calls are measured by.
const (
	stallTick  = 5 * time.Millisecond
	stallLimit = 20 * time.Millisecond
)

// startStallWatch marks the times at which this process did not run.
func (r *runner) startStallWatch(ctx context.Context) {
	if r.opt.Listen != nil {
		return // Virtual time does not stall.
	}
	r.watch(ctx, func(ctx context.Context) {
		tick := time.NewTimer(stallTick)
		defer tick.Stop()
		for {
			due := r.now() + stallTick
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now := r.now(); now-due > stallLimit {
				r.rec.Mark(trace.Mark{At: now, Kind: trace.MarkStall, Dur: now - due})
			}
			tick.Reset(stallTick)
		}
	})
}
