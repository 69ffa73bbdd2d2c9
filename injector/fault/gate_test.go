package fault_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

const ms = time.Millisecond

// rejectMany tells n rejections, all of calls sent at once, and returns who went.
func rejectMany(g *fault.Gate, n int, sent, now time.Duration) []int {
	var gone []int
	for range n {
		gone = append(gone, g.Reject(sent, now)...)
	}
	return gone
}

func wantGone(t *testing.T, what string, want, got []int) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: %v went, want %v", what, got, want)
	}
}

func TestGateReleasesOnRejectionsAfterTheProbes(t *testing.T) {
	g := fault.NewGate(fault.Hold{Probes: 3, Rejected: 10, Max: 250 * ms})
	for i := range 3 {
		g.Park(time.Duration(i) * ms)
	}
	wantGone(t, "sent before the third arrival, told after it", nil, rejectMany(g, 50, 1*ms, 5*ms))
	wantGone(t, "sent at the third arrival", nil, rejectMany(g, 50, 2*ms, 5*ms))
	wantGone(t, "nine of ten", nil, rejectMany(g, 9, 3*ms, 6*ms))
	wantGone(t, "the tenth", []int{1, 2, 3}, g.Reject(4*ms, 7*ms))
	wantGone(t, "nobody is parked", nil, rejectMany(g, 50, 8*ms, 9*ms))
	g.Park(10 * ms)
	g.Park(11 * ms)
	wantGone(t, "a new group, short of its third", nil, rejectMany(g, 50, 12*ms, 13*ms))
	g.Park(14 * ms)
	wantGone(t, "a new group counts anew", nil, rejectMany(g, 9, 15*ms, 16*ms))
	wantGone(t, "and goes", []int{4, 5, 6}, g.Reject(15*ms, 17*ms))
}

// A breaker that admits ten is told from one that admits three.
func TestGateParksAllThatArrive(t *testing.T) {
	g := fault.NewGate(fault.Hold{Probes: 3, Rejected: 10, Max: 250 * ms})
	for i := range 10 {
		g.Park(time.Duration(i) * ms)
		wantGone(t, "an arrival releases nobody", nil, g.Expire(time.Duration(i)*ms))
	}
	wantGone(t, "all ten", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, rejectMany(g, 10, 11*ms, 12*ms))
}

func TestGateMax(t *testing.T) {
	g := fault.NewGate(fault.Hold{Probes: 3, Rejected: 10, Max: 250 * ms})
	g.Park(0)
	g.Park(100 * ms)
	if due, ok := g.Due(2); !ok || due != 350*ms {
		t.Errorf("the second is due at %v, %v", due, ok)
	}
	wantGone(t, "too early", nil, g.Expire(249*ms))
	wantGone(t, "the first by its own arrival", []int{1}, g.Expire(250*ms))
	g.Park(260 * ms)
	wantGone(t, "the one who went counts among the three", []int{2, 3}, rejectMany(g, 10, 261*ms, 262*ms))
}

func TestGateLeaversEndAGroup(t *testing.T) {
	g := fault.NewGate(fault.Hold{Probes: 2, Rejected: 1, Max: 250 * ms})
	g.Park(0)
	g.Park(1 * ms)
	g.Leave(1)
	g.Leave(2)
	g.Park(10 * ms)
	wantGone(t, "the next group has one arrival", nil, g.Reject(11*ms, 11*ms))
	if _, ok := g.Due(1); ok {
		t.Error("who left is still parked")
	}
}

// Handlers run in any order; the probes' last arrival counts, not its place.
func TestGateTakesTheLatestOfTheProbes(t *testing.T) {
	g := fault.NewGate(fault.Hold{Probes: 2, Rejected: 1, Max: 250 * ms})
	g.Park(5 * ms)
	g.Park(4 * ms)
	wantGone(t, "sent between the two", nil, g.Reject(5*ms, 6*ms))
	wantGone(t, "sent after both", []int{1, 2}, g.Reject(6*ms, 7*ms))
}

func TestGateOneByOne(t *testing.T) {
	g := fault.NewGate(fault.Hold{Probes: 3, Rejected: 2, Max: 250 * ms, OneByOne: true})
	for i := range 3 {
		g.Park(time.Duration(i) * ms)
	}
	wantGone(t, "sent too early", nil, rejectMany(g, 5, 2*ms, 3*ms))
	wantGone(t, "the oldest", []int{1}, rejectMany(g, 2, 3*ms, 10*ms))
	wantGone(t, "the answer is not out", nil, rejectMany(g, 5, 11*ms, 12*ms))
	g.Answered(1, 15*ms)
	wantGone(t, "sent before the answer", nil, rejectMany(g, 5, 15*ms, 16*ms))
	if due, _ := g.Due(2); due != 260*ms {
		t.Errorf("the second is due at %v, want Max after the last release", due)
	}
	wantGone(t, "not due", nil, g.Expire(259*ms))
	wantGone(t, "Max lets one go", []int{2}, g.Expire(260*ms))
	wantGone(t, "and only one", nil, g.Expire(261*ms))
	g.Answered(2, 262*ms)
	wantGone(t, "the last", []int{3}, rejectMany(g, 2, 263*ms, 264*ms))
	g.Park(300 * ms)
	wantGone(t, "a new group does not wait for the old one's answer, but for its probes", nil, rejectMany(g, 5, 301*ms, 302*ms))
	if due, _ := g.Due(4); due != 550*ms {
		t.Errorf("the first of a new group is due at %v, want Max after its arrival", due)
	}
}

// Everyone parked goes exactly once, in order within a release, and never
// later than due when the caller keeps time.
func TestGateLosesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := fault.Hold{
			Probes:   rapid.IntRange(1, 4).Draw(t, "probes"),
			Rejected: rapid.IntRange(1, 4).Draw(t, "rejected"),
			Max:      time.Duration(rapid.IntRange(1, 20).Draw(t, "max")),
			OneByOne: rapid.Bool().Draw(t, "one by one"),
		}
		g := fault.NewGate(h)
		var now time.Duration
		in, out := []int{}, []int{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 3).Draw(t, "dt"))
			var gone []int
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0:
				in = append(in, g.Park(now))
			case 1:
				gone = g.Reject(now-time.Duration(rapid.IntRange(0, 3).Draw(t, "age")), now)
			case 2:
				gone = g.Expire(now)
			case 3:
				if len(out) > 0 {
					g.Answered(out[len(out)-1], now)
				}
			}
			if h.OneByOne && len(gone) > 1 {
				t.Fatalf("one by one, %v went", gone)
			}
			out = append(out, gone...)
		}
		for range in {
			now += h.Max
			out = append(out, g.Expire(now)...)
		}
		slices.Sort(out)
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatalf("parked and gone (-in +out):\n%s", diff)
		}
	})
}
