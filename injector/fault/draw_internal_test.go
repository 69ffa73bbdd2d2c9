package fault

import (
	"testing"
)

// Every state that any order of requests can bring two and three rules to, for all
// shares of a coarse grid: nobody is ahead by a request, and nobody is behind by as
// many as there are rules, although what comes next is not known.
func TestOverlappingDrawsAreBounded(t *testing.T) {
	for rules, den := range map[int]int{1: 20, 2: 12, 3: 6} {
		var shares func(nums []int)
		shares = func(nums []int) {
			if len(nums) == rules {
				explore(t, nums, den)
				return
			}
			for n := 1; n <= den; n++ {
				shares(append(nums, n))
			}
		}
		shares(nil)
	}
}

// explore visits all credits that a draw can come to.
func explore(t *testing.T, nums []int, den int) {
	t.Helper()
	var rules []ruled
	d := draw{kind: SelectRatio}
	for n, num := range nums {
		rules = append(rules, ruled{rule: &Rule{Select: Select{Kind: SelectRatio, Num: uint64(num), Den: uint64(den)}}})
		d.rules = append(d.rules, n)
	}
	asking := together(nums, den)
	seen := map[[3]int64]bool{{}: true}
	for queue := [][3]int64{{}}; len(queue) > 0; queue = queue[1:] {
		for _, candidates := range asking {
			g := d.begin()
			copy(g.credit, queue[0][:])
			g.even(rules, candidates, 0)
			var next [3]int64
			copy(next[:], g.credit)
			if seen[next] {
				continue
			}
			seen[next] = true
			queue = append(queue, next)
			for _, credit := range g.credit {
				if credit <= -int64(den) || credit >= int64(den*len(nums)) {
					t.Fatalf("shares %v of %d: credits %v", nums, den, g.credit)
				}
			}
		}
	}
}

// together are the sets of rules that one request may match, as their shares are at
// most everything.
func together(nums []int, den int) [][]int {
	var sets [][]int
	for bits := 1; bits < 1<<len(nums); bits++ {
		var set []int
		sum := 0
		for n, num := range nums {
			if bits>>n&1 == 1 {
				set, sum = append(set, n), sum+num
			}
		}
		if sum <= den {
			sets = append(sets, set)
		}
	}
	return sets
}

// The permutation is one, for every size, and brings each value to each place
// equally often.
func TestPermute(t *testing.T) {
	for n := range uint64(70) {
		seen := map[uint64]bool{}
		for x := range n {
			if y := permute(n, 7, x); y >= n || seen[y] {
				t.Fatalf("of %d, %d goes to %d", n, x, y)
			} else {
				seen[y] = true
			}
		}
	}
	for _, n := range []uint64{2, 3, 5, 20} {
		const keys = 20_000
		times := make([]int, n*n)
		for key := range uint64(keys) {
			for x := range n {
				times[x*n+permute(n, number(1, key), x)]++
			}
		}
		// The sum of squares is about n*n-1 for even odds; five deviations of its
		// own are no more than 5*sqrt(2*n*n).
		chi, want := 0.0, float64(keys)/float64(n)
		for _, c := range times {
			chi += (float64(c) - want) * (float64(c) - want) / want
		}
		if over := chi - float64(n*n); over*over > 50*float64(n*n) {
			t.Errorf("of %d: chi squared %.0f", n, chi)
		}
	}
}
