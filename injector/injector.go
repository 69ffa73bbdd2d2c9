package injector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/h2"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Config describes one dependency to play.
type Config struct {
	Name string // as the trace calls it
	Addr string // host:port to listen on; port 0 is chosen by the system; empty: 127.0.0.1:0
	// Upstream is the URL of the real dependency, to which healthy requests are
	// passed on: path and query are kept (below the URL's own path), Host is the
	// upstream's, redirects are not followed, bodies are not recoded. With the scheme
	// h2c it is spoken to in HTTP/2 with prior knowledge, which gRPC needs. Without it, Stub
	// answers.
	Upstream string
	Stub     Stub
	Script   fault.Script
	// Phase is the one that is on when the injector begins to listen: the first caller
	// meets its faults. Empty: a healthy one.
	Phase  string
	First  *First              // begins Phase with the first request; nil: it begins with Start
	Watch  func(*http.Request) // as Injector.Watch, from the first request on; nil: nobody
	Seed   uint64
	Limits Limits
	TLS    *TLS // nil: plain
	TCP    *TCP // passes bytes on instead of requests; nil: HTTP
	// EnvoyHeaders has each request ask for a fault of its own by the headers x-envoy-fault-*,
	// as Envoy's fault filter with header_abort, header_delay and header_limit at 100 % does: see
	// [EnvoyRule]. Such a fault comes before those of rules, within Limits and Lease; after
	// [Injector.Clear] there are none until a phase is entered.
	EnvoyHeaders bool
	// Lease has all faults end when nobody has called [Injector.Renew] for so long, or
	// from Start on; 0: they need no renewal.
	Lease      time.Duration
	Recorder   *trace.Recorder
	Correlator match.Correlator
	Logger     *slog.Logger // nil: silent
	// Listen and DialUpstream replace the operating system's network. For a
	// reset, the connections of another network need a method Abort() or
	// SetLinger(sec int) error.
	Listen       func(network, addr string) (net.Listener, error)
	DialUpstream func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Stub is what a healthy dependency answers; status 0 is 200. A body that is a
// JSON object or array is sent as application/json unless a header says
// otherwise.
type Stub struct {
	fault.Respond
	Latency   time.Duration
	WebSocket *WebSocketStub // nil: it speaks none, and answers a handshake as any request
}

// Injector is a running dependency.
type Injector struct {
	cfg     Config
	log     *slog.Logger
	healthy http.Handler // the upstream; nil: stub
	stub    answer
	addr    string
	door    *door
	alarm   *alarm // nil: the runtime's timers
	room    *room  // of TLS; nil: plain
	budget  *budget
	meter   *meter
	envoy   *envoyFaults // nil: requests ask for none

	turn     sync.Mutex // held by what changes the stage, and for no longer than that takes
	doorTurn sync.Mutex
	storms   storms     // guarded by turn
	added    uint64     // guarded by turn; how many faults without an ID were added
	shut     bool       // guarded by turn; the trace says that the door is
	lapsed   *time.Time // guarded by turn; the end of the lease that all know is over
	phase    atomic.Pointer[stage]
	leased   atomic.Pointer[time.Time] // until when; nil: no lease
	wake     chan struct{}             // the keeper

	watcher atomic.Pointer[func(*http.Request)]
	mu      sync.Mutex
	conns   map[*conn]bool // guarded by mu; connections that the server has
	// multiplexed are the connections of HTTP/2, and whose settings they have (nil: a sound
	// server's); guarded by mu.
	multiplexed map[*h2.Conn]*phase
	misfits     []Misfit // guarded by mu

	server  *http.Server
	rest    func() // closes idle connections to the upstream
	end     context.CancelFunc
	closing <-chan struct{}
	serving sync.WaitGroup // what Start started
	failure error          // why the server stopped by itself; read after serving
	work    sync.WaitGroup // connections and requests
}

// Start listens at once and serves until ctx ends or Close is called; Close
// must be called in either case, to wait for the end. Its error joins all that
// is wrong with cfg, or says why the address cannot be had and what to do.
func Start(ctx context.Context, cfg Config) (*Injector, error) {
	i, err := build(cfg)
	if err != nil {
		return nil, fmt.Errorf("injector %s: %w", cfg.Name, err)
	}
	ln, err := i.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("injector %s: %w", cfg.Name, err)
	}
	i.addr = ln.Addr().String()
	i.door = newDoor(ln)
	i.door.own = cfg.Listen == nil
	i.door.hold, i.door.free = i.holdConn, func(n int) { i.budget.change(0, -n) }
	base, end := context.WithCancel(ctx)
	i.end, i.closing = end, base.Done()
	i.server = &http.Server{
		Handler:                      http.HandlerFunc(i.serve),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnContext:                  withConn,
		ConnState:                    i.track,
		ErrorLog:                     slog.NewLogLogger(i.log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like others: record it
	}
	if err := i.settleDoor(); err != nil {
		end()
		return nil, errors.Join(fmt.Errorf("injector %s: phase %s: %w", cfg.Name, cfg.Phase, err), i.door.Close())
	}
	if cfg.Lease > 0 {
		i.leased.Store(new(time.Now().Add(cfg.Lease)))
	}
	if i.door.own { // Another network may be one of a test's own time.
		i.alarm = newAlarm()
	}
	i.serving.Go(i.keep)
	serve := func() error { return i.server.Serve(watched{i.door, i}) }
	if cfg.TCP != nil {
		serve = func() error { return i.relay(base) }
	}
	i.serving.Go(func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			i.failure = fmt.Errorf("injector %s: serve on %s: %w", cfg.Name, i.addr, err)
		}
	})
	i.serving.Go(func() {
		<-base.Done()
		// The error is that of closing a listener: nothing is left to do about it.
		_ = i.server.Close()
	})
	return i, nil
}

