package fault_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

// ramped selects by a ramp through points, each of an instant and a share in percent.
func ramped(stairs bool, points ...[2]int) fault.Select {
	r := &fault.Ramp{Stairs: stairs}
	for _, p := range points {
		r.Points = append(r.Points, fault.RampPoint{At: time.Duration(p[0]) * time.Second, Num: uint64(p[1]), Den: 100})
	}
	return fault.Select{Kind: fault.SelectRatio, Ramp: r}
}

func TestShareOfARamp(t *testing.T) {
	up, down := ramped(false, [2]int{0, 10}, [2]int{10, 50}).Ramp, ramped(false, [2]int{0, 50}, [2]int{10, 0}, [2]int{20, 100}).Ramp
	stairs := ramped(true, [2]int{0, 10}, [2]int{10, 30}, [2]int{20, 0}).Ramp
	for _, c := range []struct {
		ramp *fault.Ramp
		at   time.Duration
		want float64
	}{
		{up, 0, .1},
		{up, 5 * time.Second, .3},
		{up, 10 * time.Second, .5},
		{up, time.Hour, .5},
		{up, -time.Second, .1},
		{down, 5 * time.Second, .25},
		{down, 10 * time.Second, 0},
		{down, 15 * time.Second, .5},
		{down, 20 * time.Second, 1},
		{stairs, 0, .1},
		{stairs, 10*time.Second - 1, .1},
		{stairs, 10 * time.Second, .3},
		{stairs, time.Minute, 0},
		{up, math.MaxInt64, .5},
	} {
		num, den := c.ramp.Share(c.at)
		if got := float64(num) / float64(den); math.Abs(got-c.want) > 1e-11 {
			t.Errorf("at %v it is %v, want %v", c.at, got, c.want)
		}
	}
	if num, den := down.Share(10 * time.Second); num != 0 || den < 1<<39 || den > 1<<40 {
		t.Errorf("at its end it is %d in %d", num, den)
	}
}

// Between two points a share is on the line between them, or less than a unit below,
// so that lines that are together at most everything stay so.
func TestSharesAreRoundedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, 100).Draw(t, "from"), rapid.Int64Range(0, 100).Draw(t, "to")
		over := rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "over")
		at := rapid.Int64Range(0, over).Draw(t, "at")
		r := &fault.Ramp{Points: []fault.RampPoint{{Num: uint64(a), Den: 100}, {At: time.Duration(over), Num: uint64(b), Den: 100}}}
		num, den := r.Share(time.Duration(at))
		line := new(big.Rat).Mul(big.NewRat(b-a, 100), big.NewRat(at, over))
		line.Add(line, big.NewRat(a, 100))
		below := line.Sub(line, big.NewRat(int64(num), int64(den)))
		if below.Sign() < 0 || below.Cmp(big.NewRat(1, int64(den))) >= 0 {
			t.Fatalf("%d %% to %d %% over %d, at %d: %d in %d is %v below", a, b, over, at, num, den, below)
		}
	})
}

// anyRamp draws a ramp whose shares are at most most in 1000.
func anyRamp(t *rapid.T, most uint64) fault.Select {
	r := &fault.Ramp{Stairs: rapid.Bool().Draw(t, "stairs")}
	at := time.Duration(0)
	for range rapid.IntRange(1, 6).Draw(t, "points") {
		num := rapid.OneOf(rapid.Just(most), rapid.Just(uint64(0)), rapid.Uint64Range(0, most)).Draw(t, "num")
		r.Points = append(r.Points, fault.RampPoint{At: at, Num: num, Den: 1000})
		at += time.Duration(rapid.Int64Range(1, int64(10*time.Second)).Draw(t, "step"))
	}
	return fault.Select{Kind: fault.SelectRatio, Ramp: r}
}

// arrivals draws instants that mostly rise, as they do where handlers overtake each other.
func arrivals(t *rapid.T, most int) []time.Duration {
	var all []time.Duration
	now := time.Duration(0)
	for _, gap := range rapid.SliceOfN(rapid.Int64Range(-int64(time.Millisecond), int64(300*time.Millisecond)), 1, most).Draw(t, "gaps") {
		now = max(0, now+time.Duration(gap))
		all = append(all, now)
	}
	return all
}

// owing adds what a rule should get of a request, exactly.
func owing(due *big.Rat, s fault.Select, at time.Duration) {
	num, den := s.Num, s.Den
	if s.Ramp != nil {
		num, den = s.Ramp.Share(at)
	}
	due.Add(due, new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den)))
}

