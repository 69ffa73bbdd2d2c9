package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// Declare is what a file says of an instance, with its waits multiplied by a scale.
func Declare(f *resilience4j.File, instance string, scale float64) (Declared, error) {
	d := Declared{Origins: map[Param]string{}}
	var err error
	if d.Breaker, err = f.CircuitBreaker(instance); err != nil {
		return d, err
	}
	settings, err := f.Effective(resilience4j.CircuitBreaker, instance)
	if err != nil {
		return d, err
	}
	for _, s := range settings {
		d.setting(Param(s.Key), s)
	}
	if slices.Contains(f.Instances(resilience4j.Retry), instance) {
		if err := d.retry(f, instance); err != nil {
			return d, err
		}
	}
	for _, m := range []resilience4j.Module{resilience4j.Bulkhead, resilience4j.ThreadPoolBulkhead, resilience4j.RateLimiter, resilience4j.TimeLimiter} {
		if err := d.other(f, m, instance); err != nil {
			return d, err
		}
	}
	d.System = d.Scaled(scale)
	return d, nil
}

// setting notes where a value came from, or that it is not decided.
func (d *Declared) setting(p Param, s resilience4j.Setting) {
	if slices.Contains(params(), p) {
		d.Origins[p] = s.Origin.String()
		return
	}
	switch {
	case s.Origin.Source == resilience4j.FromLibrary, s.Key == "baseConfig":
		return
	case strings.HasSuffix(s.Key, "enableExponentialBackoff"), strings.HasSuffix(s.Key, "enableRandomizedWait"):
		return // It shows in the waits, whose parameters have rows of their own.
	}
	d.Beside = append(d.Beside, Beside{Key: string(p), Value: cmp.Or(s.Value, "none"), Origin: s.Origin.String(), Reason: reason(s.Key)})
}

// reason says why a setting is not decided.
func reason(key string) string {
	switch {
	case strings.Contains(key, "Exceptions"), strings.Contains(key, "Predicate"), strings.Contains(key, "Function"):
		return "it speaks of classes of Java, and no status or broken connection tells of which one the service makes what"
	case key == "automaticTransitionFromOpenToHalfOpenEnabled":
		return "from outside, a breaker that becomes half-open by a timer and one that does so by the next call let the same calls through"
	case strings.Contains(key, "HealthIndicator"), strings.Contains(key, "eventConsumer"), strings.Contains(key, "writableStackTrace"):
		return "it changes nothing in which calls are let through"
	}
	return "this is not looked at"
}

// retry reads the retry of the same name.
func (d *Declared) retry(f *resilience4j.File, instance string) error {
	r, err := f.Retry(instance)
	if err != nil {
		return err
	}
	d.Retry = &r.Config
	d.FinalRefusal = final(r)
	order := map[resilience4j.Module]int{}
	for i, a := range f.AspectOrder() {
		order[a.Module] = i
		if a.Module == resilience4j.Retry {
			d.Origins[Order] = a.Origin.String()
		}
	}
	d.Inside = order[resilience4j.CircuitBreaker] < order[resilience4j.Retry]
	settings, err := f.Effective(resilience4j.Retry, instance)
	if err != nil {
		return err
	}
	for _, s := range settings {
		d.setting(Param("retry."+s.Key), s)
	}
	return nil
}

// final reports whether a retry leaves alone what a breaker refused.
func final(r resilience4j.RetryConfig) bool {
	has := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(class string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return class == n || strings.HasSuffix(class, "."+n) })
		})
	}
	wide := []string{"CallNotPermittedException", "RuntimeException", "Exception", "Throwable"}
	return has(r.Ignored, wide...) || len(r.Retried) > 0 && !has(r.Retried, wide...)
}

// other lists the settings of a module that is not looked at.
func (d *Declared) other(f *resilience4j.File, m resilience4j.Module, instance string) error {
	if !slices.Contains(f.Instances(m), instance) {
		return nil
	}
	settings, err := f.Effective(m, instance)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if s.Origin.Source != resilience4j.FromLibrary && s.Key != "baseConfig" {
			d.Beside = append(d.Beside, Beside{
				Key: m.String() + "." + s.Key, Value: s.Value, Origin: s.Origin.String(),
				Reason: fmt.Sprintf("verify does not look at a %s; run the experiments of the catalogue for it", m),
			})
		}
	}
	return nil
}
