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
// An outcome was recorded after the dependency had ended it (for an attempt that
// the SUT abandoned: a little before the dependency saw that) and before the call
// was answered, or its next attempt arrived. Where nobody was answered, it was
// recorded by when the SUT is known to have been awake again.
//
// # States
//
// A rejection says OPEN or HALF_OPEN, an admission CLOSED or HALF_OPEN.
//
// OPEN is three rejections with no admission wholly between them. It begins at the
// earliest where the breaker could have been open for its whole wait without an
// admission wholly inside, but not before its first failure, and at the latest
// when the first of the rejections was answered. If that is further apart than a
// wait, the opening is unsure: the breaker may have opened more than once, unseen
// at low traffic, or the rejections may be those of HALF_OPEN.
//
// HALF_OPEN begins between the last rejection before, and the arrival of, the first
// admission that was sent after OPEN was certain. (The lower end is the last
// rejection and not the probe's own sending: at low traffic the wait may have ended
// long before a call came to try it.) Admissions that were sent earlier and arrived
// when the wait may have been over may be stragglers or probes: then nothing is
// counted. Outcomes that come late from before the opening are counted by some
// breakers: then nothing is counted either.
//
// A visit ends OPEN when a rejection lies wholly after every outcome of it. It ends
// CLOSED when more admissions came than half-open permits, with no room for the
// breaker to have been open for a wait between two of them, and 2N+10 further ones
// with no rejection inside.
//
// # Short answers
//
// A call that was answered without the dependency need not have been rejected by the breaker:
// a limiter, a full bulkhead, a cache or a call that is shared answer so, too. What tells them
// apart is the answer itself ([match.Teller]), its class, and how many calls were under way; see
// Short. What is another's proves nothing about the breaker, but that breaker may have been
// around that other, and have counted it. Where the evidence leaves two reasons, the trace is
// judged in both readings, and a verdict stands if both have it.
//
// # Without ids
//
// On the lowest rung of correlation attempts carry no id. A call during which none
// arrived is a rejection; every attempt is the admission of an unknown call, and was
// decided between the first sending of a call that was under way when it arrived,
// and that arrival. If the breaker may count calls and not attempts, as many of them
// stand for one call as ever arrived during any.
//
// # Clients
//
// What came after a phase is not held against its calls: one that was under way when
// the phase ended is left out if calls that were all right took as long, else it may
// be either. A latency passes by the time since a call was due and fails by the time
// since it was sent. What this process slept is nobody's fault.
//
// # Shut doors
//
// While the door of an injector is shut (see [trace.Blind]), admitted calls leave no attempt
// and their outcomes are not seen. A breaker is therefore looked at in eras, before a door
// is shut and after it is open again, each with a view of its own: what it did in between,
// in which state it came out, and what its window holds by then is not known, as with a
// service that ran before the trace began. A call that was under way at any instant of the
// blind time belongs to no era; in those beside it, it may have been an admission with any
// outcome.
//
// Of a phase whose door is shut can be judged:
//
//   - What clients get: shares and latencies of classes and errors, fallback.forbidden,
//     recovery.time. The fallback's share of short and failed calls together, since every
//     call that was answered is one or the other; of only one of the sets it is bounded.
//   - breaker.opens without a number: that the breaker was closed before, and rejected all
//     calls as soon as the door was open again, shows that it opened meanwhile; within by
//     that instant.
//
// Not: everything that needs single decisions or outcomes in that phase. That an answer
// comes fast, or is the one that a service gives while its breaker is open, does not show
// that this rejected the call: a refused connection fails as fast and as well. A failure
// that was seen in an era stands.
//
// A time in which the SUT itself refused connections and answered nobody is looked at in the
// same way: it may have been started anew, and its breaker with it.
//
// # Ejection
//
// A proxy that takes a failing host out and gives it all its traffic again has the states CLOSED
// and EJECTED. EJECTED begins as OPEN does and ends with the first admission that was sent when
// it was certain: nothing is taken for a probe.
//
// # Instances
//
// Each instance of the SUT has a breaker of its own, unless they are said to share it. Whose
// a call is its answer says, or the address that it was sent to; of a call without an answer, the
// connection over which its attempts came.
//
// # Reference
//
// What the declared breaker does with the observed outcomes is bounded over all
// orders in which it can have recorded them: an outcome may have opened it, and by
// some outcome it must be open. In a lockstep the bounds meet.
//
// # Limits
//
// What a bulkhead or a rate limiter lets through is seen behind it. Attempts were under way
// together if they have more in common than an answer takes to be noted. A limiter decided
// about a call between its sending and its arrival: it let too much through if it did so
// wherever in these intervals it decided, which no busy machine can feign. That it did not
// shows only under a load that asks for half as much again; what a cache answers asks for
// nothing.
//
// # Verdicts
//
// A measured interval inside the expected one passes, one that does not touch
// it fails, and anything else is inconclusive with what to change. No rule
// passes without its minimum of evidence, and none fails unless what it asks is
// false of every breaker that could have left this trace.
package assert
