// Package breakerref says what a circuit breaker does: a state machine over
// explicit time that answers, call for call, as Resilience4j does.
//
// It is the oracle that observed behaviour is held against, so it copies the
// modelled breaker also where that breaker surprises. The rules below are those
// of the source of Resilience4j 2.4.0; numbers with # are issues of
// resilience4j/resilience4j where users met the rule. The tests replay runs that
// were recorded from the real library.
//
// # Use
//
//	m, err := breakerref.New(cfg, now)
//	if m.Acquire(now) {
//		// do the call, then exactly one of:
//		m.Record(now, failed, took) // it counts
//		m.Ignore(now)               // it ended in an error that does not count
//		m.Release(now)              // it never ran, or was cancelled
//		m.OnError(now, err, took)   // what it is, Predicates say
//		m.OnResult(now, value, took)
//	}
//	for _, e := range m.Events() { ... }
//
// A Machine holds no clock, no timer and no lock. Every method that takes now
// first lets the timers fire that are due up to and including now, each at its
// own instant; State tells the state as of the last instant the machine was told.
// A Machine is not safe for concurrent use: wrap it in a lock. Events are kept
// until Events or AppendEvents takes them, so whoever runs a machine for long has to
// take them. A timer is data: NextTimer tells when Advance would next change something
// by itself.
//
//	            a rate reaches its threshold
//	CLOSED ───────────────────────────────────▶ OPEN ◀─┐
//	   ▲                                         │     │ a rate reaches
//	   │        first call after the wait,       │     │ its threshold
//	   │        or its timer (AutoHalfOpen)      ▼     │
//	   └──────────────────────────────────── HALF_OPEN ┘
//	     rates below, once enough were recorded
//
// # Outcomes
//
// An outcome belongs to no state. It is recorded into the state that is current
// when it arrives, whichever state admitted the call:
//
//   - one admitted in CLOSED that ends in HALF_OPEN counts as a probe's outcome
//     and has used no permit (#1366);
//   - one that ends in OPEN changes the rates that OPEN shows, and decides
//     nothing;
//   - Release and Ignore in HALF_OPEN give one permit back, whoever had taken it,
//     so that more than Permitted calls can get through.
//
// A call is slow if it took longer than SlowDuration, strictly. A slow failure
// counts as both. Failed and slow calls are never added up (#667).
//
// # Decision
//
// Rates are evaluated when an outcome is recorded, and only then: a success can
// open the breaker, a time window that slides cannot. Below the minimum there is
// no rate (Metrics shows -1) and no decision. The minimum is
//
//   - CLOSED, count based: the smaller of MinimumCalls and Window (#1349);
//   - CLOSED, time based: MinimumCalls, reachable or not (#1443);
//   - HALF_OPEN: the smaller of MinimumCalls and Permitted (#1351). The decision
//     falls with that many outcomes, also while further probes are under way.
//
// A rate is failed*100/calls in 32-bit floating point, compared with >=.
//
// # Windows
//
// A count based window holds the last Window outcomes. A time based one holds
// those of the current second of the wall clock and the Window-1 seconds before
// it, so it looks back between Window-1 and Window seconds. HALF_OPEN always
// counts: its window holds the last Permitted outcomes. CLOSED and HALF_OPEN
// begin with an empty window. OPEN keeps the window, rates and notPermitted count
// of the state before it; if that is a time based one, it keeps sliding.
//
// These are the synchronized windows, the default. The lock-free ones (LockFree) give
// the same results when they count calls. When they count seconds, they have slices of
// one second that begin when the window is made, on a clock that never steps back: an
// outcome is gone Window seconds after the beginning of its slice.
//
// With synchronized windows, a wall clock that steps back
// costs a time based window one of its seconds at every record and every reading,
// until the clock has passed the window again. A caller who reads Metrics reads
// once for all values, where the library reads once for each.
//
// # OPEN
//
// The breaker is open until the instant it opened plus the wait in whole
// milliseconds; a call at exactly that instant is still refused. Nothing happens
// when the wait ends, unless AutoHalfOpen is set: the first call afterwards turns
// the breaker half-open and is its first probe (#2167). With WaitMultiplier the
// wait grows with every opening that follows without CLOSED in between; Waits lists the
// waits one by one, and WaitRandom makes each of them longer or shorter by chance.
//
// Predicates.Transition opens a closed breaker by what one call has ended in, after that
// call was counted. With a wait of its own this is no opening in a row.
//
// # HALF_OPEN
//
// Permits are taken by Acquire and given back by Release and Ignore alone. If all
// of them are out and no outcome comes back, the breaker refuses for ever, unless
// HalfOpenMaxWait is set (#935).
//
// # By hand
//
// Transition, OpenFor and Reset do what an operator does. A transition into the
// same state starts that state afresh and publishes no event. Reset does not stop
// the timer of the state it leaves, which then acts on whatever state it finds
// (#1039); Transition and OpenFor do.
//
// # Where it departs from the library
//
// In single calls it does not, but where the library throws an exception out of its own
// methods. Here the call has the result that its name promises; with Strict the machine
// panics with a [Crash] instead:
//
//   - OPEN entered from DISABLED or FORCED_OPEN has a window of size zero, and a late
//     outcome divides by zero (ArithmeticException). Here it is not recorded.
//   - Predicates.Transition that says open and not for how long leaves a CLOSED that
//     permits nothing and never opens (IllegalArgumentException). Here it opens as ever.
//   - A lock-free window of size 1, also that of HALF_OPEN with one permitted call, breaks
//     down when it slides again (NullPointerException). Here it slides.
//
// And, Strict or not:
//
//   - Waits that grow beyond what time.Duration holds stop there, at 292 years.
//   - A failure rate threshold that is not a number is refused.
//   - Randomized waits come from Seed and the number of the opening.
//   - What only several threads can see is not modelled: outcomes that slip in while a
//     transition is under way, and a second NOT_PERMITTED for one call. Nor is what only
//     the JVM has: the unwrapping of CompletionException, a scheduler that was shut down.
//
// # How it was proved
//
// TestRecordedTraces replays what was recorded from the real library, call by call; the
// package breakerref/differential drives the library and a machine side by side with
// random configurations and calls; TestStories has the cases of the library's own tests;
// rapid properties and fuzz targets hold the machine and its windows against naive ones.
package breakerref
