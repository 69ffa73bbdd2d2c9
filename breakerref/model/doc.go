// Package model says what other circuit breakers than Resilience4j's do: one state
// machine over explicit time, whose configuration names what breakers differ in,
// and presets that are libraries and proxies.
//
// # Use
//
//	cfg, ok := model.Preset("gobreaker")
//	m, err := model.New(cfg, now)
//	switch token, answer := m.Acquire(now); answer {
//	case model.Admitted: // do the call, then
//		m.Record(now, token, outcome, took)
//	case model.Waits: // ask again once the call of token has been recorded
//	case model.Rejected:
//	}
//
// A Machine holds no clock, no timer and no lock. Every method that takes now first
// lets the timers fire that are due up to and including now, each at its own
// instant; State and Counts tell what was as of the last instant that the machine
// was told of. A Machine is not safe for concurrent use: wrap it in a lock.
//
// # What a configuration says
//
//   - Count: what counts as a call and as a failure, and whether at the start of the
//     call or at its end;
//   - Window: over what outcomes are added up;
//   - Trip: which sum opens the breaker, and at which moments the rule is asked;
//   - Open: how long it stays open, and whether a call, a timer, a tick or an active
//     check ends that;
//   - HalfOpen: which calls pass then, and which outcomes close or reopen;
//   - Late: what becomes of an outcome whose call was admitted in an earlier state;
//   - Clear: when the window is emptied;
//   - Hosts: what the pool allows, if the breaker watches one host of it.
//
// A configuration that the machine cannot do, or that sets what does nothing, is
// refused with the reason. Nothing is parsed and ignored.
//
// # States
//
// The states are those of package breakerref: CLOSED, OPEN and HALF_OPEN. A breaker
// of hosts (envoy, nginx, haproxy) is modelled for one host: OPEN means that the
// host is out, and a refused call is one that does not go to it. The others of the
// pool are taken to be healthy. With Hosts.Merge calls may go to a host for a while
// after it went out, and pass it over after it came back. Breakers without HALF_OPEN are OPEN until they
// close, also while a probe is out (hystrix, nginx).
//
// # Waiting
//
// Two breakers make calls wait: cockatiel for the probe, pybreaker for any call that
// runs. Acquire then answers Waits, with the token of the call to wait for. Who
// waits has left nothing behind. Once that call has been recorded it asks anew, and
// is admitted, refused, or told to wait for another; the machine keeps no order
// among those who wait, as the libraries promise none.
//
// # Where it follows the source against its documentation
//
//   - hystrix: the tag 1.5.18 has no HALF_OPEN; what 1.5.12 had brought was taken
//     back. It is hystrix-1.5.13 here.
//   - nginx: failures add up over any time, not within fail_timeout; only a success
//     whose like was let through more than fail_timeout after the last failure
//     clears them.
//   - haproxy: error-limit counts errors in a row between two active checks: each
//     check that succeeds clears them, as a good answer does.
//   - envoy: a balancer that has heeded an ejection or a return heeds the next one
//     within a second, by default, only late.
//   - pgmux: half_open_max is no limit for probes, and window_size tumbles.
//
// # What is left out
//
// Jitter and random waits; states set by hand; windows that only the warm-up of a
// breaker has (opossum's allowWarmUp); what only several threads can see; detectors
// that compare hosts (Envoy's success rate and failure percentage). Active checks
// are taken to succeed. Whoever cuts calls at a timeout records the failure when it
// cuts; Count.Timeout only makes sure that a long call is none that succeeded.
//
// # How it was proved
//
// The gobreaker and failsafe models are held against the real libraries by the
// tests, operation by operation, in virtual time, with random settings and random
// operations. So are, where the libraries' own runtimes are installed, those of
// opossum and cockatiel (TestNodeBreakers), pybreaker (TestPythonBreakers), and
// SmallRye and Hystrix (TestJavaBreakers): they replay random plays of the machine
// with their clocks and timers stepped, and have to show what it showed. FAULTLINE_ZOO=1
// runs this; with FAULTLINE_DEEP=1 pybreaker, smallrye, hystrix and hystrix-1.5.13
// replayed 500,000 operations each, no difference. hystrix-1.5.13 is replayed by 1.5.12,
// the only release of that design to be had. Calls that Hystrix cuts at its timeout are not
// among those plays.
//
// nginx 1.22.1, HAProxy 2.6.12 and Envoy 1.40.0 run themselves in the test of real
// proxies, in real time, several pools each, with times scaled down and with other
// thresholds than the presets have. Which requests reach the watched host is recorded
// and has to be what the model foretells; requests within a few milliseconds (Envoy:
// 45 ms) of a change are not judged, and of the proxies' timers only the phase is
// taken from the recording. Models that are wrong by one failure, one check, one
// second, without growth and so on have to be contradicted by the same recordings.
// This found that HAProxy's checks clear the row of errors, and that Envoy merges
// updates. Two races are left open by the test, as the proxies leave them open: a
// check of HAProxy's that is under way when the server is marked down is lost, and
// Envoy's first tick after a return may or may not shorten the next ejection. What
// only long times show is as the sources have it: the limits of 10 s and 300 s, a
// pool of ten.
//
// The models of cockatiel, opossum and pgmux were once played against the real sources
// in the same way: 378,185, 127,758 and 108,496 operations, no difference. The others,
// polly among them, were read from the sources that the presets name. Each preset has
// a story in testdata that shows what sets it apart.
package model
