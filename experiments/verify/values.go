package verify

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Param is a parameter by the name that Resilience4j gives it.
type Param string

// The parameters that are decided.
const (
	WindowType   Param = "slidingWindowType"
	Window       Param = "slidingWindowSize"
	Minimum      Param = "minimumNumberOfCalls"
	FailureRate  Param = "failureRateThreshold"
	SlowRate     Param = "slowCallRateThreshold"
	SlowDuration Param = "slowCallDurationThreshold"
	Wait         Param = "waitDurationInOpenState"
	Multiplier   Param = "exponentialBackoffMultiplier"
	WaitMax      Param = "exponentialMaxWaitDurationInOpenState"
	Random       Param = "randomizedWaitFactor"
	Permitted    Param = "permittedNumberOfCallsInHalfOpenState"
	HalfOpenWait Param = "maxWaitDurationInHalfOpenState"
	HalfOpenTo   Param = "transitionToStateAfterWaitDuration"
	Attempts     Param = "retry.maxAttempts"
	RetryWait    Param = "retry.waitDuration"
	Order        Param = "retryAspectOrder"
)

// params are all of them, in the order of the table.
func params() []Param {
	return []Param{
		WindowType, Window, Minimum, FailureRate, SlowRate, SlowDuration,
		Wait, Multiplier, WaitMax, Random, Permitted, HalfOpenWait, HalfOpenTo, Attempts, RetryWait, Order,
	}
}

// has reports whether a system has a parameter: what is switched off has none.
func (s System) has(p Param) bool {
	switch p {
	case HalfOpenTo:
		return s.Breaker.HalfOpenMaxWait >= time.Millisecond
	case Attempts, Order, RetryWait:
		return s.Retry != nil
	case WaitMax:
		return s.Breaker.WaitMultiplier != 0
	default:
		return true
	}
}

