// Package attack sends the client traffic of a phase through vegeta's workers
// and records every call from inside the transport.
//
// vegeta is used for its workers only: the schedule is a [pace.Schedule], the
// times are taken in an http.RoundTripper, and its own metrics are not read.
package attack
