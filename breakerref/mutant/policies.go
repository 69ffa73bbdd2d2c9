package mutant

import (
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// Policies are what a service has around its breaker. Nil is not there.
type Policies struct {
	Retry     *retry.Config
	Budget    *retry.BudgetConfig
	Methods   []string // of calls that are tried again; nil: all
	Refused   bool     // what the breaker refused is tried again
	HeedAfter bool     // a wait is as long as a Retry-After asks, at least

	LimitKey    string // header whose every value has a rate limiter of its own; empty: there is one
	Bulkhead    *bulkhead.SemaphoreConfig
	TimeLimiter *timelimit.Config
	Timeout     time.Duration // of one attempt; 0: none
	Cancels     bool          // a client that leaves ends its call

	MaxAge time.Duration // of an answer that is kept; 0: no limit

	AnyOrder bool // they nest as they do where nobody says how
}

// Set sets the policies of a service wrongly, if it has those that the mutant is about.
func (m Mutant) Set(p *Policies) {
	n := m.Needs
	missing := n.Cancels && !p.Cancels || n.Retry && p.Retry == nil || n.Bulkhead && p.Bulkhead == nil || n.TimeLimiter && p.TimeLimiter == nil
	if m.Around.Policies != nil && !missing {
		m.Around.Policies(p)
	}
}

// Limiter is what is wrong with a rate limiter; nil is nothing.
type Limiter func(limit.Config) limit.Config

// Of returns the limiter that there is in place of a right one.
func (l Limiter) Of(right limit.Config) limit.Config {
	if l == nil || right == nil {
		return right
	}
	return l(right)
}

// Kinds of rules that name defects of policies.
const (
	attempts   = "retry.max_attempts"
	amplifies  = "retry.amplification"
	spacing    = "retry.spacing"
	budget     = "retry.budget"
	never      = "retry.forbidden"
	concurrent = "downstream.concurrency"
	rates      = "downstream.rate"
	isolates   = "isolation"
	calls      = "downstream.calls"
	forbidden  = "fallback.forbidden"
	propagates = "cancel.propagates"
	latency    = "latency"
	stale      = "cached.share" // of a class cached that the experiment has
	ages       = "fallback.staleness"
	continues  = "fallback.continuity"
)

// unavailable is the status 503.
const unavailable = 503

// Models of policies, as bases of mutants.
const (
	baseRetry     = "retry"
	baseTimeLimit = "timelimit"
	baseBulkhead  = "bulkhead"
	baseLimiter   = "limit"
)

// policy is a mutant of a policy.
func policy(part Part, base, name, says string, a Around, n Needs, caught ...string) Mutant {
	return Mutant{Name: name, Says: says, Part: part, Base: base, Caught: caught, Around: a, Needs: n}
}

// retries are the mutants of a retry.
func retries() []Mutant {
	of := func(name, says string, change func(*Policies), caught ...string) Mutant {
		return policy(PartRetry, baseRetry, name, says, Around{Policies: change}, Needs{Retry: true}, caught...)
	}
	return []Mutant{
		of("retry_too_many", "makes one attempt more than it may", func(p *Policies) { p.Retry.MaxAttempts++ }, attempts),
		of("retry_too_few", "makes one attempt less than it should", func(p *Policies) { p.Retry.MaxAttempts-- }, attempts),
		of("retry_storm", "makes ten attempts", func(p *Policies) { p.Retry.MaxAttempts, p.Budget = 10, nil }, amplifies, attempts),
		of("retry_at_once", "tries again without a wait", func(p *Policies) {
			p.Retry.Wait, p.Retry.MaxWait, p.Retry.Multiplier, p.Retry.RandomFactor = 0, 0, 0, 0
		}, spacing),
		of("retry_no_growth", "waits as long each time, where the wait is to grow", func(p *Policies) { p.Retry.Multiplier, p.Retry.MaxWait = 0, 0 }, spacing),
		of("retry_no_jitter", "waits exactly as long as all others do, where chance is to set them apart", func(p *Policies) { p.Retry.RandomFactor = 0 }, spacing),
		of("retry_any_method", "tries calls again that must not be made twice", func(p *Policies) { p.Methods = nil }, never),
		of("retry_after_ignored", "tries again before the dependency asks it to", func(p *Policies) { p.HeedAfter = false }, spacing),
		of("retry_no_budget", "has no budget of retries", func(p *Policies) { p.Budget = nil }, budget),
		of("retry_rejections", "tries again what its breaker rejected, and keeps the client waiting", func(p *Policies) { p.Refused = true }, fast),
		of("retry_beyond_limit", "gives each attempt the time that all together have", func(p *Policies) { p.AnyOrder = true }, latency).needs(ofOrder),
	}
}

// timeouts are the mutants of timeouts.
func timeouts() []Mutant {
	of := func(name, says string, a Around) Mutant {
		return policy(PartTimeout, Resilience4j, name, says, a, Needs{}, abandons)
	}
	limited := policy(PartTimeout, baseTimeLimit, "time_limit_leaks", "answers at its time limit and lets the attempt go on",
		Around{Policies: func(p *Policies) { p.TimeLimiter.CancelRunningFuture = false }}, Needs{TimeLimiter: true}, abandons)
	clings := policy(PartTimeout, Resilience4j, "cancel_ignored", "goes on with calls whose clients have left, where these are to end them",
		Around{Policies: func(p *Policies) { p.Cancels = false }}, Needs{Cancels: true}, propagates)
	return []Mutant{
		clings,
		of("no_timeout", "waits for the dependency without end", Around{NoTimeout: true}),
		of("timeout_doubled", "waits for the dependency twice as long as it should", Around{Policies: func(p *Policies) { p.Timeout *= 2 }}),
		of("timeout_halved", "waits for the dependency half as long as it should", Around{Policies: func(p *Policies) { p.Timeout /= 2 }}),
		limited,
	}
}

// bulkheads are the mutants of bulkheads.
func bulkheads() []Mutant {
	of := func(name, says string, a Around, caught ...string) Mutant {
		return policy(PartBulkhead, baseBulkhead, name, says, a, Needs{Bulkhead: true}, caught...)
	}
	return []Mutant{
		of("bulkhead_too_large", "lets one call more in than it may", Around{Policies: func(p *Policies) { p.Bulkhead.MaxConcurrentCalls++ }}, concurrent),
		of("bulkhead_too_small", "lets one call less in than it should", Around{Policies: func(p *Policies) { p.Bulkhead.MaxConcurrentCalls-- }}, concurrent),
		of("bulkhead_missing", "has no bulkhead", Around{Policies: func(p *Policies) { p.Bulkhead.MaxConcurrentCalls = endless }}, concurrent),
		of("bulkhead_leaks", "loses a place with each call that fails", Around{LeaksPlaces: true}, concurrent),
		of("bulkhead_shared", "has one bulkhead for all its dependencies", Around{SharesPlaces: true}, isolates),
	}
}

// limiters are the mutants of rate limiters.
func limiters() []Mutant {
	of := func(base, name, says string, l Limiter) Mutant {
		return policy(PartLimiter, base, name, says, Around{Limiter: l}, Needs{Limiter: true}, rates)
	}
	told := func(name, says string, a Around) Mutant {
		return policy(PartLimiter, baseLimiter, name, says, a, Needs{Limiter: true}, rates)
	}
	return []Mutant{
		of("sliding_log", "limiter_at_boundary", "lets twice the limit through where one of its windows ends", atBoundary),
		of("sliding_log", "limiter_counts_rejected", "counts what it rejects, so that nobody passes who asks on", countsRejected),
		of("token_bucket", "limiter_too_fast", "refills twice as fast as it should", tooFast),
		of("token_bucket", "limiter_large_burst", "lets twice the burst through", largeBurst),
		told("limiter_missing", "limits nothing", Around{Limiter: func(limit.Config) limit.Config {
			return limit.SlidingLogConfig{Limit: endless, Window: time.Second}
		}}),
		told("limiter_one_for_all", "has one limiter, where each caller is to have one", Around{Policies: func(p *Policies) { p.LimitKey = "" }}).needs(ofKeys),
		told("limiter_says_503", "answers what it rejects with 503", Around{LimitStatus: unavailable}),
		told("limiter_mute", "does not answer what its rate limiter rejects", Around{MutesLimited: true}),
		told("limiter_says_not_when", "does not say when to come again", Around{NoRetryAfter: true}),
	}
}

// fallingBack are the mutants of fallbacks.
func fallingBack() []Mutant {
	of := func(name, says string, a Around, caught ...string) Mutant {
		return policy(PartFallback, Resilience4j, name, says, a, Needs{Fallback: true}, caught...)
	}
	return []Mutant{
		of("no_fallback", "has no fallback", Around{NoFallback: true}, fallbacks),
		of("fallback_always", "answers with the fallback although the dependency did", Around{FallbackAlways: true}, fallbacks),
		of("empty_200", "has nothing to fall back to, and serves an empty list as a success", Around{EmptyFallback: true}, fallbacks),
		policy(PartFallback, Resilience4j, "cache_without_bound", "serves what it has kept however old it is",
			Around{Policies: func(p *Policies) { p.MaxAge = 0 }}, Needs{Cache: true}, stale, ages),
		paging("page_lost", "loses a page when its source switches", "skip"),
		paging("page_repeated", "sends a page twice when its source switches", "repeat"),
		paging("page_rewound", "begins the list anew when its source switches, and does not say so", "rewind"),
		of("fallback_everywhere", "falls back on routes that must not", Around{FallbackEverywhere: true}, forbidden),
		of("fallback_calls", "calls the dependency once more before it falls back", Around{FallbackCalls: true}, opens, calls),
	}
}

// paging is a mutant of a list with two sources, by what it does where they switch.
func paging(name, says, onSwitch string) Mutant {
	return policy(PartFallback, Resilience4j, name, says, Around{OnSwitch: onSwitch}, Needs{Paging: true}, continues)
}

func ofOrder(n *Needs) { n.Order, n.TimeLimiter = true, true }
func ofKeys(n *Needs)  { n.LimitKey = true }
