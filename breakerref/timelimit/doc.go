// Package timelimit says what a caller of Resilience4j's TimeLimiter sees, and what
// becomes of the work that he no longer waits for.
//
// The rules are those of the source of Resilience4j 2.4.0 (TimeLimiterImpl, and
// TimeLimiterOperator for Reactor). Numbers with # are issues of
// resilience4j/resilience4j where users met the rule.
//
// # Use
//
//	l, err := timelimit.New(timelimit.Default())
//	call := l.Start(now)             // when the method has returned its future
//	o := call.Outcome(ended, timelimit.Success)
//	o.At, o.Answer                   // what the caller gets, and when
//	o.Work, o.WorkUntil              // what the work does, and until when
//
// or, before it is known how the work ends, call.Deadline and call.Late. All of it is
// plain data: a Limiter and a Call do not change and may be shared.
//
// # Rules
//
//   - The time runs from when the method has returned its future, not from when it was
//     called: a method that blocks and then returns a finished future is not limited at
//     all (#1464).
//   - timeoutDuration counts in whole milliseconds. With 0 only work that is done when
//     its future is returned is in time.
//   - Work that ends at the very deadline is in time. In a real JVM chance decides.
//   - cancelRunningFuture reaches a plain Future only: its thread is interrupted. (The
//     work may not heed that; here it does, at once.) A CompletableFuture's computation
//     cannot be interrupted, and goes on. Reactor cancels its subscription whatever
//     cancelRunningFuture says.
//   - Work that goes on goes on to its own end, holding its thread, its connection and
//     its place in a bulkhead inside of the limiter; its outcome is dropped.
//   - An error of the work's own that is a TimeoutException counts as a timeout.
//
// An Answer is also the event that is published, and the kind that
// resilience4j.timelimiter.calls counts: successful, failed, timeout.
//
// Not modelled: callers that are interrupted while they wait, futures that others
// cancel, a Reactor Flux (where the time is that between two elements), and the
// annotation on a method that returns no future, which fails every call (#2262).
package timelimit
