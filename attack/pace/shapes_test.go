package pace_test

import (
	"math"
	"math/big"
	"slices"
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
		{
			"steps",
			pace.Steps{{perSecond(2), time.Second}, {perSecond(0), time.Second}, {perSecond(4), time.Second}},
			3 * time.Second,
			[]time.Duration{0, 500 * ms, 2000 * ms, 2250 * ms, 2500 * ms, 2750 * ms, math.MaxInt64},
			6,
		},
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
			p := pace.Part{Rate: plain(constant("step")), For: time.Duration(rapid.Int64Range(1, int64(5*time.Second)).Draw(t, "for"))}
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

// integral is the integral of a ramp's rate, exactly, by the mean of its first and
// its last rate.
func integral(r pace.Ramp, t time.Duration) *big.Rat {
	rate := func(c pace.Constant) *big.Rat {
		if c.Num == 0 {
			return new(big.Rat)
		}
		return big.NewRat(int64(c.Num), int64(c.Per))
	}
	from, at := rate(r.From), big.NewRat(int64(t), 1)
	part := big.NewRat(int64(t), int64(r.Over))
	last := new(big.Rat).Sub(rate(r.To), from)
	last.Mul(last, part).Add(last, from)
	sum := new(big.Rat).Add(from, last)
	return sum.Mul(sum, at).Quo(sum, big.NewRat(2, 1))
}

// TestRampIsTheIntegralOfItsRate: a slot is due at the last nanosecond at which the
// integral has not passed its number, at any rate, near the end of any ramp.
func TestRampIsTheIntegralOfItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := func(name string) pace.Constant {
			return pace.Constant{
				Num: rapid.IntRange(0, 2_000_000_000).Draw(t, name),
				Per: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, name+" per")),
			}
		}
		r := pace.Ramp{From: rate("from"), To: rate("to"), Over: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "over"))}
		if rapid.Bool().Draw(t, "one unit") {
			r.To.Per = r.From.Per
		}
		count := r.Count(r.Over)
		if count == 0 || count == math.MaxInt {
			return // No rate, or more slots than can be counted.
		}
		n := rapid.IntRange(0, count-1).Draw(t, "n")
		if rapid.Bool().Draw(t, "among the last") {
			n = max(0, count-1-n%3)
		}
		due := r.Due(n)
		if due < 0 || due >= r.Over {
			t.Fatalf("slot %d of %d is due at %v", n, count, due)
		}
		slot := big.NewRat(int64(n), 1)
		if integral(r, due).Cmp(slot) > 0 || integral(r, due+1).Cmp(slot) <= 0 {
			t.Fatalf("slot %d is due at %d; the integral is %v there and %v a nanosecond later", n, due, integral(r, due), integral(r, due+1))
		}
		if r.Due(count) != math.MaxInt64 {
			t.Fatalf("slot %d is due at %v, of %d slots", count, r.Due(count), count)
		}
	})
}

// TestReachIsTheInverseOfMean, up to the digits of a float64.
func TestReachIsTheInverseOfMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, over := shape(t)
		rate, ok := s.(pace.Rate)
		if !ok {
			return
		}
		mean := rate.Mean(over)
		if count := float64(s.Count(over)); count < mean-1e-6 || count > mean+5 { // Each of up to 4 steps rounds up.
			t.Fatalf("%v slots, %v on average", count, mean)
		}
		x := rapid.Float64Range(0, 1).Draw(t, "x") * mean * 0.999999
		if at := rate.Reach(x); mean > 0 && (at < 0 || at > over || math.Abs(rate.Mean(at)-x) > 1e-3) {
			t.Fatalf("the integral comes to %v at %v of %v, where it is %v", x, at, over, rate.Mean(at))
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

// farthest is the statistic of Kolmogorov and Smirnov: how far the share of numbers
// below x comes from what it should be at most, times the root of how many they are.
// For numbers by chance it is above 1.63 once in a hundred times.
func farthest(xs []float64, should func(x float64) float64) float64 {
	slices.Sort(xs)
	n, far := float64(len(xs)), 0.0
	for i, x := range xs {
		far = max(far, should(x)-float64(i)/n, float64(i+1)/n-should(x))
	}
	return far * math.Sqrt(n)
}

// TestPoissonFollowsItsRate: on the clock of the rate's integral, arrivals are spread
// evenly and the gaps between them are exponential, whatever the rate does.
func TestPoissonFollowsItsRate(t *testing.T) {
	for name, rate := range map[string]pace.Rate{
		"constant": perSecond(200),
		"up":       pace.Ramp{From: perSecond(0), To: perSecond(400), Over: 10 * time.Second},
		"down":     pace.Ramp{From: perSecond(400), To: perSecond(0), Over: 10 * time.Second},
		"steps":    pace.Steps{{perSecond(500), 2 * time.Second}, {perSecond(0), 6 * time.Second}, {perSecond(500), 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			const over = 10 * time.Second
			s := pace.Poisson(rate, over, 11)
			n, mean, last := s.Count(over), rate.Mean(over), 0.0
			if math.Abs(float64(n)-mean) > 4*math.Sqrt(mean) {
				t.Fatalf("%d arrivals, want about %v", n, mean)
			}
			var even, gaps []float64
			for i := range n {
				at := rate.Mean(s.Due(i))
				even, gaps, last = append(even, at/mean), append(gaps, at-last), at
			}
			if d := farthest(even, func(x float64) float64 { return x }); d > 1.63 {
				t.Errorf("arrivals are not spread as the rate is: %v", d)
			}
			if d := farthest(gaps, func(x float64) float64 { return -math.Expm1(-x) }); d > 1.63 {
				t.Errorf("gaps are not exponential: %v", d)
			}
		})
	}
}

// TestPoissonRests: in a step without a rate nothing arrives.
func TestPoissonRests(t *testing.T) {
	rate := pace.Steps{{perSecond(3), 2 * time.Second}, {perSecond(0), 2 * time.Second}, {perSecond(3), 2 * time.Second}}
	for seed := range uint64(200) {
		s := pace.Poisson(rate, 6*time.Second, seed)
		if n := s.Count(4*time.Second) - s.Count(2*time.Second+1); n > 0 {
			t.Fatalf("%d arrivals during the rest, seed %d", n, seed)
		}
	}
}

// TestPoissonOfAHighRate has arrivals within a nanosecond of each other; each has
// one of its own.
func TestPoissonOfAHighRate(t *testing.T) {
	s := pace.Poisson(pace.Constant{Num: 1, Per: 2}, 100*time.Microsecond, 1)
	n := s.Count(time.Second)
	if n < 30_000 || n > 60_000 {
		t.Errorf("%d arrivals", n)
	}
	for i := 1; i < n; i++ {
		if s.Due(i) <= s.Due(i-1) {
			t.Fatalf("slots %d and %d are due at %v and %v", i-1, i, s.Due(i-1), s.Due(i))
		}
	}
	if s.Due(n-1) >= 100*time.Microsecond || s.Due(n) != math.MaxInt64 {
		t.Errorf("the last is due at %v, the next at %v", s.Due(n-1), s.Due(n))
	}
}

func BenchmarkRampDue(b *testing.B) {
	r := pace.Ramp{From: perSecond(10), To: perSecond(20_000), Over: time.Minute}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r.Due(n % 600_000)
	}
}

func BenchmarkPoisson(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		pace.Poisson(perSecond(10_000), time.Minute, 1)
	}
}
