package experiments

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
	"github.com/faultline-go/faultline/target/match"
)

// Policies are what the reference service has around a call beside its breaker. What is
// nil is not there.
type Policies struct {
	// Order is how they nest, outermost first, in the words of PolicyWords; nil: in the
	// order of those.
	Order []string `json:"order,omitempty" yaml:"order,omitempty"`

	Retry       *Retry                     `json:"retry,omitempty" yaml:"retry,omitempty"`
	RateLimiter *RateLimiter               `json:"rate_limiter,omitempty" yaml:"rate_limiter,omitempty"`
	TimeLimiter *timelimit.Config          `json:"time_limiter,omitempty" yaml:"time_limiter,omitempty"`
	Bulkhead    *bulkhead.SemaphoreConfig  `json:"bulkhead,omitempty" yaml:"bulkhead,omitempty"`       // or:
	ThreadPool  *bulkhead.ThreadPoolConfig `json:"thread_pool,omitempty" yaml:"thread_pool,omitempty"` // a bulkhead of the other kind

	// RejectionsFail has the breaker count as failures what bulkhead and rate limiter
	// inside of it refuse.
	RejectionsFail bool `json:"rejections_fail,omitempty" yaml:"rejections_fail,omitempty"`
}

// The words of sut.reference.order.
const (
	PolicyRetry       = "retry"
	PolicyBreaker     = "breaker"
	PolicyRateLimiter = "rate_limiter"
	PolicyTimeLimiter = "time_limiter"
	PolicyBulkhead    = "bulkhead"
)

// PolicyWords are all of them, in the order in which policies nest where nobody says
// otherwise, which is that of Resilience4j's annotations.
func PolicyWords() []string {
	return []string{PolicyRetry, PolicyBreaker, PolicyRateLimiter, PolicyTimeLimiter, PolicyBulkhead}
}

// Nested are the policies that are there, the breaker among them, outermost first.
func (p Policies) Nested() []string {
	if p.Order != nil {
		return p.Order
	}
	return slices.DeleteFunc(PolicyWords(), func(word string) bool { return !p.has(word) })
}

// has reports whether a policy is there.
func (p Policies) has(word string) bool {
	switch word {
	case PolicyRetry:
		return p.Retry != nil
	case PolicyRateLimiter:
		return p.RateLimiter != nil
	case PolicyTimeLimiter:
		return p.TimeLimiter != nil
	case PolicyBulkhead:
		return p.Bulkhead != nil || p.ThreadPool != nil
	}
	return word == PolicyBreaker
}

// Retry attempts a call again.
type Retry struct {
	Attempts int           `json:"attempts" yaml:"attempts"`                     // with the first
	Wait     time.Duration `json:"wait,omitempty" yaml:"wait,omitempty"`         // before the second
	Factor   float64       `json:"factor,omitempty" yaml:"factor,omitempty"`     // growth of the wait from one to the next; 0: none
	MaxWait  time.Duration `json:"max_wait,omitempty" yaml:"max_wait,omitempty"` // of a wait that grows; 0: no limit
	Jitter   float64       `json:"jitter,omitempty" yaml:"jitter,omitempty"`     // share of a wait that chance adds or takes away, 0..1

	Budget *retry.BudgetConfig `json:"budget,omitempty" yaml:"budget,omitempty"` // what all retries of the service together may be; nil: no limit

	On         *RetryOn `json:"on,omitempty" yaml:"on,omitempty"`                   // nil: what is no good answer, but for the breaker's refusals
	Methods    []string `json:"methods,omitempty" yaml:"methods,omitempty"`         // of calls that are tried again; nil: all
	RetryAfter bool     `json:"retry_after,omitempty" yaml:"retry_after,omitempty"` // a wait lasts as long as a Retry-After asks, at least
}

// RetryOn is what is tried again.
type RetryOn struct {
	Failure match.Failure `json:"failure" yaml:"failure"`                     // of the dependency
	Open    bool          `json:"open,omitempty" yaml:"open,omitempty"`       // what the breaker refused
	Full    bool          `json:"full,omitempty" yaml:"full,omitempty"`       // what the bulkhead refused
	Limited bool          `json:"limited,omitempty" yaml:"limited,omitempty"` // what the rate limiter refused
}

