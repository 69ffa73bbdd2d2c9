// Package selftest proves on this host, with an observer that reads the socket itself,
// that every fault is on the wire what it says.
package selftest
