// Package trace holds what was seen on the two sides of a system under test:
// calls (front), attempts (back), marks, how they join, their JSONL form and
// the recorder that collects them.
//
// Everything after a run reads only a [Trace]; nothing here looks at a clock or
// a socket. All instants are offsets from one epoch taken on one monotonic
// clock, so a difference between a front and a back instant means something.
//
// Guarantees:
//   - A [Recorder] keeps every record it is given; there is no buffer to
//     overflow and no sampling.
//   - A [Trace] from [Recorder.Snapshot] or [Read] is sorted by time and then by
//     what identifies a record, and [Write] merges its kinds by (time, side, id),
//     so two runs with the same events have the same bytes.
//   - An attempt is attributed to a call only by an id that it carried, or, on
//     the single-flight rung, by arriving inside the only call in flight; it is
//     never attributed by guessing. [Trace.Join] loses no attempt and counts none
//     twice.
//   - A call is a short circuit only when it was answered completely and none of
//     the attempts that arrived can be its own. Where attempts carry no id at all,
//     those are the calls during which none arrived; the others are unknown. So are those
//     during which the injector's door was shut: see [Blind].
//   - [Read] gives back what [Write] was given, and refuses by its line what it does
//     not know.
package trace
