package assert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
)

// told are classes that tell an answer of the dependency from any other.
func told() match.Classes {
	return match.Classes{
		{Name: match.ClassPrimary, Contains: []string{"PAID"}}, {Name: match.ClassFallback, Contains: []string{"QUEUED"}}, {Name: match.ClassRejected, Status: []int{503}},
	}
}

// slow is a service whose dependency is healthy and then takes long, at a rate that fills a
// bulkhead of five.
func slow(a aside) setup {
	s := plain()
	s.Classes, s.NoFallback, s.Aside = told(), true, a
	passes := unavailable(passing, slowly(400*ms))
	s.Phases = []phase{
		{Name: "quiet", Duration: 2 * time.Second, Rate: 50},
		{Name: "slow", Duration: 8 * time.Second, Rate: 100, Faults: passes},
		{Name: "rest", Duration: 2 * time.Second, Rate: 30},
		{Name: "hang", Duration: 10 * time.Second, Rate: 100, Faults: unavailable(slowly(600 * ms))},
		{Name: "after", Duration: 6 * time.Second, Rate: 50},
	}
	return s
}

// never is a breaker that does not open.
func never(c breakerref.Config, now time.Time) breaker {
	return lies("", breakerref.Closed, false).make(c, now)
}

// What a full bulkhead rejects is not taken for an open breaker: neither is a breaker that
// never opens found to open, nor one that is right to leak, or to open too early.
func TestFullBulkhead(t *testing.T) {
	rules := []assert.Assertion{
		{ID: "stays", Phase: "slow", Rule: assert.StaysClosed{Breaker: "cb"}},
		{ID: "no-leak", Phase: "slow", Rule: assert.Leak{Breaker: "cb"}},
		{ID: "opens", Phase: "hang", Rule: assert.Opens{Breaker: "cb"}},
		{ID: "no-leak-then", Phase: "hang", Rule: assert.Leak{Breaker: "cb"}},
		{ID: "waits", Phase: "hang", Rule: assert.OpenDuration{Breaker: "cb", Equals: 2 * time.Second, Tolerance: 0.1}},
		{ID: "closes", Phase: "after", Rule: assert.Closes{Breaker: "cb"}},
	}
	for name, c := range map[string]struct {
		aside aside
		make  func(breakerref.Config, time.Time) breaker
		want  map[string]assert.Result // of the others only that they are not wrong
	}{
		"right":              {aside: aside{Bulkhead: 5}, want: map[string]assert.Result{"closes": assert.Pass}},
		"right, and tells":   {aside: aside{Bulkhead: 5, Tells: true}, want: map[string]assert.Result{"stays": assert.Pass, "opens": assert.Pass, "no-leak-then": assert.Pass, "closes": assert.Pass}},
		"never opens":        {aside: aside{Bulkhead: 5}, make: never, want: map[string]assert.Result{"opens": assert.Inconclusive}},
		"never opens, tells": {aside: aside{Bulkhead: 5, Tells: true}, make: never, want: map[string]assert.Result{"stays": assert.Pass}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds() {
				s := slow(c.aside)
				s.Seed, s.Make = seed, c.make
				r, rep := judged(s, rules)
				for _, v := range rep.Verdicts {
					wrong := c.make == nil && v.Result == assert.Fail || c.make != nil && v.ID == "opens" && v.Result == assert.Pass
					if want := c.want[v.ID]; wrong || want != "" && v.Result != want {
						t.Fatalf("seed %d: %s is %s, want %s\n%s", seed, v.ID, v.Result, want, describe(r, rep))
					}
				}
			}
		})
	}
}

// The report says how many calls were answered for which reason, and what shows it.
func TestShortsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		aside aside
		want  string
	}{
		"limited":         {aside{Limit: 40, Status: 429}, "limited (status 429)"},
		"limited, tells":  {aside{Limit: 40, Status: 503, Tells: true}, "limited (load.reasons.limited)"},
		"bulkhead":        {aside{Bulkhead: 5}, "bulkhead (as many calls were under way as ever)"},
		"bulkhead, tells": {aside{Bulkhead: 5, Tells: true}, "bulkhead (x-envoy-overloaded)"},
		"cached":          {aside{Cache: 100 * ms}, "cached (an answer of class primary)"},
		"coalesced":       {aside{Coalesce: true}, "cached (an answer of class primary)"},
	} {
		t.Run(name, func(t *testing.T) {
			r, rep := judged(slow(c.aside), nil)
			var all []string
			for _, s := range rep.Breakers[0].Shorts {
				all = append(all, s.String())
			}
			if text := strings.Join(all, "; "); !strings.Contains(text, " "+c.want) {
				t.Errorf("shorts %q, want %q\n%s", text, c.want, describe(r, rep))
			}
		})
	}
}

// A limiter, a cache and calls that are merged are not taken for an open breaker either.
func TestAnsweredAside(t *testing.T) {
	rules := goodRules(plain())
	for name, a := range map[string]aside{
		"limited":           {Limit: 60, Status: 429},
		"limited, unmarked": {Limit: 60, Status: 503},
		"limited, tells":    {Limit: 60, Status: 503, Tells: true},
		"cached":            {Cache: 100 * ms},
		"cached, tells":     {Cache: 100 * ms, Tells: true},
		"coalesced":         {Coalesce: true},
		"bulkhead":          {Bulkhead: 3},
		"bulkhead, inside":  {Bulkhead: 3, Inside: true},
		"bulkhead, tells":   {Bulkhead: 3, Tells: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds() {
				s := plain()
				s.Seed, s.Aside, s.Classes = seed, a, told()
				withBaseline(&s)
				r, rep := judged(s, rules)
				for _, v := range rep.Verdicts {
					if v.Result == assert.Fail && v.ID != "honest" && v.ID != "fallback" {
						t.Fatalf("seed %d: %s fails\n%s", seed, v.ID, describe(r, rep))
					}
				}
			}
		})
	}
}
