package model

import (
	"math"
	"time"
)

// Presets returns the names that Preset knows, in the order of its documentation.
func Presets() []string {
	all := presets()
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return names
}

// Preset returns the configuration of a library or proxy with its own defaults:
//
//	gobreaker              sony/gobreaker v2.4.0: 6 failures in a row
//	gobreaker-fixed        the same, with Interval 60s: 60 % of at least 3 calls in a fixed window
//	gobreaker-rolling      the same, with BucketPeriod 10s: a rolling window
//	failsafe               failsafe-go v0.9.8: the first failure opens
//	failsafe-consecutive   WithFailureThreshold(3)
//	failsafe-count         WithFailureThresholdRatio(5, 10)
//	failsafe-period        WithFailureThresholdPeriod(5, 10s)
//	failsafe-rate          WithFailureRateThreshold(0.5, 10, 10s)
//	hystrix                Netflix/Hystrix 1.5.18 as tagged: asked by the next call, one test per sleep window
//	hystrix-1.5.13         Netflix/Hystrix 1.5.12 to 1.5.13 and master: opened by the health stream, HALF_OPEN
//	smallrye               SmallRye Fault Tolerance 6 (MicroProfile Fault Tolerance)
//	polly                  App-vNext/Polly v8 (Polly.Core)
//	opossum                nodeshift/opossum 9.0.0
//	cockatiel-consecutive  connor4312/cockatiel 3.2.1, ConsecutiveBreaker(5)
//	cockatiel-count        CountBreaker with threshold 0.2, size 100
//	cockatiel-sampling     SamplingBreaker with threshold 0.2, duration 30s
//	pybreaker              danielfm/pybreaker 1.4.1
//	envoy                  Envoy outlier detection, consecutive 5xx, one of 10 hosts, update_merge_window 1s
//	nginx                  nginx 1.31 round robin, max_fails=1 fail_timeout=10s, one of 2 servers
//	haproxy                HAProxy 2.6 observe layer7, on-error mark-down, inter 2s rise 2
//	pgmux                  jyukki97/pgmux, the breaker of a pool
//
// ok is false for any other name.
func Preset(name string) (cfg Config, ok bool) {
	for _, p := range presets() {
		if p.name == name {
			cfg = p.config()
			cfg.Name = name
			return cfg, true
		}
	}
	return Config{}, false
}

type preset struct {
	name   string
	config func() Config
}

func presets() []preset {
	const window = 10 * time.Second
	ratio := Trip{Rule: Rate, Rate: 0.6, Min: 3}
	return []preset{
		{"gobreaker", func() Config { return Gobreaker(GobreakerSettings{}) }},
		{"gobreaker-fixed", func() Config { return Gobreaker(GobreakerSettings{Interval: time.Minute, Trip: ratio}) }},
		{"gobreaker-rolling", func() Config {
			return Gobreaker(GobreakerSettings{Interval: time.Minute, BucketPeriod: 10 * time.Second, Trip: ratio})
		}},
		{"failsafe", func() Config { return Failsafe(FailsafeSettings{FailureThreshold: 1, FailureCapacity: 1}) }},
		{"failsafe-consecutive", func() Config { return Failsafe(FailsafeSettings{FailureThreshold: 3, FailureCapacity: 3}) }},
		{"failsafe-count", func() Config { return Failsafe(FailsafeSettings{FailureThreshold: 5, FailureCapacity: 10}) }},
		{"failsafe-period", func() Config { return Failsafe(FailsafeSettings{FailureThreshold: 5, Period: window}) }},
		{"failsafe-rate", func() Config {
			return Failsafe(FailsafeSettings{FailureRate: 0.5, Executions: 10, Period: window})
		}},
		{"hystrix", hystrix},
		{"hystrix-1.5.13", hystrix1513},
		{"smallrye", func() Config { return SmallRye(20, 0.5, 5*time.Second, 1) }},
		{"polly", polly},
		{"opossum", opossum},
		{"cockatiel-consecutive", func() Config {
			return cockatiel(Window{Scope: Shared}, Trip{Rule: Consecutive, Failures: 5})
		}},
		{"cockatiel-count", func() Config {
			return cockatiel(Window{Kind: CountSliding, Size: 100, Scope: Shared},
				Trip{Rule: Rate, Rate: 0.2, Over: true, Arithmetic: Product, Min: 100})
		}},
		{"cockatiel-sampling", func() Config { return CockatielSampling(0.2, 30*time.Second, 0) }},
		{"pybreaker", pybreaker},
		{"envoy", envoy},
		{"nginx", nginx},
		{"haproxy", haproxy},
		{"pgmux", func() Config { return Pgmux(0.5, 10*time.Second, 3, 10) }},
	}
}