// build makes everything of an injector that does not run yet.
func build(cfg Config) (*Injector, error) {
	if cfg.DialUpstream == nil {
		cfg.DialUpstream = new(net.Dialer).DialContext
	}
	i := &Injector{
		cfg: cfg, log: cfg.Logger, conns: map[*conn]bool{}, multiplexed: map[*h2.Conn]*phase{},
		wake: make(chan struct{}, 1), rest: func() {},
	}
	i.Watch(cfg.Watch)
	i.budget, i.meter = newBudget(cfg.Limits), newMeter()
	i.storms = newStorms(cfg.Limits.PerSecond)
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if cfg.Recorder == nil {
		errs = append(errs, errors.New("it has no recorder to tell of requests"))
	}
	if err := cfg.Limits.check(); err != nil {
		errs = append(errs, err)
	}
	if cfg.Lease < 0 {
		errs = append(errs, fmt.Errorf("a lease of %v is over before it begins; write more than 0, or 0 for none", cfg.Lease))
	}
	if cfg.TLS != nil {
		var err error
		if i.room, err = newRoom(cfg.TLS, time.Now()); err != nil {
			errs = append(errs, err)
		}
	}
	p, err := i.newPlan(cfg.Script, 1)
	if err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(i.setHealthy(), i.checkEnvoy()); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	first := p.newPhase(cfg.Phase, p.player.Phase(cfg.Phase))
	first.first = cfg.First
	p.entered[cfg.Phase] = first
	p.guard(i)
	stage := (&stage{phase: first, plan: p}).with(nil)
	i.markShut(stage)
	i.phase.Store(stage)
	return i, nil
}

// setHealthy prepares what a healthy dependency does: upstream or stub.
func (i *Injector) setHealthy() error {
	if i.cfg.TCP != nil {
		return i.cfg.TCP.check(i.cfg)
	}
	stub := i.cfg.Stub
	if i.cfg.Upstream != "" {
		if stub.Status != 0 || stub.Body != "" || len(stub.Headers) > 0 || stub.GRPC != nil || stub.Latency != 0 || stub.WebSocket != nil {
			return errors.New("it has both an upstream and a stub; only one can answer")
		}
		u, err := upstreamURL(i.cfg.Upstream)
		if err != nil {
			return err
		}
		i.useUpstream(u)
		return nil
	}
	if stub.Status == 0 {
		stub.Status = http.StatusOK
	}
	var errs []error
	for _, p := range stub.Problems() {
		errs = append(errs, fmt.Errorf("stub: %w", p))
	}
	if stub.Latency < 0 {
		errs = append(errs, fmt.Errorf("stub: latency %v is negative", stub.Latency))
	}
	i.stub = newAnswer(stub.Respond)
	return errors.Join(errs...)
}

