package predict

import (
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
)

// service is how one of faultline's own services is set that has the defect.
func (d defect) service(right *experiments.Reference) *experiments.Reference {
	if d.mutant.Around.Policies == nil {
		return right
	}
	s := *right
	p := mutant.Policies{Bulkhead: cloned(s.Bulkhead), TimeLimiter: cloned(s.TimeLimiter), Timeout: s.Timeout, Cancels: s.Cancels}
	r := cloned(s.Retry)
	if r != nil {
		cfg := r.Config(0)
		p.Retry, p.Budget, p.Methods, p.HeedAfter = &cfg, r.Budget, r.Methods, r.RetryAfter
		p.Refused = r.On != nil && r.On.Open
	}
	l := cloned(s.RateLimiter)
	if l != nil {
		p.LimitKey = l.By
	}
	c := cloned(s.Cache)
	if c != nil {
		p.MaxAge = c.MaxAge
	}
	d.mutant.Set(&p)
	if c != nil {
		c.MaxAge = p.MaxAge
	}
	if r != nil {
		r.Attempts, r.Wait, r.Factor, r.MaxWait, r.Jitter = p.Retry.MaxAttempts, p.Retry.Wait, p.Retry.Multiplier, p.Retry.MaxWait, p.Retry.RandomFactor
		r.Budget, r.Methods, r.RetryAfter = p.Budget, p.Methods, p.HeedAfter
		r.On = alsoRefused(r.On, p.Refused)
	}
	if l != nil {
		l.By = p.LimitKey
	}
	s.Retry, s.RateLimiter, s.Cache, s.Bulkhead, s.TimeLimiter, s.Timeout, s.Cancels = r, l, c, p.Bulkhead, p.TimeLimiter, p.Timeout, p.Cancels
	if p.AnyOrder {
		s.Order = nil
	}
	return &s
}

// alsoRefused has a retry try again what the breaker refused, or not.
func alsoRefused(on *experiments.RetryOn, refused bool) *experiments.RetryOn {
	if on == nil && !refused {
		return nil
	}
	out := experiments.RetryOn{Failure: match.DefaultFailure(), Full: true, Limited: true}
	if on != nil {
		out = *on
	}
	out.Open = refused
	return &out
}

// cloned is a copy, or nil.
func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
