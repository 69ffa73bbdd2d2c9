// Package match says what identifies a call and an answer: the carriers of a
// call's identity, the classes of answers, what counts as a failure at the
// dependency, and the description of a target.
//
// It is pure: it reads headers and bodies that others hand to it.
package match
