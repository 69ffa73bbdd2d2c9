package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// effectiveOf is what the reader says of an instance, in the words of Answer.java.
func effectiveOf(f *resilience4j.File, m resilience4j.Module, name string, processors int) (map[string]any, *waits) {
	got := map[string]any{}
	all, err := f.Effective(m, name)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	settings := map[string]resilience4j.Setting{}
	for _, s := range all {
		settings[s.Key] = s
	}
	switch m {
	case resilience4j.CircuitBreaker:
		return got, breakerOf(f, name, settings, got)
	case resilience4j.Retry:
		return got, retryOf(f, name, settings, got)
	case resilience4j.Bulkhead:
		c, err := f.Bulkhead(name)
		note(got, err)
		got["maxConcurrentCalls"], got["maxWaitDuration"] = float64(c.MaxConcurrentCalls), float64(c.MaxWait)
		truths(got, settings, "writableStackTraceEnabled")
	case resilience4j.ThreadPoolBulkhead:
		c, err := f.ThreadPoolBulkhead(name, processors)
		note(got, err)
		got["coreThreadPoolSize"], got["maxThreadPoolSize"] = float64(c.Core), float64(c.Max)
		got["queueCapacity"], got["keepAliveDuration"] = float64(c.QueueCapacity), float64(c.KeepAlive)
		truths(got, settings, "writableStackTraceEnabled")
	case resilience4j.RateLimiter:
		c, err := f.RateLimiter(name)
		note(got, err)
		got["limitForPeriod"], got["limitRefreshPeriod"], got["timeoutDuration"] = float64(c.LimitForPeriod), float64(c.LimitRefreshPeriod), float64(c.Timeout)
		truths(got, settings, "writableStackTraceEnabled")
		merged(got, settings, "registerHealthIndicator", "allowHealthIndicatorToFail", "subscribeForEvents")
	case resilience4j.TimeLimiter:
		c, err := f.TimeLimiter(name)
		note(got, err)
		got["timeoutDuration"] = float64(c.Timeout)
		got["cancelRunningFuture"] = c.CancelRunningFuture
	}
	merged(got, settings, "eventConsumerBufferSize")
	return got, nil
}

func note(got map[string]any, err error) {
	if err != nil {
		got["error"] = err.Error()
	}
}

// truths are the properties that the library has as truths.
func truths(got map[string]any, settings map[string]resilience4j.Setting, keys ...string) {
	for _, key := range keys {
		got[key] = settings[key].Value == "true"
	}
}

// merged are those that are null in Spring's own objects where nobody says them.
func merged(got map[string]any, settings map[string]resilience4j.Setting, keys ...string) {
	for _, key := range keys {
		s := settings[key]
		n, err := strconv.Atoi(s.Value)
		switch {
		case s.Origin.Source == resilience4j.FromLibrary:
			got[key] = nil
		case err == nil:
			got[key] = float64(n)
		default:
			got[key] = s.Value == "true"
		}
	}
}

func breakerOf(f *resilience4j.File, name string, settings map[string]resilience4j.Setting, got map[string]any) *waits {
	c, err := f.CircuitBreaker(name)
	note(got, err)
	got["slidingWindowType"], got["slidingWindowSize"] = c.WindowType.String(), float64(c.Window)
	got["minimumNumberOfCalls"], got["permittedNumberOfCallsInHalfOpenState"] = float64(c.MinimumCalls), float64(c.Permitted)
	got["failureRateThreshold"], got["slowCallRateThreshold"] = float32Text(c.FailureRate), float32Text(c.SlowRate)
	got["slowCallDurationThreshold"], got["maxWaitDurationInHalfOpenState"] = float64(c.SlowDuration), float64(c.HalfOpenMaxWait)
	got["automaticTransitionFromOpenToHalfOpenEnabled"] = c.AutoHalfOpen
	got["initialState"] = c.Initial.String()
	got["transitionToStateAfterWaitDuration"] = settings["transitionToStateAfterWaitDuration"].Value
	if c.HalfOpenMaxWaitCloses != (settings["transitionToStateAfterWaitDuration"].Value == "CLOSED") {
		got["error"] = "the typed configuration and the settings differ"
	}
	truths(got, settings, "writableStackTraceEnabled")
	got["records"] = tried(settings["recordExceptions"].Value, true)
	got["ignores"] = tried(settings["ignoreExceptions"].Value, false)
	merged(got, settings, "registerHealthIndicator", "allowHealthIndicatorToFail", "ignoreClassBindingExceptions", "eventConsumerBufferSize")
	return &waits{wait: c.Wait, multiplier: c.WaitMultiplier, most: c.WaitMax, random: c.WaitRandom}
}

