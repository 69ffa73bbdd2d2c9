package predict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments/predict"
)

// What users of sessions do is up to the answers, so nothing from their first phase on
// is predicted but bounds, which a real run keeps to. What comes before is predicted.
func TestSessionsAreNotPredicted(t *testing.T) {
	src := read(t, "../scenario-paging.yaml")
	const before = "\nphases:\n  - { name: calm, duration: 1s, load: { rate: 50/s } }\n  - { name: tired, duration: 1s, load: { rate: 50/s }, faults: [{ respond: { status: 503 } }] }\n  - { name: rest, pause: 500ms }\n  - { name: well, load: { calls: 30 } }\n"
	src = strings.Replace(src, "\nphases:\n", before, 1) +
		"  - { id: calm, breaker.stays_closed: search, phase: calm }\n  - { id: tired, breaker.opens: search, phase: tired }\n"
	plan := load(t, src)
	f := forecast(t, src)
	for _, a := range f.Assertions {
		early := a.ID == "calm" || a.ID == "tired"
		if (a.Can == predict.NotPredicted) == early || !early && !strings.Contains(a.Reason, "phase healthy") {
			t.Errorf("%s: %s: %s", a.ID, a.Can, a.Reason)
		}
	}
	if !slices.ContainsFunc(f.Supposed, func(s string) bool { return strings.Contains(s, "from phase healthy on nothing else is predicted") }) {
		t.Errorf("supposed is %q", f.Supposed)
	}
	// 10 users of 3 rounds, which may begin anew 3 times: the list, and up to 20 pages.
	if got, want := f.Phases[4].Requests, (predict.Count{Least: 30, Most: 30 * 4 * 21}); got != want {
		t.Errorf("phase healthy sends %s, want %s", got, want)
	}
	ran := carriedOut(t, plan)
	for i, p := range f.Phases {
		got := ran.Phases[i]
		if got.Sent < p.Requests.Least || got.Sent > p.Requests.Most || p.Requests.Most == 0 && got.Sent > 0 {
			t.Errorf("%d calls were sent in phase %s, the forecast was %s", got.Sent, p.Name, p.Requests)
		}
		if took := got.To - got.From; i > 3 && (took < p.Lasts.Least || took > p.Lasts.Most) {
			t.Errorf("phase %s took %s, the forecast was %s", p.Name, took, p.Lasts)
		}
		if said := p.States[0] != "not predicted"; said != (i < 4) || i >= 4 && len(p.Attempts) > 0 {
			t.Errorf("phase %s: breaker %q, attempts %v", p.Name, p.States, p.Attempts)
		}
	}
	segments := f.Breakers[0].Segments
	if last := segments[len(segments)-1]; len(segments) < 3 || last.To.Hi > f.Phases[0].Lasts.Most*4 || !last.Last {
		t.Errorf("the breaker is foreseen to be %+v", segments)
	}
	if v := assert.Evaluate(plan.Spec(), ran).Verdicts; len(v) != len(f.Assertions) {
		t.Errorf("%d verdicts, %d forecasts", len(v), len(f.Assertions))
	}
}
