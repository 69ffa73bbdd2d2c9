package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/target/trace"
)

// Config says what is controlled, and by whom.
type Config struct {
	Injectors []*injector.Injector
	Recorder  *trace.Recorder // theirs
	Addr      string          // host:port to listen on; port 0 is chosen by the system; empty: 127.0.0.1:0
	// Hosts are the names and addresses, besides those of loopback, by which the API may be
	// called. An Addr that is not on loopback must be one of them, and needs a Token.
	Hosts []string
	Token string // that every request must bear; empty: none, which only loopback may
	// Order is the phases in the order in which "next" goes through them; nil: those of the
	// injectors' plans, by name.
	Order []string
	// Enter replaces what enters a phase. It must come back when the phase is on.
	Enter  func(ctx context.Context, phase string) error
	Logger *slog.Logger // nil: silent
	// Listen replaces the operating system's network.
	Listen func(network, addr string) (net.Listener, error)
}

// Server is a running API.
type Server struct {
	cfg      Config
	log      *slog.Logger
	addr     string
	server   *http.Server
	routes   map[string]map[string]route // by path and method
	document []byte                      // of OpenAPI
	end      context.CancelFunc
	work     sync.WaitGroup
	mu       sync.Mutex
	closed   bool       // guarded by mu: no further work begins
	entering sync.Mutex // held by who enters a phase
	streams  atomic.Int32
	dropped  atomic.Uint64 // readers of streams who took nothing
	views    views
}

// How long the API waits for its callers.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
)

// Start listens at once and serves until ctx ends or Close is called; Close must be called
// in either case. Its error says what is wrong with cfg, or why the address cannot be had.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	err := cfg.Check()
	if len(cfg.Injectors) == 0 || cfg.Recorder == nil {
		err = errors.Join(err, errors.New("there is no injector, or no recorder, to control"))
	}
	if err != nil {
		return nil, fmt.Errorf("control API: %w", err)
	}
	s := &Server{cfg: cfg, log: cfg.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Enter == nil {
		s.cfg.Enter = s.enter
	}
	s.routes = s.table()
	if s.document, err = document(); err != nil {
		return nil, fmt.Errorf("control API: %w", err)
	}
	listen := cfg.Listen
	if listen == nil {
		listen = func(network, addr string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, network, addr)
		}
	}
	ln, err := listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("control API: listen on %s: %w; choose another port, or port 0 for a free one", cfg.Addr, err)
	}
	if err := whereIs(cfg.Addr, ln); err != nil {
		return nil, errors.Join(fmt.Errorf("control API: %w", err), ln.Close())
	}
	s.addr = ln.Addr().String()
	base, end := context.WithCancel(ctx)
	s.end = end
	s.server = &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,

		DisableGeneralOptionsHandler: true, // Who may not call is not answered by it either.
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.work.Go(func() {
		if err := s.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the control API has stopped", slog.Any("error", err))
		}
	})
	s.work.Go(func() {
		<-base.Done()
		_ = s.server.Close() // Its error is that of closing a listener.
	})
	return s, nil
}

// Check says what is wrong with the address, and with who may call it.
func (c Config) Check() error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port) // It reads a file at most.
	}
	if err != nil {
		return fmt.Errorf("address %s: write host:port, as 127.0.0.1:9900", c.Addr)
	}
	errs := []error{c.checkToken()}
	for _, h := range c.Hosts {
		if _, _, err := net.SplitHostPort(h); err == nil || h == "" || strings.ContainsAny(h, "[]/ \t\r\n") {
			errs = append(errs, fmt.Errorf("host %q: write a name or an address alone, without its port, as ci.internal", h))
		}
	}
	if host == "" {
		return errors.Join(append(errs, fmt.Errorf("address %s is that of all networks; name the one that it is to be reached by, or 0.0.0.0", c.Addr))...)
	}
	if !isLoopback(host) {
		if !slices.Contains(c.Hosts, host) {
			errs = append(errs, fmt.Errorf("address %s is not on loopback; whoever reaches it can break what is behind it, so allow %q by its name", c.Addr, host))
		}
		if c.Token == "" {
			errs = append(errs, fmt.Errorf("address %s is not on loopback and needs a token", c.Addr))
		}
	}
	return errors.Join(errs...)
}

// checkToken looks for a token that can be guessed, or that no header can bear.
func (c Config) checkToken() error {
	switch {
	case c.Token == "":
		return nil
	case len(c.Token) < minToken:
		return fmt.Errorf("the token has %d characters; use at least %d that nobody can guess", len(c.Token), minToken)
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token is not one word of printable ASCII, as a header has to be; use letters and digits")
	}
	return nil
}

// minToken is how long a token is at least.
const minToken = 16

// Addr is the host:port that the API listens on.
func (s *Server) Addr() string { return s.addr }

// URL is the base URL of the API, without a slash at its end.
func (s *Server) URL() string {
	host, port, err := net.SplitHostPort(s.addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + s.addr
}

// begin counts a request as work, unless the API has been closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

// Close ends the API and every stream. It returns when nothing of it runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
	return nil
}
