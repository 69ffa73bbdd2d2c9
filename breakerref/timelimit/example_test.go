package timelimit_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// A call that takes three seconds. Its caller gives up after one; the work goes on.
func Example() {
	cfg := timelimit.Default()
	cfg.Name, cfg.CancelRunningFuture = "payments", false
	l, err := timelimit.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	o := l.Start(start).Outcome(start.Add(3*time.Second), timelimit.Success)
	fmt.Println("the caller:", o.Answer, "after", o.At.Sub(start))
	fmt.Println("the work:", o.Work, "until", o.WorkUntil.Sub(start))
	fmt.Println(timelimit.TimeoutError{Name: cfg.Name})
	// Output:
	// the caller: timeout after 1s
	// the work: goes on until 3s
	// TimeLimiter 'payments' recorded a timeout exception.
}
