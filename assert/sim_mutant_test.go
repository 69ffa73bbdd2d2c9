package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// mutant is a defect: how to make a breaker that has it.
type mutant struct {
	name string
	make func(breakerref.Config, time.Time) breaker
}

// change is a defect of the configuration.
func change(name string, f func(*breakerref.Config)) mutant {
	return mutant{name, func(c breakerref.Config, now time.Time) breaker {
		f(&c)
		return reference(c, now)
	}}
}

// leaky lets every k-th rejected call through.
func leaky(k int) mutant {
	return mutant{"leaky", func(c breakerref.Config, now time.Time) breaker {
		return &defective{Machine: reference(c, now), leak: k}
	}}
}

// lies records outcomes in a state as something else.
func lies(name string, in breakerref.State, failed bool) mutant {
	return mutant{name, func(c breakerref.Config, now time.Time) breaker {
		return &defective{Machine: reference(c, now), lie: true, in: in, failed: failed}
	}}
}

// deaf swallows the outcomes of probes, so that half-open never ends.
func deaf() mutant {
	return mutant{"half-open for ever", func(c breakerref.Config, now time.Time) breaker {
		return &defective{Machine: reference(c, now), deaf: true}
	}}
}

// defective is the reference with a defect.
type defective struct {
	*breakerref.Machine
	leak, rejected int
	lie            bool
	in             breakerref.State
	failed         bool
	deaf           bool
}

// Acquire implements breaker.
func (d *defective) Acquire(now time.Time) bool {
	if d.Machine.Acquire(now) {
		return true
	}
	d.rejected++
	return d.leak > 0 && d.rejected%d.leak == 0
}

// Record implements breaker.
func (d *defective) Record(now time.Time, failed bool, took time.Duration) {
	switch state := d.State(); {
	case d.deaf && state == breakerref.HalfOpen:
	case d.lie && state == d.in:
		d.Machine.Record(now, d.failed, ms)
	default:
		d.Machine.Record(now, failed, took)
	}
}
