package run_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// doorExperiment is an outage in which the dependency's door is shut by DOOR, with the
// reference service, whose breaker is BREAKER. It ends while a right breaker is open: that
// opens within the service's patience and a few calls, and waits for longer than the rest.
const doorExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: door }
sut:
  reference:
    injector: primary
    breaker: BREAKER
    timeout: 250ms
    fallback: { status: 200, body: '{"source":"secondary"}' }
injectors:
  primary: { listen: 127.0.0.1:0, stub: { status: 200, body: '{"source":"primary"}', latency: 2ms } }
load:
  rate: 100/s
  timeout: 5s
  targets: [ { name: search, path: /search, depends_on: [primary] } ]
  classify:
    primary: { status: 200, contains: '"primary"' }
    fallback: { status: 200, contains: '"secondary"' }
breakers:
  primary: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3 }
phases:
  - { name: baseline, load: { calls: 25, concurrency: 1, gap: 5ms } }
  - { name: outage, duration: 1s, faults: [ { DOOR: true } ] }
  - { name: recovery, duration: 5s }
  - { name: trip, load: { calls: 30, concurrency: 1, gap: 5ms, until: open }, faults: [ { respond: { status: 503 } } ] }
assert:
  - { id: honest, fallback.share: { max: 0% }, of: [all], phase: baseline }
  - { id: opens, breaker.opens: primary, phase: outage }
  - { id: falls-back, fallback.share: { min: 100% }, of: [short, failed], phase: outage }
  - { id: answers, error.share: { max: 0% }, phase: outage }
  - { id: recovers, recovery.time: { max: 4s, target: "primary.share >= 99%", for: 500ms }, phase: recovery }
  - { id: closes, breaker.closes: primary, phase: recovery, within: 4s }
  - { id: trips, breaker.opens: primary, phase: trip, at_call: 5 }
  - { id: at-call, breaker.opens: primary, phase: outage, at_call: 10 }
  - { id: no-leak, breaker.leak: primary, phase: outage, max: 0 }
  - { id: fail-fast, short.latency: { p99: 1s }, phase: outage }
  - { id: short, short.share: { min: 1% }, phase: outage }
  - { id: stays, breaker.stays_closed: primary, phase: outage }