// The words of retry.on beside those of failures.
const (
	onOpen    = "open"
	onFull    = "full"
	onLimited = "limited"
)

// words lists them as they are read.
func (on RetryOn) words() []string {
	words := on.Failure.Words()
	for _, w := range []struct {
		on   bool
		word string
	}{{on.Open, onOpen}, {on.Full, onFull}, {on.Limited, onLimited}} {
		if w.on {
			words = append(words, w.word)
		}
	}
	return words
}

// Config is the policy that decides, with chance by a seed.
func (r Retry) Config(seed uint64) retry.Config {
	return retry.Config{
		MaxAttempts: r.Attempts, Wait: r.Wait, Multiplier: r.Factor, MaxWait: r.MaxWait, RandomFactor: r.Jitter, Seed: seed,
	}
}

// The kinds of rate limiters.
const (
	KindResilience4j   = "resilience4j"
	KindTokenBucket    = "token_bucket"
	KindGCRA           = "gcra"
	KindFixedWindow    = "fixed_window"
	KindSlidingLog     = "sliding_log"
	KindSlidingCounter = "sliding_counter"
)

// LimiterKinds are the words of rate_limiter.kind.
func LimiterKinds() []string {
	return []string{KindResilience4j, KindTokenBucket, KindGCRA, KindFixedWindow, KindSlidingLog, KindSlidingCounter}
}

// The words of rate_limiter.align.
const (
	alignClock     = "clock"
	alignFirstCall = "first_call"
)

// RateLimiter lets Limit calls through per Period, as its Kind means that.
type RateLimiter struct {
	Kind   string        `json:"kind" yaml:"kind"`
	Limit  int           `json:"limit" yaml:"limit"`
	Period time.Duration `json:"period" yaml:"period"`
	Burst  int           `json:"burst,omitempty" yaml:"burst,omitempty"` // of token_bucket and gcra: calls that pass at one instant
	Wait   time.Duration `json:"wait,omitempty" yaml:"wait,omitempty"`   // of resilience4j: longest wait of a caller
	Align  string        `json:"align,omitempty" yaml:"align,omitempty"` // of fixed_window: clock or first_call
	By     string        `json:"by,omitempty" yaml:"by,omitempty"`       // header whose every value has a limiter of its own; empty: there is one
	Told   bool          `json:"told,omitempty" yaml:"told,omitempty"`   // its state is in answers to permitted calls, too
}

// Config is the limiter that decides.
func (l RateLimiter) Config() limit.Config {
	switch l.Kind {
	case KindTokenBucket:
		return limit.TokenBucketConfig{Rate: float64(l.Limit) / l.Period.Seconds(), Burst: l.Burst}
	case KindGCRA:
		return limit.GCRAConfig{Limit: l.Limit, Period: l.Period, Burst: l.Burst}
	case KindFixedWindow:
		align := limit.Clock
		if l.Align == alignFirstCall {
			align = limit.FirstCall
		}
		return limit.FixedWindowConfig{Limit: l.Limit, Window: l.Period, Align: align}
	case KindSlidingLog:
		return limit.SlidingLogConfig{Limit: l.Limit, Window: l.Period}
	case KindSlidingCounter:
		return limit.SlidingWindowCounterConfig{Limit: l.Limit, Window: l.Period}
	default:
		return limit.AtomicRateLimiterConfig{LimitForPeriod: l.Limit, LimitRefreshPeriod: l.Period, Timeout: l.Wait}
	}
}

// Model is a breaker that is not Resilience4j's.
type Model struct {
	Preset   string         `json:"preset" yaml:"preset"` // of model.Presets
	Settings model.Settings `json:"settings" yaml:"settings"`
}

// Config is the breaker that decides. An error says what it cannot be.
func (m Model) Config() (model.Config, error) { return model.PresetWith(m.Preset, m.Settings) }

// Cache keeps the dependency's last good answers, each for the requests of the same
// method, path and query.
type Cache struct {
	Answers int           `json:"answers" yaml:"answers"`                     // most that are kept
	MaxAge  time.Duration `json:"max_age,omitempty" yaml:"max_age,omitempty"` // of one that is given; 0: no limit
}

// seconds is a number of them.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
