package pace_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/attack/pace"
)

func perSecond(n int) pace.Constant { return pace.Constant{Num: n, Per: time.Second} }

// TestShapes shows when the slots of each shape are due.
func TestShapes(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		s    pace.Schedule
		over time.Duration
		due  []time.Duration // of the first slots
		want int             // slots before over
	}{
		{"ramp up", pace.Ramp{From: perSecond(0), To: perSecond(200), Over: time.Second}, time.Second, []time.Duration{0, 100 * ms, 141421356}, 100},
		{"ramp down", pace.Ramp{From: perSecond(200), To: perSecond(0), Over: time.Second}, time.Second, []time.Duration{0, 5012562}, 100},
		{"level ramp", pace.Ramp{From: perSecond(100), To: perSecond(100), Over: time.Second}, time.Second, []time.Duration{0, 10 * ms, 20 * ms}, 100},
		{"no ramp", pace.Ramp{Over: time.Second}, time.Second, []time.Duration{math.MaxInt64}, 0},
		{"after a ramp", pace.Ramp{From: perSecond(10), To: perSecond(10), Over: time.Second}, time.Hour, nil, 10},
		{"steps", pace.Steps{{perSecond(2), time.Second}, {perSecond(0), time.Second}, {perSecond(4), time.Second}}, 3 * time.Second,
			[]time.Duration{0, 500 * ms, 2000 * ms, 2250 * ms, 2500 * ms, 2750 * ms, math.MaxInt64}, 6},
		{"a part of a step", pace.Steps{{perSecond(2), time.Second}, {perSecond(4), time.Second}}, 1251 * ms, nil, 4},
		{"burst", pace.Burst{Calls: 3, Every: time.Second}, 1001 * ms, []time.Duration{0, 1, 2, time.Second, time.Second + 1}, 6},
		{"a burst at the end is not before it", pace.Burst{Calls: 3, Every: time.Second}, time.Second, nil, 3},
		{"no burst", pace.Burst{Calls: 3}, time.Second, []time.Duration{math.MaxInt64}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for n, want := range tc.due {
				if got := tc.s.Due(n); got != want {
					t.Errorf("Due(%d) = %v, want %v", n, got, want)
				}
			}
			if got := tc.s.Count(tc.over); got != tc.want {
				t.Errorf("Count(%v) = %d, want %d", tc.over, got, tc.want)
			}
		})
	}
}

// shape draws any schedule and how long it lasts.
func shape(t *rapid.T) (pace.Schedule, time.Duration) {
	constant := func(name string) pace.Constant {
		return pace.Constant{
			Num: rapid.IntRange(0, 5000).Draw(t, name),
			Per: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, name+" per"),
		}
	}
	over := time.Duration(rapid.Int64Range(1, int64(20*time.Second)).Draw(t, "over"))
	plain := func(c pace.Constant) pace.Constant { // A rate that can be listed in a moment.
		c.Per = max(c.Per, time.Second)
		return c
	}
	ramp := func(name string) pace.Ramp {
		return pace.Ramp{From: plain(constant(name + " from")), To: plain(constant(name + " to")), Over: over}
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return ramp("ramp"), over
	case 1:
		var s pace.Steps
		total := time.Duration(0)
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			p := pace.Part{Schedule: plain(constant("step")), For: time.Duration(rapid.Int64Range(1, int64(5*time.Second)).Draw(t, "for"))}
			s, total = append(s, p), total+p.For
		}
		return s, total
	case 2:
		return pace.Burst{Calls: rapid.IntRange(1, 50).Draw(t, "calls"), Every: time.Duration(rapid.Int64Range(1e7, 1e10).Draw(t, "every"))}, over
	default:
		return pace.Poisson(ramp("poisson"), over, rapid.Uint64().Draw(t, "seed")), over
	}
}

func TestCountIsTheInverseOfDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, over := shape(t)
		d := time.Duration(rapid.Int64Range(1, int64(over)).Draw(t, "d"))
		n := s.Count(d)
		if n > 0 && s.Due(n-1) >= d {
			t.Fatalf("Count(%v) = %d, but slot %d is due at %v", d, n, n-1, s.Due(n-1))
		}
		if s.Due(n) < d {
			t.Fatalf("Count(%v) = %d, but slot %d is due at %v", d, n, n, s.Due(n))
		}
		for i := 1; i < min(n, 2000); i++ {
			if s.Due(i) < s.Due(i-1) {
				t.Fatalf("slot %d is due at %v, after slot %d at %v", i, s.Due(i), i-1, s.Due(i-1))
			}
		}
	})
}

// TestRampIsTheIntegralOfItsRate adds up the rate in small steps.
func TestRampIsTheIntegralOfItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.IntRange(0, 2000).Draw(t, "from"), rapid.IntRange(0, 2000).Draw(t, "to")
		over := time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Hour)).Draw(t, "over"))
		r := pace.Ramp{From: perSecond(from), To: perSecond(to), Over: over}
		at := time.Duration(rapid.Float64Range(0, 1).Draw(t, "part") * float64(over))
		x := at.Seconds()
		want := float64(from)*x + float64(to-from)/over.Seconds()*x*x/2
		if got := r.Count(at); math.Abs(float64(got)-want) > 1.001 {
			t.Fatalf("%d slots before %v, want %v", got, at, want)
		}
	})
}

// TestPoisson compares a thousand phases with what chance may do: the count has
// the variance of its mean, and gaps are exponential.
func TestPoisson(t *testing.T) {
	const phases, mean = 1000, 200.0
	sum, squares, gaps, long := 0.0, 0.0, 0, 0
	for seed := range uint64(phases) {
		s := pace.Poisson(perSecond(100), 2*time.Second, seed)
		n := s.Count(2 * time.Second)
		sum, squares = sum+float64(n), squares+float64(n)*float64(n)
		for i := 1; i < n; i++ {
			gaps++
			if s.Due(i)-s.Due(i-1) > 20*time.Millisecond {
				long++ // twice the mean gap: one in e^2
			}
		}
	}
	average := sum / phases
	variance := squares/phases - average*average
	if math.Abs(average-mean) > 4*math.Sqrt(mean/phases) {
		t.Errorf("%v arrivals on average, want %v", average, mean)
	}
	if variance < 0.8*mean || variance > 1.2*mean {
		t.Errorf("their variance is %v, want about %v", variance, mean)
	}
	if share := float64(long) / float64(gaps); math.Abs(share-math.Exp(-2)) > 0.01 {
		t.Errorf("%v of the gaps are twice the mean, want %v", share, math.Exp(-2))
	}
}

func TestPoissonIsRepeatable(t *testing.T) {
	a, b := pace.Poisson(perSecond(50), time.Minute, 7), pace.Poisson(perSecond(50), time.Minute, 7)
	other := pace.Poisson(perSecond(50), time.Minute, 8)
	same := 0
	for n := range a.Count(time.Minute) {
		if a.Due(n) != b.Due(n) {
			t.Fatalf("slot %d is due at %v and at %v", n, a.Due(n), b.Due(n))
		}
		if a.Due(n) == other.Due(n) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("another seed has %d of the same instants", same)
	}
}
