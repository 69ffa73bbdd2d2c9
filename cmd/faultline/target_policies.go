package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// policyFlags are the flags of what lies around the breaker.
type policyFlags struct {
	attempts   int
	retryWait  timespan
	multiplier float64
	retryMax   timespan
	random     percent
	budget     percent

	limitSpec, timeSpec, placesSpec, threadsSpec spec
	limit                                        limit.Config
	limitKey                                     string
	time                                         *timelimit.Config
	places                                       *bulkhead.SemaphoreConfig
	threads                                      *bulkhead.ThreadPoolConfig
	rejectionsFail                               bool
	order                                        []string
}

// register declares the flags.
func (f *policyFlags) register(flags *pflag.FlagSet) {
	f.limitSpec.read, f.timeSpec.read = rateLimitSpec(&f.limit), timeLimitSpec(&f.time)
	f.placesSpec.read, f.threadsSpec.read = semaphoreSpec(&f.places), threadsSpec(&f.threads)
	flags.IntVar(&f.attempts, "retry-attempts", 1, "most attempts of a call, each of which asks the breaker; 1 is no retry")
	flags.Var(&f.retryWait, "retry-wait", "between two attempts of a call")
	flags.Float64Var(&f.multiplier, "retry-multiplier", 0, "growth of that wait from attempt to attempt, as 2; 0 is none")
	flags.Var(&f.retryMax, "retry-max-wait", "longest wait that it grows to; 0s is no limit")
	flags.Var(&f.random, "retry-random", "share of the wait that chance adds or takes away")
	flags.Var(&f.budget, "retry-budget", "most retries, as a share of the calls of the last 10 s, and 10 a second beside; 0% is no budget")
	flags.Var(&f.limitSpec, "rate-limit", "rate limiter `KIND:CALLS/TIME`, as resilience4j:50/1s,wait=100ms; token-bucket and gcra have burst=N, fixed-window has first-call; the others are sliding-log, sliding-window")
	flags.StringVar(&f.limitKey, "rate-limit-key", "", "request `HEADER` whose every value has a limiter of its own")
	flags.Var(&f.timeSpec, "time-limit", "time limiter `TIME`, which cancels what it gives up; 1s,runs-on lets it run on, as a CompletableFuture does")
	flags.Var(&f.placesSpec, "bulkhead", "most `CALLS` under way to a dependency, further ones are rejected, or wait with 20,wait=100ms; 0 is no limit")
	flags.Var(&f.threadsSpec, "threads", "run calls on so many `THREADS`, others wait in a queue of 100; 4,max=8,queue=10 for other numbers")
	flags.BoolVar(&f.rejectionsFail, "rejections-fail", false, "the breaker counts as failures what rate limiter and bulkhead reject, as Resilience4j does where nobody says otherwise")
	flags.StringSliceVar(&f.order, "order", nil, "how the policies nest, outermost first (default "+strings.Join(orderWords(proxy.DefaultOrder()), ",")+")")
}

// orderWords are policies as words.
func orderWords(order []proxy.Policy) []string {
	words := make([]string, 0, len(order))
	for _, p := range order {
		words = append(words, string(p))
	}
	return words
}

// policies are what the flags say.
func (f *policyFlags) policies() proxy.Policies {
	p := proxy.Policies{
		RateLimiter: f.limit, RateLimitKey: f.limitKey, TimeLimiter: f.time,
		Bulkhead: f.places, ThreadPool: f.threads, RejectionsFail: f.rejectionsFail,
	}
	for _, word := range f.order {
		p.Order = append(p.Order, proxy.Policy(word))
	}
	if f.attempts > 1 {
		p.Retry = &retry.Config{
			MaxAttempts: f.attempts, Wait: time.Duration(f.retryWait),
			Multiplier: f.multiplier, MaxWait: time.Duration(f.retryMax), RandomFactor: float64(f.random) / 100,
		}
	}
	if f.budget > 0 {
		b := retry.DefaultBudget()
		b.Ratio = float64(f.budget) / 100
		p.RetryBudget = &b
	}
	return p
}

// check says what is wrong with the policies, in the words of the command line.
func (f *policyFlags) check() error {
	problems := f.checkRetry()
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(f.limitKey != "" && f.limit == nil, "--rate-limit-key %s: there is no rate limiter; add --rate-limit", f.limitKey)
	refuse(f.places != nil && f.threads != nil, "--threads: there is a bulkhead already; leave out --bulkhead, or this")
	refuse(f.rejectionsFail && f.limit == nil && f.places == nil && f.threads == nil,
		"--rejections-fail: there is nothing that rejects; add --rate-limit, --bulkhead or --threads")
	if len(problems) == 0 {
		if err := f.policies().ValidatePolicies(); err != nil {
			problems = append(problems, fmt.Errorf("--order %s: %w", strings.Join(f.order, ","), err))
		}
	}
	return errors.Join(problems...)
}

// checkRetry says what is wrong with the retry.
func (f *policyFlags) checkRetry() (problems []error) {
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	for _, only := range []struct {
		name  string
		given bool
		wait  timespan
	}{
		{"retry-wait", f.retryWait != 0, f.retryWait},
		{"retry-max-wait", f.retryMax != 0, f.retryMax},
		{"retry-multiplier", f.multiplier != 0, 0},
		{"retry-random", f.random != 0, 0},
		{"retry-budget", f.budget != 0, 0},
	} {
		refuse(only.given && f.attempts == 1, "--%s: there is no retry; add --retry-attempts 3", only.name)
		refuse(time.Duration(only.wait)%time.Millisecond != 0, "--%s %s: must be in whole milliseconds", only.name, only.wait.String())
	}
	refuse(f.multiplier < 0 || math.IsInf(f.multiplier, 0) || math.IsNaN(f.multiplier), "--retry-multiplier %v: write a number above 0, as 2", f.multiplier)
	refuse((f.multiplier > 0 || f.random > 0) && f.retryWait == 0, "--retry-wait: there is no wait that could grow or vary; add --retry-wait 100ms")
	refuse(f.retryMax > 0 && f.multiplier == 0, "--retry-max-wait %s: the wait does not grow; add --retry-multiplier 2", f.retryMax.String())
	return problems
}

// lines describe the policies.
func (f *policyFlags) lines() (lines [][2]string) {
	if f.attempts > 1 {
		text := fmt.Sprintf("%d attempts, %s apart", f.attempts, f.retryWait.String())
		if f.multiplier != 0 {
			text += fmt.Sprintf(", times %v for each attempt", f.multiplier)
		}
		if f.retryMax != 0 {
			text += ", at most " + f.retryMax.String()
		}
		if f.random != 0 {
			text += fmt.Sprintf(", up to %s more or less by chance", f.random.String())
		}
		if f.budget != 0 {
			text += fmt.Sprintf(", in all at most %s of the calls and 10 a second", f.budget.String())
		}
		lines = append(lines, [2]string{"retry", text})
	}
	add := func(there bool, name, text string) {
		if there {
			lines = append(lines, [2]string{name, text})
		}
	}
	key := ""
	if f.limitKey != "" {
		key = " for each value of " + f.limitKey
	}
	add(f.limit != nil, "rate limit", f.limitSpec.text+key)
	add(f.time != nil, "time limit", f.timeSpec.text)
	add(f.places != nil, "bulkhead", f.placesSpec.text+" calls under way to a dependency")
	add(f.threads != nil, "threads", f.threadsSpec.text)
	add(f.rejectionsFail, "rejections", "count as failures")
	add(len(f.order) > 0, "order", strings.Join(f.order, ", "))
	return lines
}
