package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/timelimit"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// spec is a policy as a flag: what it is first of all, then options, as in
// 4,queue=10,max=8. Its String is as it was given.
type spec struct {
	text string
	read func(head string, o *options) error // takes the policy out of the text
}

// String implements pflag.Value.
func (s *spec) String() string { return s.text }

// Type implements pflag.Value.
func (s *spec) Type() string { return "spec" }

// Set implements pflag.Value.
func (s *spec) Set(text string) error {
	head, rest, _ := strings.Cut(text, ",")
	o := &options{}
	for part := range strings.SplitSeq(rest, ",") {
		if rest != "" {
			o.parts = append(o.parts, part)
		}
	}
	if err := s.read(head, o); err != nil {
		return err
	}
	if len(o.parts) > 0 {
		return fmt.Errorf("%s is no option of it", strings.Join(o.parts, ", "))
	}
	if o.err == nil {
		s.text = text
	}
	return o.err
}

// options are the parts behind the first; what is read is taken out.
type options struct {
	parts []string
	err   error // the first thing wrong
}

// value takes an option's value out.
func (o *options) value(name string) (string, bool) {
	for i, part := range o.parts {
		if value, ok := strings.CutPrefix(part, name+"="); ok {
			o.parts = slices.Delete(o.parts, i, i+1)
			return value, true
		}
	}
	return "", false
}

// word takes an option without a value out.
func (o *options) word(name string) bool {
	i := slices.Index(o.parts, name)
	if i >= 0 {
		o.parts = slices.Delete(o.parts, i, i+1)
	}
	return i >= 0
}

// count is an option that is a number of at least from.
func (o *options) count(name string, def, from int) int {
	value, ok := o.value(name)
	if !ok {
		return def
	}
	n, err := wholeNumber(value, from)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("%s=%s: %w", name, value, err)
	}
	return n
}

// wholeNumber reads a number of at least from.
func wholeNumber(s string, from int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < from || n > math.MaxInt32 {
		return n, fmt.Errorf("write a number from %d to %d", from, math.MaxInt32)
	}
	return n, nil
}

// duration is an option that is a time.
func (o *options) duration(name string, def time.Duration) time.Duration {
	value, ok := o.value(name)
	if !ok {
		return def
	}
	d, err := wholeMilliseconds(value)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("%s=%s: %w", name, value, err)
	}
	return d
}

// wholeMilliseconds reads a time that Resilience4j would not cut off.
func wholeMilliseconds(s string) (time.Duration, error) {
	d, err := yamldoc.ParseDuration(s)
	if err == nil && d%time.Millisecond != 0 {
		err = fmt.Errorf("%v is not in whole milliseconds, which is all that is counted", d)
	}
	return d, err
}

// semaphoreSpec reads 20 or 20,wait=100ms.
func semaphoreSpec(to **bulkhead.SemaphoreConfig) func(string, *options) error {
	return func(head string, o *options) error {
		n, err := wholeNumber(head, 0)
		if err != nil {
			return fmt.Errorf("%w; 0 is no limit, and 20,wait=100ms has callers wait", err)
		}
		*to = nil
		if c := (bulkhead.SemaphoreConfig{MaxConcurrentCalls: n, MaxWait: o.duration("wait", 0), FairCallHandling: true}); n != 0 {
			*to = &c
		}
		return nil
	}
}

// threadsSpec reads 4 or 4,max=8,queue=10,keep-alive=20ms.
func threadsSpec(to **bulkhead.ThreadPoolConfig) func(string, *options) error {
	return func(head string, o *options) error {
		n, err := wholeNumber(head, 1)
		if err != nil {
			return fmt.Errorf("%w; 4,max=8,queue=10 is more of them when the queue is full, and another queue", err)
		}
		c := bulkhead.DefaultThreadPool(n)
		c.Core, c.Max = n, o.count("max", n, n)
		c.QueueCapacity, c.KeepAlive = o.count("queue", c.QueueCapacity, 0), o.duration("keep-alive", c.KeepAlive)
		*to = &c
		return nil
	}
}

// timeLimitSpec reads 1s or 1s,runs-on.
func timeLimitSpec(to **timelimit.Config) func(string, *options) error {
	return func(head string, o *options) error {
		d, err := wholeMilliseconds(head)
		if err != nil {
			return err
		}
		c := timelimit.Default()
		c.Timeout = d
		if o.word("runs-on") {
			c.Work = timelimit.Completable
		}
		*to = &c
		if d == 0 {
			return errors.New("must be above 0s")
		}
		return nil
	}
}

// rateLimiters are the kinds of rate limiters by their names.
func rateLimiters() []string {
	return []string{"resilience4j", "token-bucket", "gcra", "fixed-window", "sliding-log", "sliding-window"}
}

// rateLimitSpec reads KIND:CALLS/TIME and the options of the kind.
func rateLimitSpec(to *limit.Config) func(string, *options) error {
	return func(head string, o *options) error {
		kind, rate, _ := strings.Cut(head, ":")
		calls, per, _ := strings.Cut(rate, "/")
		n, err := wholeNumber(calls, 1)
		d, perErr := yamldoc.ParseDuration(per)
		if !slices.Contains(rateLimiters(), kind) || err != nil || perErr != nil || d <= 0 {
			return fmt.Errorf("write KIND:CALLS/TIME, as %s:50/1s; KIND is one of %s", rateLimiters()[0], strings.Join(rateLimiters(), ", "))
		}
		*to = rateLimiter(kind, n, d, o)
		return nil
	}
}

// rateLimiter is the limiter of a kind that lets n calls through in a time.
func rateLimiter(kind string, n int, per time.Duration, o *options) limit.Config {
	switch kind {
	case "token-bucket":
		return limit.TokenBucketConfig{Rate: float64(n) / per.Seconds(), Burst: o.count("burst", n, 1)}
	case "gcra":
		return limit.GCRAConfig{Limit: n, Period: per, Burst: o.count("burst", n, 1)}
	case "fixed-window":
		c := limit.FixedWindowConfig{Limit: n, Window: per}
		if o.word("first-call") {
			c.Align = limit.FirstCall
		}
		return c
	case "sliding-log":
		return limit.SlidingLogConfig{Limit: n, Window: per}
	case "sliding-window":
		return limit.SlidingWindowCounterConfig{Limit: n, Window: per}
	default:
		return limit.AtomicRateLimiterConfig{LimitForPeriod: n, LimitRefreshPeriod: per, Timeout: o.duration("wait", 0)}
	}
}
