package run

import (
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
)

// policies are what the reference service has around its breaker.
func policies(ref experiments.Reference, seed uint64) proxy.Policies {
	p := proxy.Policies{
		TimeLimiter: ref.TimeLimiter, Bulkhead: ref.Bulkhead, ThreadPool: ref.ThreadPool, RejectionsFail: ref.RejectionsFail,
	}
	if r := ref.Retry; r != nil {
		cfg := r.Config(seed)
		p.Retry, p.RetryBudget, p.Retried = &cfg, r.Budget, retried(*r)
	}
	if l := ref.RateLimiter; l != nil {
		p.RateLimiter, p.RateLimitKey, p.RateLimitTold = l.Config(), l.By, l.Told
	}
	for _, word := range ref.Order {
		p.Order = append(p.Order, policy(word))
	}
	return p
}

// retried says what is tried again.
func retried(r experiments.Retry) *proxy.Retried {
	out := &proxy.Retried{Full: true, Limited: true, Methods: r.Methods, HeedAfter: r.RetryAfter}
	if on := r.On; on != nil {
		out.Failure, out.Refusals, out.Full, out.Limited = &on.Failure, on.Open, on.Full, on.Limited
	}
	return out
}

// policy is the one that a word of an order means.
func policy(word string) proxy.Policy {
	switch word {
	case experiments.PolicyBreaker:
		return proxy.CircuitBreaker
	case experiments.PolicyRateLimiter:
		return proxy.RateLimiter
	case experiments.PolicyTimeLimiter:
		return proxy.TimeLimiter
	case experiments.PolicyBulkhead:
		return proxy.Bulkhead
	default:
		return proxy.Retry
	}
}
