package proxy

import (
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

	Fallback      *Answer       // nil: none
	FallbackDelay time.Duration // how long the fallback takes

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
	upstream  *url.URL
	breaker   *breaker
	transport *http.Transport
	places    chan struct{} // of the bulkhead, one for each attempt under way; nil: no limit
}

// newService returns a service, or all that is wrong with its configuration.
func newService(cfg Config, s Service) (*service, error) {
	upstream, err := s.check()
	if err != nil {
		return nil, err
	}
	s.Breaker = s.Defect.config(s.Breaker)
	if s.Defect == NoTimeout {
		s.Timeout = 0
	}
	machine, err := breakerref.New(s.Breaker, cfg.Now())
	if err != nil {
		return nil, err
	}
	made := &service{
		Service:   s,
		now:       cfg.Now,
		upstream:  upstream,
		breaker:   &breaker{machine: machine, defect: s.Defect, now: cfg.Now, logger: cfg.Logger},
		transport: newTransport(cfg.Dial, s.Pool),
	}
	if s.Bulkhead > 0 {
		made.places = make(chan struct{}, s.Bulkhead)
	}
	return made, nil
}

// check returns the parsed upstream, or all that is wrong with the configuration
// beside the breaker's.
func (s Service) check() (*url.URL, error) {
	var problems []error
	upstream, err := url.Parse(s.Upstream)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" {
		problems = append(problems, fmt.Errorf("the upstream is %q, must be a URL such as http://127.0.0.1:9901", s.Upstream))
	} else if upstream.RawQuery != "" || upstream.ForceQuery || upstream.Fragment != "" || upstream.User != nil {
		problems = append(problems, fmt.Errorf("the upstream is %q, must have neither a query, a fragment nor a user, since requests bring their own", upstream.Redacted()))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"the timeout", int64(s.Timeout)},
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
	return upstream, errors.Join(problems...)
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