// A ramp by itself is off by half a request at most, at every moment and for any
// arrivals, from the sum of its shares at their instants; and it hits nothing at 0.
func TestOneRampIsRounding(t *testing.T) {
	half := big.NewRat(1, 2)
	rapid.Check(t, func(t *rapid.T) {
		s := anyRamp(t, 1000)
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {reset(s)}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		ph, due := p.Phase("p"), new(big.Rat)
		for n, at := range arrivals(t, 400) {
			v := ph.Decide(fault.Request{At: at})
			owing(due, s, at)
			c := ph.Counts()[0]
			off := new(big.Rat).Sub(new(big.Rat).SetInt(new(big.Int).SetUint64(c.Hit)), due)
			if off.Abs(off).Cmp(half) > 0 {
				t.Fatalf("request %d at %v: %d hits of %s, %s off", n, at, c.Hit, due.FloatString(6), off.FloatString(6))
			}
			if num, _ := s.Ramp.Share(at); num == 0 && v.Rule != nil {
				t.Fatalf("request %d at %v was hit at a share of 0", n, at)
			}
			if want, _ := due.Float64(); math.Abs(c.Due-want) > 1e-6 {
				t.Fatalf("request %d: %v due, want %v", n, c.Due, want)
			}
		}
	})
}

// A ramp that stays where it is hits what the share hits.
func TestFlatRampIsItsShare(t *testing.T) {
	for percent := range 101 {
		constant, flat := play(t, 1, reset(ratio(uint64(percent), 100))), play(t, 1, reset(ramped(false, [2]int{0, percent}, [2]int{10, percent})))
		for n := range 1000 {
			at := time.Duration(n) * 37 * time.Millisecond
			if a, b := constant.Decide(fault.Request{At: at}).Rule != nil, flat.Decide(fault.Request{At: at}).Rule != nil; a != b {
				t.Fatalf("%d %%, request %d: %v, and by a ramp %v", percent, n, a, b)
			}
		}
	}
}

// behind is what none of r rules, some with ramps, is behind by.
func behind(r int) float64 {
	sum := 1 / float64(2*r)
	for k := 2; k <= r; k++ {
		sum += 1 / float64(k)
	}
	return sum
}

// Of ramps and constant shares with one match each is off by what is said at most:
// less than a request for up to three, and never ahead by one.
func TestRampsShareOneDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []fault.Rule
		r := rapid.IntRange(2, 6).Draw(t, "rules")
		for i := range r {
			most := uint64(1000 / r)
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "constant") == 0 {
				rules = append(rules, reset(ratio(rapid.Uint64Range(0, most).Draw(t, "share"), 1000)))
				continue
			}
			rules = append(rules, reset(anyRamp(t, most)))
		}
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		ph := p.Phase("p")
		due := make([]*big.Rat, r)
		for i := range due {
			due[i] = new(big.Rat)
		}
		for n, at := range arrivals(t, 300) {
			ph.Decide(fault.Request{At: at})
			for i, c := range ph.Counts() {
				owing(due[i], rules[i].Select, at)
				want, _ := due[i].Float64()
				if off := float64(c.Hit) - want; off >= 1 || off < -behind(r)-1e-9 {
					t.Fatalf("request %d at %v: rule %d of %d is %v off", n, at, i, r, off)
				}
			}
		}
	})
}

// Complementary ramps leave nothing alone, at every moment.
func TestRampsThatTakeEverything(t *testing.T) {
	ph := play(t, 1, reset(ramped(false, [2]int{0, 0}, [2]int{10, 100})), reset(ramped(false, [2]int{0, 100}, [2]int{10, 0})))
	passed := 0
	for n := range 1000 {
		if ph.Decide(fault.Request{At: time.Duration(n) * 10 * time.Millisecond}).Rule == nil {
			passed++
		}
	}
	if counts := ph.Counts(); passed > 1 || counts[0].Hit < 499 || counts[1].Hit < 499 { // Rounded down, they are a little less than all.
		t.Errorf("%d passed, %+v", passed, counts)
	}
}