func retryOf(f *resilience4j.File, name string, settings map[string]resilience4j.Setting, got map[string]any) *waits {
	c, err := f.Retry(name)
	got["maxAttempts"], got["failAfterMaxAttempts"] = float64(c.MaxAttempts), c.FailAfterMaxAttempts
	merged(got, settings, "eventConsumerBufferSize")
	retried, ignored := tried(list(c.Retried), true), tried(list(c.Ignored), false)
	for i := range retried {
		retried[i] = retried[i] == true && ignored[i] == false
	}
	got["retries"] = retried
	return &waits{wait: c.Wait, multiplier: c.Multiplier, most: c.MaxWait, random: c.RandomFactor, err: err}
}

func list(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// float32Text is a float of Java as JSON writes it.
func float32Text(f float32) float64 {
	n, _ := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	return n
}

// tried is whether a list of classes takes the exceptions that Answer.java tries. An
// empty list takes what the default does.
func tried(list string, def bool) []any {
	names := strings.Split(strings.Trim(list, "[]"), ", ")
	out := make([]any, 4)
	for i, parents := range [][]string{
		{"java.io.IOException", "java.lang.Exception"},
		{"java.io.FileNotFoundException", "java.io.IOException", "java.lang.Exception"},
		{"java.util.concurrent.TimeoutException", "java.lang.Exception"},
		{"java.lang.IllegalStateException", "java.lang.RuntimeException", "java.lang.Exception"},
	} {
		out[i] = def
		if names[0] != "" {
			out[i] = slices.ContainsFunc(parents, func(p string) bool { return slices.Contains(names, p) })
		}
	}
	return out
}

// waits is an interval function.
type waits struct {
	wait       time.Duration
	multiplier float64
	most       time.Duration
	random     float64
	err        error // the function throws
}

// differ compares the waits after the first attempts with the least and the greatest that
// the real function gave, in milliseconds.
func (w *waits) differ(spring any) string {
	if w == nil {
		return ""
	}
	if text, throws := spring.(string); throws || w.err != nil {
		if !throws || w.err == nil {
			return fmt.Sprintf("the waits are %v in Spring, and here the error is %v", text, w.err)
		}
		return ""
	}
	x := float64(w.wait.Milliseconds())
	for i, r := range spring.([]any) {
		least, most := r.([]any)[0].(float64), r.([]any)[1].(float64)
		if i > 0 && w.multiplier != 0 {
			x = math.Trunc(x * w.multiplier)
		}
		from, to := x, x
		if w.random != 0 {
			from, to = max(1, math.Floor(x-w.random*x)), max(1, math.Floor(x+w.random*x+1))
		}
		middle := (from + to) / 2 // Of forty draws, some are on each side of it.
		if w.most != 0 {
			limit := float64(w.most.Milliseconds())
			from, to, middle = min(from, limit), min(to, limit), min(middle, limit)
		}
		if least < from || most > to || least > middle || most < middle-1 {
			return fmt.Sprintf("wait %d is %v to %v ms in Spring, %v to %v here", i+1, least, most, from, to)
		}
	}
	return ""
}