// GobreakerSettings are the settings of sony/gobreaker v2.4.0 that decide. The zero
// value is the library's default.
type GobreakerSettings struct {
	MaxRequests  int           // 0: 1
	Interval     time.Duration // 0: CLOSED never clears
	BucketPeriod time.Duration // 0: a fixed window; otherwise a rolling one
	Timeout      time.Duration // 0: 60s
	// Trip is ReadyToTrip, which the library asks on failures only. Its calls are
	// Counts.Requests: all that started. The zero value is the default, 6 failures
	// in a row.
	Trip Trip
}

// Gobreaker returns sony/gobreaker v2.4.0 (v2/gobreaker.go, v2/counter.go) with the
// given settings.
func Gobreaker(s GobreakerSettings) Config {
	if s.MaxRequests == 0 {
		s.MaxRequests = 1
	}
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	if s.Trip == (Trip{}) {
		s.Trip = Trip{Rule: Consecutive, Failures: 6}
	}
	c := Config{
		Count: Count{AtStart: true},
		Trip:  s.Trip,
		Open:  Open{Wait: s.Timeout, After: true, OnLook: true},
		HalfOpen: HalfOpen{
			Admit: Total, Permits: s.MaxRequests, Successes: s.MaxRequests, Failures: 1, Ignored: ProbeReleased,
		},
		Late:  LateDropped,
		Clear: Clear{OnTrip: true},
	}
	buckets := 0
	if s.BucketPeriod > 0 {
		buckets = int((s.Interval + s.BucketPeriod - 1) / s.BucketPeriod) // The interval is rounded up.
	}
	switch {
	case s.Interval == 0:
	case buckets >= 2:
		c.Window = Window{Kind: TimeSliding, Period: time.Duration(buckets) * s.BucketPeriod, Buckets: buckets, ByStart: true}
	case buckets == 1:
		c.Window = Window{Kind: TimeTumbling, Period: s.BucketPeriod}
	default:
		c.Window = Window{Kind: TimeTumbling, Period: s.Interval}
	}
	return c
}

// FailsafeSettings are the settings of a failsafe-go v0.9.8 circuit breaker that
// decide. Period and FailureRate choose among the library's four rules:
//
//	neither      FailureThreshold of the last FailureCapacity (WithFailureThreshold, WithFailureThresholdRatio)
//	Period       FailureThreshold within Period (WithFailureThresholdPeriod)
//	both         FailureRate of at least Executions within Period (WithFailureRateThreshold)
type FailsafeSettings struct {
	FailureThreshold, FailureCapacity int
	FailureRate                       float64
	Executions                        int
	Period                            time.Duration
	SuccessThreshold, SuccessCapacity int           // 0: the failure thresholds decide in HALF_OPEN
	Delay                             time.Duration // 0: 1m
}

