package experiments

import (
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// policies reads what the reference service has around a call beside its breaker.
func policies(m *yamldoc.Map) Policies {
	p := Policies{
		Retry:       readRetry(m.Get("retry")),
		RateLimiter: readLimiter(m.Get("rate_limiter")),
		TimeLimiter: readTimeLimiter(m.Get("time_limiter")),
	}
	p.Bulkhead, p.ThreadPool = readBulkhead(m.Get("bulkhead"))
	p.Order = readOrder(m, p)
	fail := m.Get("rejections_fail")
	if p.RejectionsFail = fail.Bool(false); p.RejectionsFail && !p.refusesInside() {
		m.Lacks(fail, []string{"rate_limiter", "bulkhead"}, "there is no rate limiter and no bulkhead inside of the breaker that could refuse a call which it has let through")
	}
	return p
}

// refusesInside reports whether a rate limiter or a bulkhead lies inside of the breaker.
func (p Policies) refusesInside() bool {
	inside := p.Nested()
	inside = inside[slices.Index(inside, PolicyBreaker)+1:]
	return slices.Contains(inside, PolicyRateLimiter) || slices.Contains(inside, PolicyBulkhead)
}

// readRetry reads when a call is attempted again.
func readRetry(v yamldoc.Value) *Retry {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{attempts: 3, wait: 100ms}")
	defer m.Done()
	r := &Retry{Attempts: m.Need("attempts").Count(0, 2), RetryAfter: m.Get("retry_after").Bool(false)}
	r.readWait(m.Get("wait"))
	for _, item := range m.Get("methods").Items() {
		if word := method(item, ""); word != "" && slices.Contains(r.Methods, word) {
			item.Problemf("%s is there twice", word)
		} else if word != "" {
			r.Methods = append(r.Methods, word)
		}
	}
	r.On = readRetryOn(m.Get("on"))
	r.Budget = readBudget(m.Get("budget"))
	return r
}

// readWait reads how long a retry waits: always the same, or longer each time.
func (r *Retry) readWait(v yamldoc.Value) {
	if !v.IsMap() {
		r.Wait = wholeMillis(v, v.DurationOrZero(0))
		return
	}
	m := v.Map("{first: 100ms, factor: 2, max: 1s}")
	defer m.Done()
	first, most, factor := m.Need("first"), m.Get("max"), m.Get("factor")
	r.Wait = wholeMillis(first, first.Duration(0))
	if factor.Exists() {
		r.Factor = decimal(factor)
	}
	switch r.MaxWait = wholeMillis(most, most.Duration(0)); {
	case most.Exists() && !factor.Exists():
		m.Lacks(most, []string{"factor"}, "a wait that does not grow has no limit; give a factor, such as 2")
	case most.Exists() && r.MaxWait < r.Wait:
		most.Problemf("%v is less than the first wait, %v", r.MaxWait, r.Wait)
	}
	r.Jitter = m.Get("jitter").Share(0)
}

// wholeMillis refuses what is finer than milliseconds, in which such times are counted.
func wholeMillis(v yamldoc.Value, d time.Duration) time.Duration {
	if d%time.Millisecond != 0 {
		v.Problemf("%v is not in whole milliseconds, which is all that is counted", d)
	}
	return d
}

// readRetryOn reads what is tried again: kinds of failures, and refusals.
func readRetryOn(v yamldoc.Value) *RetryOn {
	if !v.Exists() {
		return nil
	}
	on, seen := &RetryOn{}, &names{kind: "outcome"}
	var words []string
	for _, item := range v.Items() {
		word := item.NonEmpty()
		seen.declare(item, word)
		switch f, err := match.ParseFailure([]string{word}); {
		case word == "":
		case word == onOpen:
			on.Open = true
		case word == onFull:
			on.Full = true
		case word == onLimited:
			on.Limited = true
		case err != nil:
			item.Problemf("%q is not tried again; known are 5xx, a status such as 429, reset, eof, timeout, and the refusals %s, %s and %s", word, onOpen, onFull, onLimited)
		case f.GRPC || len(f.Codes) > 0:
			item.Problemf("the reference service speaks HTTP/1.1, over which there is no gRPC; leave the words of grpc out")
		case f.Slow > 0:
			item.Problemf("an answer that was slow is an answer; bound the time instead, with timeout or time_limiter")
		default:
			words = append(words, word)
		}
	}
	on.Failure, _ = match.ParseFailure(words) // Each was read before.
	return on
}

// readBudget reads what the retries of all calls together may be.
func readBudget(v yamldoc.Value) *retry.BudgetConfig {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{ratio: 20%}")
	defer m.Done()
	b := retry.DefaultBudget()
	b.Ratio = m.Need("ratio").Share(b.Ratio)
	b.MinPerSecond = m.Get("min_per_second").Count(b.MinPerSecond, 0)
	window := m.Get("window")
	b.Window = wholeMillis(window, window.Duration(b.Window))
	if err := b.Validate(); err != nil && window.Exists() {
		window.Problemf("%v is no window of a budget; it is from 1s to 60s", b.Window)
	}
	return &b
}

// readTimeLimiter reads after what time a caller gives up.
func readTimeLimiter(v yamldoc.Value) *timelimit.Config {
	if !v.Exists() {
		return nil
	}
	c := timelimit.Default()
	if !v.IsMap() {
		c.Timeout = wholeMillis(v, v.Duration(c.Timeout))
		return &c
	}
	m := v.Map("{timeout: 500ms, cancel: false}")
	defer m.Done()
	timeout := m.Need("timeout")
	c.Timeout = wholeMillis(timeout, timeout.Duration(c.Timeout))
	c.CancelRunningFuture = m.Get("cancel").Bool(true)
	return &c
}

// readBulkhead reads a bulkhead of either kind: a number of places, or threads with a
// queue before them.
func readBulkhead(v yamldoc.Value) (*bulkhead.SemaphoreConfig, *bulkhead.ThreadPoolConfig) {
	if !v.Exists() {
		return nil, nil
	}
	if !v.IsMap() {
		return &bulkhead.SemaphoreConfig{MaxConcurrentCalls: v.Count(0, 1)}, nil
	}
	m := v.Map("{max: 20, wait: 100ms}")
	defer m.Done()
	most, wait, queue := m.Need("max").Count(0, 1), m.Get("wait"), m.Get("queue")
	core, alive := m.Get("core"), m.Get("keep_alive")
	if !queue.Exists() {
		for _, other := range []yamldoc.Value{core, alive} {
			if other.Exists() {
				m.Lacks(other, []string{"queue"}, "is of a pool of threads, which has a queue; give that, 0 for none")
			}
		}
		longest := wholeMillis(wait, wait.DurationOrZero(0))
		return &bulkhead.SemaphoreConfig{MaxConcurrentCalls: most, MaxWait: longest, FairCallHandling: longest > 0}, nil
	}
	if wait.Exists() {
		m.Key("wait").Problemf("wait and queue exclude each other: who is queued waits for as long as it takes")
	}
	c := bulkhead.DefaultThreadPool(1)
	c.Max, c.QueueCapacity = most, queue.Count(0, 0)
	c.Core = core.Count(most, 1)
	c.KeepAlive = wholeMillis(alive, alive.DurationOrZero(c.KeepAlive))
	switch {
	case c.Core > most && most > 0:
		core.Problemf("%d is more than max, %d", c.Core, most)
	case alive.Exists() && c.Core == most:
		m.Lacks(alive, []string{"core"}, "makes no difference: all threads stay, as core is max")
	}
	return nil, &c
}

// readOrder reads how the policies nest. All that are there are named, and no others.
func readOrder(m *yamldoc.Map, p Policies) []string {
	v := m.Get("order")
	if !v.Exists() {
		return nil
	}
	items, seen := v.Items(), &names{kind: "policy"}
	var order []string
	for _, item := range items {
		word := item.OneOf("", PolicyWords()...)
		if word == "" {
			seen.blind = true
			continue
		}
		seen.declare(item, word)
		if !p.has(word) {
			m.Lacks(item, []string{word}, "there is no %s; give one, or leave it out of the order", word)
		}
		order = append(order, word)
	}
	missing := slices.DeleteFunc(PolicyWords(), func(w string) bool { return !p.has(w) || slices.Contains(order, w) })
	if len(missing) > 0 && len(items) > 0 && !seen.blind {
		v.Problemf("leaves out %s; an order names all that is there, outermost first", strings.Join(missing, ", "))
	}
	return order
}
