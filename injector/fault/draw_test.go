package fault_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

// tally plays n like requests and counts what each rule of a phase gets: by its
// number from 0, -1 is nobody.
func tally(ph *fault.Phase, n int) map[int]int {
	number := map[*fault.Rule]int{nil: -1}
	for i, r := range ph.Rules() {
		number[r] = i
	}
	got := map[int]int{}
	for range n {
		got[number[ph.Decide(fault.Request{Method: "GET", Path: "/"}).Rule]]++
	}
	return got
}

func TestRatiosShareOneDraw(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []fault.Rule
		want  map[int]int
	}{
		{"two of 30 %", []fault.Rule{reset(ratio(30, 100)), reset(ratio(30, 100))}, map[int]int{0: 300, 1: 300, -1: 400}},
		{"all of it", []fault.Rule{reset(ratio(1, 3)), reset(ratio(1, 3)), reset(ratio(1, 3))}, map[int]int{0: 334, 1: 333, 2: 333}},
		{"nothing beside something", []fault.Rule{reset(ratio(0, 1)), reset(ratio(1, 2))}, map[int]int{1: 500, -1: 500}},
		{
			"after the first",
			[]fault.Rule{reset(fault.Select{Kind: fault.SelectFirst, First: 100}), reset(ratio(30, 100)), reset(ratio(30, 100))},
			map[int]int{0: 100, 1: 270, 2: 270, -1: 360},
		},
		// The second ratio counts what the first one got, but not what the script took.
		{"around another", []fault.Rule{
			reset(ratio(50, 100)), reset(fault.Select{Kind: fault.SelectScript, Pattern: strings.Repeat("X", 100)}), reset(ratio(50, 100)),
		}, map[int]int{0: 500, 1: 100, 2: 400}},
	} {
		if diff := cmp.Diff(c.want, tally(play(t, 1, c.rules...), 1000)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// shares draws some ratios that are at most everything together.
func shares(t *rapid.T, most int) []fault.Select {
	den := rapid.Uint64Range(1, 1<<30).Draw(t, "den")
	left := den
	var all []fault.Select
	for range rapid.IntRange(1, most).Draw(t, "ratios") {
		num := rapid.OneOf(rapid.Just(left), rapid.Uint64Range(0, left)).Draw(t, "num")
		left -= num
		all = append(all, ratio(num, den))
	}
	return all
}

// Each of several rules with the same match is off by less than one request at
// every moment, whatever other rules take between them.
func TestSharesAreExactAtEveryPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []fault.Rule
		ratios := map[int]float64{}
		for _, s := range shares(t, 6) {
			if rapid.IntRange(0, 9).Draw(t, "other") == 0 {
				rules = append(rules, reset(fault.Select{Kind: fault.SelectEvery, Every: rapid.Uint64Range(2, 9).Draw(t, "every")}))
			}
			ratios[len(rules)] = float64(s.Num) / float64(s.Den)
			rules = append(rules, reset(s))
		}
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, 1)
		if err != nil {
			return // A ratio of everything leaves nothing to another rule.
		}
		ph := p.Phase("p")
		mixed := len(ratios) < len(rules)
		for n := range 600 {
			ph.Decide(fault.Request{})
			for i, c := range ph.Counts() {
				p, ok := ratios[i]
				if !ok {
					continue
				}
				// What another rule takes comes to some of the ratios only; then
				// they have no longer the same requests.
				limit := 1.0
				if mixed {
					limit = float64(len(ratios))
				}
				if off := float64(c.Hit) - p*float64(c.Seen); math.Abs(off) >= limit+1e-6 {
					t.Fatalf("request %d: %d hits of %d at %v, %v off", n, c.Hit, c.Seen, p, off)
				}
			}
		}
	})
}

