package fault

import (
	"fmt"
	"testing"
	"time"
)

// weighted is a course of shares in a coarse grid: its instant n stands for the n-th
// row of all of them, so that a test can choose the shares of each request.
func weighted(rows [][]int, den int) []ruled {
	rules := make([]ruled, len(rows[0]))
	for i := range rules {
		r := &Ramp{Stairs: true}
		for n, row := range rows {
			r.Points = append(r.Points, RampPoint{At: time.Duration(n), Num: uint64(row[i]), Den: uint64(den)})
		}
		rules[i] = ruled{rule: &Rule{Select: Select{Kind: SelectRatio, Ramp: r}}, den: r.den()}
	}
	return rules
}

// rows are all ways to share at most den among some rules.
func rows(rules, den int) [][]int {
	if rules == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for n := range den + 1 {
		for _, rest := range rows(rules-1, den-n) {
			all = append(all, append([]int{n}, rest...))
		}
	}
	return all
}

// Every state that any shares and any order of requests can bring up to three ramps
// to, in a coarse grid. With one match nobody is behind by more than is said, nor
// ahead by a request; where matches only overlap, nobody is behind by as many as
// there are rules.
func TestDrawsWithRampsAreBounded(t *testing.T) {
	for _, c := range []struct {
		rules, den int
		subsets    bool
		behind     float64 // less than this
	}{
		{1, 30, false, .5},
		{2, 24, false, .75},
		{3, 6, false, 1},
		{3, 9, false, 1},
		{2, 12, true, 2},
		{3, 4, true, 3},
		{3, 6, true, 3},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			worst := exploreRamps(t, c.rules, c.den, c.subsets)
			if worst >= c.behind {
				t.Errorf("%v behind, want less than %v", worst, c.behind)
			}
			t.Logf("at most %v behind", worst)
		})
	}
}

// exploreRamps visits all credits that a draw can come to, and returns the largest.
func exploreRamps(t *testing.T, n, den int, subsets bool) (worst float64) {
	t.Helper()
	all := rows(n, den)
	rules := weighted(all, den)
	d := draw{kind: SelectRatio, ramps: true}
	var sets [][]int
	for i := range n {
		d.rules = append(d.rules, i)
	}
	for bits := 1; bits < 1<<n; bits++ {
		var set []int
		for i := range n {
			if bits>>i&1 == 1 {
				set = append(set, i)
			}
		}
		if subsets || len(set) == n {
			sets = append(sets, set)
		}
	}
	unit := float64(rules[0].den)
	seen := map[[3]int64]bool{{}: true}
	for queue := [][3]int64{{}}; len(queue) > 0; queue = queue[1:] {
		for at := range all {
			for _, candidates := range sets {
				g := d.begin()
				copy(g.credit, queue[0][:])
				g.even(rules, candidates, time.Duration(at))
				var next [3]int64
				copy(next[:], g.credit)
				if seen[next] {
					continue
				}
				seen[next] = true
				queue = append(queue, next)
				for _, credit := range g.credit {
					worst = max(worst, float64(credit)/unit)
					if float64(credit) <= -unit {
						t.Fatalf("credits %v of %v: ahead by a request", g.credit, unit)
					}
				}
			}
		}
	}
	return worst
}
