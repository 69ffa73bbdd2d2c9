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
//   - A [Trace] taken by [Recorder.Snapshot] is sorted by (time, side, id), so
//     two runs with the same events have the same bytes.
//   - An attempt is attributed to a call only by an id that it carried, or, on
//     the single-flight rung, by lying inside the only call in flight; it is
//     never attributed by guessing.
package trace