// By chance, each request is hit with the probability of its instant, and the same
// ones in every run.
func TestRandomRamp(t *testing.T) {
	s := ramped(false, [2]int{0, 0}, [2]int{10, 100})
	s.Kind = fault.SelectRandom
	var runs [3][]bool
	for run := range runs {
		ph := play(t, uint64(1+run/2), reset(s)) // The last has another seed.
		for n := range 10_000 {
			runs[run] = append(runs[run], ph.Decide(fault.Request{At: time.Duration(n) * time.Millisecond}).Rule != nil)
		}
	}
	for tenth := range 10 {
		hits := 0
		for _, hit := range runs[0][tenth*1000 : tenth*1000+1000] {
			if hit {
				hits++
			}
		}
		// Five deviations of a binomial of 1000.
		if want := 100*tenth + 50; math.Abs(float64(hits-want)) > 80 {
			t.Errorf("tenth %d: %d hits, want about %d", tenth, hits, want)
		}
	}
	if !slices.Equal(runs[0], runs[1]) || slices.Equal(runs[0], runs[2]) {
		t.Error("it does not depend on the seed alone")
	}
}

// A key has the verdict of its first request, at the share of that instant.
func TestStickyRamp(t *testing.T) {
	s := ramped(true, [2]int{0, 0}, [2]int{10, 100})
	s.Sticky = fault.Sticky{By: fault.StickyHeader, Name: "U"}
	ph := play(t, 1, reset(s))
	ask := func(user string, at time.Duration) bool {
		return ph.Decide(fault.Request{At: at, Header: func(string) string { return user }}).Rule != nil
	}
	got := []bool{ask("early", 0), ask("late", 11*time.Second), ask("early", 12*time.Second), ask("late", 0)}
	if diff := cmp.Diff([]bool{false, true, false, true}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLatencyRamp(t *testing.T) {
	all := fault.Select{Kind: fault.SelectAll}
	line := fault.Latency{Ramp: &fault.LatencyRamp{Points: []fault.LatencyPoint{{0, 10 * time.Millisecond}, {30 * time.Second, 500 * time.Millisecond}}}}
	stairs := fault.Latency{Ramp: &fault.LatencyRamp{Stairs: true, Points: []fault.LatencyPoint{{0, time.Second}, {10 * time.Second, 0}}}}
	for _, c := range []struct {
		latency fault.Latency
		at      time.Duration
		want    time.Duration
	}{
		{line, 0, 10 * time.Millisecond},
		{line, 15 * time.Second, 255 * time.Millisecond},
		{line, time.Hour, 500 * time.Millisecond},
		{line, -1, 10 * time.Millisecond},
		{stairs, 10*time.Second - 1, time.Second},
		{stairs, 10 * time.Second, 0},
	} {
		ph := play(t, 1, fault.Rule{Select: all, Action: fault.ActionPass, Latency: c.latency})
		if got := ph.Decide(fault.Request{At: c.at}).Latency; got != c.want {
			t.Errorf("at %v it is %v, want %v", c.at, got, c.want)
		}
	}
	if line.Longest() != 500*time.Millisecond || line.Quantile(0) != 10*time.Millisecond || line.Mean() != 255*time.Millisecond {
		t.Errorf("%v, %v, %v", line.Longest(), line.Quantile(0), line.Mean())
	}
	if got, want := fmt.Sprint(line, "; ", stairs), "10ms to 500ms over 30s; 1s, from 10s on 0s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	tcp := fault.Rule{Select: all, Action: fault.ActionTCP, TCP: &fault.TCP{Down: &fault.Stream{Latency: line}}}
	v := play(t, 1, tcp).Decide(fault.Request{Layer: fault.LayerTCP, At: 15 * time.Second})
	if got := v.Through(v.Rule.TCP.Down, 1); got != 255*time.Millisecond {
		t.Errorf("a connection has %v", got)
	}
}

// The caller may change what it gave; the player has its own.
func TestRampsAreCopied(t *testing.T) {
	r := reset(ramped(true, [2]int{0, 100}))
	r.Latency.Ramp = &fault.LatencyRamp{Points: []fault.LatencyPoint{{0, time.Second}}}
	ph := play(t, 1, r)
	r.Select.Ramp.Points[0].Num, r.Latency.Ramp.Points[0].Latency = 0, 0
	if v := ph.Decide(fault.Request{}); v.Rule == nil || v.Latency != time.Second {
		t.Errorf("%+v", v)
	}
}

func TestRampsThatAreRefused(t *testing.T) {
	with := func(change func(*fault.Select)) fault.Rule {
		s := ramped(false, [2]int{0, 0}, [2]int{10, 50})
		change(&s)
		return reset(s)
	}
	late := func(points ...fault.LatencyPoint) fault.Rule {
		r := reset(fault.Select{Kind: fault.SelectAll})
		r.Latency.Ramp = &fault.LatencyRamp{Points: points}
		return r
	}
	both := late(fault.LatencyPoint{})
	both.Latency.Min, both.Latency.Max = 1, 1
	socket := fault.Rule{Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass, Match: fault.Match{WebSocket: true}}
	message := socket
	message.WebSocket = &fault.WebSocket{Messages: []fault.WSMessage{{To: fault.ToClient, Select: ramped(true, [2]int{0, 50}), Do: fault.WSDrop}}}
	delayed := socket
	delayed.WebSocket = &fault.WebSocket{Messages: []fault.WSMessage{{To: fault.ToClient, At: []uint64{1}, Do: fault.WSDelay, Delay: late(fault.LatencyPoint{Latency: 1}).Latency}}}
	for _, c := range []struct {
		want  string
		rules []fault.Rule
	}{
		{"fault 1: select.ramp: stands in the place of num and den; leave these out", []fault.Rule{with(func(s *fault.Select) { s.Num, s.Den = 1, 2 })}},
		{"select.ramp: has no meaning with kind shuffle, which deals a block of requests before anybody knows when they will come; use ratio or random", []fault.Rule{with(func(s *fault.Select) { s.Kind, s.Block = fault.SelectShuffle, 20 })}},
		{"select.ramp: has no meaning with kind first; it belongs to ratio", []fault.Rule{with(func(s *fault.Select) { s.Kind, s.First = fault.SelectFirst, 1 })}},
		{"select.ramp: has 0 points; write 1 to 500", []fault.Rule{with(func(s *fault.Select) { s.Ramp.Points = nil })}},
		{"select.ramp: begins at 1s; the first point is at 0", []fault.Rule{with(func(s *fault.Select) { s.Ramp.Points[0].At = time.Second })}},
		{"select.ramp: point 2 is at 0s, which is not after the one before, at 0s", []fault.Rule{with(func(s *fault.Select) { s.Ramp.Points[1].At = 0 })}},
		{"select.ramp: point 2 is 101 in 100, which is no share", []fault.Rule{with(func(s *fault.Select) { s.Ramp.Points[1].Num = 101 })}},
		{"select.ramp: point 1 is 0 in 0, which is no share", []fault.Rule{with(func(s *fault.Select) { s.Ramp.Points[0].Den = 0 })}},
		{"select.ramp: its denominators have no common multiple up to 1099511627776; write rounder shares", []fault.Rule{with(func(s *fault.Select) { s.Ramp.Points[0].Den, s.Ramp.Points[1].Den = 1<<39+1, 1<<39 })}},
		{"latency.ramp: point 1 is -1ns; write 0 or more", []fault.Rule{late(fault.LatencyPoint{Latency: -1})}},
		{"latency.ramp: has 0 points", []fault.Rule{late()}},
		{"latency.ramp: point 2 is at 0s", []fault.Rule{late(fault.LatencyPoint{}, fault.LatencyPoint{})}},
		{"latency: has 2 laws; a latency has one", []fault.Rule{both}},
		{"websocket.messages.1.select: has no meaning with a ramp: messages are selected by their numbers, and not by the time", []fault.Rule{message}},
		{"websocket.messages.1.delay: has no meaning with a ramp: messages are delayed by their numbers, and not by the time", []fault.Rule{delayed}},
		{
			"fault 2: match: with fault 1, these ratios are 110% of the same requests 10s after the phase began; one request gets one fault, so together they are at most 100%",
			[]fault.Rule{reset(ramped(false, [2]int{0, 0}, [2]int{10, 60})), reset(ratio(1, 2))},
		},
		// The first comes to 60 % as the second leaves its 50 %: too much just before.
		{"these ratios are 110% of the same requests 9.999999999s after the phase began", []fault.Rule{
			reset(ramped(false, [2]int{0, 0}, [2]int{10, 60})), reset(ramped(true, [2]int{0, 50}, [2]int{10, 0})),
		}},
		{"", []fault.Rule{reset(ramped(false, [2]int{0, 0}, [2]int{10, 50})), reset(ramped(true, [2]int{0, 50}, [2]int{10, 0}))}},
		{"", []fault.Rule{reset(ramped(false, [2]int{0, 100}, [2]int{10, 0})), reset(ramped(false, [2]int{0, 0}, [2]int{10, 100}))}},
		{"fault 1 may match the same requests and draws otherwise", []fault.Rule{with(func(s *fault.Select) { s.Kind = fault.SelectRandom }), reset(ratio(1, 10))}},
	} {
		var got []string
		for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": c.rules}}) {
			got = append(got, p.Error())
		}
		text := strings.Join(got, "\n")
		if !strings.Contains(text, c.want) || (c.want == "") != (text == "") {
			t.Errorf("got %q, want %q", text, c.want)
		}
	}
	many := ramped(true)
	for n := range 300 {
		many.Ramp.Points = append(many.Ramp.Points, fault.RampPoint{At: time.Duration(n), Num: 1, Den: 10})
	}
	if ps := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {reset(many), reset(many)}}}); len(ps) != 1 || !strings.Contains(ps[0].Text, "ramps with 600 points are more than can share one draw, which is 500") {
		t.Errorf("%v", ps)
	}
}

