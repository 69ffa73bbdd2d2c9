package predict_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// rising fails more and more: of a thousand calls a quarter, of each second's hundred
// what the ramp says. The bounds leave room for one call.
const rising = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: rising }
sut: { reference: { breaker: { window: 10, minimum_calls: 10, failure_rate: 100%, wait: 1s, permitted_calls: 3 } } }
injectors: { payments: { stub: { status: 200, latency: 3ms } } }
load: { rate: 100/s, targets: [{ name: checkout, path: /checkout }] }
breakers: { payments: { window: 10, minimum_calls: 10, failure_rate: 100%, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: calm, duration: 700ms }
  - name: rising
    duration: 10s
    faults:
      - ratio: { from: 0%, to: 50%, over: 10s }
        latency: { from: 1ms, to: 20ms, over: 10s }
        respond: { status: 503 }
  - name: stairs
    duration: 4s
    faults:
      - ratio: { steps: [{ at: 0s, ratio: 10% }, { at: 1s, ratio: 20% }, { at: 2s, ratio: 0% }, { at: 3s, ratio: 50% }] }
        respond: { status: 503 }
assert:
  - { id: a-quarter, error.share: { min: 24.9%, max: 25.1% }, phase: rising }
  - { id: a-fifth, error.share: { min: 19.7%, max: 20.3% }, phase: stairs }
  - { id: too-much, error.share: { min: 30% }, phase: rising }
`

// What ramps come to is foretold and then found: the breaker never opens, so that all
// that is hit is seen.
func TestRampsAreForetold(t *testing.T) {
	f, plan := forecast(t, rising), load(t, rising)
	ran := carriedOut(t, plan)
	for id, want := range map[string]predict.Can{"a-quarter": predict.CanDecide, "a-fifth": predict.CanDecide, "too-much": predict.Contradicts} {
		if a := about(t, f, id); a.Can != want {
			t.Errorf("%s: %s (%s), want %s", id, a.Can, a.Reason, want)
		}
	}
	for _, v := range assert.Evaluate(plan.Spec(), ran).Verdicts {
		want := assert.Pass
		if v.ID == "too-much" {
			want = assert.Fail
		}
		if v.Result != want {
			t.Errorf("%s: %s, %s %s", v.ID, v.Result, v.Observed, v.Reason)
		}
	}
	var b strings.Builder
	if err := f.WriteText(&b, report.TextOptions{Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0% to 50% over 10s +1ms to 20ms over 10s 503", "10%, from 1s on 20%, from 2s on 0%, from 3s on 50% 503"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, b.String())
		}
	}
}

// In a run a ramp begins with its phase: played again from the phase's start in the
// trace, the script says of each request what became of it.
func TestARunsRampsBeginWithTheirPhases(t *testing.T) {
	plan := load(t, rising)
	ran := carriedOut(t, plan)
	player, err := fault.NewPlayer(plan.Injectors[0].Script, plan.Seed)
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]time.Duration{}
	for _, m := range ran.Marks {
		if m.Kind == trace.MarkPhaseStart {
			starts[m.Subject] = m.At
		}
	}
	for _, p := range plan.Phases {
		ph, want, got := player.Phase(p.Name), []string(nil), []string(nil)
		for _, a := range ran.Attempts {
			if a.Phase != p.Name {
				continue
			}
			v := ph.Decide(fault.Request{Method: a.Method, Path: a.Path, At: a.Arr - starts[p.Name]})
			want, got = append(want, fmt.Sprint(v.Rule != nil, v.Latency)), append(got, fmt.Sprint(a.Rule != "", a.Delay))
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("phase %s: %d requests, -script +run:\n%s", p.Name, len(got), diff)
		}
	}
}
