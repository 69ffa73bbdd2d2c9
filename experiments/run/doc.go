// Package run carries out a plan with the hands of the floor below and returns
// its trace: injectors first, then the system under test, then the load; in
// reverse when it ends, however it ends.
package run
