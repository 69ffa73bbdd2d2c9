package fault_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

// lawsByName are latencies of every law.
func lawsByName() map[string]fault.Latency {
	table := func(log bool) fault.Latency {
		return fault.Latency{Table: &fault.Table{Log: log, Points: []fault.Point{
			{Quantile: 0, At: 5 * ms}, {Quantile: .5, At: 20 * ms}, {Quantile: .99, At: 200 * ms}, {Quantile: 1, At: time.Second},
		}}}
	}
	return map[string]fault.Latency{
		"uniform":             {Min: 10 * ms, Max: 30 * ms},
		"normal":              {Normal: &fault.Normal{Mean: 100 * ms, SD: 20 * ms}},
		"normal cut below":    {Normal: &fault.Normal{Mean: 10 * ms, SD: 20 * ms}},
		"normal capped":       {Normal: &fault.Normal{Mean: 100 * ms, SD: 50 * ms, Cap: 120 * ms}},
		"lognormal":           {Lognormal: &fault.Lognormal{Median: 100 * ms, P99: 400 * ms}},
		"lognormal by sigma":  {Lognormal: &fault.Lognormal{Median: 100 * ms, Sigma: .5}},
		"lognormal capped":    {Lognormal: &fault.Lognormal{Median: 100 * ms, P99: 400 * ms, Cap: 150 * ms}},
		"exponential":         {Exponential: &fault.Exponential{Mean: 50 * ms}},
		"exponential capped":  {Exponential: &fault.Exponential{Mean: 50 * ms, Cap: 60 * ms}},
		"pareto":              {Pareto: &fault.Pareto{Min: 10 * ms, Alpha: 1.5, Cap: 2 * time.Second}},
		"pareto without mean": {Pareto: &fault.Pareto{Min: 10 * ms, Alpha: 1, Cap: 2 * time.Second}},
		"table":               table(false),
		"table on a log":      table(true),
		"trace":               {Trace: []time.Duration{5 * ms, 1 * ms, 9 * ms}},
	}
}

func TestQuantile(t *testing.T) {
	laws := lawsByName()
	for _, c := range []struct {
		law  string
		u    float64
		want time.Duration
	}{
		{"uniform", .25, 15 * ms},
		{"normal", .5, 100 * ms},
		{"normal", .99, 146_526_958},
		{"lognormal", .5, 100 * ms},
		{"lognormal", .99, 400 * ms},
		{"lognormal by sigma", below1, 164_872_127}, // e^(sigma) medians
		{"exponential", .5, 34_657_359},
		{"exponential", .99, 230_258_509},
		{"pareto", 0, 10 * ms},
		{"pareto", 1, 2 * time.Second},
		{"pareto", .5, 15_870_270},
		{"table", .25, 12_500_000},
		{"table", .99, 200 * ms},
		{"table on a log", .25, 10 * ms},
		{"trace", .3, 1 * ms},
		{"trace", .5, 5 * ms},
		{"trace", .99, 9 * ms},
		{"normal", 1, fault.Never},
		{"normal", 0, 0},
		{"exponential capped", 1, 60 * ms},
	} {
		got := laws[c.law].Quantile(c.u)
		if off := math.Abs(float64(got - c.want)); off > float64(c.want)/10_000 && got != c.want {
			t.Errorf("%s at %v: %v, want %v", c.law, c.u, got, c.want)
		}
	}
}

// below1 is the share of a normal law that is less than one deviation above its mean.
const below1 = 0.8413447460685429

// The quantile is the inverse of what the law says, its mean is that of its
// quantiles, it rises, and stays within its ends.
func TestLaws(t *testing.T) {
	for name, l := range lawsByName() {
		const n = 200_000
		last, sum := time.Duration(0), 0.0
		for i := range n {
			d := l.Quantile((float64(i) + .5) / n)
			if d < last || d > l.Longest() || d < l.Quantile(0) {
				t.Fatalf("%s: %v after %v, of %v to %v", name, d, last, l.Quantile(0), l.Longest())
			}
			last = d
			sum += float64(d) / n
		}
		if mean := float64(l.Mean()); math.Abs(mean-sum) > mean/500 {
			t.Errorf("%s: the mean is %v, that of the quantiles %v", name, l.Mean(), time.Duration(sum))
		}
	}
}