// number is a parameter's value as a number: counts, percents, factors, and durations in
// nanoseconds.
func (s System) number(p Param) float64 {
	b := s.Breaker
	switch p {
	case WindowType:
		return float64(b.WindowType)
	case Window:
		return float64(b.Window)
	case Minimum:
		return float64(b.MinimumCalls)
	case FailureRate:
		return float64(b.FailureRate)
	case SlowRate:
		return float64(b.SlowRate)
	case SlowDuration:
		return float64(b.SlowDuration)
	case Wait:
		return float64(b.Wait)
	case Multiplier:
		return b.WaitMultiplier
	case WaitMax:
		return float64(b.WaitMax)
	case Random:
		return b.WaitRandom
	case Permitted:
		return float64(b.Permitted)
	case HalfOpenWait:
		return float64(b.HalfOpenMaxWait)
	case HalfOpenTo:
		return truth(b.HalfOpenMaxWaitCloses)
	case Attempts:
		return float64(s.tries())
	case RetryWait:
		if s.Retry != nil {
			return float64(s.Retry.Wait)
		}
	case Order:
		return truth(s.Inside)
	}
	return 0
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// with is a system with one parameter changed. ok is false where that is no system.
func (s System) with(p Param, v float64) (out System, ok bool) {
	b := &s.Breaker
	switch p {
	case WindowType:
		b.WindowType = breakerref.WindowType(v)
	case Window:
		b.Window = int(v)
	case Minimum:
		b.MinimumCalls = int(v)
	case FailureRate:
		b.FailureRate = float32(v)
	case SlowRate:
		b.SlowRate = float32(v)
	case SlowDuration:
		b.SlowDuration = time.Duration(v)
	case Wait:
		b.Wait = time.Duration(v)
	case Multiplier:
		b.WaitMultiplier = v
		if v == 0 {
			b.WaitMax = 0
		}
	case WaitMax:
		b.WaitMax = time.Duration(v)
	case Random:
		b.WaitRandom = v
	case Permitted:
		b.Permitted = int(v)
	case HalfOpenWait:
		b.HalfOpenMaxWait = time.Duration(v)
	case HalfOpenTo:
		b.HalfOpenMaxWaitCloses = v != 0
	case Attempts, RetryWait:
		return s.retrying(p, v)
	case Order:
		s.Inside = v != 0
	}
	return s, b.Validate() == nil
}

// retrying is a system with a parameter of its retry changed.
func (s System) retrying(p Param, v float64) (out System, ok bool) {
	if s.Retry == nil {
		return s, false
	}
	r := *s.Retry
	if p == Attempts {
		r.MaxAttempts = int(v)
	} else {
		r.Wait = time.Duration(v)
	}
	s.Retry = &r
	return s, r.Validate() == nil
}

// show writes a value as a person would.
func show(p Param, v float64) string {
	switch p {
	case WindowType:
		return breakerref.WindowType(v).String()
	case FailureRate, SlowRate:
		return strconv.FormatFloat(v, 'g', 6, 64) + "%"
	case SlowDuration, Wait, WaitMax, HalfOpenWait, RetryWait:
		d := time.Duration(v)
		if d == 0 {
			return "none"
		}
		return d.String()
	case HalfOpenTo:
		if v != 0 {
			return "CLOSED"
		}
		return "OPEN"
	case Order:
		if v != 0 {
			return "the breaker around the retry"
		}
		return "the retry around the breaker"
	case Multiplier, Random:
		if v == 0 {
			return "none"
		}
	default:
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// neighbours are other values of a parameter that somebody may have set by mistake, in
// order: those next to it, a tenth, a half and the double, and the library's default.
func (s System) neighbours(p Param) []float64 {
	v := s.number(p)
	var all []float64
	switch p {
	case WindowType, HalfOpenTo, Order:
		all = []float64{1 - v}
	case Window, Minimum, Permitted:
		for _, d := range []float64{1, 2, 3, 5, 10, 20, 50} {
			all = append(all, v-d, v+d)
		}
		for n := 1.0; n <= 20; n++ {
			all = append(all, n)
		}
		all = append(all, float64(int(v)/2), 2*v, 100, float64(int(0.9*v)), float64(int(1.1*v)))
	case Attempts:
		for n := 1.0; n <= 10; n++ {
			all = append(all, n)
		}
	case FailureRate, SlowRate:
		for n := 1.0; n <= 100; n++ {
			all = append(all, n)
		}
	case SlowDuration, Wait, WaitMax, HalfOpenWait, RetryWait:
		all = s.durations(v)
		if p == HalfOpenWait {
			all = append(all, 0)
		}
	case Multiplier:
		all = []float64{0, 1.1, 1.2, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 10}
	case Random:
		all = []float64{0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(n float64) bool {
		_, ok := s.with(p, n)
		return n == v || !ok
	})
}

// alike reports whether no traffic can tell a value of a parameter from the system's own.
func (s System) alike(p Param, v float64) bool {
	other, ok := s.with(p, v)
	if !ok {
		return false
	}
	switch p {
	case Minimum:
		return s.first() == other.first() && s.decides() == other.decides()
	case FailureRate:
		return s.rateAlike(s.Breaker.FailureRate, other.Breaker.FailureRate)
	case SlowRate:
		return s.rateAlike(s.Breaker.SlowRate, other.Breaker.SlowRate)
	case Order:
		return s.tries() == 1
	default:
		return false
	}
}

// rateAlike reports whether two rates are reached by the same outcomes, of all numbers of
// them that can be decided by.
func (s System) rateAlike(a, b float32) bool {
	most := s.Breaker.Window
	if s.Breaker.WindowType == breakerref.TimeBased {
		most = 2*s.first() + 50 // More calls tell more, without end.
	}
	for n := s.first(); n <= most; n++ {
		if least(n, a) != least(n, b) {
			return false
		}
	}
	n := s.decides()
	return least(n, a) == least(n, b)
}

// durations are around one of them, and the usual ones.
func (s System) durations(v float64) []float64 {
	var all []float64
	for _, by := range []float64{0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 10} {
		all = append(all, float64((time.Duration(v*by) / time.Millisecond * time.Millisecond)))
	}
	for _, ms := range []int{50, 100, 200, 250, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 10000, 20000, 30000, 60000} {
		all = append(all, float64(time.Duration(ms)*time.Millisecond))
	}
	return all
}

// say names a parameter and a value.
func say(p Param, v float64) string { return fmt.Sprintf("%s: %s", p, show(p, v)) }
