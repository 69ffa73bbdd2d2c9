package assert

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// openAt names a breaker before an injector that was open in a phase, or may have been.
func (e *evidence) openAt(injector string, a Assertion) string {
	_, breaker := e.closedUntil(injector, a)
	return breaker
}

// closedUntil is until when in a phase no breaker before an injector can have kept calls away,
// and the first that may have done so thereafter, if there is one.
func (e *evidence) closedUntil(injector string, a Assertion) (until time.Duration, breaker string) {
	w, _ := e.window(a)
	until = w.Hi
	for _, b := range e.spec.Breakers {
		if b.Injector != injector {
			continue
		}
		for _, v := range e.views[b.Name] {
			if closed := v.closedUntil(w); closed < until {
				until, breaker = closed, b.Name
			}
		}
	}
	return until, breaker
}

// closedUntil is until when in a window the breaker was closed for certain: it is the end of the
// window where the breaker was so all along.
//
// A declared breaker that has heard of nothing bad is closed, whatever else kept calls away. So
// is one that began closed as long as there was no stretch, of the length of its wait, without
// an admission wholly in it: opened, it would have let nobody through for that long. Which call
// made an attempt need not be known for that.
func (v *view) closedUntil(w Interval) time.Duration {
	b := v.breaker
	known := b.Declared && b.Config.Initial == breakerref.Closed && v.fresh && !v.after()
	if known && !v.heardBad(w.Hi) || !v.mayBeOpen(w) {
		return w.Hi
	}
	if !known || v.wait == 0 || len(v.adm) == 0 {
		return w.Lo
	}
	if at, hides := v.hidesOpen(v.wait, v.adm[0].lo, w.Hi); hides {
		return max(w.Lo, at)
	}
	return w.Hi
}

// mayBeOpen reports whether what was inferred leaves it open that a breaker was open or
// half-open in a window.
func (v *view) mayBeOpen(w Interval) bool {
	return slices.ContainsFunc(v.segs, func(s segment) bool {
		return s.state != StateClosed && s.from.Lo < w.Hi && s.to.Hi > w.Lo
	})
}

// heardBad reports whether a breaker may have recorded anything bad before an instant, of what
// came to its dependency: what a limit beside it refused is no outcome that it is said to count.
func (v *view) heardBad(before time.Duration) bool {
	return slices.ContainsFunc(v.adm, func(a *admission) bool {
		return !a.unreached && a.early < before && (a.failed || a.failMay || a.slow || a.slowMay)
	})
}
