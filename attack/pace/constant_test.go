package pace_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/attack/pace"
)

func TestConstantDue(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    pace.Constant
		n    int
		want time.Duration
	}{
		{"first", pace.Constant{Num: 100, Per: time.Second}, 0, 0},
		{"100/s", pace.Constant{Num: 100, Per: time.Second}, 1, 10 * time.Millisecond},
		{"30/m", pace.Constant{Num: 30, Per: time.Minute}, 3, 6 * time.Second},
		{"3/s rounds down", pace.Constant{Num: 3, Per: time.Second}, 1, 333_333_333},
		{"3/s does not drift", pace.Constant{Num: 3, Per: time.Second}, 3_000_000, 1_000_000 * time.Second},
		{"no rate", pace.Constant{}, 0, math.MaxInt64},
		{"beyond time", pace.Constant{Num: 1, Per: time.Hour}, math.MaxInt, math.MaxInt64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.c.Due(tc.n); got != tc.want {
				t.Errorf("Due(%d) = %v, want %v", tc.n, got, tc.want)
			}
		})
	}
}

func TestConstantCount(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    pace.Constant
		d    time.Duration
		want int
	}{
		{"whole", pace.Constant{Num: 100, Per: time.Second}, time.Minute, 6000},
		{"a slot at the end is not before it", pace.Constant{Num: 1, Per: time.Second}, 3 * time.Second, 3},
		{"a slot just before the end", pace.Constant{Num: 1, Per: time.Second}, 3*time.Second + 1, 4},
		{"nothing", pace.Constant{Num: 1, Per: time.Second}, 0, 0},
		{"negative", pace.Constant{Num: 1, Per: time.Second}, -1, 0},
		{"no rate", pace.Constant{Num: 0, Per: time.Second}, time.Hour, 0},
		{"beyond counting", pace.Constant{Num: math.MaxInt, Per: 1}, math.MaxInt64, math.MaxInt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.c.Count(tc.d); got != tc.want {
				t.Errorf("Count(%v) = %d, want %d", tc.d, got, tc.want)
			}
		})
	}
}

// drawn is any rate that a person might write, and stranger ones.
func drawn(t *rapid.T) pace.Constant {
	return pace.Constant{
		Num: rapid.IntRange(1, 2_000_000_000).Draw(t, "num"),
		Per: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "per")),
	}
}

func TestConstantCountIsTheInverseOfDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		d := time.Duration(rapid.Int64Range(1, int64(48*time.Hour)).Draw(t, "d"))
		n := c.Count(d)
		if n == math.MaxInt {
			return // More slots than can be counted.
		}
		if n < 1 {
			t.Fatalf("Count(%v) = %d, but slot 0 is due at 0", d, n)
		}
		if due := c.Due(n - 1); due >= d {
			t.Fatalf("Count(%v) = %d, but slot %d is due at %v", d, n, n-1, due)
		}
		if due := c.Due(n); due < d {
			t.Fatalf("Count(%v) = %d, but slot %d is due at %v", d, n, n, due)
		}
	})
}

func TestConstantDueIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		n := rapid.IntRange(0, 1_000_000_000).Draw(t, "n")
		want := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(c.Per)))
		want.Div(want, big.NewInt(int64(c.Num)))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := c.Due(n); int64(got) != want.Int64() {
			t.Fatalf("Due(%d) = %d, want %v", n, got, want)
		}
		if c.Due(n+1) < c.Due(n) {
			t.Fatalf("slot %d is due at %v, after slot %d at %v", n, c.Due(n), n+1, c.Due(n+1))
		}
	})
}
