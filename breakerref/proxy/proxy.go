package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
)

// Answer is a canned answer.
type Answer struct {
	Status  int               // 0: 200
	Headers map[string]string // Content-Type too: it is not guessed
	Body    string
}

// Config describes a proxy.
type Config struct {
	Addr     string            // host:port to listen at; port 0 is chosen by the system
	Upstream string            // base URL of the dependency, http or https, a path at most
	Breaker  breakerref.Config // see breakerref.Default
	Failure  match.Failure     // what the breaker counts; the zero value counts nothing
	Timeout  time.Duration     // of one attempt, up to the end of its answer; 0: none

	Fallback      *Answer       // nil: none
	FallbackDelay time.Duration // how long the fallback takes

	Pool      int           // most connections to the dependency at a time; 0: no limit
	Retry     int           // most attempts of a call; 0 and 1: a single one
	RetryWait time.Duration // between the end of an attempt and the next one

	// Listen and Dial replace the operating system's network; nil: not.
	Listen func(network, addr string) (net.Listener, error)
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	Now    func() time.Time // the breaker's clock; nil: time.Now
	Logger *slog.Logger     // nil: silent
}

// Proxy is a running proxy. Its methods may be called from any goroutine.
type Proxy struct {
	cfg       Config
	upstream  *url.URL
	breaker   *breaker
	transport *http.Transport
	server    *http.Server
	addr      net.Addr
	logger    *slog.Logger
	cancel    context.CancelFunc // ends all calls to the dependency
	served    chan struct{}      // closed when nothing is accepted any more

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // requests being answered; grows only under mu and before closed
}

// Start listens and serves until [Proxy.Close]. ctx bounds the starting only. An
// error says what is wrong with the configuration, or that the address could not
// be listened at.
func Start(ctx context.Context, cfg Config) (*Proxy, error) {
	upstream, err := check(cfg)
	if err != nil {
		return nil, fmt.Errorf("reference proxy: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	machine, err := breakerref.New(cfg.Breaker, cfg.Now())
	if err != nil {
		return nil, fmt.Errorf("reference proxy: %w", err)
	}
	listener, err := listen(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("reference proxy: listen at %s: %w", cfg.Addr, err)
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &Proxy{
		cfg:       cfg,
		upstream:  upstream,
		breaker:   &breaker{machine: machine, now: cfg.Now, logger: cfg.Logger},
		transport: newTransport(cfg),
		addr:      listener.Addr(),
		logger:    cfg.Logger,
		cancel:    cancel,
		served:    make(chan struct{}),
	}
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

// check returns the parsed upstream, or all that is wrong with the configuration
// beside the breaker's.
func check(cfg Config) (*url.URL, error) {
	var problems []error
	upstream, err := url.Parse(cfg.Upstream)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" {
		problems = append(problems, fmt.Errorf("the upstream is %q, must be a URL such as http://127.0.0.1:9901", cfg.Upstream))
	} else if upstream.RawQuery != "" || upstream.ForceQuery || upstream.Fragment != "" || upstream.User != nil {
		problems = append(problems, fmt.Errorf("the upstream is %q, must have neither a query, a fragment nor a user, since requests bring their own", upstream.Redacted()))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"the timeout", int64(cfg.Timeout)},
		{"the fallback's delay", int64(cfg.FallbackDelay)},
		{"the pool", int64(cfg.Pool)},
		{"the number of attempts", int64(cfg.Retry)},
		{"the wait between attempts", int64(cfg.RetryWait)},
	} {
		if n.value < 0 {
			problems = append(problems, fmt.Errorf("%s is negative", n.name))
		}
	}
	if f := cfg.Fallback; f != nil && f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		problems = append(problems, fmt.Errorf("the fallback's status is %d, must be from 200 to 599", f.Status))
	}
	return upstream, errors.Join(problems...)
}

// listen opens the proxy's address.
func listen(ctx context.Context, cfg Config) (net.Listener, error) {
	if cfg.Listen != nil {
		return cfg.Listen("tcp", cfg.Addr)
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", cfg.Addr)
}

// newTransport returns the way to the dependency. Nothing of it outlives its
// CloseIdleConnections but connections in use.
func newTransport(cfg Config) *http.Transport {
	dial := cfg.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	var http1 http.Protocols
	http1.SetHTTP1(true) // HTTP/2 clients resend on their own.
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, &unreachableError{err}
			}
			return conn, nil
		},
		Protocols:           &http1,
		DisableCompression:  true,
		MaxConnsPerHost:     cfg.Pool,
		MaxIdleConnsPerHost: math.MaxInt32, // The default keeps two and dials anew for the third.
	}
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

// State is the breaker's state now.
func (p *Proxy) State() breakerref.State {
	state, _ := p.breaker.read()
	return state
}

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
	p.transport.CloseIdleConnections()
	return err
}
