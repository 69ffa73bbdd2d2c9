package experiments

import (
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// putPolicies writes what lies around a call beside the breaker.
func putPolicies(o *yamldoc.Out, p Policies) {
	if p.Retry != nil {
		o.Put("retry", retryOut(*p.Retry))
	}
	if p.RateLimiter != nil {
		o.Put("rate_limiter", limiterOut(*p.RateLimiter))
	}
	if t := p.TimeLimiter; t != nil && t.CancelRunningFuture {
		o.Put("time_limiter", t.Timeout)
	} else if t != nil {
		one := &yamldoc.Out{}
		one.Put("timeout", t.Timeout)
		one.Put("cancel", false)
		o.Put("time_limiter", one)
	}
	putBulkhead(o, p)
	o.PutIf(len(p.Order) > 0, "order", p.Order)
	o.PutIf(p.RejectionsFail, "rejections_fail", true)
}

func putBulkhead(o *yamldoc.Out, p Policies) {
	one := &yamldoc.Out{}
	switch b, t := p.Bulkhead, p.ThreadPool; {
	case b != nil && b.MaxWait == 0:
		o.Put("bulkhead", b.MaxConcurrentCalls)
	case b != nil:
		one.Put("max", b.MaxConcurrentCalls)
		one.Put("wait", b.MaxWait)
		o.Put("bulkhead", one)
	case t != nil:
		one.Put("max", t.Max)
		one.Put("queue", t.QueueCapacity)
		one.PutIf(t.Core < t.Max, "core", t.Core)
		one.PutIf(t.Core < t.Max, "keep_alive", t.KeepAlive)
		o.Put("bulkhead", one)
	}
}

// waitOut is a wait that is always the same, or grows, or is drawn.
func waitOut(first, most time.Duration, factor, jitter float64) any {
	if factor == 0 && jitter == 0 {
		return first
	}
	o := &yamldoc.Out{}
	o.Put("first", first)
	o.PutIf(factor > 0, "factor", factor)
	o.PutIf(most > 0, "max", most)
	o.PutIf(jitter > 0, "jitter", yamldoc.FormatShare(jitter))
	return o
}

func retryOut(r Retry) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("attempts", r.Attempts)
	o.PutIf(r.Wait > 0 || r.Factor > 0 || r.Jitter > 0, "wait", waitOut(r.Wait, r.MaxWait, r.Factor, r.Jitter))
	if b := r.Budget; b != nil {
		budget := &yamldoc.Out{}
		budget.Put("ratio", yamldoc.FormatShare(b.Ratio))
		budget.Put("min_per_second", b.MinPerSecond)
		budget.Put("window", b.Window)
		o.Put("budget", budget)
	}
	if r.On != nil {
		o.Put("on", r.On.words())
	}
	o.PutIf(len(r.Methods) > 0, "methods", r.Methods)
	o.PutIf(r.RetryAfter, "retry_after", true)
	return o
}

func limiterOut(l RateLimiter) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("kind", l.Kind)
	o.Put("limit", l.Limit)
	o.Put("period", l.Period)
	o.PutIf(l.Burst > 0, "burst", l.Burst)
	o.PutIf(l.Wait > 0, "wait", l.Wait)
	o.PutIf(l.Align != "", "align", l.Align)
	o.PutIf(l.By != "", "by", l.By)
	o.PutIf(l.Told, "told", true)
	return o
}

func modelOut(m Model) *yamldoc.Out {
	o, s := &yamldoc.Out{}, m.Settings
	o.Put("preset", m.Preset)
	o.PutIf(s.Calls > 0, "window", s.Calls)
	o.PutIf(s.Period > 0, "window", s.Period)
	o.PutIf(s.Minimum > 0, "minimum_calls", s.Minimum)
	if s.Rate > 0 {
		o.Put("failure_rate", yamldoc.FormatShare(s.Rate))
	}
	o.PutIf(s.Failures > 0, "failures", s.Failures)
	o.PutIf(s.Wait > 0, "wait", s.Wait)
	o.PutIf(s.Permitted > 0, "permitted_calls", s.Permitted)
	return o
}
