// Package wire says byte by byte what goes over a connection where an answer is not to be
// what a sound server sends; it does nothing itself.
//
// What is sent is a list of [Step], in order: pure data, made of an [Answer], a
// fault.Form and a seed. So a fault's contract can be printed, fuzzed, and held against
// what an observer of the connection sees.
package wire
