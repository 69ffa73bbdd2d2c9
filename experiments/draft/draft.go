// Package draft writes a first experiment for a service, from what is known of it and of
// its circuit breaker, so that a plan of it decides all that it asserts.
package draft

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// Service is what is known of a service.
type Service struct {
	Name    string            // of the experiment: letters, digits, _ and -
	BaseURL string            // where it is, http://127.0.0.1:8080; with Command it may have {{sut.port}}
	Command []string          // that starts it; none: it runs already
	Env     map[string]string // of the command, by name; may have the templates of sut.launch
	Ready   string            // path by which a started one is seen to be ready

	Method, Path string            // of the call that passes through the breaker
	Headers      map[string]string // of that call, by name
	Body         string

	Dependency string // its name: that of the injector and of the breaker
	Listen     string // where the injector listens, loopback host:port
	Upstream   string // URL of the real dependency; none: the injector answers with Stub
	Stub       string // body of a good answer of the dependency

	Primary  string // a text in the body of a good answer of the service; none: status 200 is good
	Fallback string // a text in the body of its fallback; none: it is not said to have one

	Breaker  breakerref.Config
	Declared string   // where Breaker was found, for a comment; none: nobody said
	Notes    []string // what a reader of the experiment should know of the breaker
}

// Draft is an experiment for a service.
type Draft struct {
	Source   []byte            // the YAML, with comments
	Forecast *predict.Forecast // what a run of it comes to
	Left     []predict.Assertion
}

// File names the draft in messages about it.
const File = "draft.yaml"

// Write writes an experiment that a right service passes and a wrong one fails, as far
// as the experiment's forecast knows. What its load cannot decide (Draft.Left) stands in
// it as a comment, with the reason. The error says what of the service cannot be put into
// an experiment.
func Write(s Service) (Draft, error) {
	left := map[string]predict.Assertion{}
	var out Draft
	for {
		out.Source = []byte(s.source(left))
		plan, err := experiments.LoadPlan(File, out.Source, 1)
		if err != nil {
			return out, err //nolint:wrapcheck // It tells file, line and what is wrong.
		}
		if out.Forecast, err = predict.Of(plan); err != nil {
			return out, fmt.Errorf("foresee the experiment: %w", err)
		}
		more := false
		for _, a := range out.Forecast.Assertions {
			if a.Can == predict.CanDecide {
				continue
			}
			left[a.ID], more = a, true
			out.Left = append(out.Left, a)
		}
		if !more {
			return out, nil
		}
		if len(out.Forecast.Assertions) == len(out.Left) {
			return out, fmt.Errorf("no load that is written here decides anything of this breaker: %s", out.Left[0].Reason)
		}
	}
}

// sizes are the numbers of an experiment that follow from those of the breaker.
type sizes struct {
	trip      int             // failing calls that open it once it has closed
	settle    int             // good calls between that and these
	first     int             // failing calls that open it whatever its window holds
	empties   time.Duration   // pause before them, in which its window empties; 0: none
	together  int             // calls that close it, all under way at once
	sequence  []time.Duration // of the open intervals whose length is asserted
	outage    time.Duration   // in which they are seen
	probes    time.Duration   // in which probes are counted
	last      time.Duration   // the longest that it is open once the dependency is well
	hold      time.Duration   // how long probes are held
	rate      int             // calls a second while it is open
	burst     int             // calls a second while probes are held
	tolerance int             // of the open time, in percent
	timeout   time.Duration   // of calls
}

// Bounds of what is sent.
const (
	lowRate, highRate    = 20, 500         // calls a second while it is open
	quickRate, burstRate = 200, 1000       // calls a second while probes are held
	wholeVisit           = 300             // calls during one open interval, for the quantile of rejections
	slackShare           = 0.1             // of a wait, for a service that is late
	baselineCalls        = 30              // in peace
	spare                = 20              // calls beyond those that are needed
	most                 = 400             // calls of an opening
	longestHold          = time.Second     // of a probe
	patience             = 5 * time.Second // of a client
)

