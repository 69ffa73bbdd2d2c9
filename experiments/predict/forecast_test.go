package predict_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// What is shipped can be decided.
func TestShippedExperimentsCanBeDecided(t *testing.T) {
	files := []string{
		"../../target/zoo/spring-resilience4j/experiment.yaml",
		"../../target/zoo/spring-resilience4j/timeout.yaml",
		"../../target/zoo/gobreaker/experiment.yaml",
		"../../target/zoo/opossum/experiment.yaml",
	}
	catalogue, err := filepath.Glob("../*.yaml")
	if err != nil || len(catalogue) < 15 {
		t.Fatalf("%d experiments, %v", len(catalogue), err)
	}
	for _, file := range append(files, catalogue...) {
		t.Run(file, func(t *testing.T) {
			f := forecast(t, read(t, file))
			if strings.HasSuffix(file, "/scenario-paging.yaml") {
				t.Skip("it sends sessions, of which TestSessionsAreNotPredicted")
			}
			if bad := undecided(f); len(bad) > 0 {
				t.Errorf("cannot be decided: %v", bad)
			}
			for _, a := range f.Assertions {
				if a.Notices == "" {
					t.Errorf("no wrong service was tried on %s", a.ID)
				}
			}
		})
	}
}

// Experiments that ask for what their load cannot show, or for something else than
// they declare: the assertion is named, and what to do.
func TestCrippledQuickstart(t *testing.T) {
	for name, c := range map[string]struct {
		swaps  []string
		id     string
		can    predict.Can
		remedy string
	}{
		"rate too low for the tolerance": {[]string{"rate: 200/s", "rate: 15/s"}, "waits-400ms", predict.CannotDecide, "raise the rate while the breaker is open"},
		"phase shorter than the wait":    {[]string{"duration: 1s", "duration: 300ms"}, "waits-400ms", predict.CannotDecide, "make the phase longer than the wait"},
		"no probe in the phase":          {[]string{"duration: 1s", "duration: 300ms"}, "reopens", predict.CannotDecide, "make the phase longer than the wait"},
		"no hold under the probes":       {[]string{"hold: { max: 200ms }, ", ""}, "three-probes", predict.CannotDecide, "hold the probes"},
		"too few calls for a share":      {[]string{"duration: 400ms }", "duration: 50ms }"}, "honest", predict.CannotDecide, "send more calls"},
		"two at a time":                  {[]string{"load: { calls: 30, gap: 5ms, until: open }\n    faults: [{ script", "load: { calls: 30, concurrency: 2, gap: 5ms, until: open }\n    faults: [{ script"}, "trips", predict.CannotDecide, "concurrency: 1"},
		"four probes of three":           {[]string{"exactly: 3", "exactly: 4"}, "three-probes", predict.Contradicts, "correct the assertion"},
		"opens at another outcome":       {[]string{"at_call: 10", "at_call: 9"}, "trips", predict.CannotDecide, "fresh SUT"},
		"waits for something else":       {[]string{"equals: 400ms", "equals: 600ms"}, "waits-400ms", predict.Contradicts, "correct the assertion"},
		"no fallback, and one asserted":  {[]string{"    fallback: { status: 200, body: '{\"state\":\"QUEUED\"}' }\n", ""}, "fallback", predict.Contradicts, "correct the assertion"},
		"a bound that catches nothing":   {[]string{"max: 0 }", "max: 50 }"}, "no-leak", predict.WouldNotNotice, "more narrowly"},
		"faster than is supposed":        {[]string{"p99: 50ms", "p99: 2ms"}, "fail-fast", predict.NotPredicted, "allow for more time"},
	} {
		t.Run(name, func(t *testing.T) {
			f := forecast(t, quickstart(t, c.swaps...))
			a := about(t, f, c.id)
			if a.Can != c.can || !strings.Contains(a.Remedy, c.remedy) || a.Reason == "" {
				t.Errorf("%s %s: %q, to do %q; want %s, to do %q", a.ID, a.Can, a.Reason, a.Remedy, c.can, c.remedy)
			}
			var b strings.Builder
			if err := f.WriteText(&b, report.TextOptions{Width: 80}); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{strings.ToUpper(string(c.can)) + "  " + c.id, "(exit 3)"} {
				if !strings.Contains(b.String(), want) {
					t.Errorf("the text does not say %q:\n%s", want, b.String())
				}
			}
		})
	}
}