// The acceptance of a ratio: at every share of a hundred, a thousand requests of 1, 32
// and 256 callers at a time are hit so often, give or take less than one; a ramp's as
// often as the shares of their instants add up to.
func TestRatiosOfManyCallers(t *testing.T) {
	const requests = 1000
	for percent := range 101 {
		for _, callers := range []int{1, 32, 256} {
			for _, s := range []fault.Select{ratio(uint64(percent), 100), ramped(false, [2]int{0, 0}, [2]int{1, percent})} {
				ph := play(t, 1, reset(s))
				var next atomic.Int64
				var work sync.WaitGroup
				for range callers {
					work.Go(func() {
						for n := next.Add(1) - 1; n < requests; n = next.Add(1) - 1 {
							ph.Decide(fault.Request{At: time.Duration(n) * time.Millisecond})
						}
					})
				}
				work.Wait()
				due := new(big.Rat)
				for n := range requests {
					owing(due, s, time.Duration(n)*time.Millisecond)
				}
				want, _ := due.Float64()
				if c := ph.Counts()[0]; math.Abs(float64(c.Hit)-want) >= 1 {
					t.Errorf("%d %%, %d callers: %d hits, want %v", percent, callers, c.Hit, want)
				}
			}
		}
	}
}

func BenchmarkDecideRamps(b *testing.B) {
	ph := play(b, 1, reset(ramped(false, [2]int{0, 0}, [2]int{10, 50})), reset(ramped(true, [2]int{0, 20}, [2]int{5, 30}, [2]int{9, 50})))
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			ph.Decide(fault.Request{Method: "GET", Path: "/", At: time.Duration(n) * time.Microsecond})
		}
	})
}