// What is drawn again keeps the odds of what is left: it is not heaped at the ends.
func TestNothingIsClipped(t *testing.T) {
	for name, l := range lawsByName() {
		if strings.HasPrefix(name, "trace") {
			continue
		}
		ds := latencies(t, 1, "p/1", l, 10_000)
		for _, end := range []time.Duration{slices.Min(ds), slices.Max(ds)} {
			n := 0
			for _, d := range ds {
				if d == end {
					n++
				}
			}
			if n > 1 {
				t.Errorf("%s: %d of 10000 are %v", name, n, end)
			}
		}
	}
}

// Of each hundred hits one is above the 99th percentile, ten above the 90th and
// half below the median, also when a ratio hits only some of the requests.
func TestPercentilesHoldAtAHundred(t *testing.T) {
	for name, l := range lawsByName() {
		if strings.HasPrefix(name, "trace") {
			continue
		}
		r := reset(ratio(1, 3))
		r.Latency = l
		ph := play(t, 7, r)
		var ds []time.Duration
		for len(ds) < 1000 {
			if v := ph.Decide(fault.Request{}); v.Rule != nil {
				ds = append(ds, v.Latency)
			}
		}
		for hundred := range slices.Chunk(ds, 100) {
			for q, want := range map[float64]int{.5: 50, .9: 10, .99: 1} {
				above := 0
				for _, d := range hundred {
					if d > l.Quantile(q) {
						above++
					}
				}
				if above != want {
					t.Errorf("%s: %d of 100 above quantile %v, want %d", name, above, q, want)
				}
			}
		}
	}
}

// One hundred has not the order of another, and no place has a rank of its own.
func TestStrataAreShuffled(t *testing.T) {
	ds := latencies(t, 1, "p/1", fault.Latency{Max: 100_000}, 20_000)
	sums := make([]float64, 100)
	for i, d := range ds {
		sums[i%100] += float64(d) / 200
	}
	for place, mean := range sums {
		// Of 200 from the uniform law, the mean is off by 29000/sqrt(200) = 2040.
		if math.Abs(mean-50_000) > 5*2040 {
			t.Errorf("place %d of a hundred has the mean %.0f", place, mean)
		}
	}
}