// Failsafe returns failsafe-go v0.9.8 (circuitbreaker/circuitstates.go,
// internal/util/stats.go) with the given settings. Delay functions, random delays
// and jitter are not modelled.
func Failsafe(s FailsafeSettings) Config {
	if s.Delay == 0 {
		s.Delay = time.Minute
	}
	c := Config{
		Count: Count{Ignored: IgnoredSuccess},
		Open:  Open{Wait: s.Delay},
		Late:  LateCounted,
		Trip:  Trip{Rule: Failures, Failures: s.FailureThreshold, Judged: OnRecord},
	}
	capacity := s.FailureCapacity
	if s.Period == 0 {
		c.Window = Window{Kind: CountSliding, Size: capacity}
	} else {
		c.Window = Window{Kind: TimeSliding, Period: s.Period, Buckets: 10, Align: AlignWall}
		capacity = s.FailureThreshold
		if s.FailureRate > 0 {
			c.Trip = Trip{Rule: Rate, Rate: s.FailureRate, Min: s.Executions, Arithmetic: Rounded, Judged: OnRecord}
			capacity = s.Executions
		}
	}
	h := HalfOpen{Admit: Concurrent}
	switch {
	case s.SuccessThreshold > 0:
		capacity = s.SuccessCapacity
		h.Successes, h.Failures = s.SuccessThreshold, capacity-s.SuccessThreshold+1
	case s.FailureRate > 0:
		h.Rate, h.Min = s.FailureRate, capacity
	default:
		h.Successes, h.Failures = capacity-s.FailureThreshold+1, s.FailureThreshold
	}
	h.Permits, h.Results = capacity, capacity
	c.HalfOpen = h
	return c
}

// SmallRye returns SmallRye Fault Tolerance 6 (core/circuit/breaker), which
// implements MicroProfile Fault Tolerance, with requestVolumeThreshold,
// failureRatio, delay and successThreshold. The ratio becomes a number of failures,
// rounded up.
func SmallRye(volume int, ratio float64, delay time.Duration, successes int) Config {
	return Config{
		Count:    Count{Ignored: IgnoredSuccess},
		Window:   Window{Kind: CountSliding, Size: volume},
		Trip:     Trip{Rule: Rate, Rate: math.Ceil(ratio*float64(volume)) / float64(volume), Min: volume, Judged: OnRecord},
		Open:     Open{Wait: delay, Exit: ExitTimer},
		HalfOpen: HalfOpen{Admit: Total, Permits: successes, Successes: successes, Failures: 1},
		Late:     LateDropped,
	}
}

// CockatielSampling returns the SamplingBreaker of cockatiel 3.2.1
// (src/breaker/SamplingBreaker.ts) with a threshold from 0 to 1, a duration in whole
// milliseconds and a minimum of calls per second; 0: the library's guess of 5
// failures a second.
func CockatielSampling(threshold float64, duration time.Duration, minimumRPS float64) Config {
	ms := float64(duration.Milliseconds())
	count := max(5, math.Ceil(ms/1000))
	size := math.Floor(ms/count + 0.5)
	perMs := minimumRPS / 1000
	if minimumRPS == 0 {
		perMs = 5 / (threshold * 1000)
	}
	return cockatiel(
		Window{
			Kind: TimeSliding, Period: time.Duration(size*count) * time.Millisecond, Buckets: int(count),
			Align: AlignOnePerWrite, Scope: Shared,
		},
		Trip{Rule: Rate, Rate: threshold, Over: true, Arithmetic: Product, Min: int(math.Ceil(size * count * perMs))})
}

// Pgmux returns the breaker of a pool of jyukki97/pgmux
// (internal/resilience/breaker.go, March 2026) with error_threshold, open_duration,
// half_open_max and window_size.
func Pgmux(threshold float64, open time.Duration, halfOpenMax, size int) Config {
	return Config{
		Window:   Window{Kind: CountTumbling, Size: size},
		Trip:     Trip{Rule: Rate, Rate: threshold, Judged: OnRecord},
		Open:     Open{Wait: open, OnLook: true},
		HalfOpen: HalfOpen{Admit: Unlimited, Successes: halfOpenMax, Failures: 1},
		Late:     LateCounted,
		Clear:    Clear{OnTrip: true},
	}
}
