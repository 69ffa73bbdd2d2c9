// Package retry says what Resilience4j's Retry does with the outcome of an attempt, and
// what the retry budgets of Finagle and gRPC allow.
//
// The rules of Policy are those of the source of Resilience4j 2.4.0 (RetryImpl,
// RetryConfig, IntervalFunction); the tests replay runs that were recorded from the real
// classes. Budget is Finagle's RetryBudget (twitter/finagle at 65f7667, over
// twitter/util's TokenBucket and WindowedAdder), Throttle the retry throttling of gRPC's
// proposal A6 (grpc/proposal, A6-client-retries.md). Numbers with # are issues of
// resilience4j/resilience4j where users met the rule.
//
// # Use
//
//	p, err := retry.New(retry.Default(), retry.Predicates{})
//	for attempt := 1; ; attempt++ {
//		value, err := do()
//		d := p.Next(call, attempt, retry.Outcome{Value: value, Err: err})
//		if !d.Again {
//			return value, d.Err
//		}
//		// Ask a Budget or Throttle here, if there is one; then wait for d.Wait.
//	}
//
// Nothing here holds a clock or a lock. A Policy does not change and may be shared, if
// its predicates may. Budget and Throttle are not safe for concurrent use: wrap them in
// a lock.
//
// # Attempts
//
// maxAttempts counts the first call (1 never retries). An error is retried if Retry says
// so, or is nil, and Ignore does not; by default all are, also the breaker's own
// CallNotPermittedException (#1065). A value is retried if Result says so; by default
// none is. What a predicate does not retry ends the call as it is.
//
// After the last attempt the caller gets the last error, or the last value as if it were
// a good one; with FailAfterMaxAttempts, instead of the value, a MaxRetriesError.
//
// # Waits
//
// The wait after attempt n is in whole milliseconds:
//
//   - x = waitDuration;
//   - with a multiplier, x grows n-1 times, each time cut to whole milliseconds: 1 ms
//     that grows by 1.1 never grows;
//   - with a factor f, one of [x-f*x, x+f*x+1) by chance, all alike, cut to whole
//     milliseconds, and 1 ms at least;
//   - with a maximum, no more than that. Chance does not exceed it: with f above 0, part
//     of the waits near it are the maximum itself.
//
// Chance is a hash of seed, call and attempt: the same call waits the same again.
//
// # Counters
//
// Decision.Counts is what the outcome adds to the four numbers of
// resilience4j.retry.calls, and to getNumberOfTotalCalls. They are those of the
// decorators for synchronous calls, and surprise:
//
//   - a single attempt that fails (maxAttempts 1) counts as failed with retry;
//   - an error that is not retried counts as failed without retry, also at the third
//     attempt;
//   - a value that exhausts the attempts counts one attempt more than there were;
//   - with FailAfterMaxAttempts the exception is thrown where the decorator catches what
//     the call throws: it is asked about like an error of the call, and counts again.
//
// # Where it departs from the library
//
//   - Waits that grow beyond what time.Duration holds stop there, at 292 years.
//   - A multiplier below 0 is refused, and a maximum without a multiplier, which the
//     library's Spring Boot properties accept and ignore.
//
// Not modelled: intervals by a function of one's own, java.lang.Error (never retried nor
// counted), interrupted waits, and the events.
//
// # Budget
//
// Each first call deposits, each retry withdraws. Over a window of some Window, retries
// are at most
//
//	Ratio * first calls + MinPerSecond * Window
//
// and the second part is a burst that may be spent at once. Deposits and withdrawals
// both expire, a tenth of a window at a time. A tenth begins with the first use that is
// a tenth of the window or more after the last one began: with rare use each may last
// almost twice as long. So what counts reaches back 0.9 windows at least and less than 2.
//
// Google's "Site Reliability Engineering", chapter 21, asks for retries below 10 % of a
// client's requests. It states neither a window nor a burst; a Budget with Ratio 0.1 and
// MinPerSecond 0 is the form of it here. (Its 10 % are of all requests, retries included;
// 0.1 of the first calls is 9.1 % of all.)
//
// # Throttle
//
// A bucket begins full. A failure takes one token out, a success puts tokenRatio back.
// There are no retries unless there is more than half of maxTokens. Failures are only
// those that are worth a retry. A retry itself costs nothing, but fails or succeeds in
// turn. From a full bucket that nothing refills, maxTokens/2 - 1 retries get through
// (rounded up): the burst.
package retry