// Tijdeman's bound, for all shares of a coarse grid: of r rules with the same match
// each is off by 1 - 1/(2r) at most.
func TestSharesKeepTijdemansBound(t *testing.T) {
	for rules, den := range map[int]uint64{2: 16, 3: 12, 4: 9, 5: 8} {
		var try func(left uint64, so []fault.Rule)
		try = func(left uint64, so []fault.Rule) {
			if len(so) < rules {
				for num := uint64(1); num <= left; num++ {
					try(left-num, append(so, reset(ratio(num, den))))
				}
				return
			}
			ph := play(t, 1, so...)
			for n := range den {
				ph.Decide(fault.Request{})
				for i, c := range ph.Counts() {
					off := math.Abs(float64(c.Hit) - float64(so[i].Select.Num*(n+1))/float64(den))
					if off > 1-1/float64(2*rules)+1e-9 {
						t.Fatalf("%+v: rule %d is %v off after %d requests", so, i, off, n+1)
					}
				}
			}
		}
		try(den, nil)
	}
}

// Each rule of a draw counts what it matches, whoever got it.
func TestSharedIndex(t *testing.T) {
	posts := reset(ratio(1, 4))
	posts.Match.Method = "POST"
	ph := play(t, 1, reset(ratio(1, 2)), posts)
	seen := map[string]uint64{}
	for i := range 100 {
		method := []string{"GET", "POST", "POST"}[i%3]
		v := ph.Decide(fault.Request{Method: method})
		if v.Rule != nil && v.Index != seen[v.Rule.ID] {
			t.Errorf("request %d has index %d of %s, want %d", i, v.Index, v.Rule.ID, seen[v.Rule.ID])
		}
		seen["p/1"]++
		if method == "POST" {
			seen["p/2"]++
		}
	}
}

// Rules whose matches only overlap are behind by less than their number, and ahead
// by less than one.
func TestSharesOfOverlappingMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		matches := []fault.Match{
			{}, {Method: "GET"}, {Method: "POST"}, {Path: "/a*"}, {Path: "/b*"}, {Method: "GET", Path: "/a*"}, {Method: "POST", Path: "/b"},
		}
		var rules []fault.Rule
		for _, s := range shares(t, 5) {
			r := reset(s)
			r.Match = rapid.SampledFrom(matches).Draw(t, "match")
			rules = append(rules, r)
		}
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, 1)
		if err != nil {
			return
		}
		ph := p.Phase("p")
		requests := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 400).Draw(t, "requests")
		for n, kind := range requests {
			v := ph.Decide(fault.Request{Method: []string{"GET", "POST"}[kind%2], Path: []string{"/a", "/b"}[kind/2]})
			for i, c := range ph.Counts() {
				off := float64(c.Hit) - float64(rules[i].Select.Num)/float64(rules[i].Select.Den)*float64(c.Seen)
				if off >= 1 || off <= -float64(len(rules)) {
					t.Fatalf("request %d, which went to %+v: rule %d is %v off", n, v.Rule, i, off)
				}
			}
		}
	})
}

// A ratio by itself hits what it always hit, also beside rules that cannot match
// the same requests.
func TestSingleRatioIsRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "den")
		s := ratio(rapid.Uint64Range(0, den).Draw(t, "num"), den)
		get, post := reset(s), reset(s)
		get.Match.Method, post.Match.Method = "GET", "POST"
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {get, post}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		ph := p.Phase("p")
		for i := range uint64(100) {
			for _, method := range []string{"GET", "POST"} {
				if hit := ph.Decide(fault.Request{Method: method}).Rule != nil; hit != s.Hit(i) {
					t.Fatalf("%s %d: %v", method, i, hit)
				}
			}
		}
	})
}

// Two rules of the engine that serves many make the same of one share as rounding
// does, when the other asks for nothing it can get.
func TestRatioBesideNothing(t *testing.T) {
	for percent := range uint64(100) {
		got := tally(play(t, 1, reset(ratio(percent, 100)), reset(ratio(0, 1))), 1000)
		if got[0] != int(percent)*10 || got[1] != 0 {
			t.Errorf("%d %%: %v", percent, got)
		}
	}
}

