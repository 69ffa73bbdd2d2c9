package proxy

import (
	"fmt"
	"strings"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
)

// Defect is the name of a mutant: one wrong behaviour of an otherwise right service, a
// negative control for what judges it. What a wrong number of a policy does (a limit, no
// fallback) may as well be configured. Empty is none.
type Defect string

// Some of the defects.
const (
	NoBreaker        Defect = "no_breaker"
	Leaks            Defect = "leak"
	PermitsAll       Defect = "permits_all"
	NeverCloses      Defect = "never_closes"
	ClosesAtOnce     Defect = "closes_at_once"
	FallbackAlways   Defect = "fallback_always"
	Empty200         Defect = "empty_200"
	WindowNeverSlide Defect = "window_never_slides"
	NoTimeout        Defect = "no_timeout"
	SlowReject       Defect = "slow_reject"
)

// Defects are all of them.
func Defects() []Defect {
	var all []Defect
	for _, name := range mutant.Names() {
		all = append(all, Defect(name))
	}
	return all
}

// mutant is what a defect is; of no defect, and of one that is not known, none.
func (d Defect) mutant() mutant.Mutant {
	m, _ := mutant.Find(string(d))
	return m
}

// Describe says in a few words what a defect does.
func (d Defect) Describe() string {
	if says := d.mutant().Says; says != "" {
		return says
	}
	return "no defect"
}

// NeedsFallback reports whether a service without a fallback cannot have the defect.
func (d Defect) NeedsFallback() bool { return d.mutant().Needs.Fallback }

// NeedsTimeWindow reports whether a window of calls cannot have the defect.
func (d Defect) NeedsTimeWindow() bool { return d.mutant().Needs.TimeWindow }

// check refuses a defect that the service has no room for: a negative control that
// is right would be believed to be wrong.
func (d Defect) check(s Service) error {
	m, known := mutant.Find(string(d))
	switch {
	case d == "":
		return nil
	case !known:
		return fmt.Errorf("the defect %q is not one of %s", d, words())
	case m.Needs.Fallback && s.Fallback == nil:
		return fmt.Errorf("the defect %s needs a fallback", d)
	case m.Needs.TimeWindow && s.Breaker.WindowType != breakerref.TimeBased:
		return fmt.Errorf("the defect %s needs a window of time", d)
	case m.Needs.Retry && s.Retry == nil:
		return fmt.Errorf("the defect %s needs a retry", d)
	case m.Needs.TimeLimiter && s.TimeLimiter == nil:
		return fmt.Errorf("the defect %s needs a time limiter", d)
	case m.Needs.Bulkhead && s.Bulkhead == nil:
		return fmt.Errorf("the defect %s needs a bulkhead", d)
	case m.Needs.Limiter && s.RateLimiter == nil:
		return fmt.Errorf("the defect %s needs a rate limiter", d)
	case m.Needs.Cancels && !s.Cancels:
		return fmt.Errorf("the defect %s needs a service that ends the calls of clients that leave", d)
	case m.Needs.Cache && s.CacheGood == 0:
		return fmt.Errorf("the defect %s needs a cache", d)
	case m.Needs.Paging && s.Paging == nil:
		return fmt.Errorf("the defect %s needs a list", d)
	case m.Base == mutant.Gobreaker && s.Model == nil:
		return fmt.Errorf("the defect %s breaks a rule of gobreaker, Resilience4j has another", d)
	case m.Needs.CallWindow && s.Breaker.WindowType != breakerref.CountBased:
		return fmt.Errorf("the defect %s needs a window of calls", d)
	}
	return nil
}

// CheckModel refuses a model with a defect that it has no room for.
func CheckModel(m *model.Config, d Defect) error {
	admit := m.HalfOpen.Admit
	none := admit == model.AdmitAll || admit == model.OnePerWait
	needs, base := d.mutant().Needs, d.mutant().Base
	switch {
	case none && (needs.HalfOpen || d == NeverCloses || d == ClosesAtOnce):
		return fmt.Errorf("the defect %s needs a breaker with a half-open state, %s has none", d, m.Name)
	case admit == model.Unlimited && d == PermitsAll:
		return fmt.Errorf("the defect %s needs a breaker that limits its probes, %s lets everybody through", d, m.Name)
	case base == mutant.Gobreaker && m.Late != model.LateDropped:
		return fmt.Errorf("the defect %s needs a breaker that drops late outcomes, %s counts them", d, m.Name)
	case needs.Library:
		return fmt.Errorf("the defect %s is one of Resilience4j's breaker", d)
	}
	return nil
}

// words lists the defects for an error.
func words() string { return strings.Join(mutant.Names(), ", ") }

// of returns what a service with this defect is set to, but for its breaker.
func (d Defect) of(s Service) Service {
	m := d.mutant()
	if m.Breaker.Failure != nil {
		m.Breaker.Failure(&s.Failure)
	}
	if m.Around.NoTimeout {
		s.Timeout, s.TimeLimiter = 0, nil
		if s.Model != nil {
			endless := *s.Model
			endless.Count.Timeout, s.Model = 0, &endless
		}
	}
	if m.Around.NoFallback {
		s.Fallback, s.Secondary, s.CacheGood = nil, "", 0
	}
	if s.Paging != nil && m.Around.OnSwitch != "" {
		s.Paging = cloned(s.Paging)
		s.Paging.Switch = Switch(m.Around.OnSwitch)
	}
	s.RateLimiter = m.Around.Limiter.Of(s.RateLimiter)
	if m.Around.Policies != nil {
		s = mispoliced(s, m)
	}
	return s
}

// mispoliced sets the policies of a service wrongly.
func mispoliced(s Service, m mutant.Mutant) Service {
	p := mutant.Policies{
		Retry: cloned(s.Retry), Budget: s.RetryBudget, LimitKey: s.RateLimitKey,
		Bulkhead: cloned(s.Bulkhead), TimeLimiter: cloned(s.TimeLimiter), Timeout: s.Timeout, Cancels: s.Cancels, MaxAge: s.CacheMaxAge,
	}
	again := Retried{Full: true, Limited: true}
	if s.Retried != nil {
		again = *s.Retried
	}
	p.Methods, p.Refused, p.HeedAfter = again.Methods, again.Refusals, again.HeedAfter
	m.Set(&p)
	again.Methods, again.Refusals, again.HeedAfter = p.Methods, p.Refused, p.HeedAfter
	s.Retry, s.RetryBudget, s.RateLimitKey = p.Retry, p.Budget, p.LimitKey
	s.Bulkhead, s.TimeLimiter, s.Timeout, s.Cancels, s.CacheMaxAge = p.Bulkhead, p.TimeLimiter, p.Timeout, p.Cancels, p.MaxAge
	if s.Retry != nil {
		s.Retried = &again
	}
	if p.AnyOrder {
		s.Order = nil
	}
	return s
}

// cloned is a copy, or nil.
func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
