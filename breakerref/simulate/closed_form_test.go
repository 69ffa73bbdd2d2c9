package simulate_test

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/simulate"
)

// failing is a model of which every attempt fails by the same chance from the beginning,
// one call every 100 ms, answered at once.
func failing(share float64, calls int) simulate.Model {
	m := simulate.Default()
	m.Traffic.Rate, m.Traffic.Arrivals = 10, simulate.Even
	m.Traffic.Latency = simulate.Latency{}
	m.Duration = time.Duration(calls) * 100 * time.Millisecond
	m.Traffic.Phases = []simulate.Phase{{Span: simulate.Span{To: m.Duration}, Failures: [2]float64{share, share}}}
	return m
}

// Where all fails, a breaker opens at exactly its minimum.
func TestOpensAtTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := failing(1, 400)
		m.Breaker.Window = rapid.IntRange(1, 200).Draw(t, "window")
		m.Breaker.MinimumCalls = rapid.IntRange(1, 300).Draw(t, "minimum")
		m.Breaker.FailureRate = float32(rapid.IntRange(1, 100).Draw(t, "rate"))
		want := int64(min(m.Breaker.Window, m.Breaker.MinimumCalls))
		if rapid.Bool().Draw(t, "seconds") {
			m.Breaker.WindowType, m.Breaker.Window = breakerref.TimeBased, 60
			want = int64(m.Breaker.MinimumCalls)
		}
		got := simulate.Play(&m, rapid.Uint64().Draw(t, "seed"), 0).Breakers[0].Opened
		if got == nil || got.Outcomes != want {
			t.Fatalf("opened %+v, want at outcome %d", got, want)
		}
	})
}

// A breaker whose first full window is judged alone opens with the binomial probability.
func TestFirstWindowIsBinomial(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		rate  float32
		share float64
	}{{10, 5, 50, 0.3}, {20, 4, 20, 0.1}, {5, 1, 20, 0.01}, {100, 30, 30, 0.25}} {
		m := failing(c.share, c.n)
		m.Breaker.Window, m.Breaker.MinimumCalls, m.Breaker.FailureRate = c.n, c.n, c.rate
		const trials = 40_000
		opened := 0
		for i := range trials {
			if o := simulate.Play(&m, 7, uint64(i)).Breakers[0].Opened; o != nil {
				opened++
			}
		}
		want := 0.0
		for k := c.k; k <= c.n; k++ {
			want += math.Exp(lchoose(c.n, k) + float64(k)*math.Log(c.share) + float64(c.n-k)*math.Log(1-c.share))
		}
		sigma := math.Sqrt(want * (1 - want) / trials)
		if got := float64(opened) / trials; math.Abs(got-want) > 5*sigma {
			t.Errorf("%d of %d at %v: opened in %.5f of the trials, want %.5f ± %.5f", c.k, c.n, c.share, got, want, sigma)
		}
	}
}

func lchoose(n, k int) float64 {
	l := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return l(n) - l(k) - l(n-k)
}

// Too few calls for the minimum of a window of seconds: it never opens, and is told to be
// useless.
func TestTooFewForTheMinimum(t *testing.T) {
	m := failing(1, 3000)
	m.Traffic.Rate = 1
	m.Breaker.WindowType, m.Breaker.Window, m.Breaker.MinimumCalls = breakerref.TimeBased, 10, 12
	r := run(t, m, simulate.Options{Trials: 20, QuietCalls: 1000})
	if r.Opened != 0 || r.Never != 20 {
		t.Errorf("opened in %d", r.Opened)
	}
	if len(r.Advice) != 1 || r.Advice[0].Kind != simulate.Useless {
		t.Errorf("advice %+v", r.Advice)
	}
	m.Breaker.MinimumCalls = 5 // 9 seconds at least are within the window.
	if r := run(t, m, simulate.Options{Trials: 20, QuietCalls: 1000}); r.Opened != 20 {
		t.Errorf("opened in %d", r.Opened)
	}
}

// Without failures nothing opens, and what is said of how seldom it does is not 0.
func TestNoFailuresNoOpening(t *testing.T) {
	m := simulate.Default().Complete()
	m.Traffic.Background, m.Traffic.Phases = 0, nil
	m.Breaker.MinimumCalls, m.Breaker.Window, m.Breaker.FailureRate = 1, 1, 1
	r := run(t, m, simulate.Options{QuietCalls: 1_000_000})
	if q := r.Quiet; q.Openings != 0 || q.PerDay != 0 || q.High <= 0 || q.Computed == nil || *q.Computed != 0 {
		t.Errorf("%+v", q)
	}
}

