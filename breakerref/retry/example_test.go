package retry_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/retry"
)

// A call that fails twice and is good at the third attempt.
func Example() {
	cfg := retry.Default()
	cfg.Multiplier = retry.DefaultMultiplier
	p, err := retry.New(cfg, retry.Predicates{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const call = 1
	answers := []retry.Outcome{{Err: errors.New("503")}, {Err: errors.New("503")}, {Value: "paid"}}
	var counters retry.Counters
	for attempt := 1; ; attempt++ {
		o := answers[attempt-1]
		d := p.Next(call, attempt, o)
		counters.Add(d.Counts)
		if !d.Again {
			fmt.Println("the caller gets", o.Value, d.Err)
			break
		}
		fmt.Printf("attempt %d: %v, again in %v\n", attempt, o.Err, d.Wait)
	}
	fmt.Println("succeeded with retry:", counters.SucceededWithRetry)
	// Output:
	// attempt 1: 503, again in 500ms
	// attempt 2: 503, again in 750ms
	// the caller gets paid <nil>
	// succeeded with retry: 1
}

// While everything fails, retries fade out to a tenth of the calls.
func ExampleBudget() {
	now := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	b, err := retry.NewBudget(retry.BudgetConfig{Window: 10 * time.Second, MinPerSecond: 1, Ratio: 0.1}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for second := 1; second <= 4; second++ {
		retries := 0
		for range 50 {
			b.Deposit(now)
			if b.TryWithdraw(now) { // Every call fails.
				retries++
			}
			now = now.Add(20 * time.Millisecond)
		}
		fmt.Printf("second %d: 50 calls, %d retries\n", second, retries)
	}
	// Output:
	// second 1: 50 calls, 15 retries
	// second 2: 50 calls, 5 retries
	// second 3: 50 calls, 5 retries
	// second 4: 50 calls, 5 retries
}

// Ten tokens allow for four retries in a row.
func ExampleThrottle() {
	t, err := retry.NewThrottle(retry.ThrottleConfig{MaxTokens: 10, TokenRatio: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 6 {
		fmt.Print(t.Failed(), " ")
	}
	// Output:
	// true true true true false false
}
