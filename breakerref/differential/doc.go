// Package differential compares package breakerref with Resilience4j 2.4.0 itself, live: its tests
// play random configurations and operations on both and want the same answer after every operation.
// They need Java and Maven, and run with FAULTLINE_ZOO=1.
package differential