// listen takes the address.
func (i *Injector) listen(ctx context.Context) (net.Listener, error) {
	addr := i.cfg.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	listen := i.cfg.Listen
	if listen == nil {
		listen = func(network, addr string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, network, addr)
		}
	}
	ln, err := listen("tcp", addr)
	switch {
	case err == nil:
		if err := whereIs(addr, ln); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port of %s is taken by another process; stop that process, or listen on another port (port 0 picks a free one): %w", addr, err)
	default:
		return nil, fmt.Errorf("listen on %s: %w; the address must be host:port of this machine", addr, err)
	}
}

// whereIs says what is wrong with where a listener listens that was to be on loopback: what localhost is,
// this machine's files say.
func whereIs(asked string, ln net.Listener) error {
	host, _, _ := net.SplitHostPort(asked) // Somebody listens at it.
	at, ok := ln.Addr().(*net.TCPAddr)
	if !ok || !strings.EqualFold(host, "localhost") || at.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen on %s: %s is %v here, which is not on loopback; write 127.0.0.1", asked, host, at.IP)
}

// Addr is the host:port that the injector listens on.
func (i *Injector) Addr() string { return i.addr }

// URL is the base URL under which the SUT finds the dependency; it has no
// slash at its end.
func (i *Injector) URL() string {
	scheme := "http://"
	if i.room != nil {
		scheme = "https://"
	}
	if i.cfg.TCP != nil {
		scheme = "tcp://"
	}
	host, port, err := net.SplitHostPort(i.addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		// Nobody can call 0.0.0.0 or [::]; who listens there hears loopback.
		return scheme + net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + i.addr
}

// Watch has f told of every request at its arrival, before it is served; nil ends
// that. f must not keep the request or read its body. A phase that f enters is that of
// the request.
func (i *Injector) Watch(f func(*http.Request)) {
	if f == nil {
		i.watcher.Store(nil)
		return
	}
	i.watcher.Store(&f)
}

// Rejected tells that the SUT rejected a call (answered it and no attempt
// arrived) that was sent at this offset; holds count them.
func (i *Injector) Rejected(sent time.Duration) {
	now := i.offset(time.Now())
	for _, p := range i.phase.Load().all {
		for _, l := range p.lots {
			l.reject(sent, now)
		}
	}
}

// Fired says of each rule of a phase, in their order, how many requests it saw
// and hit since the phase was last entered; zeros if it never was. What a limit kept
// from a rule was not hit.
func (i *Injector) Fired(name string) []fault.Count {
	i.turn.Lock()
	defer i.turn.Unlock()
	p := i.phase.Load().plan
	if entered, ok := p.entered[name]; ok {
		return entered.counts()
	}
	return p.player.Phase(name).Counts()
}

// Close ends everything at once: nobody is served any more, every connection is
// closed, every attempt in flight is recorded as ended. It returns when nothing
// of the injector runs any more, with the reason if the server had stopped by
// itself before. It may be called twice.
func (i *Injector) Close() error {
	i.end()
	i.serving.Wait()
	// A connection that was accepted while the server closed is known to it
	// only now that its accept loop has ended.
	_ = i.server.Close()
	i.work.Wait()
	if i.alarm != nil {
		i.alarm.close()
	}
	i.rest()
	return i.failure
}

// isClosing reports whether the injector itself is ending.
func (i *Injector) isClosing() bool { return isClosed(i.closing) }

// isClosed reports whether a channel is closed on which nothing is sent.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wake tells a goroutine that waits, or will.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // It was told.
	}
}

// offset converts a reading of the clock to an offset of the trace.
func (i *Injector) offset(t time.Time) time.Duration { return i.cfg.Recorder.Since(t) }