// An undeclared breaker says nothing about phases before any fault.
func TestUndeclaredBreaker(t *testing.T) {
	f := forecast(t, `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: undeclared }
sut: { base_url: "http://127.0.0.1:8080" }
injectors: { payments: { listen: "127.0.0.1:9901", stub: { status: 200 } } }
load:
  rate: 100/s
  targets: [{ name: checkout, path: /checkout }]
breakers: { payments: {} }
phases:
  - { name: baseline, duration: 1s }
  - { name: outage, duration: 2s, faults: [{ respond: { status: 503 } }] }
assert:
  - { id: honest, error.share: { max: 0% }, phase: baseline }
  - { id: opens, breaker.opens: payments, phase: outage, within: 1s }
  - { id: errors, error.share: { max: 90% }, phase: outage }
`)
	for _, a := range f.Assertions {
		want := predict.NotPredicted
		if a.ID == "honest" {
			want = predict.CanDecide
		}
		if a.Can != want {
			t.Errorf("%s %s, want %s", a.ID, a.Can, want)
		}
	}
	if len(f.Breakers) != 0 {
		t.Errorf("states of an undeclared breaker: %v", f.Breakers)
	}
}

// below adds a phase in which the breaker is to stay closed with 40 % failing.
func below(concurrency int) []string {
	const last = "{ name: recovery, duration: 800ms }"
	return []string{
		last, fmt.Sprintf("%s\n  - { name: below, load: { calls: 100, concurrency: %d }, faults: [{ ratio: 40%%, respond: { status: 503 } }] }", last, concurrency),
		"\nassert:", "\nassert:\n  - { id: stays, breaker.stays_closed: payments, phase: below }",
	}
}

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		swaps []string
		phase string
		says  string
	}{
		"nothing":           {},
		"too few in flight": {[]string{"  timeout: 2s", "  timeout: 2s\n  max_in_flight: 100"}, "outage", "up to 200 calls may be under way"},
		"held beyond patience": {[]string{
			"  - { id: closes", "  - { id: gives-up, downstream.abandoned_after: { injector: payments, equals: 300ms, tolerance: 10% }, phase: hang }\n  - { id: closes",
			"{ name: recovery, duration: 800ms }", "{ name: recovery, duration: 800ms }\n  - { name: hang, duration: 1s, faults: [{ hang: true }] }",
		}, "probes", "more than 0.6 of 300ms (the timeout that gives-up asks for)"},
		"held, and few come":                   {[]string{"duration: 700ms\n", "duration: 700ms\n    load: { rate: 50/s }\n"}, "probes", "10 calls come while probes are held for up to 200ms; it takes 3 probes and 10 rejected"},
		"just below the threshold, overtaking": {below(4), "below", "4 of any 10 fail, 5 open the breaker, and up to 4 calls"},
		"just below the threshold, in order":   {below(1), "", ""},
		"single flight, many at once":          {[]string{"\nload:", "\ncorrelate: { order: [single_flight] }\nload:"}, "baseline", "the run refuses to start"},
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			f := forecast(t, quickstart(t, c.swaps...))
			for _, w := range f.Warnings {
				found = found || w.Phase == c.phase && strings.Contains(w.What, c.says) && w.Remedy != ""
			}
			if c.says == "" && len(f.Warnings) > 0 || c.says != "" && !found {
				t.Errorf("warnings %+v, want one of phase %q that says %q", f.Warnings, c.phase, c.says)
			}
		})
	}
}

