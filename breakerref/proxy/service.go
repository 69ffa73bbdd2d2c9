package proxy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/target/match"
)

// Service is how one dependency is called.
type Service struct {
	Upstream string            // base URL of the dependency, http or https, a path at most
	Breaker  breakerref.Config // see breakerref.Default
	Model    *model.Config     // another breaker that decides in place of Breaker, whose Name remains; nil: Breaker decides
	Failure  match.Failure     // what the breaker counts; the zero value counts nothing
	Timeout  time.Duration     // of one attempt, up to the end of its answer; 0: none
	Cancels  bool              // a client that leaves ends its call, and no outcome is recorded; false: it changes nothing

	Policies

	// What answers instead of the dependency, the first that can: the secondary, the
	// cache, the fallback.
	Secondary        string        // base URL of a second source; empty: none
	SecondaryTimeout time.Duration // of one call to it, up to the end of its answer; 0: none
	CacheGood        int           // most requests whose last good answer is kept; 0: none
	CacheMaxAge      time.Duration // how old such an answer may be when it is given; 0: no limit
	Fallback         *Answer       // nil: none
	FallbackDelay    time.Duration // how long the fallback takes

	Paging *Paging // what it answers, by itself, in place of all these; nil: it lists nothing

	Pool   int    // most connections to the dependency at a time; 0: no limit
	Defect Defect // empty: none
}

// service is a Service that is served.
type service struct {
	Service
	now       func() time.Time
	calls     atomic.Uint64
	ask       step // all policies around the call
	primary   upstream
	secondary *upstream // nil: none
	cache     *cache    // nil: none
	breaker   *breaker
	wrong     mutant.Around // what a defect does around the breaker
	shared    **semaphore   // the last bulkhead of the instance
}

// newService returns a service, or all that is wrong with its configuration. name is the
// breaker's if it has none of its own; shared holds the last bulkhead of the instance.
func newService(cfg Config, name string, s Service, shared **semaphore) (*service, error) {
	primary, secondary, err := s.check()
	if err != nil {
		return nil, err
	}
	s = s.Defect.of(s)
	made := &service{
		Service: s,
		now:     cfg.Now,
		primary: upstream{primary, s.Timeout, newTransport(cfg.Dial, s.Pool)},
		cache:   newCache(s.CacheGood),
		wrong:   s.Defect.mutant().Around,
		shared:  shared,
	}
	if made.breaker, err = newBreaker(cfg, name, s); err != nil {
		return nil, err
	}
	policies, err := made.policies()
	if err != nil {
		return nil, err
	}
	made.ask = chain(policies, made.reach)
	if secondary != nil {
		made.secondary = &upstream{secondary, s.SecondaryTimeout, newTransport(cfg.Dial, 0)}
	}
	return made, nil
}

// policies are those that are there, at work, outermost first.
func (s *service) policies() (all []policy, err error) {
	add := func(p policy, problem error) {
		all, err = append(all, p), errors.Join(err, problem)
	}
	for _, name := range s.order() {
		switch {
		case name == CircuitBreaker:
			add(s.breaker, nil)
		case name == Retry && s.Retry != nil:
			add(newRetrying(s.Policies, s.now))
		case name == RateLimiter && s.RateLimiter != nil:
			add(newRateLimiting(s.Policies, s.now))
		case name == TimeLimiter && s.TimeLimiter != nil:
			add(newTimeLimiting(s.Policies, s.now))
		case name == Bulkhead && s.Bulkhead != nil:
			add(s.semaphore())
		case name == Bulkhead && s.ThreadPool != nil:
			add(newThreads(s.Policies, s.now))
		}
	}
	return all, err
}

// semaphore is the bulkhead: its own, or, as a defect, that of all services.
func (s *service) semaphore() (policy, error) {
	if s.wrong.SharesPlaces && *s.shared != nil {
		return *s.shared, nil
	}
	made, err := newSemaphore(s.Policies, s.now)
	if err != nil {
		return nil, err
	}
	made.leaks = s.wrong.LeaksPlaces
	*s.shared = made
	return made, nil
}

// reach calls the dependency.
func (s *service) reach(c *call) outcome {
	c.begin()
	if c.ctx.Err() != nil {
		return outcome{cause: c.ended()}
	}
	start := s.now()
	a, why := s.primary.send(c)
	out := outcome{answer: a, cause: why}
	out.failed = counts(s.Failure, s.RejectionsFail, out, s.now().Sub(start))
	return out
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
	if s.CacheMaxAge > 0 && s.CacheGood == 0 {
		problems = append(problems, errors.New("answers that are kept have an age, but none are kept"))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"the timeout", int64(s.Timeout)},
		{"the secondary's timeout", int64(s.SecondaryTimeout)},
		{"the number of answers kept", int64(s.CacheGood)},
		{"the age of answers kept", int64(s.CacheMaxAge)},
		{"the fallback's delay", int64(s.FallbackDelay)},
		{"the pool", int64(s.Pool)},
	} {
		if n.value < 0 {
			problems = append(problems, fmt.Errorf("%s is negative", n.name))
		}
	}
	if s.Model != nil {
		problems = append(problems, s.Model.Validate(), CheckModel(s.Model, s.Defect))
	}
	problems = append(problems, s.ValidatePolicies(), s.Defect.check(s), s.Paging.check(), s.pagesAlone())
	if s.Fallback != nil {
		problems = append(problems, checkAnswer("the fallback", s.Fallback))
	}
	return primary, secondary, errors.Join(problems...)
}

// pagesAlone refuses other sources beside a list, which would never be asked.
func (s Service) pagesAlone() error {
	if s.Paging != nil && (s.Secondary != "" || s.CacheGood > 0 || s.Fallback != nil) {
		return errors.New("a service that lists items has its own second source: it can have no secondary, cache or fallback")
	}
	return nil
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
