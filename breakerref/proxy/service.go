package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
)

// Service is how one dependency is called.
type Service struct {
	Upstream string            // base URL of the dependency, http or https, a path at most
	Breaker  breakerref.Config // see breakerref.Default
	Failure  match.Failure     // what the breaker counts; the zero value counts nothing
	Timeout  time.Duration     // of one attempt, up to the end of its answer; 0: none

	// What answers instead of the dependency, the first that can: the secondary, the
	// cache, the fallback.
	Secondary        string        // base URL of a second source; empty: none
	SecondaryTimeout time.Duration // of one call to it, up to the end of its answer; 0: none
	CacheGood        int           // most requests whose last good answer is kept; 0: none
	Fallback         *Answer       // nil: none
	FallbackDelay    time.Duration // how long the fallback takes

	Pool      int           // most connections to the dependency at a time; 0: no limit
	Retry     int           // most attempts of a call; 0 and 1: a single one
	RetryWait time.Duration // between the end of an attempt and the next one
	Bulkhead  int           // most attempts under way at a time, further ones are refused; 0: no limit

	Defect Defect // empty: none
}

// service is a Service that is served.
type service struct {
	Service
	now       func() time.Time
	primary   upstream
	secondary *upstream // nil: none
	cache     *cache    // nil: none
	breaker   *breaker
	places    chan struct{} // of the bulkhead, one for each attempt under way; nil: no limit
}

// newService returns a service, or all that is wrong with its configuration. name is the
// breaker's if it has none of its own.
func newService(cfg Config, name string, s Service) (*service, error) {
	primary, secondary, err := s.check()
	if err != nil {
		return nil, err
	}
	s.Breaker = s.Defect.config(s.Breaker)
	if s.Defect == NoTimeout {
		s.Timeout = 0
	}
	now := cfg.Now()
	machine, err := breakerref.New(s.Breaker, now)
	if err != nil {
		return nil, err
	}
	made := &service{
		Service: s,
		now:     cfg.Now,
		primary: upstream{primary, s.Timeout, newTransport(cfg.Dial, s.Pool)},
		cache:   newCache(s.CacheGood),
		breaker: &breaker{
			name: cmp.Or(s.Breaker.Name, name), cfg: s.Breaker,
			machine: machine, defect: s.Defect, now: cfg.Now, logger: cfg.Logger,
		},
	}
	if cfg.Actuator {
		made.breaker.journal = newJournal(now)
	}
	if secondary != nil {
		made.secondary = &upstream{secondary, s.SecondaryTimeout, newTransport(cfg.Dial, 0)}
	}
	if s.Bulkhead > 0 {
		made.places = make(chan struct{}, s.Bulkhead)
	}
	return made, nil
}

// close gives up the connections that wait for the next call.
func (s *service) close() {
	s.primary.transport.CloseIdleConnections()
	if s.secondary != nil {
		s.secondary.transport.CloseIdleConnections()
	}
}

// check returns the parsed upstream and secondary, nil if there is none, or all that is
// wrong with the configuration beside the breaker's.
func (s Service) check() (primary, secondary *url.URL, err error) {
	primary, err = parseUpstream("the upstream", s.Upstream)
	problems := []error{err}
	if s.Secondary != "" {
		secondary, err = parseUpstream("the secondary", s.Secondary)
		problems = append(problems, err)
	} else if s.SecondaryTimeout > 0 {
		problems = append(problems, errors.New("the secondary has a timeout, but there is no secondary"))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"the timeout", int64(s.Timeout)},
		{"the secondary's timeout", int64(s.SecondaryTimeout)},
		{"the number of answers kept", int64(s.CacheGood)},
		{"the fallback's delay", int64(s.FallbackDelay)},
		{"the pool", int64(s.Pool)},
		{"the number of attempts", int64(s.Retry)},
		{"the wait between attempts", int64(s.RetryWait)},
		{"the bulkhead", int64(s.Bulkhead)},
	} {
		if n.value < 0 {
			problems = append(problems, fmt.Errorf("%s is negative", n.name))
		}
	}
	problems = append(problems, s.Defect.check(s))
	if s.Fallback != nil {
		problems = append(problems, checkAnswer("the fallback", s.Fallback))
	}
	return primary, secondary, errors.Join(problems...)
}

// parseUpstream returns a base URL, or what is wrong with it.
func parseUpstream(name, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is %q, must be a URL such as http://127.0.0.1:9901", name, raw)
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%s is %q, must have neither a query, a fragment nor a user, since requests bring their own", name, u.Redacted())
	}
	return u, nil
}

// checkAnswer refuses a canned answer that cannot be sent.
func checkAnswer(name string, a *Answer) error {
	if a.Status != 0 && (a.Status < 200 || a.Status > 599) {
		return fmt.Errorf("%s's status is %d, must be from 200 to 599", name, a.Status)
	}
	return nil
}

// newTransport returns the way to a dependency. Nothing of it outlives its
// CloseIdleConnections but connections in use.
func newTransport(dial func(ctx context.Context, network, addr string) (net.Conn, error), pool int) *http.Transport {
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
		MaxConnsPerHost:     pool,
		MaxIdleConnsPerHost: math.MaxInt32, // The default keeps two and dials anew for the third.
	}
}
