package breakerref_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// A breaker that opens with the second failure of two, and after two seconds lets
// one probe through.
func Example() {
	cfg := breakerref.Default()
	cfg.Name = "payments"
	cfg.Window = 2
	cfg.Wait = 2 * time.Second
	cfg.Permitted = 1

	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	m, err := breakerref.New(cfg, start)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(after time.Duration, failed bool) {
		now := start.Add(after)
		if !m.Acquire(now) {
			fmt.Printf("%6v refused\n", after)
			return
		}
		m.Record(now.Add(10*time.Millisecond), failed, 10*time.Millisecond)
		fmt.Printf("%6v called, now %v\n", after, m.State())
	}
	call(0, true)
	call(100*time.Millisecond, true)
	call(200*time.Millisecond, true)
	call(3*time.Second, false)
	for _, e := range m.Events() {
		if e.Kind == breakerref.EventTransition {
			fmt.Printf("%6v %v\n", e.At.Sub(start), e)
		}
	}
	// Output:
	//     0s called, now CLOSED
	//  100ms called, now OPEN
	//  200ms refused
	//     3s called, now CLOSED
	//  110ms STATE_TRANSITION:CLOSED_TO_OPEN
	//     3s STATE_TRANSITION:OPEN_TO_HALF_OPEN
	//  3.01s STATE_TRANSITION:HALF_OPEN_TO_CLOSED
}

// A configuration that cannot be is told of in full.
func ExampleConfig_Validate() {
	cfg := breakerref.Default()
	cfg.FailureRate = 150
	cfg.Wait = 0
	fmt.Println(cfg.Validate())
	// Output:
	// failureRateThreshold is 150, must be above 0 and at most 100 (percent)
	// waitDurationInOpenState is 0s, must be at least 1ms
}
