// Package pace says when the n-th request of a phase is due.
//
// It is pure: a [Schedule] maps a slot's number to its offset from the start of
// the phase, and back. Slots are due whether or not anybody is able to send.
package pace