// Whatever somebody sends as a ramp is refused, or played at any instant.
func TestNoRampPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Map(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 5)), func(n int64) time.Duration { return time.Duration(n) })
		number := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 5))
		drawn := func() fault.Rule {
			r := reset(fault.Select{Kind: rapid.SampledFrom([]fault.SelectKind{fault.SelectRatio, fault.SelectRandom, fault.SelectShuffle, fault.SelectAll}).Draw(t, "kind")})
			r.Select.Ramp = &fault.Ramp{Stairs: rapid.Bool().Draw(t, "stairs")}
			for range rapid.IntRange(0, 4).Draw(t, "points") {
				r.Select.Ramp.Points = append(r.Select.Ramp.Points, fault.RampPoint{At: duration.Draw(t, "at"), Num: number.Draw(t, "num"), Den: number.Draw(t, "den")})
			}
			if rapid.Bool().Draw(t, "late") {
				r.Latency.Ramp = &fault.LatencyRamp{Points: []fault.LatencyPoint{{At: 0, Latency: duration.Draw(t, "from")}, {At: duration.Draw(t, "over"), Latency: duration.Draw(t, "to")}}}
			}
			return r
		}
		rules := []fault.Rule{drawn(), drawn()}
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, 1)
		for _, r := range rules {
			r.Select.Hit(3)
			r.Select.Hits(3)
			_ = r.Latency.String() + r.Latency.Mean().String() + r.Latency.Longest().String()
			r.Select.Peak()
		}
		if err != nil {
			return
		}
		ph := p.Phase("p")
		for range 20 {
			ph.Decide(fault.Request{At: duration.Draw(t, "now")})
		}
	})
}