`

// behind fills in the door and the breaker.
func behind(door, breaker string) string {
	return strings.NewReplacer("DOOR", door, "BREAKER", breaker).Replace(doorExperiment)
}

const (
	rightBreaker = "{ window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3 }"
	neverOpens   = "{ window: 5000, minimum_calls: 5000, failure_rate: 50%, wait: 2s, permitted_calls: 3 }"
)

// shutsHere are the doors that can be had on this system.
func shutsHere() []string {
	if runtime.GOOS == "linux" {
		return []string{"refuse", "unreachable", "deaf"}
	}
	return []string{"refuse", "deaf"}
}

// carried carries an experiment out over real sockets. busy says that this machine could not
// send the load as it was planned.
func carried(t *testing.T, src string) (by map[string]assert.Verdict, tr *trace.Trace, busy bool) {
	t.Helper()
	plan, err := experiments.LoadPlan("door.yaml", []byte(src), 1)
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Run(t.Context(), plan, run.Options{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	rep := assert.Evaluate(plan.Spec(), res.Trace)
	by = map[string]assert.Verdict{}
	for _, v := range rep.Verdicts {
		by[v.ID] = v
	}
	for _, c := range rep.Integrity {
		busy = busy || !c.OK
	}
	return by, res.Trace, busy
}

// undisturbed repeats a run that this machine was too busy for.
func undisturbed(t *testing.T, src string) (map[string]assert.Verdict, *trace.Trace) {
	t.Helper()
	const tries = 4
	for range tries {
		if by, tr, busy := carried(t, src); !busy {
			return by, tr
		}
	}
	t.Skipf("this machine was too busy to send the load as planned, in %d tries", tries)
	return nil, nil
}

// A right service opens its breaker behind a shut door and recovers. What clients get is
// judged, and that it opened; nothing is that only somebody at the door could have seen.
func TestDoorOfARightService(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes eight seconds of real time for each door")
	}
	for _, door := range shutsHere() {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			by, _ := undisturbed(t, behind(door, rightBreaker))
			for _, id := range []string{"honest", "opens", "falls-back", "answers", "recovers", "closes", "trips"} {
				if v := by[id]; v.Result != assert.Pass {
					t.Errorf("%s is %s: %s; %s", id, v.Result, v.Observed, v.Reason)
				}
			}
			for _, id := range []string{"at-call", "no-leak", "fail-fast", "short", "stays"} {
				if v := by[id]; v.Result != assert.Inconclusive || !strings.Contains(v.Reason, "door of primary was shut ("+door+")") {
					t.Errorf("%s is %s, want inconclusive because of the door: %s; %s", id, v.Result, v.Observed, v.Reason)
				}
			}
		})
	}
}

// A service without a breaker fails as fast at a refused connection as one whose breaker is
// open, and falls back to the same answer. Nothing that speaks of a breaker passes.
func TestDoorWithoutABreaker(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seven seconds of real time for each door")
	}
	for _, door := range shutsHere() {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			by, tr, _ := carried(t, behind(door, neverOpens))
			for _, id := range []string{"opens", "closes", "at-call", "no-leak", "fail-fast", "short", "stays"} {
				if v := by[id]; v.Result == assert.Pass {
					t.Errorf("%s passes: %s", id, v.Observed)
				}
			}
			if v := by["trips"]; v.Result == assert.Pass {
				t.Errorf("trips passes: %s", v.Observed)
			}
			unserved := 0
			for _, c := range tr.Join("primary", func(string) bool { return true }).Calls {
				if c.Call.Phase == "outage" && c.Kind == trace.Short {
					t.Errorf("call %s from %v to %v is short", c.Call.ID, c.Call.Send, c.Call.End)
				}
				if c.Unserved {
					unserved++
				}
			}
			if door != "deaf" && unserved == 0 { // What waited behind that one is read at last.
				t.Error("no call met the door")
			}
		})
	}
}

// The forecast says of each assertion what the run comes to.
func TestDoorForecast(t *testing.T) {
	for _, door := range []string{"refuse", "unreachable", "deaf"} {
		plan, err := experiments.LoadPlan("door.yaml", []byte(behind(door, rightBreaker)), 1)
		if err != nil {
			t.Fatal(err)
		}
		f, err := predict.Of(plan)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := f.WriteText(&text, report.TextOptions{Width: 100}); err != nil {
			t.Fatal(err)
		}
		want := map[string]predict.Can{
			"honest": predict.CanDecide, "falls-back": predict.CanDecide, "answers": predict.CanDecide, "recovers": predict.CanDecide, "closes": predict.CanDecide, "trips": predict.CanDecide,
			"opens":   predict.WouldNotNotice, // It cannot be told that it did not.
			"at-call": predict.CannotDecide, "no-leak": predict.CannotDecide, "fail-fast": predict.CannotDecide, "short": predict.CannotDecide, "stays": predict.CannotDecide,
		}
		for _, a := range f.Assertions {
			if a.Can != want[a.ID] {
				t.Errorf("%s: %s is %q, want %q: %s; %s", door, a.ID, a.Can, want[a.ID], a.Observed, a.Reason)
			}
			if a.Can != predict.CanDecide && !strings.Contains(a.Reason, "door of primary was shut") {
				t.Errorf("%s: %s: the reason does not name the door: %s", door, a.ID, a.Reason)
			}
		}
		if t.Failed() {
			t.Log(text.String())
		}
	}
}

// A door that cannot be had is named before anything has begun.
func TestDoorThatCannotBeHad(t *testing.T) {
	plan, err := experiments.LoadPlan("door.yaml", []byte(behind("refuse", rightBreaker)), 1)
	if err != nil {
		t.Fatal(err)
	}
	n := memnet.New(1)
	res, err := run.Run(t.Context(), plan, run.Options{Tool: "test", Listen: n.Listen, Dial: n.DialContext})
	precondition, ok := errors.AsType[*run.PreconditionError](err)
	if !ok || !strings.Contains(precondition.What, "phase outage: a fault of primary cannot be had: refuse needs") {
		t.Errorf("got %v", err)
	}
	if res != nil && res.Trace != nil && len(res.Trace.Calls) > 0 {
		t.Errorf("%d calls were made", len(res.Trace.Calls))
	}
}
