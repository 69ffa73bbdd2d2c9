package bulkhead_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
)

// One call at a time; the others wait for 50 ms at most.
func ExampleSemaphore() {
	cfg := bulkhead.DefaultSemaphore()
	cfg.Name, cfg.MaxConcurrentCalls, cfg.MaxWait = "payments", 1, 50*time.Millisecond
	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	s, err := bulkhead.NewSemaphore(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		a := s.Acquire(start)
		fmt.Println(a.Verdict, a.Ticket)
	}
	s.Release(start.Add(20 * time.Millisecond)) // The first call is done.
	s.Advance(start.Add(time.Second))           // The second one takes long.
	for _, e := range s.Endings() {
		fmt.Printf("ticket %d %v after %v\n", e.Ticket, e.Verdict, e.At.Sub(start))
	}
	fmt.Println(bulkhead.FullError{Name: cfg.Name})
	// Output:
	// admitted 0
	// waiting 1
	// waiting 2
	// ticket 1 admitted after 20ms
	// ticket 2 rejected after 50ms
	// Bulkhead 'payments' is full and does not permit further calls
}

// The second thread is started only once the queue is full, and runs the newcomer.
func ExampleThreadPool() {
	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	p, err := bulkhead.NewThreadPool(bulkhead.ThreadPoolConfig{Core: 1, Max: 2, QueueCapacity: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 4 {
		s := p.Submit(start)
		fmt.Printf("%-8v threads %d, queued %d\n", s.Verdict, s.Metrics.Size, s.Metrics.QueueDepth)
	}
	ticket, _ := p.Finish(start.Add(time.Second))
	fmt.Println("then starts ticket", ticket)
	// Output:
	// admitted threads 1, queued 0
	// waiting  threads 1, queued 1
	// admitted threads 2, queued 1
	// rejected threads 2, queued 1
	// then starts ticket 1
}
