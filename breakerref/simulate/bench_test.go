package simulate_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/simulate"
)

// plain is a healthy dependency and nothing around the breaker.
func plain() simulate.Model {
	m := simulate.Default()
	m.Traffic.Phases = nil
	m.Traffic.Rate = 1000
	m.Duration = 1000 * time.Second
	return m
}

// bench reports calls a second.
func bench(b *testing.B, m simulate.Model, play func(*simulate.Model, uint64, uint64) simulate.Trial) {
	if err := m.Validate(); err != nil {
		b.Fatal(err)
	}
	calls, trial, from := int64(0), uint64(0), cpuTime(b)
	for b.Loop() {
		t := play(&m, 1, trial)
		calls += t.Calls()
		trial++
	}
	b.ReportMetric(float64(calls)/(cpuTime(b)-from).Seconds()/1e6, "Mcalls/cpu-s")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkPlain(b *testing.B) {
	even := plain()
	even.Traffic.Arrivals = simulate.Even
	seconds := plain()
	seconds.Breaker.WindowType = breakerref.TimeBased
	spread := plain()
	spread.Traffic.Latency = simulate.Latency{Median: 20 * time.Millisecond, P99: 200 * time.Millisecond}
	retried := plain()
	retried.Traffic.Retry.MaxAttempts = 3
	b.Run("poisson", func(b *testing.B) { bench(b, plain(), simulate.Play) })
	b.Run("even", func(b *testing.B) { bench(b, even, simulate.Play) })
	b.Run("seconds", func(b *testing.B) { bench(b, seconds, simulate.Play) })
	b.Run("lognormal", func(b *testing.B) { bench(b, spread, simulate.Play) })
	b.Run("retry", func(b *testing.B) { bench(b, retried, simulate.Play) })
	b.Run("stepwise", func(b *testing.B) { bench(b, plain(), simulate.PlayStepwise) })
}
