package proxy

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
	"time"
	"unicode"

	"github.com/faultline-go/faultline/breakerref"
)

// Answer is a canned answer.
type Answer struct {
	Status  int               // 0: 200
	Headers map[string]string // Content-Type too: it is not guessed
	Body    string
}

// Config describes a proxy: a service in front of one dependency, and paths that are
// served otherwise.
type Config struct {
	Addr string // host:port to listen at; port 0 is chosen by the system
	Service
	Workers int     // most requests under way at a time, further ones wait; 0: no limit
	Routes  []Route // the first whose path matches serves a request, else Service does

	// Actuator serves the paths below ActuatorPath, as Spring Boot and Resilience4j do.
	// Each breaker then needs a name (Breaker.Name) of its own; those without one are
	// named primary, route-1, route-2 and so on, by their place.
	Actuator bool

	// Instance names the service's instance in the header Instance; empty: no header, if
	// there is only one. Of several Instances each has breakers, policies, workers and a
	// cache of its own and serves the next request in turn, as behind a load balancer, but
	// one with the header Instance is served by the one that it names. Their names are
	// NAME-1, NAME-2 and so on, or the numbers alone.
	Instance  string
	Instances int // 0 and 1: one

	// Listen and Dial replace the operating system's network; nil: not.
	Listen func(network, addr string) (net.Listener, error)
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	Now    func() time.Time // the breakers' clock; nil: time.Now
	Logger *slog.Logger     // nil: silent
}

// Route is a path that is not served as the rest. Exactly one of Service and Respond
// is given.
type Route struct {
	Path    string   // exact, or a prefix when it ends in *
	Service *Service // another dependency, with a breaker of its own
	Respond *Answer  // or no dependency at all
}

// Proxy is a running proxy. Its methods may be called from any goroutine.
type Proxy struct {
	cfg       Config
	instances []*instance
	turn      atomic.Uint64 // whose it is to serve
	looked    atomic.Uint64 // whose it is to tell of itself
	server    *http.Server
	addr      net.Addr
	logger    *slog.Logger
	cancel    context.CancelFunc // ends all calls to the dependencies
	served    chan struct{}      // closed when nothing is accepted any more

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // requests being answered; grows only under mu and before closed
}

// Start listens and serves until [Proxy.Close]. ctx bounds the starting only. An
// error says what is wrong with the configuration, or that the address could not
// be listened at.
func Start(ctx context.Context, cfg Config) (*Proxy, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{cfg: cfg, logger: cfg.Logger, served: make(chan struct{})}
	if err := p.prepare(); err != nil {
		return nil, fmt.Errorf("reference proxy: %w", err)
	}
	listener, err := listen(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("reference proxy: listen at %s: %w", cfg.Addr, err)
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.addr, p.cancel = listener.Addr(), cancel
	// No timeouts: a connection that the server closes while its client picks it
	// for the next request would look like a failure of the system under test.
	p.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !p.enter() {
				abort()
			}
			defer p.active.Done()
			p.serve(base, w, r)
		}),
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	go p.accept(listener)
	return p, nil
}

// prepare makes the instances, or says all that is wrong with them.
func (p *Proxy) prepare() error {
	err := checkInstance(p.cfg.Instance)
	switch {
	case p.cfg.Workers < 0:
		err = errors.Join(err, errors.New("the number of workers is negative"))
	case p.cfg.Instances < 0:
		err = errors.Join(err, errors.New("the number of instances is negative"))
	}
	for i := range max(1, p.cfg.Instances) {
		made, wrong := newInstance(p.cfg, i)
		if wrong != nil {
			return errors.Join(err, wrong) // The others are set alike.
		}
		p.instances = append(p.instances, made)
	}
	return err
}

// checkInstance refuses a name that cannot be sent in a header.
func checkInstance(name string) error {
	if strings.ContainsFunc(name, unicode.IsControl) || name != strings.TrimSpace(name) {
		return fmt.Errorf("the instance is %q, must have no control characters and no spaces around it", name)
	}
	return nil
}

// listen opens the proxy's address.
func listen(ctx context.Context, cfg Config) (net.Listener, error) {
	if cfg.Listen != nil {
		return cfg.Listen("tcp", cfg.Addr)
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", cfg.Addr)
}

// accept serves the listener until Close.
func (p *Proxy) accept(l net.Listener) {
	defer close(p.served)
	if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		p.logger.Error("the reference proxy stopped listening", slog.Any("error", err))
	}
}

// enter reports whether a request may still be answered; its caller then owes
// p.active a Done.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.active.Add(1)
	}
	return !p.closed
}

// Addr is the address that the proxy listens at, host:port.
func (p *Proxy) Addr() string { return p.addr.String() }

// URL is the base URL at which clients of this machine reach the proxy.
func (p *Proxy) URL() string {
	addr, ok := p.addr.(*net.TCPAddr)
	if !ok || !addr.IP.IsUnspecified() {
		return "http://" + p.Addr()
	}
	local := *addr
	local.IP = net.IPv4(127, 0, 0, 1)
	return "http://" + local.String()
}

// State is the state now of the breaker that is asked where no route matches; of the
// first instance.
func (p *Proxy) State() breakerref.State { return p.instances[0].main.breaker.current() }

// Close stops listening, cuts off clients, cancels the calls to the dependency and
// returns when every request has been dealt with. A second call does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.server.Close() // Before the calls end, so that no client hears of it as an outcome.
	p.cancel()
	<-p.served
	p.active.Wait()
	for _, at := range p.instances {
		for _, s := range at.services() {
			s.close()
		}
	}
	return err
}