// As many calls for each breaker: what one breaker does is the same, however many there
// are.
func TestReplicasAreAlike(t *testing.T) {
	open := func(replicas int) (mean, sigma float64) {
		m := simulate.Default()
		m.Breaker.Window, m.Breaker.MinimumCalls = 20, 20
		m.Traffic.Replicas, m.Traffic.Rate = replicas, 10*float64(replicas)
		m.Traffic.Phases[0].Failures = [2]float64{0.6, 0.6}
		m.Duration = 2 * time.Minute
		sum, squares, n := 0.0, 0.0, 0.0
		for i := range 2000 / replicas {
			for _, b := range simulate.Play(&m, 3, uint64(i)).Breakers {
				if b.Opened == nil {
					t.Fatal("it did not open")
				}
				s := b.Opened.After.Seconds()
				sum, squares, n = sum+s, squares+s*s, n+1
			}
		}
		mean = sum / n
		return mean, math.Sqrt((squares/n - mean*mean) / n)
	}
	a, sa := open(1)
	b, sb := open(8)
	if math.Abs(a-b) > 5*math.Hypot(sa, sb) {
		t.Errorf("one opens after %.3f s ± %.3f, one of eight after %.3f ± %.3f", a, sa, b, sb)
	}
}

// run simulates a model, or fails the test.
func run(t *testing.T, m simulate.Model, o simulate.Options) *simulate.Result {
	t.Helper()
	r, err := simulate.Run(m.Complete(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The same comes out on one core and on many, in whatever order they work.
func TestSameOnAllCores(t *testing.T) {
	m := simulate.Default().Complete()
	m.Traffic.Replicas = 2
	o := simulate.Options{Seed: 5, Trials: 60, QuietCalls: 3_000_000}
	want := run(t, m, o)
	for _, cores := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(cores)
		o.Run = func(n int, job func(int)) {
			var wg sync.WaitGroup
			for i := n - 1; i >= 0; i-- {
				wg.Go(func() { job(i) })
			}
			wg.Wait()
		}
		got := run(t, m, o)
		runtime.GOMAXPROCS(before)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d cores (-in turn +now)\n%s", cores, d)
		}
	}
}

// All rows meet the same calls: a breaker that never opens and one with another window
// that never opens are told the same.
func TestCommonRandomNumbers(t *testing.T) {
	a := simulate.Default().Complete()
	a.Breaker.MinimumCalls, a.Breaker.FailureRate = 1, 100
	a.Traffic.Latency = simulate.Latency{Median: 20 * time.Millisecond, P99: time.Second}
	b := a
	b.Breaker.Initial = breakerref.Disabled
	a.Breaker.Initial = breakerref.MetricsOnly
	ta, tb := simulate.Play(&a, 1, 1), simulate.Play(&b, 1, 1)
	ta.Breakers, tb.Breakers = nil, nil
	if d := cmp.Diff(ta, tb); d != "" {
		t.Error(d)
	}
}

// The computed bound of false openings is one: what is counted does not exceed it by more
// than chance.
func TestComputedBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := simulate.Default()
		m.Traffic.Phases = nil
		m.Traffic.Background = rapid.Float64Range(0.001, 0.2).Draw(t, "background")
		b := &m.Breaker
		b.WindowType = rapid.SampledFrom([]breakerref.WindowType{breakerref.CountBased, breakerref.TimeBased}).Draw(t, "type")
		b.Window = rapid.IntRange(2, 40).Draw(t, "window")
		b.MinimumCalls = rapid.IntRange(1, 40).Draw(t, "minimum")
		b.FailureRate = float32(rapid.IntRange(10, 60).Draw(t, "rate"))
		b.Wait = time.Second
		m.Traffic.Retry.MaxAttempts = rapid.IntRange(1, 3).Draw(t, "attempts")
		if rapid.Bool().Draw(t, "slow") {
			m.Traffic.Retry.MaxAttempts = 1
			m.Traffic.Latency.P99 = 300 * time.Millisecond
			m.Traffic.Timeout, b.SlowDuration, b.SlowRate = 250*time.Millisecond, 200*time.Millisecond, 40
		}
		r, err := simulate.Run(m.Complete(), simulate.Options{QuietCalls: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		q := r.Quiet
		if q.Computed == nil {
			t.Fatal("there is no bound")
		}
		most := *q.Computed * q.Time.Hours() / 24
		if float64(q.Openings) > most+6*math.Sqrt(most)+5 { // So rare that it is no chance in any run.
			t.Fatalf("counted %d, computed at most %v", q.Openings, most)
		}
	})
}
