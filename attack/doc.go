// Package attack sends the client traffic of a phase through vegeta's workers
// and records every call from inside the transport.
//
// vegeta is used for its workers only: the schedule is a [pace.Schedule], the
// times are taken in an http.RoundTripper, and its own metrics are not read.
//
// Guarantees:
//   - A call is on the wire once. It is never repeated, follows no redirect and
//     passes no proxy.
//   - Load is never made up for. A slot that finds its phase at MaxInFlight is
//     counted as saturated, one that could not leave within [MaxLate] as
//     dropped; planned = sent + dropped + saturated.
//   - Every call that was sent is recorded, with the instant of the last byte of
//     its body, also when its phase is over.
//   - With replicas, call seq goes to the one at seq modulo their number, and its
//     Instance is that one's name, also when there is no answer.
//   - A target's templates are found once; a call fills them in.
//   - An answer is classified by the first [MaxBody] bytes of its body; all of
//     it is read.
//   - In a synctest bubble the same seed gives the same trace: no two calls of
//     a phase leave, or time out, at one instant.
package attack
