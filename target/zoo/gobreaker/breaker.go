package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// guard runs a request for a rate, or refuses to.
type guard func(ask func() (float64, error)) (float64, error)

// guardOf returns the breaker of a profile: the good one, or one with a defect.
func guardOf(profile string, log io.Writer) (guard, error) {
	switch s := settings(log); profile {
	case "", "good":
		return gobreaker.NewCircuitBreaker[float64](s).Execute, nil
	case "quick":
		s.Timeout = 600 * time.Millisecond
		return gobreaker.NewCircuitBreaker[float64](s).Execute, nil
	case "probes-10":
		// Defect: MaxRequests reads like a limit of the closed state, but it is how
		// many calls try a dependency that may still be down.
		s.MaxRequests = 10
		return gobreaker.NewCircuitBreaker[float64](s).Execute, nil
	case "per-request":
		// Defect: every request has a breaker of its own, which never sees a second
		// failure.
		return func(ask func() (float64, error)) (float64, error) {
			return gobreaker.NewCircuitBreaker[float64](s).Execute(ask)
		}, nil
	case "rate-limits-only":
		// Defect: only errors that are listed are failures, and a 5xx is not.
		s.IsSuccessful = func(err error) bool { return statusOf(err) != 429 }
		return gobreaker.NewCircuitBreaker[float64](s).Execute, nil
	case "past":
		// Defect: one of those whom the breaker refuses asks all the same, past it.
		return past(gobreaker.NewCircuitBreaker[float64](s).Execute), nil
	case "sign-of-life":
		// Defect: while it tries, any answer is taken for a sign that all is well.
		var trying atomic.Bool
		told := s.OnStateChange
		s.OnStateChange = func(name string, from, to gobreaker.State) {
			trying.Store(to == gobreaker.StateHalfOpen)
			told(name, from, to)
		}
		s.IsSuccessful = func(err error) bool { return err == nil || statusOf(err) != 0 && trying.Load() }
		return gobreaker.NewCircuitBreaker[float64](s).Execute, nil
	default:
		return nil, fmt.Errorf("no profile is called %q", profile)
	}
}

// past asks without the breaker for the eighth rate that it refuses in a row.
func past(execute guard) guard {
	var refused atomic.Int64
	return func(ask func() (float64, error)) (float64, error) {
		rate, err := execute(ask)
		if !errors.Is(err, gobreaker.ErrOpenState) {
			refused.Store(0)
			return rate, err
		}
		if refused.Add(1) == 8 {
			return ask()
		}
		return rate, err
	}
}

// settings is the breaker as it should be: five failures in a row open it for a
// second, then three calls may try, and all of them must succeed. Each change of its
// state is a line of the log: the instant, and the new state.
func settings(log io.Writer) gobreaker.Settings {
	return gobreaker.Settings{
		Name:        "rates",
		MaxRequests: 3,
		Timeout:     time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			state := map[gobreaker.State]string{
				gobreaker.StateOpen: "OPEN", gobreaker.StateHalfOpen: "HALF_OPEN", gobreaker.StateClosed: "CLOSED",
			}[to]
			if _, err := fmt.Fprintln(log, time.Now().Format(time.RFC3339Nano), state); err != nil {
				fmt.Fprintln(os.Stderr, "pricing:", err)
			}
		},
	}
}
