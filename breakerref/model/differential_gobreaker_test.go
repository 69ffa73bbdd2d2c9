package model_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sony/gobreaker/v2"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// TestAsGobreaker plays random operations with random settings to the machine and
// to sony/gobreaker, and compares every answer, state and count. The library reads
// the clock, so each play runs in a bubble whose time is stepped.
func TestAsGobreaker(t *testing.T) {
	visited := map[breakerref.State]int{}
	operations := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawGobreaker(rt)
		steps := []time.Duration{
			1, 100 * time.Millisecond, s.Interval / 2, s.Interval, s.Interval + 1, s.BucketPeriod - 1, s.BucketPeriod,
			s.Timeout - 1, s.Timeout, s.Timeout + 1, time.Hour,
		}
		ops := drawOperations(rt, steps)
		operations += len(ops)
		var difference string
		synctest.Test(t, func(*testing.T) {
			difference = playGobreaker(s, ops, visited)
		})
		if difference != "" {
			rt.Fatalf("%+v: %s", s, difference)
		}
	})
	t.Logf("compared %d operations; looks by state: %v", operations, visited)
	for _, s := range []breakerref.State{breakerref.Closed, breakerref.Open, breakerref.HalfOpen} {
		if visited[s] == 0 {
			t.Errorf("no play has seen %v", s)
		}
	}
}

func drawGobreaker(t *rapid.T) model.GobreakerSettings {
	s := model.GobreakerSettings{
		MaxRequests: rapid.IntRange(0, 4).Draw(t, "maxRequests"),
		Interval:    rapid.SampledFrom([]time.Duration{0, time.Second, 2500 * time.Millisecond}).Draw(t, "interval"),
		Timeout:     rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "timeout"),
	}
	if s.Interval > 0 {
		s.BucketPeriod = rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, time.Second, 3 * time.Second}).Draw(t, "bucketPeriod")
	}
	switch rapid.IntRange(0, 3).Draw(t, "rule") {
	case 0:
		s.Trip = model.Trip{Rule: model.Consecutive, Failures: rapid.IntRange(1, 5).Draw(t, "consecutive")}
	case 1:
		s.Trip = model.Trip{Rule: model.Failures, Failures: rapid.IntRange(1, 5).Draw(t, "failures")}
	case 2:
		s.Trip = model.Trip{
			Rule: model.Rate, Rate: rapid.SampledFrom([]float64{0.2, 1.0 / 3, 0.5, 0.6, 1}).Draw(t, "rate"),
			Over: rapid.Bool().Draw(t, "over"), Min: rapid.IntRange(0, 6).Draw(t, "min"),
		}
	}
	return s
}

// readyToTrip is the trip rule in the library's own terms.
func readyToTrip(trip model.Trip) func(gobreaker.Counts) bool {
	switch trip.Rule {
	case model.Consecutive:
		return func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= trip.Failures }
	case model.Failures:
		return func(c gobreaker.Counts) bool { return int(c.TotalFailures) >= trip.Failures }
	case model.Rate:
		return func(c gobreaker.Counts) bool {
			if int(c.Requests) < trip.Min {
				return false
			}
			ratio := float64(c.TotalFailures) / float64(c.Requests)
			return ratio > trip.Rate || !trip.Over && ratio == trip.Rate
		}
	}
	return nil
}

// playGobreaker returns the first difference, or "".
func playGobreaker(s model.GobreakerSettings, ops []operation, visited map[breakerref.State]int) string {
	errFailed, errIgnored := errors.New("failed"), errors.New("ignored")
	library := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: uint32(s.MaxRequests), Interval: s.Interval, BucketPeriod: s.BucketPeriod, Timeout: s.Timeout,
		ReadyToTrip: readyToTrip(s.Trip),
		IsExcluded:  func(err error) bool { return errors.Is(err, errIgnored) },
	})
	m, err := model.New(model.Gobreaker(s), time.Now())
	if err != nil {
		return err.Error()
	}
	type call struct {
		token model.Token
		done  func(error)
	}
	var calls []call
	for i, op := range ops {
		switch op.kind {
		case acquire:
			done, err := library.Allow()
			token, answer := m.Acquire(time.Now())
			if (err == nil) != (answer == model.Admitted) {
				return fmt.Sprintf("operation %d of %v: the library says %v, the machine %v", i, ops[:i+1], err, answer)
			}
			if err == nil {
				calls = append(calls, call{token, done})
			}
		case success, failure, ignore:
			if len(calls) == 0 {
				continue
			}
			at := op.which % len(calls)
			c := calls[at]
			calls = append(calls[:at:at], calls[at+1:]...)
			c.done(map[kind]error{success: nil, failure: errFailed, ignore: errIgnored}[op.kind])
			m.Record(time.Now(), c.token, op.outcome(), 0)
		case wait:
			time.Sleep(op.wait)
		case look:
			want := map[gobreaker.State]breakerref.State{
				gobreaker.StateClosed: breakerref.Closed, gobreaker.StateHalfOpen: breakerref.HalfOpen, gobreaker.StateOpen: breakerref.Open,
			}[library.State()]
			if got := m.Look(time.Now()); got != want {
				return fmt.Sprintf("operation %d of %v: the library is %v, the machine %v", i, ops[:i+1], want, got)
			}
			visited[want]++
		}
		c := library.Counts()
		want := model.Counts{
			Calls: int(c.Requests), Successes: int(c.TotalSuccesses), Failures: int(c.TotalFailures), Ignored: int(c.TotalExclusions),
			ConsecutiveSuccesses: int(c.ConsecutiveSuccesses), ConsecutiveFailures: int(c.ConsecutiveFailures),
		}
		if diff := cmp.Diff(want, m.Counts()); diff != "" {
			return fmt.Sprintf("operation %d of %v: library (-) and machine (+):\n%s", i, ops[:i+1], diff)
		}
	}
	return ""
}