func TestTraceIsPlayedInOrder(t *testing.T) {
	got := latencies(t, 1, "p/1", fault.Latency{Trace: []time.Duration{5, 0, 9}}, 7)
	if diff := cmp.Diff([]time.Duration{5, 0, 9, 5, 0, 9, 5}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLatencyString(t *testing.T) {
	laws := lawsByName()
	for l, want := range map[string]string{
		"uniform":   "10ms to 30ms",
		"normal":    "normal (p50 100ms, p90 126ms, p99 147ms, mean 100ms)",
		"lognormal": "lognormal (p50 100ms, p90 215ms, p99 400ms, mean 119ms)",
		"trace":     "trace (p50 5ms, p90 9ms, p99 9ms, mean 5ms)",
	} {
		if got := laws[l].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (fault.Latency{}).String() + (fault.Latency{Min: 5, Max: 5}).String(); got != "5ns" {
		t.Errorf("none and one: %q", got)
	}
}

func TestLatencyProblems(t *testing.T) {
	for _, c := range []struct {
		latency fault.Latency
		want    string
	}{
		{fault.Latency{Max: 1, Trace: []time.Duration{1}}, "latency: has 2 laws; a latency has one"},
		{fault.Latency{Normal: &fault.Normal{}}, "latency.normal.mean: is 0s; write a time above zero\nlatency.normal.sd: is 0s; write a time above zero"},
		{fault.Latency{Normal: &fault.Normal{Mean: 5, SD: 5, Cap: 5}}, "latency.normal.cap: 5ns is not above the mean, 5ns"},
		{fault.Latency{Lognormal: &fault.Lognormal{Median: 5}}, "latency.lognormal: is given by its median and either p99 or sigma"},
		{fault.Latency{Lognormal: &fault.Lognormal{Median: 5, P99: 5}}, "latency.lognormal.p99: 5ns is not above the median, 5ns"},
		{fault.Latency{Lognormal: &fault.Lognormal{Median: 5, Sigma: math.NaN()}}, "latency.lognormal.sigma: NaN is not above 0 and at most 100"},
		{fault.Latency{Lognormal: &fault.Lognormal{Median: ms, Sigma: 20}}, "latency.lognormal: may come to more than a year; give it a cap"},
		{fault.Latency{Exponential: &fault.Exponential{Mean: -1}}, "latency.exponential.mean: is -1ns; write a time above zero"},
		{fault.Latency{Pareto: &fault.Pareto{Min: 5, Alpha: -1}}, "latency.pareto.alpha: -1 is not above 0 and at most 100\nlatency.pareto.cap: 0s is not above min, 5ns; a pareto without an end may take forever"},
		{fault.Latency{Table: &fault.Table{}}, "latency.table: needs its shortest, at quantile 0, and its longest, at quantile 1"},
		{
			fault.Latency{Table: &fault.Table{Log: true, Points: []fault.Point{{0, 0}, {.5, 9}, {.5, 8}, {1, 9}}}},
			"latency.table: 0s has no place on its scale\nlatency.table: quantile 0.5 is not above the one before, 0.5",
		},
		{fault.Latency{Table: &fault.Table{Points: []fault.Point{{0, 9}, {1, 8}}}}, "latency.table: runs backwards: 8ns at quantile 1 is below 9ns"},
		{fault.Latency{Trace: []time.Duration{5, -5}}, "latency.trace: value 2, -5ns, is negative"},
	} {
		r := reset(fault.Select{Kind: fault.SelectAll})
		r.Latency = c.latency
		var got []string
		for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {r}}}) {
			got = append(got, strings.TrimPrefix(p.Error(), "phase p: fault 1: "))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.latency, diff)
		}
	}
}

// Whatever passes as a law can be drawn from, within its ends.
func TestAnyLaw(t *testing.T) {
	d := func(t *rapid.T, name string) time.Duration {
		return time.Duration(rapid.Int64Range(-1, int64(time.Hour)).Draw(t, name))
	}
	shape := rapid.OneOf(rapid.Float64(), rapid.Float64Range(.001, 3))
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom([]fault.Latency{
			{Normal: &fault.Normal{Mean: d(t, "a"), SD: d(t, "b"), Cap: d(t, "c")}},
			{Lognormal: &fault.Lognormal{Median: d(t, "a"), P99: d(t, "b"), Cap: d(t, "c")}},
			{Lognormal: &fault.Lognormal{Median: d(t, "a"), Sigma: shape.Draw(t, "sigma")}},
			{Exponential: &fault.Exponential{Mean: d(t, "a"), Cap: d(t, "c")}},
			{Pareto: &fault.Pareto{Min: d(t, "a"), Alpha: shape.Draw(t, "alpha"), Cap: d(t, "c")}},
		}).Draw(t, "law")
		r := reset(fault.Select{Kind: fault.SelectAll})
		r.Latency = l
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {r}}}, 1)
		if err != nil {
			return // It is refused, which others test.
		}
		accepted++
		ph := p.Phase("p")
		for range 200 {
			if got := ph.Decide(fault.Request{}).Latency; got < l.Quantile(0) || got > l.Longest() || got > 366*24*time.Hour {
				t.Fatalf("%v of %s", got, l)
			}
		}
		if m := l.Mean(); m < l.Quantile(0) || m > l.Longest() {
			t.Fatalf("the mean %v of %s", m, l)
		}
	})
	if accepted == 0 {
		t.Error("no law was accepted")
	}
}
