package fault_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

// drawn draws what a single rule makes of n requests, as a pattern.
func drawn(t testing.TB, seed uint64, s fault.Select, n int) string {
	t.Helper()
	ph := play(t, seed, reset(s))
	var b strings.Builder
	for range n {
		if ph.Decide(fault.Request{}).Rule != nil {
			b.WriteByte('X')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func shuffle(num, den, block uint64) fault.Select {
	return fault.Select{Kind: fault.SelectShuffle, Num: num, Den: den, Block: block}
}

func random(num, den uint64) fault.Select {
	return fault.Select{Kind: fault.SelectRandom, Num: num, Den: den}
}

// What is decided by the index alone is the same in a phase as by itself.
func TestPhasePlaysTheSelection(t *testing.T) {
	for _, s := range []fault.Select{
		{Kind: fault.SelectAll},
		{Kind: fault.SelectFirst, First: 3},
		{Kind: fault.SelectAfter, After: 3},
		{Kind: fault.SelectEvery, Every: 4},
		{Kind: fault.SelectScript, Pattern: "..XX."},
		ratio(2, 5),
	} {
		if diff := cmp.Diff(picture(s, 50), drawn(t, 1, s, 50)); diff != "" {
			t.Errorf("%+v: by itself (-) and in a phase (+):\n%s", s, diff)
		}
	}
}

// A shuffle has the share in each block, or what even spacing has there, and so
// the right sum at the end of each; where in a block, the seed says.
func TestShuffleIsExactInEachBlock(t *testing.T) {
	for percent := range uint64(101) {
		got := drawn(t, 3, shuffle(percent, 100, 20), 1000)
		sum := 0
		for block := range slices.Chunk([]byte(got), 20) {
			sum += strings.Count(string(block), "X")
			if percent%5 == 0 && strings.Count(string(block), "X") != int(percent)/5 {
				t.Errorf("%d %%: %s", percent, block)
			}
		}
		if sum != int(percent)*10 {
			t.Errorf("%d %%: %d hits of 1000", percent, sum)
		}
	}
	a := drawn(t, 1, shuffle(3, 10, 20), 200)
	if a != drawn(t, 1, shuffle(3, 10, 20), 200) {
		t.Error("the same seed shuffles otherwise")
	}
	if a == drawn(t, 2, shuffle(3, 10, 20), 200) || a == picture(ratio(3, 10), 200) || a[:20] == a[20:40] {
		t.Errorf("another seed, even spacing and every block are the same:\n%s", a)
	}
}

// Every place of a block is hit as often as another, and neighbours are no more
// often hit together than others.
func TestShuffleIsEven(t *testing.T) {
	const blocks, size = 20_000, 10
	got := drawn(t, 5, shuffle(2, 10, size), blocks*size)
	pairs := map[[2]int]int{}
	for block := range slices.Chunk([]byte(got), size) {
		a := strings.IndexByte(string(block), 'X')
		pairs[[2]int{a, strings.LastIndexByte(string(block), 'X')}]++
	}
	want := blocks / 45.0
	for a := range size {
		for b := a + 1; b < size; b++ {
			if n := float64(pairs[[2]int{a, b}]); math.Abs(n-want) > 5*math.Sqrt(want) {
				t.Errorf("places %d and %d: %v times, want about %v", a, b, n, want)
			}
		}
	}
}

// Several shuffled ratios share the block: each has its part of it.
func TestSharedShuffle(t *testing.T) {
	ph := play(t, 1, reset(shuffle(3, 10, 20)), reset(shuffle(1, 4, 20)))
	for block := range 50 {
		if diff := cmp.Diff(map[int]int{0: 6, 1: 5, -1: 9}, tally(ph, 20)); diff != "" {
			t.Fatalf("block %d (-want +got):\n%s", block, diff)
		}
	}
}

// Where a share is no whole number of a block, the blocks differ so that their sum
// is right.
func TestSharedShuffleOfUnevenBlocks(t *testing.T) {
	ph := play(t, 1, reset(shuffle(3, 10, 7)), reset(shuffle(1, 4, 7)))
	sum := map[int]int{}
	for n := 7; n <= 700; n += 7 {
		for rule, hits := range tally(ph, 7) {
			sum[rule] += hits
		}
		for rule, share := range []float64{.3, .25} {
			if off := math.Abs(float64(sum[rule]) - share*float64(n)); off >= 1 {
				t.Errorf("after %d requests rule %d is %v off", n, rule, off)
			}
		}
	}
}

// Random is right on average and known by the index, whatever came between.
func TestRandom(t *testing.T) {
	for _, percent := range []uint64{0, 1, 30, 99, 100} {
		const n = 100_000
		got := drawn(t, 9, random(percent, 100), n)
		want := float64(percent) * n / 100
		dev := 5 * math.Sqrt(want*(1-float64(percent)/100))
		if hits := float64(strings.Count(got, "X")); math.Abs(hits-want) > dev {
			t.Errorf("%d %%: %v hits, want %v", percent, hits, want)
		}
	}
	a := drawn(t, 1, random(1, 2), 200)
	if a != drawn(t, 1, random(1, 2), 200) || a == drawn(t, 2, random(1, 2), 200) {
		t.Error("not by the seed")
	}
	posts := reset(random(1, 2))
	posts.Match.Method = "POST"
	var b strings.Builder
	ph := play(t, 1, posts)
	for i := range 200 {
		for range i % 3 {
			ph.Decide(fault.Request{Method: "GET"}) // Not its business.
		}
		b.WriteString(map[bool]string{true: "X", false: "."}[ph.Decide(fault.Request{Method: "POST"}).Rule != nil])
	}
	if diff := cmp.Diff(a, b.String()); diff != "" {
		t.Error("other requests changed the draw:\n" + diff)
	}
}

func TestSharedRandom(t *testing.T) {
	const n = 100_000
	got := tally(play(t, 1, reset(random(3, 10)), reset(random(3, 10))), n)
	for rule, want := range map[int]float64{0: .3, 1: .3, -1: .4} {
		if dev := math.Abs(float64(got[rule]) - want*n); dev > 5*math.Sqrt(n*want*(1-want)) {
			t.Errorf("rule %d: %d of %d", rule, got[rule], n)
		}
	}
}

// A burst has stretches of the mean lengths, and begins well.
func TestBurst(t *testing.T) {
	for _, c := range []struct{ length, gap uint64 }{{5, 20}, {1, 3}, {10, 1}, {1, 1}} {
		const n = 200_000
		got := drawn(t, 4, fault.Select{Kind: fault.SelectBurst, Length: c.length, Gap: c.gap}, n)
		bad := strings.FieldsFunc(got, func(r rune) bool { return r == '.' })
		good := strings.FieldsFunc(got, func(r rune) bool { return r == 'X' })
		for what, s := range map[string]struct {
			mean      uint64
			stretches []string
		}{"bad": {c.length, bad}, "good": {c.gap, good}} {
			sum := 0
			for _, stretch := range s.stretches {
				sum += len(stretch)
			}
			mean := float64(sum) / float64(len(s.stretches))
			// The deviation of a geometric length is less than its mean.
			if dev := math.Abs(mean - float64(s.mean)); dev > 5*float64(s.mean)/math.Sqrt(float64(len(s.stretches))) {
				t.Errorf("%+v: %s stretches of %.3f", c, what, mean)
			}
		}
		if got[0] != '.' {
			t.Errorf("%+v begins with a hit", c)
		}
	}
	if got := drawn(t, 4, fault.Select{Kind: fault.SelectBurst, Length: 1, Gap: 1}, 6); got != ".X.X.X" {
		t.Errorf("one and one is %s", got)
	}
}

// asUser is a request of somebody.
func asUser(user string) fault.Request {
	return fault.Request{Method: "GET", Path: "/" + user, Peer: "10.0.0." + user + ":1234", Header: func(key string) string {
		switch key {
		case "X-User":
			return user
		case "Cookie":
			return "a=b; session=" + user + "; c=d"
		}
		return ""
	}}
}

func TestStickyByKey(t *testing.T) {
	for _, key := range []fault.Sticky{
		{By: fault.StickyHeader, Name: "X-User"}, {By: fault.StickyCookie, Name: "session"}, {By: fault.StickyPath}, {By: fault.StickyPeer},
	} {
		for _, s := range []fault.Select{
			ratio(2, 5), random(2, 5), shuffle(2, 5, 5),
			{Kind: fault.SelectFirst, First: 3},
			{Kind: fault.SelectEvery, Every: 3},
			{Kind: fault.SelectScript, Pattern: ".X.X"},
			{Kind: fault.SelectBurst, Length: 2, Gap: 2},
			{Kind: fault.SelectAfter, After: 2},
		} {
			sticky := s
			sticky.Sticky = key
			ph := play(t, 1, reset(sticky))
			var first, again strings.Builder
			for round, b := range []*strings.Builder{&first, &again} {
				for user := range 20 {
					for range 1 + round*user%3 { // A key that comes more often counts once.
						v := ph.Decide(asUser(fmt.Sprint(user)))
						if v.Rule != nil && v.Index != uint64(user) {
							t.Errorf("%v %s: user %d has index %d", key, s.Kind, user, v.Index)
						}
						if b.Len() == user {
							b.WriteString(map[bool]string{true: "X", false: "."}[v.Rule != nil])
						}
					}
				}
			}
			if want := drawn(t, 1, s, 20); first.String() != want || again.String() != want {
				t.Errorf("%v %s:\n%s\n%s\nwant\n%s", key, s.Kind, &first, &again, want)
			}
		}
	}
}

// A request without a key is one by itself.
func TestStickyWithoutKey(t *testing.T) {
	s := ratio(1, 2)
	s.Sticky = fault.Sticky{By: fault.StickyHeader, Name: "X-User"}
	if got, want := drawn(t, 1, s, 20), picture(ratio(1, 2), 20); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s = fault.Select{Kind: fault.SelectFirst, First: 2, Sticky: s.Sticky}
	if got := drawn(t, 1, s, 5); got != "XX..." {
		t.Errorf("the first two: %s", got)
	}
}

// Two faults with the same key and match share its draw.
func TestStickySharesTheDraw(t *testing.T) {
	s := ratio(3, 10)
	s.Sticky = fault.Sticky{By: fault.StickyPath}
	ph := play(t, 1, reset(s), reset(s))
	users := map[string]int{}
	for range 3 {
		for user := range 100 {
			id := "-"
			if v := ph.Decide(asUser(fmt.Sprint(user))); v.Rule != nil {
				id = v.Rule.ID
			}
			users[id]++
		}
	}
	if diff := cmp.Diff(map[string]int{"p/1": 90, "p/2": 90, "-": 120}, users); diff != "" {
		t.Error(diff)
	}
}

// Keys above the limit are not hit, and are counted.
func TestStickyForgets(t *testing.T) {
	for _, s := range []fault.Select{random(1, 2), {Kind: fault.SelectEvery, Every: 2}} {
		s.Sticky = fault.Sticky{By: fault.StickyPath}
		ph := play(t, 1, reset(s))
		for i := range fault.StickyKeys {
			ph.Decide(fault.Request{Path: fmt.Sprint("/", i)})
		}
		before := ph.Counts()[0]
		for i := range 1000 {
			if ph.Decide(fault.Request{Path: fmt.Sprint("/more/", i)}).Rule != nil {
				t.Fatalf("%s: a key above the limit is hit", s.Kind)
			}
		}
		want := fault.Count{Rule: "p/1", Seen: before.Seen + 1000, Hit: before.Hit, Forgotten: 1000}
		if diff := cmp.Diff(want, ph.Counts()[0]); diff != "" || before.Forgotten != 0 {
			t.Errorf("%s (-want +got):\n%s", s.Kind, diff)
		}
		again := 0
		for i := range fault.StickyKeys {
			if ph.Decide(fault.Request{Path: fmt.Sprint("/", i)}).Rule != nil {
				again++
			}
		}
		if again != int(before.Hit) {
			t.Errorf("%s: of the known keys, %d and then %d were hit", s.Kind, before.Hit, again)
		}
	}
}

// With the same seed and order of arrival, the same requests get the same faults.
func TestSameSeedSameVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []fault.Rule
		for range rapid.IntRange(1, 4).Draw(t, "rules") {
			s := rapid.OneOf(
				rapid.Just(ratio(1, 5)), rapid.Just(fault.Select{Kind: fault.SelectEvery, Every: 3}),
				rapid.Just(fault.Select{Kind: fault.SelectBurst, Length: 2, Gap: 5}),
				rapid.Just(fault.Select{Kind: fault.SelectFirst, First: 4, Sticky: fault.Sticky{By: fault.StickyPath}}),
			).Draw(t, "select")
			rules = append(rules, reset(s))
		}
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		a, b := p.Phase("p"), p.Phase("p")
		for _, user := range rapid.SliceOfN(rapid.StringMatching("[a-e]"), 1, 100).Draw(t, "users") {
			if x, y := a.Decide(asUser(user)), b.Decide(asUser(user)); x != y {
				t.Fatalf("%+v and %+v", x, y)
			}
		}
	})
}
