package limit_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// Six calls around the border of two windows, where three per second are allowed.
func Example() {
	fixed, err := limit.NewFixedWindow(limit.FixedWindowConfig{Limit: 3, Window: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	sliding, err := limit.NewSlidingWindowCounter(limit.SlidingWindowCounterConfig{Limit: 3, Window: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, after := range []time.Duration{997, 998, 999, 1000, 1001, 1002} {
		now := start.Add(after * time.Millisecond)
		f, s := fixed.Take(now, 1), sliding.Take(now, 1)
		fmt.Printf("%6v  fixed %-5v  sliding %-5v retry after %v\n", now.Sub(start), f.Allowed, s.Allowed, s.RetryAfter)
	}
	// Output:
	//  997ms  fixed true   sliding true  retry after 0s
	//  998ms  fixed true   sliding true  retry after 0s
	//  999ms  fixed true   sliding true  retry after 0s
	//     1s  fixed true   sliding false retry after 333.333334ms
	// 1.001s  fixed true   sliding false retry after 332.333334ms
	// 1.002s  fixed true   sliding false retry after 331.333334ms
}

// A reservation: the caller may go on, but only after the wait.
func ExampleTokenBucket_Reserve() {
	bucket, err := limit.NewTokenBucket(limit.TokenBucketConfig{Rate: 10, Burst: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	for range 3 {
		d := bucket.Reserve(now, 1, 150*time.Millisecond)
		fmt.Println(d.Allowed, d.Wait, d.RetryAfter)
	}
	// Output:
	// true 0s 0s
	// true 100ms 0s
	// false 0s 50ms
}

// What is wrong with a configuration is told of in full.
func ExampleGCRAConfig_Validate() {
	fmt.Println(limit.GCRAConfig{Limit: 10, Burst: -1}.Validate())
	// Output:
	// period is 0s, must be from 1ns to 1281023h53m38.427387904s (146 years)
	// burst is -1, must be at least 1
}
