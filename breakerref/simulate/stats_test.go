package simulate

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The limits are those of published tables of Garwood's interval.
func TestPoissonInterval(t *testing.T) {
	for n, want := range map[int64][2]float64{
		0: {0, 2.9957}, 1: {0.02532, 5.5716}, 5: {1.6235, 11.6683}, 10: {4.7954, 18.3904}, 50: {37.1110, 65.9186}, 100: {81.3635, 121.6270}, 101: {82.2671, 122.7243},
	} {
		low, high := poissonInterval(n)
		if math.Abs(low-want[0]) > 0.002*want[0]+1e-9 || math.Abs(high-want[1]) > 0.002*want[1] {
			t.Errorf("%d: %.4f to %.4f, want %v", n, low, high, want)
		}
	}
}

// The tail is what adding up all terms gives, in plain arithmetic.
func TestBinomialFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		k := rapid.IntRange(0, 61).Draw(t, "k")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		pmf := make([]float64, n+2) // By Pascal's rule.
		pmf[0] = 1
		for range n {
			for j := n; j >= 0; j-- {
				pmf[j] *= 1 - p
				if j > 0 {
					pmf[j] += pmf[j-1] * p
				}
			}
		}
		want := 0.0
		for j := k; j <= n; j++ {
			want += pmf[j]
		}
		if got := binomialFrom(n, k, p); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%d or more of %d at %v: %v, want %v", k, n, p, got, want)
		}
	})
}

func TestNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10_000).Draw(t, "n")
		threshold := float32(rapid.Float64Range(0.001, 100).Draw(t, "threshold"))
		want := 0
		for float32(want)*100/float32(n) < threshold {
			want++
		}
		if got := needed(n, threshold); got != want {
			t.Fatalf("%v %% of %d: %d, want %d", threshold, n, got, want)
		}
	})
}
