package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// late tells what results did that came, in half-open, of calls from before the trip.
func (m truth) late(e zooEvidence) finding {
	d := m.columns["late"]
	failures, ok := lateVisit(e.trace, "failures")
	if !ok {
		return finding{observed: failures, open: true}
	}
	successes, ok := lateVisit(e.trace, "successes")
	if !ok {
		return finding{observed: successes, open: true}
	}
	return finding{
		observed: lateText(failures, successes),
		wrong:    failures != d.failures || successes != d.lateGood,
	}
}

// lateText says in words what late failures and late successes do.
func lateText(failures, successes string) string {
	text := map[string]string{"failures decide": "late failures reopen", "failures nothing": "late failures change nothing", "successes decide": "late successes close", "successes nothing": "late successes change nothing"}
	if failures == successes && failures == "nothing" {
		return "change nothing"
	}
	return text["failures "+failures] + ", " + text["successes "+successes]
}

// lateVisit looks at one visit into which late results came: decide, nothing, or why the
// run does not tell.
//
// Failures decide if calls are refused after the probes have all succeeded; successes
// decide if calls are let through while the probes are still under way.
func lateVisit(t *trace.Trace, kind string) (result string, decided bool) {
	v := readLateVisit(t, "late-"+kind)
	const room = 20 * time.Millisecond
	switch {
	case len(v.late) == 0 || len(v.probes) == 0:
		return "no late result, or no probe", false
	case v.refused == 0:
		return "it did not open", false
	case v.firstLate < v.probes[0].Arr+room || v.lastLate > v.firstDone-room:
		return fmt.Sprintf("the late results came %v to %v after the first probe, which ended after %v",
			v.firstLate-v.probes[0].Arr, v.lastLate-v.probes[0].Arr, v.firstDone-v.probes[0].Arr), false
	}
	from, to := v.lastLate+room, v.firstDone-room
	if kind == "failures" {
		from, to = v.lastDone+room, v.lastDone+10*room
	}
	in, out := v.calls(t, from, to)
	switch {
	case in+out < 5 || in > 0 && out > 0:
		return fmt.Sprintf("of the calls after the late %s %d were let through and %d refused", kind, in, out), false
	case (in > 0) == (kind == "successes"):
		return "decide", true
	}
	return "nothing", true
}

// lateRun is a visit into which late results came.
type lateRun struct {
	phase               string
	late, probes        []trace.Attempt
	firstLate, lastLate time.Duration // when the late results came
	firstDone, lastDone time.Duration // when the probes that were under way then ended
	refused             int           // calls that were refused after the trip
	reached             map[string]time.Duration
}

// readLateVisit finds the visit of phases whose names begin so.
func readLateVisit(t *trace.Trace, phase string) lateRun {
	v := lateRun{phase: phase, reached: map[string]time.Duration{}}
	for _, a := range t.Attempts {
		if a.Injector != "dependency" {
			continue
		}
		v.reached[a.ID] = a.Arr
		switch {
		case strings.HasPrefix(a.ID, phase+"-calls/"):
			v.late = append(v.late, a)
		case strings.HasPrefix(a.ID, phase+"-probes/"):
			v.probes = append(v.probes, a)
		}
	}
	for i, a := range v.late {
		if i == 0 {
			v.firstLate, v.lastLate = a.Done(), a.Done()
		}
		v.firstLate, v.lastLate = min(v.firstLate, a.Done()), max(v.lastLate, a.Done())
	}
	slices.SortFunc(v.probes, func(a, b trace.Attempt) int { return int(a.Arr - b.Arr) })
	v.firstDone = trace.Forever
	for _, a := range v.probes {
		if a.Arr < v.firstLate {
			v.firstDone, v.lastDone = min(v.firstDone, a.Done()), max(v.lastDone, a.Done())
		}
	}
	for _, c := range t.Calls {
		if _, ok := v.reached[c.ID]; c.Phase == phase+"-trip" && !ok && c.Answered() {
			v.refused++
		}
	}
	return v
}

// calls counts those that were sent between two instants and let through, or not: refused, or
// kept waiting until the probes have ended.
func (v lateRun) calls(t *trace.Trace, from, to time.Duration) (in, out int) {
	for _, c := range t.Calls {
		if c.Phase != v.phase+"-probes" || c.Send < from || c.Send > to {
			continue
		}
		if at, ok := v.reached[c.ID]; ok && (at < v.firstDone || c.Send > v.lastDone) {
			in++
		} else if c.Answered() {
			out++
		}
	}
	return in, out
}
