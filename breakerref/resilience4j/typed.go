package resilience4j

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// CircuitBreaker returns what an instance is configured to, by the file and the
// library's defaults, and its name. The error says that there is no such instance, or why it
// cannot be.
func (f *File) CircuitBreaker(instance string) (breakerref.Config, error) {
	l, err := f.resolve(CircuitBreaker, instance)
	if err != nil {
		return breakerref.Config{}, err
	}
	c := breakerref.Default()
	c.Name = instance
	l.int("slidingWindowSize", &c.Window)
	l.int("minimumNumberOfCalls", &c.MinimumCalls)
	l.int("permittedNumberOfCallsInHalfOpenState", &c.Permitted)
	l.percent("failureRateThreshold", &c.FailureRate)
	l.percent("slowCallRateThreshold", &c.SlowRate)
	l.duration("slowCallDurationThreshold", &c.SlowDuration)
	l.duration("waitDurationInOpenState", &c.Wait)
	l.duration("maxWaitDurationInHalfOpenState", &c.HalfOpenMaxWait)
	l.truth("automaticTransitionFromOpenToHalfOpenEnabled", &c.AutoHalfOpen)
	c.HalfOpenMaxWaitCloses = l.text("transitionToStateAfterWaitDuration") == "CLOSED"
	if l.text("slidingWindowType") == "TIME_BASED" {
		c.WindowType = breakerref.TimeBased
	}
	for _, s := range []breakerref.State{breakerref.Open, breakerref.HalfOpen, breakerref.Disabled, breakerref.MetricsOnly, breakerref.ForcedOpen} {
		if l.text("initialState") == s.String() {
			c.Initial = s
		}
	}
	g := l.growth(CircuitBreaker)
	c.WaitMultiplier, c.WaitMax, c.WaitRandom = g.multiplier, g.most, g.random
	return c, c.Validate()
}

// growth is how an interval function departs from a fixed wait.
type growth struct {
	multiplier float64
	bounded    bool
	most       time.Duration
	random     float64
}

// growth reads the properties of the interval function as the library does, which passes
// over some of them in silence: a maximum counts only beside a multiplier, and where a
// wait both grows and varies, only beside a factor too, which itself wants the multiplier.
func (l layers) growth(m Module) growth {
	names := intervals(m)
	multiplier, multiplied := l[names[2]]
	factor, varied := l[names[5]]
	exponential, random := l[names[1]].yes, l[names[4]].yes
	g := growth{}
	if exponential {
		g.multiplier = retry.DefaultMultiplier
		if multiplied {
			g.multiplier = multiplier.num
		}
		if most, said := l[names[3]]; said && multiplied && (varied || !random) {
			g.bounded, g.most = true, most.dur
		}
	}
	if random {
		g.random = retry.DefaultRandomFactor
		if varied && (multiplied || !exponential) {
			g.random = factor.num
		}
	}
	return g
}

// RetryConfig is a retry, and what is known of which exceptions it retries: names of Java.
type RetryConfig struct {
	retry.Config
	Retried []string  // retryExceptions; empty: all
	Ignored []string  // ignoreExceptions
	Custom  []Setting // classes of the application that have a say: predicates and functions
}

// Retry returns what an instance of retry is configured to.
func (f *File) Retry(instance string) (RetryConfig, error) {
	l, err := f.resolve(Retry, instance)
	if err != nil {
		return RetryConfig{}, err
	}
	c := RetryConfig{Config: retry.Default()}
	c.Name = instance
	l.int("maxAttempts", &c.MaxAttempts)
	l.truth("failAfterMaxAttempts", &c.FailAfterMaxAttempts)
	l.duration("waitDuration", &c.Wait)
	g := l.growth(Retry)
	c.Multiplier, c.MaxWait, c.RandomFactor = g.multiplier, g.most, g.random
	c.Retried, c.Ignored = l[uniform("retryExceptions")].list, l[uniform("ignoreExceptions")].list
	for _, p := range properties(Retry) {
		if h, ok := l[uniform(p.key)]; ok && p.kind == class {
			c.Custom = append(c.Custom, Setting{p.key, h.text, h.origin})
		}
	}
	return c, c.Validate()
}

// Bulkhead returns what an instance of the bulkhead with a semaphore is configured to.
func (f *File) Bulkhead(instance string) (bulkhead.SemaphoreConfig, error) {
	l, err := f.resolve(Bulkhead, instance)
	if err != nil {
		return bulkhead.SemaphoreConfig{}, err
	}
	c := bulkhead.DefaultSemaphore()
	c.Name = instance
	l.int("maxConcurrentCalls", &c.MaxConcurrentCalls)
	l.duration("maxWaitDuration", &c.MaxWait)
	return c, c.Validate()
}

// ThreadPoolBulkhead returns what an instance of the bulkhead with a thread pool is
// configured to, in a JVM that sees the given number of processors.
func (f *File) ThreadPoolBulkhead(instance string, processors int) (bulkhead.ThreadPoolConfig, error) {
	l, err := f.resolve(ThreadPoolBulkhead, instance)
	if err != nil {
		return bulkhead.ThreadPoolConfig{}, err
	}
	c := bulkhead.DefaultThreadPool(processors)
	c.Name = instance
	l.int("coreThreadPoolSize", &c.Core)
	l.int("maxThreadPoolSize", &c.Max)
	l.int("queueCapacity", &c.QueueCapacity)
	l.duration("keepAliveDuration", &c.KeepAlive)
	return c, c.Validate()
}

// RateLimiter returns what an instance of the rate limiter is configured to.
func (f *File) RateLimiter(instance string) (limit.AtomicRateLimiterConfig, error) {
	l, err := f.resolve(RateLimiter, instance)
	if err != nil {
		return limit.AtomicRateLimiterConfig{}, err
	}
	c := limit.DefaultAtomicRateLimiterConfig()
	l.int("limitForPeriod", &c.LimitForPeriod)
	l.duration("limitRefreshPeriod", &c.LimitRefreshPeriod)
	l.duration("timeoutDuration", &c.Timeout)
	return c, c.Validate()
}

// TimeLimiter returns what an instance of the time limiter is configured to, for a Future.
func (f *File) TimeLimiter(instance string) (timelimit.Config, error) {
	l, err := f.resolve(TimeLimiter, instance)
	if err != nil {
		return timelimit.Config{}, err
	}
	c := timelimit.Default()
	c.Name = instance
	l.duration("timeoutDuration", &c.Timeout)
	l.truth("cancelRunningFuture", &c.CancelRunningFuture)
	return c, c.Validate()
}

func (l layers) text(key string) string { return l[uniform(key)].text }

func (l layers) int(key string, to *int) {
	if h, ok := l[uniform(key)]; ok {
		*to = int(h.num)
	}
}

func (l layers) percent(key string, to *float32) {
	if h, ok := l[uniform(key)]; ok {
		*to = float32(h.num)
	}
}

func (l layers) duration(key string, to *time.Duration) {
	if h, ok := l[uniform(key)]; ok {
		*to = h.dur
	}
}

func (l layers) truth(key string, to *bool) {
	if h, ok := l[uniform(key)]; ok {
		*to = h.yes
	}
}
