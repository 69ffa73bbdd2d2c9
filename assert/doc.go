// Package assert infers what a circuit breaker did from a two-sided trace and
// judges rules about it: pass, fail, or inconclusive when the trace cannot tell.
//
// # Decisions are intervals
//
// A client sees when a call was sent and answered, the dependency sees when an
// attempt arrived and ended; the breaker decided somewhere between. So an
// admission lies in [sent, arrived] (for a retry: [end of the attempt before,
// arrived]) and a rejection in [sent, answered]. x is before y only if the end
// of x is before the start of y. What overlaps is unordered and proves nothing.
//
// # States
//
// OPEN is three rejections with no admission wholly between them. It begins
// after the last admission that ended before the first of those rejections did,
// and at the latest when that rejection was answered. HALF_OPEN begins between
// the last rejection before, and the arrival of, the first admission that was
// sent after OPEN was certain; attempts that were sent earlier are stragglers.
// (The lower end is the last rejection and not the probe's own sending: at low
// traffic the wait may have ended long before a call came to try it.)
// The visit ends OPEN when a rejection lies wholly after every outcome of it,
// and CLOSED when 2N+10 further admissions follow with no rejection inside.
//
// # Verdicts
//
// A measured interval inside the expected one passes, one that does not touch
// it fails, and anything else is inconclusive with what to change. No rule
// passes without its minimum of evidence.
package assert
