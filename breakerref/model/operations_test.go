package model_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/model"
)

// kind is what may be done to a breaker.
type kind int

const (
	acquire kind = iota
	success
	failure
	ignore
	wait
	look
)

// operation is one thing done to a breaker. It is plain data, drawn before a play
// begins, so that a play can be shrunk and repeated.
type operation struct {
	kind  kind
	which int           // of an outcome: of which call under way
	wait  time.Duration // of a wait
}

func (o operation) outcome() model.Outcome {
	switch o.kind {
	case success:
		return model.Success
	case failure:
		return model.Failure
	default:
		return model.Ignore
	}
}

// String is short, because a difference is shown with all that led to it.
func (o operation) String() string {
	switch o.kind {
	case acquire:
		return "acquire"
	case wait:
		return "wait " + o.wait.String()
	case look:
		return "look"
	default:
		return fmt.Sprintf("%v of %d", o.outcome(), o.which)
	}
}

// drawOperations draws a play whose waits are those given, at or below 0 left out.
func drawOperations(t *rapid.T, waits []time.Duration) []operation {
	kinds := rapid.SampledFrom([]kind{acquire, acquire, acquire, acquire, success, success, failure, failure, failure, ignore, wait, look})
	which := rapid.IntRange(0, 7)
	steps := rapid.SampledFrom(waits).Filter(func(d time.Duration) bool { return d > 0 })
	// A slice's length is short by itself, and half-open is far away.
	n := rapid.SampledFrom([]int{10, 50, 200, 400}).Draw(t, "length")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) operation {
		o := operation{kind: kinds.Draw(t, "kind")}
		switch o.kind {
		case success, failure, ignore:
			o.which = which.Draw(t, "which")
		case wait:
			o.wait = steps.Draw(t, "wait")
		case acquire, look:
		}
		return o
	}), n/2, n).Draw(t, "operations")
}
