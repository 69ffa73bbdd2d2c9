package proxy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// Policy is a kind of thing that may lie between a request and the call to the
// dependency.
type Policy string

// The policies.
const (
	Retry          Policy = "retry"
	CircuitBreaker Policy = "circuitbreaker"
	RateLimiter    Policy = "ratelimiter"
	TimeLimiter    Policy = "timelimiter"
	Bulkhead       Policy = "bulkhead" // of either kind
)

// DefaultOrder is the order in which Resilience4j's annotations nest, outermost first:
// Retry(CircuitBreaker(RateLimiter(TimeLimiter(Bulkhead(call))))).
func DefaultOrder() []Policy {
	return []Policy{Retry, CircuitBreaker, RateLimiter, TimeLimiter, Bulkhead}
}

// Policies are what lies around a call beside its breaker. A nil one is not there.
type Policies struct {
	// Order says how the policies nest, outermost first. It has to name the circuit
	// breaker and every policy that is there; nil: DefaultOrder.
	Order []Policy

	Retry       *retry.Config
	RetryBudget *retry.BudgetConfig // what all retries of the service together may be
	// Retried says which outcomes are tried again; nil: all that is no good answer but a
	// refusal of the breaker.
	Retried *Retried

	RateLimiter limit.Config
	// RateLimitKey is the request header whose every value has a limiter of its own,
	// requests without it one together; empty: all requests have one together.
	RateLimitKey string
	// RateLimitTold has answers to calls that the limiter lets through tell its state, too,
	// in the headers that those to refused ones have, but Retry-After.
	RateLimitTold bool

	TimeLimiter *timelimit.Config

	// One kind of bulkhead at most.
	Bulkhead   *bulkhead.SemaphoreConfig
	ThreadPool *bulkhead.ThreadPoolConfig

	// RejectionsFail makes the breaker count as failures what rate limiter and bulkhead
	// inside of it refuse, as Resilience4j does where nobody says otherwise. False: they
	// do not count, as where ignoreExceptions has RequestNotPermitted and
	// BulkheadFullException.
	RejectionsFail bool
}

// mostKeys is how many keys a rate limiter by key tells apart at a time. Beyond, calls
// with new keys are refused until the limiter of some key is as good as new.
const mostKeys = 100_000

// order is Order with its default.
func (p Policies) order() []Policy {
	if p.Order == nil {
		return DefaultOrder()
	}
	return p.Order
}

// ValidatePolicies returns all that is wrong with the policies, joined, or nil.
func (p Policies) ValidatePolicies() error {
	problems := p.checkOrder()
	require := func(ok bool, text string) {
		if !ok {
			problems = append(problems, errors.New(text))
		}
	}
	require(p.RetryBudget == nil || p.Retry != nil, "there is a budget of retries, but no retry")
	require(p.Retried == nil || p.Retry != nil, "it is said what is tried again, but there is no retry")
	require(p.RateLimitKey == "" || p.RateLimiter != nil, "there is a key of a rate limiter, but no rate limiter")
	require(!p.RateLimitTold || p.RateLimiter != nil, "the state of a rate limiter is to be told, but there is no rate limiter")
	require(!strings.ContainsFunc(p.RateLimitKey, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }),
		fmt.Sprintf("the key of the rate limiter is %q, must be the name of a header", p.RateLimitKey))
	require(p.Bulkhead == nil || p.ThreadPool == nil, "there are a bulkhead of both kinds, one is possible")
	for _, c := range p.parts() {
		if c.there {
			if err := c.validate(); err != nil {
				problems = append(problems, fmt.Errorf("the %s: %w", c.name, err))
			}
		}
	}
	return errors.Join(problems...)
}

// part is a policy's configuration.
type part struct {
	policy   Policy
	name     string
	there    bool
	validate func() error
}

// parts lists all configurations.
func (p Policies) parts() []part {
	return []part{
		{Retry, "retry", p.Retry != nil, func() error { return p.Retry.Validate() }},
		{Retry, "budget of retries", p.RetryBudget != nil, func() error { return p.RetryBudget.Validate() }},
		{RateLimiter, "rate limiter", p.RateLimiter != nil, func() error { return p.RateLimiter.Validate() }},
		{TimeLimiter, "time limiter", p.TimeLimiter != nil, func() error { return p.TimeLimiter.Validate() }},
		{Bulkhead, "bulkhead", p.Bulkhead != nil, func() error { return p.Bulkhead.Validate() }},
		{Bulkhead, "thread pool", p.ThreadPool != nil, func() error { return p.ThreadPool.Validate() }},
	}
}

// checkOrder returns what is wrong with the order.
func (p Policies) checkOrder() (problems []error) {
	order := p.order()
	for i, name := range order {
		switch {
		case !slices.Contains(DefaultOrder(), name):
			problems = append(problems, fmt.Errorf("the order of policies has %q, must be of %s", name, policyWords()))
		case slices.Contains(order[:i], name):
			problems = append(problems, fmt.Errorf("the order of policies has %s twice", name))
		}
	}
	missing := func(name Policy) {
		if !slices.Contains(order, name) {
			problems = append(problems, fmt.Errorf("the order of policies leaves out %s, which there is", name))
		}
	}
	missing(CircuitBreaker)
	for _, c := range p.parts() {
		if c.there {
			missing(c.policy)
		}
	}
	return problems
}

// policyWords lists the policies for an error.
func policyWords() string {
	words := make([]string, 0, len(DefaultOrder()))
	for _, p := range DefaultOrder() {
		words = append(words, string(p))
	}
	return strings.Join(words, ", ")
}
