// Package match says what identifies a call and an answer: the carriers of a
// call's identity, the classes of answers, what counts as a failure at the
// dependency, and the description of a target.
//
// It is pure: it reads headers and bodies that others hand to it.
//
// Guarantees:
//   - [Correlator.Identify] finds the very call that [Correlator.Carry] was given,
//     whichever header arrives, or that [Template.Expand] was, wherever its text
//     arrives, for phases below [MaxPhases] and numbers below 2^48.
//   - It recognises nothing else: not the traffic of another run, not an id of no
//     phase, not one of two calls whose tokens came together. A wrong call is worse
//     than none.
//   - [Classifier.Classify] depends on the answer and the order of the classes only,
//     and compiles nothing.
package match
