package model

import "time"

// hystrix is Netflix/Hystrix at the tag v1.5.18 (HystrixCircuitBreaker.java,
// HealthCountsStream.java): the redesign of 1.5.12 had been taken back by then. The
// health counts are those of whole 500 ms buckets; the next call looks at them, and
// so does whoever reads the state, as a page of metrics does: that trips, too. A
// test is let through whenever the sleep window has passed since the trip or the
// last test, whatever became of that; any success closes.
func hystrix() Config {
	c := hystrix1513()
	c.Trip.Judged, c.Trip.OnLook = OnAcquire, true
	c.HalfOpen = HalfOpen{Admit: OnePerWait}
	return c
}

// hystrix1513 is Netflix/Hystrix from v1.5.12 to v1.5.13, and master. In 1.5.12 only,
// a probe that its caller cancels hangs, where a bad request reopens.
//
// A new window begins with a bucket that a thread of RxJava ends at once. Mostly (161 of
// 200 closings tried) the success that closes is faster and has that bucket to itself:
// the rule sees it at once, and it leaves the window a bucket early. This is ClearApart;
// where the thread is faster, ClearBefore.
func hystrix1513() Config {
	return Config{
		Count: Count{Timeout: time.Second},
		Window: Window{
			Kind: TimeSliding, Period: 10 * time.Second, Buckets: 20, Complete: true, Scope: Shared,
		},
		Trip:     Trip{Rule: Rate, Rate: 50, Arithmetic: Percent, Min: 20, Judged: OnTick},
		Open:     Open{Wait: 5 * time.Second, After: true},
		HalfOpen: HalfOpen{Admit: Total, Permits: 1, Successes: 1, Failures: 1, Ignored: ProbeReopens},
		Late:     LateCounted,
		Clear:    Clear{OnClose: ClearApart},
		Clock:    time.Millisecond,
	}
}

// polly is App-vNext/Polly v8 (Polly.Core/CircuitBreaker). A sampling duration
// below 200 ms has another window, which is not modelled.
func polly() Config {
	return Config{
		Count:    Count{Ignored: IgnoredSuccess},
		Window:   Window{Kind: TimeSliding, Period: 30 * time.Second, Buckets: 10, Align: AlignWrite, Scope: Shared},
		Trip:     Trip{Rule: Rate, Rate: 0.1, Min: 100},
		Open:     Open{Wait: 5 * time.Second},
		HalfOpen: HalfOpen{Admit: Total, Permits: 1, Successes: 1, Failures: 1},
		Late:     LateCounted,
		Clear:    Clear{OnClose: ClearAfter},
	}
}

// opossum is nodeshift/opossum 9.0.0 (lib/circuit.js, lib/status.js). allowWarmUp
// and capacity are not modelled.
func opossum() Config {
	return Config{
		Count:    Count{AtStart: true, Rejected: true, Ignored: IgnoredSuccess, Timeout: 10 * time.Second},
		Window:   Window{Kind: TimeSliding, Period: 10 * time.Second, Buckets: 10, Scope: Shared},
		Trip:     Trip{Rule: Rate, Rate: 50, Over: true, Arithmetic: Percent},
		Open:     Open{Wait: 30 * time.Second, Exit: ExitTimer},
		HalfOpen: HalfOpen{Admit: Total, Permits: 1, Successes: 1, Failures: 1},
		Late:     LateCounted,
		Clock:    time.Millisecond,
	}
}

// cockatiel is connor4312/cockatiel 3.2.1 (src/CircuitBreakerPolicy.ts,
// src/breaker) with halfOpenAfter 10s.
func cockatiel(w Window, t Trip) Config {
	return Config{
		Window:   w,
		Trip:     t,
		Open:     Open{Wait: 10 * time.Second},
		HalfOpen: HalfOpen{Admit: WaitForProbe, Ignored: ProbeCloses},
		Late:     LateByOrigin,
		Clear:    Clear{OnClose: ClearBefore},
		Clock:    time.Millisecond,
	}
}

// pybreaker is danielfm/pybreaker 1.4.1 (src/pybreaker/__init__.py) with its
// storage in memory. Modelled is call, which its decorator is; calling() and
// generators hold no lock while they run, so that such calls run side by side and
// come late, each judged by the state that let it in.
func pybreaker() Config {
	return Config{
		Count:    Count{Ignored: IgnoredSuccess},
		Window:   Window{Scope: Shared},
		Trip:     Trip{Rule: Consecutive, Failures: 5, Masked: true},
		Open:     Open{Wait: time.Minute},
		HalfOpen: HalfOpen{Admit: Unlimited, Successes: 1, Failures: 1},
		Late:     LateCounted,
		Clear:    Clear{OnClose: ClearAfter},
		Clock:    time.Microsecond,
		Serial:   true,
	}
}

// envoy is Envoy's outlier detection (source/common/upstream/outlier_detection_impl.cc)
// for one of 10 hosts, the fewest of which max_ejection_percent 10 lets one go.
// Modelled is the detector of consecutive 5xx, with the default update_merge_window of
// 1s, and no jitter; an ejection is posted at once, where Envoy posts it to its main
// thread and lets some more calls pass. The first tick after a return, which shortens
// the next ejection here, may fail to do so in Envoy: it compares two readings of the
// clock that are an interval apart but for microseconds.
func envoy() Config {
	return Config{
		Window: Window{Scope: Shared},
		Trip:   Trip{Rule: Consecutive, Failures: 5},
		Open: Open{
			Wait: 30 * time.Second, Growth: Linear, MaxWait: 300 * time.Second, Decay: true,
			Exit: ExitTick, Interval: 10 * time.Second,
		},
		HalfOpen: HalfOpen{Admit: AdmitAll},
		Late:     LateCounted,
		Clear:    Clear{OnTrip: true, OnClose: ClearAfter},
		Hosts:    Hosts{Count: 10, MaxEjected: 10, Panic: 50, Merge: time.Second},
		Clock:    time.Millisecond,
	}
}

// nginx is nginx 1.31 (src/http/ngx_http_upstream_round_robin.c) for one of two
// servers and one worker. Its weight is not modelled. Whether an answer is a
// failure is proxy_next_upstream's matter.
func nginx() Config {
	return Config{
		Count:    Count{Ignored: IgnoredSuccess},
		Window:   Window{Kind: Gap, Period: 10 * time.Second, Scope: Shared},
		Trip:     Trip{Rule: Failures, Failures: 1},
		Open:     Open{Wait: 10 * time.Second, After: true},
		HalfOpen: HalfOpen{Admit: OnePerWait},
		Late:     LateCounted,
		Hosts:    Hosts{Count: 2},
		Clock:    time.Second,
	}
}

// haproxy is HAProxy 2.6 (src/check.c) with observe layer7, error-limit 10,
// on-error mark-down, inter 2s, rise 2, and no fastinter or downinter. Its active
// checks are taken to succeed, and to come one every inter since the beginning; each
// begins the row of errors anew.
func haproxy() Config {
	return Config{
		Window:   Window{Scope: Shared},
		Trip:     Trip{Rule: Consecutive, Failures: 10},
		Open:     Open{Exit: ExitChecks, Interval: 2 * time.Second, Rise: 2},
		HalfOpen: HalfOpen{Admit: AdmitAll},
		Late:     LateCounted,
		Clear:    Clear{OnTrip: true, OnCheck: true},
		Clock:    time.Millisecond,
	}
}
