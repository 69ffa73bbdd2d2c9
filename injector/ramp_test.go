package injector_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// rising is a fault whose share rises from nothing to half over ten seconds, and its
// latency from 10 ms to 20 ms.
func rising() fault.Rule {
	r := answering(503)
	r.Select = fault.Select{Kind: fault.SelectRatio, Ramp: &fault.Ramp{Points: []fault.RampPoint{{Den: 1}, {At: 10 * time.Second, Num: 1, Den: 2}}}}
	r.Latency.Ramp = &fault.LatencyRamp{Points: []fault.LatencyPoint{{Latency: 10 * ms}, {At: 10 * time.Second, Latency: 20 * ms}}}
	return r
}

// verdicts are what a script says of requests at these offsets in its phase "p".
func verdicts(t *testing.T, rule fault.Rule, at []time.Duration) []string {
	t.Helper()
	player, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {rule}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	ph := player.Phase("p")
	var all []string
	for _, offset := range at {
		v := ph.Decide(fault.Request{Method: "GET", Path: "/", At: offset})
		all = append(all, verdictOf(v.Rule != nil, v.Latency))
	}
	return all
}

func verdictOf(hit bool, delay time.Duration) string { return fmt.Sprint(hit, " ", delay) }

// recorded are the verdicts of what arrived, and when that was.
func recorded(as []trace.Attempt, began time.Duration) (got []string, at []time.Duration) {
	for _, a := range as {
		got, at = append(got, verdictOf(a.Rule != "", a.Delay)), append(at, a.Arr-began)
	}
	return got, at
}

// spaced sends n requests so far apart, one at a time.
func (w *world) spaced(n int, gap time.Duration) {
	for range n {
		get(w.client, w.URL())
		time.Sleep(gap)
	}
}

// A ramp begins when its phase does, to the nanosecond, and anew each time.
func TestARampRunsOnThePhasesClock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		time.Sleep(3 * time.Second) // A phase before.
		for range 2 {
			w.Enter("p")
			began, before := w.rec.Since(time.Now()), len(w.snapshot())
			w.spaced(100, 150*ms)
			got, at := recorded(w.snapshot()[before:], began)
			if diff := cmp.Diff(verdicts(t, rising(), at), got); diff != "" {
				t.Errorf("-script +injector:\n%s", diff)
			}
			hits := 0
			for _, v := range got {
				if v[:4] == "true" {
					hits++
				}
			}
			if at[0] != 0 || hits < 30 || hits > 40 { // 100 requests in 15 s and some: a third of them or so.
				t.Errorf("%d hits, the first request at %v", hits, at[0])
			}
			w.configured(t, at)
		}
	}, rising())
}

// configured compares the configured share of a state with the mean of the ramp.
func (w *world) configured(t *testing.T, at []time.Duration) {
	t.Helper()
	sum := 0.0
	for _, offset := range at {
		num, den := rising().Select.Ramp.Share(offset)
		sum += float64(num) / float64(den)
	}
	r := w.State().Rules[0]
	if mean := sum / float64(len(at)); r.Configured == nil || math.Abs(*r.Configured-mean) > 1e-9 || math.Abs(float64(r.Hit)/float64(r.Seen)-mean) >= 1/float64(r.Seen) {
		t.Errorf("configured %v, want %v; %d hits of %d", r.Configured, mean, r.Hit, r.Seen)
	}
}

// Before anything came, a ramp has no mean.
func TestARampThatSawNothing(t *testing.T) {
	d := start(t, injector.Config{}, rising())
	if r := d.State().Rules[0]; r.Configured != nil {
		t.Errorf("configured %v", *r.Configured)
	}
}

