package model_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// TestAsFailsafe plays random operations with random settings to the machine and to
// failsafe-go, and compares every answer, state and count. The library reads the
// clock, so each play runs in a bubble whose time is stepped.
func TestAsFailsafe(t *testing.T) {
	visited := map[breakerref.State]int{}
	operations := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawFailsafe(rt)
		steps := []time.Duration{
			1, s.Period / 20, s.Period / 10, s.Period - 1, s.Period, 2 * s.Period, s.Delay - 1, s.Delay, s.Delay + 1, time.Hour,
		}
		ops := drawOperations(rt, steps)
		operations += len(ops)
		var difference string
		synctest.Test(t, func(*testing.T) {
			difference = playFailsafe(s, ops, visited)
		})
		if difference != "" {
			rt.Fatalf("%+v: %s", s, difference)
		}
	})
	t.Logf("compared %d operations; seen by state: %v", operations, visited)
	for _, s := range []breakerref.State{breakerref.Closed, breakerref.Open, breakerref.HalfOpen} {
		if visited[s] == 0 {
			t.Errorf("no play has seen %v", s)
		}
	}
}

// drawFailsafe draws among the four rules, with and without a success threshold.
func drawFailsafe(t *rapid.T) model.FailsafeSettings {
	s := model.FailsafeSettings{
		Delay: rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 2500 * time.Millisecond}).Draw(t, "delay"),
	}
	period := rapid.SampledFrom([]time.Duration{time.Second, 1234567 * time.Microsecond})
	switch rapid.IntRange(0, 3).Draw(t, "rule") {
	case 0:
		s.FailureThreshold = rapid.IntRange(1, 4).Draw(t, "consecutive")
		s.FailureCapacity = s.FailureThreshold
	case 1:
		s.FailureCapacity = rapid.IntRange(1, 8).Draw(t, "capacity")
		s.FailureThreshold = rapid.IntRange(1, s.FailureCapacity).Draw(t, "failures")
	case 2:
		s.FailureThreshold = rapid.IntRange(1, 4).Draw(t, "failures")
		s.Period = period.Draw(t, "period")
	default:
		s.FailureRate = rapid.SampledFrom([]float64{0.17, 0.33, 0.34, 0.5, 0.67, 1}).Draw(t, "rate")
		s.Executions = rapid.IntRange(1, 6).Draw(t, "executions")
		s.Period = period.Draw(t, "period")
	}
	if rapid.Bool().Draw(t, "success threshold") {
		s.SuccessCapacity = rapid.IntRange(1, 5).Draw(t, "success capacity")
		s.SuccessThreshold = rapid.IntRange(1, s.SuccessCapacity).Draw(t, "successes")
	}
	return s
}

func newFailsafe(s model.FailsafeSettings) circuitbreaker.CircuitBreaker[any] {
	b := circuitbreaker.NewBuilder[any]().WithDelay(s.Delay)
	switch {
	case s.FailureRate > 0:
		b = b.WithFailureRateThreshold(s.FailureRate, uint(s.Executions), s.Period)
	case s.Period > 0:
		b = b.WithFailureThresholdPeriod(uint(s.FailureThreshold), s.Period)
	default:
		b = b.WithFailureThresholdRatio(uint(s.FailureThreshold), uint(s.FailureCapacity))
	}
	if s.SuccessThreshold > 0 {
		b = b.WithSuccessThresholdRatio(uint(s.SuccessThreshold), uint(s.SuccessCapacity))
	}
	return b.Build()
}

// playFailsafe returns the first difference, or "".
func playFailsafe(s model.FailsafeSettings, ops []operation, visited map[breakerref.State]int) string {
	library := newFailsafe(s)
	m, err := model.New(model.Failsafe(s), time.Now())
	if err != nil {
		return err.Error()
	}
	var calls []model.Token
	for i, op := range ops {
		switch op.kind {
		case acquire:
			admitted := library.TryAcquirePermit()
			token, answer := m.Acquire(time.Now())
			if admitted != (answer == model.Admitted) {
				return fmt.Sprintf("operation %d of %v: the library says %v, the machine %v", i, ops[:i+1], admitted, answer)
			}
			if admitted {
				calls = append(calls, token)
			}
		case success, failure, ignore:
			if len(calls) == 0 {
				continue
			}
			at := op.which % len(calls)
			token := calls[at]
			calls = append(calls[:at:at], calls[at+1:]...)
			if op.kind == failure {
				library.RecordFailure()
			} else { // What is not handled is a success.
				library.RecordSuccess()
			}
			m.Record(time.Now(), token, op.outcome(), 0)
		case wait:
			time.Sleep(op.wait)
		case look:
			m.Look(time.Now())
		}
		if diff := cmp.Diff(seenFailsafe(library), view{m.State(), restricted(m.Counts())}); diff != "" {
			return fmt.Sprintf("operation %d of %v: library (-) and machine (+):\n%s", i, ops[:i+1], diff)
		}
		visited[m.State()]++
	}
	return ""
}

type view struct {
	State  breakerref.State
	Counts model.Counts
}

func seenFailsafe(library circuitbreaker.CircuitBreaker[any]) view {
	state := map[circuitbreaker.State]breakerref.State{
		circuitbreaker.ClosedState: breakerref.Closed, circuitbreaker.HalfOpenState: breakerref.HalfOpen, circuitbreaker.OpenState: breakerref.Open,
	}[library.State()]
	metrics := library.Metrics()
	return view{state, model.Counts{
		Calls: int(metrics.Executions()), Successes: int(metrics.Successes()), Failures: int(metrics.Failures()),
	}}
}

// restricted leaves out what the library does not count.
func restricted(c model.Counts) model.Counts {
	c.ConsecutiveSuccesses, c.ConsecutiveFailures = 0, 0
	return c
}