func (s Service) sizes() sizes {
	c := s.Breaker
	z := sizes{trip: c.MinimumCalls, tolerance: 10, timeout: max(patience, 2*longestHold)}
	if c.WindowType == breakerref.CountBased {
		z.trip = min(c.MinimumCalls, c.Window)
	}
	z.together = max(10, c.Permitted)
	if c.MinimumCalls < c.Permitted {
		// It decides on so many, and what comes later would be in the new window. That it has
		// closed then shows only by so many calls that are let through.
		z.together, z.settle = c.MinimumCalls, 3*c.Permitted+10
		z.trip = tripAfter(c, z.settle)
	}
	z.first, z.empties = firstTrip(c, z.trip)
	z.tolerance += int(100 * c.WaitRandom)
	z.hold = longestHold
	if c.SlowDuration < 2*z.hold {
		z.hold = c.SlowDuration / 2 // A held probe must not become a slow one.
	}
	if c.HalfOpenMaxWait >= time.Millisecond {
		z.hold = min(z.hold, c.HalfOpenMaxWait/2)
	}
	z.hold = max(z.hold, 20*time.Millisecond).Truncate(time.Millisecond)
	z.lasting(c)
	z.rate = within(perSecond(wholeVisit/2, z.sequence[0]), lowRate, highRate)
	z.burst = within(perSecond(3*c.Permitted+20, z.hold), quickRate, burstRate)
	return z
}

// lasting sets the phases in which it is open. They see the end of an interval also if the
// service waits for longer than it may.
func (z *sizes) lasting(c breakerref.Config) {
	z.sequence = []time.Duration{wait(c, 0)}
	if next := wait(c, 1); next != z.sequence[0] {
		z.sequence = append(z.sequence, next)
	}
	for _, d := range z.sequence {
		z.outage += late(time.Duration(float64(d) * (1 + 2*float64(z.tolerance)/100)))
	}
	z.outage += 400 * time.Millisecond
	z.probes = late(longest(c, z.outage)) + 3*z.hold
	z.last = longest(c, z.outage+z.probes)
}

// firstTrip is how many failing calls open a breaker whose window holds the baseline, and
// the pause before them without which these would be too many.
func firstTrip(c breakerref.Config, empty int) (calls int, pause time.Duration) {
	if c.WindowType == breakerref.CountBased {
		return c.Window + spare, 0
	}
	share := float64(c.FailureRate) / 100
	calls = empty + spare + int(share/(1-min(share, 0.999))*(baselineCalls+spare))
	if calls > most {
		return empty + spare, time.Duration(c.Window+1) * time.Second
	}
	return calls, 0
}

// tripAfter is how many failing calls open it after some good ones; 0 if it takes more
// than its window can hold.
func tripAfter(c breakerref.Config, good int) int {
	now := time.Unix(0, 0)
	m, err := breakerref.New(c, now)
	if err != nil {
		return 0 // LoadPlan will say what is wrong with it.
	}
	for range good {
		m.Record(now, false, 0)
	}
	for n := 1; n <= 2*c.Window+good+c.MinimumCalls; n++ {
		if m.Record(now, true, 0); m.State() != breakerref.Closed {
			return n
		}
	}
	return 0
}

// wait is how long the k-th opening in a row lasts, from 0, but for chance.
func wait(c breakerref.Config, k int) time.Duration {
	if len(c.Waits) > 0 {
		return c.Waits[min(k, len(c.Waits)-1)]
	}
	d := c.Wait
	for range k {
		if c.WaitMultiplier > 0 {
			d = time.Duration(float64(d) * c.WaitMultiplier).Truncate(time.Millisecond)
		}
		if c.WaitMax > 0 {
			d = min(d, c.WaitMax)
		}
	}
	return d
}

// longest is the longest that it can be open after failing for some time.
func longest(c breakerref.Config, after time.Duration) time.Duration {
	d := wait(c, 0)
	for k := 1; after > 0; k++ {
		after -= wait(c, k-1)
		d = max(d, wait(c, k))
	}
	return time.Duration(float64(d) * (1 + c.WaitRandom)).Round(time.Millisecond)
}

func perSecond(n int, in time.Duration) int { return int(float64(n)/in.Seconds()) + 1 }

func within(n, least, most int) int { return min(max(n, least), most) }

// late is a time with room for a service that is slow.
func late(d time.Duration) time.Duration {
	return (d + time.Duration(slackShare*float64(d))).Round(time.Millisecond)
}
