// Package bulkhead says what Resilience4j's two bulkheads do: one that counts the
// calls under way, and one that runs them on a pool of threads.
//
// The rules are those of the source of Resilience4j 2.4.0 (SemaphoreBulkhead,
// FixedThreadPoolBulkhead) and of the JDK classes that it builds on (Semaphore,
// ThreadPoolExecutor, ArrayBlockingQueue, SynchronousQueue). The tests replay runs
// that were recorded from the real classes on OpenJDK 17. Numbers with # are issues
// of resilience4j/resilience4j where users met the rule.
//
// # Use
//
//	s, err := bulkhead.NewSemaphore(bulkhead.DefaultSemaphore())
//	switch a := s.Acquire(now); a.Verdict {
//	case bulkhead.Admitted: // do the call, then s.Release(now)
//	case bulkhead.Waiting: // until s.Endings() names a.Ticket, at the latest at a.Until
//	case bulkhead.Rejected: // answer with bulkhead.FullError
//	}
//
//	p, err := bulkhead.NewThreadPool(bulkhead.DefaultThreadPool(4))
//	switch a := p.Submit(now); a.Verdict {
//	case bulkhead.Admitted: // do the call, then p.Finish(now)
//	case bulkhead.Waiting: // until a Finish answers a.Ticket; then do the call
//	case bulkhead.Rejected:
//	}
//
// Nothing here holds a clock, a timer or a lock. Every method that takes now first
// lets the timers fire that are due up to and including now; now must not step back.
// NextTimer says when the next one is due, Advance lets it fire. Neither type is safe
// for concurrent use: wrap it in a lock. Endings are kept until Endings takes them.
//
// # Semaphore
//
// At most maxConcurrentCalls are under way. Who finds them all under way waits for up
// to maxWaitDuration, in whole milliseconds, and is rejected then; with less than 1 ms
// he is rejected at once. Who waits is let in by a call that ends, in the order of
// arrival. At one and the same instant, a wait ends before a call does.
//
//   - A bulkhead of 0 admits no call.
//   - Release is not checked: one too many makes room for one call more than
//     maxConcurrentCalls, for ever.
//   - Change to a higher limit lets waiting calls in at once. Change to a lower one
//     waits in the same queue until all the places that it takes away are free at one
//     time; till then the old limit and the old wait hold, and whoever comes later
//     stands behind it. A fair bulkhead of maxWaitDuration 0 therefore rejects every
//     call from the moment an operator lowers its limit under load until enough of the
//     calls under way have ended, also those that would find a free place. Only one
//     change is under way at a time; the others wait for it outside of the queue.
//   - A wait that has begun keeps its length when the configuration changes.
//   - Without FairCallHandling a newcomer may take a free place although others wait.
//     As Release hands its place over at once, places are free while others wait only
//     if a lower limit is what waits. In a real JVM a newcomer can also overtake a
//     waiting thread that is being woken; that race is not modelled: the waiting one
//     wins.
//
// Events, in the library's names: CALL_PERMITTED is an Admitted, CALL_REJECTED a
// Rejected, both at once or as an Ending, CALL_FINISHED a Release.
//
// # ThreadPool
//
// A call that comes is, in this order:
//
//  1. run by a new thread, if there are fewer than coreThreadPoolSize, also when
//     others are idle;
//  2. put into the queue, if that has room; an idle thread takes it out at once. With
//     queueCapacity 0 it can only be handed to a thread that is idle;
//  3. run by a new thread, if there are fewer than maxThreadPoolSize. It overtakes all
//     that are queued;
//  4. rejected.
//
// Threads beyond the core are therefore started only once the queue is full. A thread
// that ends a call takes the first one of the queue, or is idle. While there are more
// than coreThreadPoolSize threads, one that has been idle for keepAliveDuration (in
// whole milliseconds) ends; with 0 it ends as it becomes idle. Of several idle threads
// the queue serves the one that has been idle for longest, which spreads rare calls
// over all threads and keeps them alive; queueCapacity 0 serves the one that became
// idle last, which lets the others end.
//
// Nothing takes a call out of the queue: a caller that gave up (a time limiter outside
// of the bulkhead, #2103) has its call run all the same when its turn comes.
//
// Handing over and starting take no time here. In a real JVM a call that comes while an
// idle thread is being woken still finds the queue taken. Shutting the pool down is not
// modelled, nor are other rejection policies than the default, which throws.
package bulkhead