// A window of 20 that opens at 50 % never opens at 30 % and always does at 55 %.
func TestWindowDecides(t *testing.T) {
	for _, c := range []struct {
		percent uint64
		opens   bool
	}{{30, false}, {55, true}} {
		for offset := range uint64(100) {
			ph := play(t, offset, reset(ratio(c.percent, 100)))
			var failed []bool
			opened := false
			for range offset {
				ph.Decide(fault.Request{})
			}
			for range 1000 {
				failed = append(failed, ph.Decide(fault.Request{}).Rule != nil)
				if len(failed) < 20 {
					continue
				}
				sum := 0
				for _, f := range failed[len(failed)-20:] {
					if f {
						sum++
					}
				}
				opened = opened || 2*sum >= 20
			}
			if opened != c.opens {
				t.Errorf("at %d %% from request %d on: opened %v", c.percent, offset, opened)
			}
		}
	}
}

func TestRulesThatCannotShareADraw(t *testing.T) {
	with := func(m fault.Match, s fault.Select) fault.Rule {
		return fault.Rule{Match: m, Select: s, Action: fault.ActionReset}
	}
	sticky := ratio(1, 10)
	sticky.Sticky = fault.Sticky{By: fault.StickyPeer}
	shuffle := fault.Select{Kind: fault.SelectShuffle, Num: 1, Den: 10, Block: 20}
	posts := fault.Match{Method: "POST"}
	const otherwise = "fault 1 may match the same requests and draws otherwise; one draw decides for both, so give both the same draw, block and sticky, or matches that exclude each other"
	const onlyThose = "fault 1 may match the same requests, but not only those; faults that share a shuffle, or a draw by key, need the same match"
	for _, c := range []struct {
		rules []fault.Rule
		want  string
	}{
		{[]fault.Rule{reset(ratio(60, 100)), reset(ratio(41, 100))}, "with fault 1, these ratios are 101% of the same requests; one request gets one fault, so together they are at most 100%"},
		{[]fault.Rule{reset(ratio(60, 100)), with(posts, ratio(41, 100))}, "with fault 1, these ratios are 101% of the same requests; one request gets one fault, so together they are at most 100%"},
		{[]fault.Rule{with(posts, ratio(60, 100)), reset(ratio(41, 100))}, "with fault 1, these ratios are 101% of the same requests; one request gets one fault, so together they are at most 100%"},
		{[]fault.Rule{with(posts, ratio(60, 100)), with(fault.Match{Path: "/a"}, ratio(60, 100))}, ""}, // few may match both
		{[]fault.Rule{with(posts, ratio(60, 100)), with(fault.Match{Method: "GET"}, ratio(60, 100))}, ""},
		{[]fault.Rule{reset(ratio(1, 10)), reset(shuffle)}, otherwise},
		{[]fault.Rule{reset(ratio(1, 10)), reset(sticky)}, otherwise},
		{[]fault.Rule{with(posts, ratio(1, 10)), with(fault.Match{Method: "GET"}, shuffle)}, ""},
		{[]fault.Rule{reset(shuffle), with(posts, shuffle)}, onlyThose},
		{[]fault.Rule{with(posts, sticky), reset(sticky)}, onlyThose},
		{[]fault.Rule{with(posts, sticky), with(fault.Match{Method: "post"}, sticky)}, ""},
		{[]fault.Rule{reset(ratio(1, 1<<41)), reset(ratio(1, 2))}, "fault 1 may match the same requests; shares that are compared have denominators of at most 1099511627776"},
		{[]fault.Rule{reset(ratio(1, 1)), reset(ratio(1, 2))}, "fault 1 already takes every request that this one matches; put the narrower fault first"},
	} {
		var got []string
		for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": c.rules}}) {
			got = append(got, p.Error())
		}
		want := ""
		if c.want != "" {
			want = fmt.Sprintf("phase p: fault %d: match: %s", len(c.rules), c.want)
		}
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.rules, diff)
		}
	}
}

func BenchmarkDecideShared(b *testing.B) {
	ph := play(b, 1, reset(ratio(1, 5)), reset(ratio(1, 5)), reset(ratio(1, 10)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ph.Decide(fault.Request{Method: "GET", Path: "/"})
		}
	})
}