// The ledger is the same for the same instants of arrival, and only ramps make it
// depend on them.
func TestTheLedgerOfARamp(t *testing.T) {
	constant := ratio(answering(503), 1, 4)
	hash := func(r fault.Rule, gap time.Duration) (hash string) {
		inVirtualTime(t, func(_ *testing.T, w *world) {
			w.Enter("p")
			w.spaced(50, gap)
			hash = w.rec.Snapshot(trace.Header{}).LedgerHash()
		}, r)
		return hash
	}
	if a, b := hash(rising(), 100*ms), hash(rising(), 100*ms); a != b {
		t.Errorf("the same instants: %s and %s", a, b)
	}
	if a, b := hash(rising(), 100*ms), hash(rising(), 200*ms); a == b {
		t.Error("other instants have the same ledger")
	}
	if a, b := hash(constant, 100*ms), hash(constant, 200*ms); a != b {
		t.Error("the ledger of a constant share depends on the instants")
	}
}

// Where a phase waits for the first request, its ramps do; of several dependencies, for
// the first request of any. A plan that is put in meanwhile waits as well, and a phase
// that is entered does not.
func TestAPhaseThatBeginsWithTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := injector.NewFirst()
		var deps [2]dependency
		var nets [2]pipes
		for i := range deps {
			nets[i] = newPipes()
			rec := trace.NewRecorder(time.Now())
			in, err := injector.Start(t.Context(), injector.Config{
				Name: "dep", Recorder: rec, Seed: 1, Listen: nets[i].listen, Phase: "p", First: first,
				Script: fault.Script{Phases: map[string][]fault.Rule{"p": {rising()}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			deps[i] = dependency{in, rec}
			defer in.Close()
		}
		time.Sleep(time.Minute)
		if _, err := deps[0].Replace(fault.Script{Phases: map[string][]fault.Rule{"p": {rising()}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		select {
		case <-first.Came():
			t.Fatal("nothing came")
		default:
		}
		send := func(i, n int) {
			c := newClient(nets[i])
			defer c.CloseIdleConnections()
			for range n {
				get(c, deps[i].URL())
				time.Sleep(500 * ms)
			}
		}
		began := deps[0].rec.Since(time.Now())
		send(1, 6)
		if at := deps[0].rec.Since(first.At()); at != began {
			t.Errorf("the first came at %v, want %v", at, began)
		}
		send(0, 30)
		got, at := recorded(deps[0].snapshot(), began)
		if diff := cmp.Diff(verdicts(t, rising(), at), got); diff != "" || at[0] < 3*time.Second {
			t.Errorf("its first at %v, -script +injector:\n%s", at[0], diff)
		}
		phaseBeginsBehindAnAddedFault(t)
		deps[0].Enter("p")
		began = deps[0].rec.Since(time.Now())
		send(0, 30)
		got, at = recorded(deps[0].snapshot()[30:], began)
		if diff := cmp.Diff(verdicts(t, rising(), at), got); diff != "" {
			t.Errorf("entered: -script +injector:\n%s", diff)
		}
	})
}

// What an added fault takes is the first request as well.
func phaseBeginsBehindAnAddedFault(t *testing.T) {
	t.Helper()
	p, first := newPipes(), injector.NewFirst()
	in, err := injector.Start(t.Context(), injector.Config{Name: "dep", Recorder: trace.NewRecorder(time.Now()), Listen: p.listen, First: first})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Apply(answering(418), time.Minute); err != nil {
		t.Fatal(err)
	}
	c := newClient(p)
	defer c.CloseIdleConnections()
	get(c, in.URL())
	<-first.Came()
}

// An added fault has its own beginning.
func TestARampThatIsAdded(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		time.Sleep(time.Minute)
		if _, err := w.Apply(rising(), time.Minute); err != nil {
			t.Fatal(err)
		}
		began := w.rec.Since(time.Now())
		w.spaced(40, 200*ms)
		got, at := recorded(w.snapshot(), began)
		if diff := cmp.Diff(verdicts(t, rising(), at), got); diff != "" {
			t.Errorf("-script +injector:\n%s", diff)
		}
	})
}
