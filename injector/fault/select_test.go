package fault_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

// picture draws the first n decisions as a pattern.
func picture(s fault.Select, n uint64) string {
	var b strings.Builder
	for i := range n {
		if s.Hit(i) {
			b.WriteByte('X')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func ratio(num, den uint64) fault.Select {
	return fault.Select{Kind: fault.SelectRatio, Num: num, Den: den}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		sel  fault.Select
		want string
	}{
		{fault.Select{Kind: fault.SelectAll}, "XXXXXXXXXX"},
		{ratio(0, 1), ".........."},
		{ratio(1, 1), "XXXXXXXXXX"},
		{ratio(1, 2), "X.X.X.X.X."},
		{ratio(2, 5), ".X.X..X.X."},
		{ratio(20, 100), "..X....X.."},
		{ratio(1, 100), ".........."},
		{fault.Select{Kind: fault.SelectFirst, First: 3}, "XXX......."},
		{fault.Select{Kind: fault.SelectScript, Pattern: "..XX."}, "..XX......"},
		{fault.Select{Kind: fault.SelectAfter, After: 3}, "...XXXXXXX"},
		{fault.Select{Kind: fault.SelectEvery, Every: 4}, "...X...X.."},
		{fault.Select{}, ".........."},
	} {
		t.Run(fmt.Sprintf("%+v", c.sel), func(t *testing.T) {
			if diff := cmp.Diff(c.want, picture(c.sel, 10)); diff != "" {
				t.Error("decisions (-want +got):\n" + diff)
			}
		})
	}
}

// A ratio is off by less than one request at every moment, for each per cent.
// Tools that divide integers are off by whole points for most of them.
func TestRatioIsExactAtEveryPrefix(t *testing.T) {
	for percent := range uint64(101) {
		s, hits := ratio(percent, 100), 0
		for i := range uint64(1000) {
			if s.Hit(i) {
				hits++
			}
			want := float64(i+1) * float64(percent) / 100
			if dev := math.Abs(float64(hits) - want); dev >= 1 {
				t.Fatalf("%d %%: %d hits among %d, %.2f off", percent, hits, i+1, dev)
			}
		}
		if hits != int(percent)*10 {
			t.Errorf("%d %%: %d hits among 1000", percent, hits)
		}
	}
}

// checkHits holds the closed form, the decisions and the exact product against
// one another, in arithmetic that cannot overflow.
func checkHits(t interface{ Fatalf(string, ...any) }, s fault.Select, n uint64) {
	before, hit := s.Hits(n), s.Hit(n)
	if n < math.MaxUint64 {
		if grew := s.Hits(n+1) - before; grew > 1 || (grew == 1) != hit {
			t.Fatalf("%+v: Hit(%d) = %v but Hits grows by %d", s, n, hit, grew)
		}
	}
	if s.Kind != fault.SelectRatio {
		return
	}
	// |2*hits*den - 2*n*num| <= den says |hits - n*p| <= 1/2.
	dev := new(big.Int).Mul(new(big.Int).SetUint64(before), new(big.Int).SetUint64(s.Den))
	dev.Sub(dev, new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(s.Num)))
	dev.Abs(dev).Lsh(dev, 1)
	if dev.Cmp(new(big.Int).SetUint64(s.Den)) > 0 {
		t.Fatalf("%+v: %d hits among %d is more than half a request off", s, before, n)
	}
}

func TestHitsIsTheSumOfHit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "den")
		s := rapid.OneOf(
			rapid.Just(fault.Select{Kind: fault.SelectAll}),
			rapid.Just(ratio(rapid.Uint64Range(0, den).Draw(t, "num"), den)),
			rapid.Just(fault.Select{Kind: fault.SelectFirst, First: rapid.Uint64().Draw(t, "first")}),
			rapid.Just(fault.Select{Kind: fault.SelectAfter, After: rapid.Uint64().Draw(t, "after")}),
			rapid.Just(fault.Select{Kind: fault.SelectEvery, Every: rapid.Uint64Min(1).Draw(t, "every")}),
			rapid.Just(fault.Select{Kind: fault.SelectScript, Pattern: rapid.StringMatching("[X.]{1,20}").Draw(t, "pattern")}),
		).Draw(t, "select")
		checkHits(t, s, rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 30)).Draw(t, "n"))
	})
}

// Far out, where the product of index and ratio needs more than 64 bits.
func TestRatioDoesNotOverflow(t *testing.T) {
	for _, s := range []fault.Select{
		ratio(1, math.MaxUint64), ratio(math.MaxUint64/3, math.MaxUint64), ratio(1<<40+1, 3<<41+7), ratio(999_999_937, 1_000_000_007),
	} {
		for shift := range 64 {
			for off := range uint64(5) {
				checkHits(t, s, math.MaxUint64>>shift-off)
			}
		}
	}
}

func FuzzRatio(f *testing.F) {
	f.Add(uint64(1), uint64(5), uint64(10_000))
	f.Add(uint64(0), uint64(1), uint64(math.MaxUint64))
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Add(uint64(math.MaxUint64-1), uint64(math.MaxUint64), uint64(math.MaxUint64-1))
	f.Fuzz(func(t *testing.T, num, den, n uint64) {
		if den == 0 || num > den {
			t.Skip("not valid")
		}
		checkHits(t, ratio(num, den), n)
	})
}
