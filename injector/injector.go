package injector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
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
	Upstream   string
	Stub       Stub
	Script     fault.Script
	Seed       uint64
	Recorder   *trace.Recorder
	Correlator match.Correlator
	Logger     *slog.Logger // nil: silent
	// Cap is asked before a rule that hit a request is played, with the rule; false: the request is
	// answered, and recorded, as if no rule had hit it. It bounds what a fault may bring
	// about: see fault.ErrCode.Storms. nil: every rule is played.
	Cap func(*fault.Rule) bool
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
	Latency time.Duration
}

// Injector is a running dependency.
type Injector struct {
	cfg     Config
	log     *slog.Logger
	player  *fault.Player
	healthy http.Handler // the upstream; nil: stub
	stub    answer
	answers map[*fault.Rule]answer
	addr    string
	door    *door

	phase   atomic.Pointer[phase]
	watcher atomic.Pointer[func(*http.Request)]
	mu      sync.Mutex
	entered map[string]*fault.Phase // guarded by mu
	idling  map[net.Conn]bool       // guarded by mu; connections that wait for a request
	// multiplexed are the connections of HTTP/2, and whether they have settings of a phase; guarded by mu.
	multiplexed map[*h2.Conn]bool
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
	i.serving.Go(func() {
		if err := i.server.Serve(watched{i.door, i}); !errors.Is(err, http.ErrServerClosed) {
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
	i := &Injector{cfg: cfg, log: cfg.Logger, entered: map[string]*fault.Phase{}, idling: map[net.Conn]bool{}, multiplexed: map[*h2.Conn]bool{}, answers: map[*fault.Rule]answer{}, rest: func() {}}
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if cfg.Recorder == nil {
		errs = append(errs, errors.New("it has no recorder to tell of requests"))
	}
	player, err := fault.NewPlayer(cfg.Script, cfg.Seed)
	if err != nil {
		errs = append(errs, err)
	}
	if err := i.setHealthy(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	i.player = player
	for _, r := range player.Rules() {
		if r.Action == fault.ActionRespond {
			i.answers[r] = newAnswer(r.Respond)
		}
	}
	return i, i.Enter("")
}

// setHealthy prepares what a healthy dependency does: upstream or stub.
func (i *Injector) setHealthy() error {
	stub := i.cfg.Stub
	if i.cfg.Upstream != "" {
		if stub.Status != 0 || stub.Body != "" || len(stub.Headers) > 0 || stub.GRPC != nil || stub.Latency != 0 {
			return errors.New("it has both an upstream and a stub; only one can answer")
		}
		u, err := url.Parse(i.cfg.Upstream)
		if err != nil {
			return fmt.Errorf("read upstream: %w", err)
		}
		if !slices.Contains([]string{"http", "https", "h2c"}, u.Scheme) || u.Host == "" {
			return fmt.Errorf("upstream %q is not of the form http://host:port, or h2c://host:port for HTTP/2", i.cfg.Upstream)
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
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port of %s is taken by another process; stop that process, or listen on another port (port 0 picks a free one): %w", addr, err)
	default:
		return nil, fmt.Errorf("listen on %s: %w; the address must be host:port of this machine", addr, err)
	}
}

// Addr is the host:port that the injector listens on.
func (i *Injector) Addr() string { return i.addr }

// URL is the base URL under which the SUT finds the dependency; it has no
// slash at its end.
func (i *Injector) URL() string {
	host, port, err := net.SplitHostPort(i.addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		// Nobody can call 0.0.0.0 or [::]; who listens there hears loopback.
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + i.addr
}

// phase is the script's state between two calls of Enter.
type phase struct {
	name   string
	faults *fault.Phase
	lots   map[*fault.Rule]*lot
	ended  chan struct{}
	door   fault.Action // what is done to those who connect; empty: they are served

	settings bool // connections of HTTP/2 begin with settings of its own
}

// Enter starts a phase: later arrivals meet its faults, whose counts start
// anew. Holds of the phase before end and their requests go on; its hangs end
// with a closed connection; latencies that have begun are served to the end. It
// waits for no request. Before the first Enter the phase is "" and healthy.
//
// An error (errors.ErrUnsupported) says what this system, or the network of Config.Listen, cannot do to those who
// connect (see fault.Action.Door); the phase has begun all the same.
func (i *Injector) Enter(name string) error {
	next := &phase{name: name, faults: i.player.Phase(name), lots: map[*fault.Rule]*lot{}, ended: make(chan struct{})}
	for _, r := range next.faults.Rules() {
		if r.Hold != nil {
			next.lots[r] = newLot(*r.Hold)
		}
		if r.Action.Door() {
			next.door = r.Action
		}
		next.settings = next.settings || r.Action == fault.ActionSettings
	}
	i.mu.Lock()
	i.entered[name] = next.faults
	i.mu.Unlock()
	last := i.phase.Swap(next)
	err := i.setDoor(next)
	i.dismissH2(next)
	if last != nil {
		close(last.ended)
	}
	if err != nil {
		return fmt.Errorf("injector %s: phase %s: %w", i.cfg.Name, name, err)
	}
	return nil
}

// setDoor does to those who connect what the phase says.
func (i *Injector) setDoor(p *phase) error {
	if i.door == nil { // It does not listen yet.
		return nil
	}
	err := i.door.set(p.door)
	if p.door != "" {
		i.closeIdle()
	}
	return err
}

// closeIdle closes the connections that wait for a request.
func (i *Injector) closeIdle() {
	i.mu.Lock()
	idle := slices.Collect(maps.Keys(i.idling))
	i.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}

// Watch has f told of every request at its arrival, before it is served; nil ends
// that. f must not keep the request or read its body.
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
	for _, l := range i.phase.Load().lots {
		l.reject(sent, now)
	}
}

// Fired says of each rule of a phase, in their order, how many requests it saw
// and hit since the phase was last entered; zeros if it never was.
func (i *Injector) Fired(phase string) []fault.Count {
	i.mu.Lock()
	faults, ok := i.entered[phase]
	i.mu.Unlock()
	if !ok {
		faults = i.player.Phase(phase)
	}
	return faults.Counts()
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
	i.rest()
	return i.failure
}

// isClosing reports whether the injector itself is ending.
func (i *Injector) isClosing() bool {
	select {
	case <-i.closing:
		return true
	default:
		return false
	}
}

// offset converts a reading of the clock to an offset of the trace.
func (i *Injector) offset(t time.Time) time.Duration { return i.cfg.Recorder.Since(t) }