// A phase that is shorter than the wait is said to be.
func TestWaits(t *testing.T) {
	f := forecast(t, quickstart(t, "duration: 1s", "duration: 300ms"))
	said := strings.Join(f.Waits, "\n")
	for _, want := range []string{
		"4 waits of 400ms for breaker payments, 1.6s together",
		"outage lasts 300ms, less than the 400ms that breaker payments stays open: no interval is seen whole",
		"probes lasts 700ms and sees at most 1 open interval of 400ms",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
}

// Equal plans give equal forecasts, as bytes.
func TestSameForecastEveryTime(t *testing.T) {
	var texts [2]bytes.Buffer
	for i := range texts {
		f := forecast(t, quickstart(t))
		if err := f.WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteText(&texts[i], report.TextOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(texts[0].String(), texts[1].String()); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(texts[0].String(), "null") {
		t.Error("a list is null")
	}
	for line := range strings.Lines(texts[0].String()[strings.LastIndex(texts[0].String(), "\n}\n"):]) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A plan without phases is refused.
func TestNoPhases(t *testing.T) {
	plan := load(t, quickstart(t))
	plan.Phases = nil
	if _, err := predict.Of(plan); err == nil || !strings.Contains(err.Error(), "no phases") {
		t.Errorf("error %v", err)
	}
}

// other is a service whose inside is not known, with two replicas, a route that must
// not fall back, and a steady state.
const other = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: other }
sut: { replicas: { a: "http://127.0.0.1:8081", b: "http://127.0.0.1:8082" } }
injectors:
  payments: { listen: "127.0.0.1:9901", stub: { status: 200 } }
  stock: { listen: "127.0.0.1:9902", upstream: "http://127.0.0.1:9802" }
load:
  rate: 400/s
  timeout: 2s
  targets:
    - { name: pay, method: POST, path: /pay, depends_on: [payments] }
    - { name: look, path: /look, depends_on: [payments, stock] }
  classify: { primary: { status: 200, contains: PAID }, fallback: { status: 203, contains: QUEUED }, rejected: { status: 503 } }
breakers: { payments: { injector: payments, window: 10, minimum_calls: 10, wait: 300ms, permitted_calls: 3 } }
phases:
  - { name: baseline, duration: 1s }
  - { name: outage, duration: 2s, faults: [{ injector: payments, match: { path: /charges* }, respond: { status: 503 } }] }
  - { name: hang, duration: 2s, faults: [{ injector: stock, hang: true }] }
  - { name: recovery, duration: 2s }
steady_state: ["primary.share >= 99%", "latency.p99 <= 200ms"]
assert:
  - { id: looks-fall-back, fallback.share: { min: 90% }, phase: outage }
  - { id: pays-do-not, fallback.forbidden: { routes: [/pay] }, phase: outage }
  - { id: rejected, rejected.share: { min: 20% }, targets: [pay], phase: outage }
  - { id: again, recovery.time: { max: 1s, target: "primary.share >= 99%", for: 500ms }, phase: recovery }
`

func TestServiceOfUnknownInside(t *testing.T) {
	f := forecast(t, other)
	want := map[string]predict.Can{
		"looks-fall-back": predict.Contradicts, // Half of the calls are to /pay, which has no fallback.
		"again":           predict.Contradicts, // The other dependency hangs meanwhile.
	}
	if diff := cmp.Diff(want, undecided(f)); diff != "" {
		t.Errorf("undecided (-want +got):\n%s", diff)
	}
	if about(t, f, "steady-state").Notices != "answers every call with an error" {
		t.Errorf("steady state: %+v", about(t, f, "steady-state"))
	}
	lanes := map[string]bool{}
	for _, b := range f.Breakers {
		lanes[b.Name+"/"+b.Instance] = true
	}
	if diff := cmp.Diff(map[string]bool{"payments/a": true, "payments/b": true}, lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	said := strings.Join(f.Supposed, "\n")
	for _, want := range []string{
		"the real stock answers in 2ms", "without retries", "by its fallback", "gives up on payments, stock after 1s, half of load.timeout",
		"is what the faults match",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it is not said that %q:\n%s", want, said)
		}
	}
}

// Where faultline's own service is set otherwise than declared, it is said.
func TestReferenceSetOtherwise(t *testing.T) {
	f := forecast(t, quickstart(t, "permitted_calls: 3", "permitted_calls: 10", "    timeout: 1s\n", "    timeout: 1s\n    defect: leak\n"))
	said := strings.Join(f.Supposed, "\n")
	for _, want := range []string{"set otherwise than breakers.payments says", "has the defect leak; played is one without"} {
		if !strings.Contains(said, want) {
			t.Errorf("it is not said that %q:\n%s", want, said)
		}
	}
	if len(undecided(f)) > 0 {
		t.Errorf("undecided: %v", undecided(f))
	}
}

// A forecast says of each fault whom it hits, and what its law of latencies comes to.
func TestFaultsAreDescribed(t *testing.T) {
	for file, want := range map[string][]string{
		"../testdata/latency.good.yaml": {
			"+normal (p50 100ms, p90 126ms, p99 147ms, mean 100ms)",
			"first 5 +lognormal (p50 100ms, p90 215ms, p99 400ms, mean 119ms)",
			"+trace (p50 12ms, p90 1.5s, p99 1.5s, mean 507ms)",
		},
		"../testdata/selection.good.yaml": {
			"30% reset", "12.5% shuffled by 50 by header x-user close", "33.3% at random reset", "every 5 by cookie session reset",
			"bursts of 5 in 25 by peer reset", "after 10 reset",
		},
		"../testdata/ramps.good.yaml": {
			"0% to 50% over 30s reset", "10%, from 10s on 30%, from 20s on 0% close", "+0s, from 10s on 200ms",
			"33.3% to 5% over 20s at random by path +10ms to 500ms over 1m0s", "100% to 0% over 1m30s +1s to 0s over 1h0m0s",
		},
		"../testdata/match.good.yaml": {
			"reset for GET /a/*/b", "reset for path ~ ^/users/[0-9]+$", "reset for grpc shop.Payments/*",
			"reset for query debug= query plan=gold", "reset for header X-Kind=card header X-User ~ ^a",
			`reset for body $.last=null body $.order.kind="card" body $.tries=3`, "reset for peer 10.0.0.0/8",
		},
	} {
		plan, err := experiments.LoadPlan(file, []byte(read(t, file)), 1)
		if err != nil {
			t.Fatal(err)
		}
		f, err := predict.Of(plan)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range f.Phases {
			got = append(got, p.Faults...)
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%q is not in %q", w, got)
			}
		}
	}
}

// Whatever can be written can be predicted.
func TestEveryGoodPlan(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	catalogue, err := filepath.Glob("../*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, catalogue...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			plan, err := experiments.LoadPlan(file, []byte(read(t, file)), 1)
			if err != nil {
				t.Fatal(err)
			}
			f, err := predict.Of(plan)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Phases) == 0 || len(f.Assertions) == 0 || f.Duration.Least <= 0 {
				t.Errorf("forecast %+v", f)
			}
			for _, a := range f.Assertions {
				if a.Can != predict.CanDecide && (a.Reason == "" || a.Remedy == "") {
					t.Errorf("%s %s, because %q, to do %q", a.ID, a.Can, a.Reason, a.Remedy)
				}
			}
		})
	}
}

// A wrong service that an assertion cannot be asked about, as the one before it
// fails, does not go unseen.
func TestNoticedByTheOneBefore(t *testing.T) {
	f := forecast(t, quickstart(t, "  - { name: recovery, duration: 800ms }", "  - name: recovery\n    duration: 2s\n    faults: [{ hold: { one_by_one: true, rejected: 3, max: 100ms } }]",
		"breaker.closes: payments, phase: recovery, within: 600ms", "breaker.closes: payments, phase: recovery, after_successes: 3"))
	a := about(t, f, "closes")
	if want := "never closes again; closes after 4 good probes"; a.Can != predict.CanDecide || a.Notices != want {
		t.Errorf("%+v, want it to notice a service that %s", a, want)
	}
}
