package assert_test

import (
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
)

// TestOnePermittedCall tells leaks from short waits where a visit has one probe,
// so that each of them is a single call between rejections.
func TestOnePermittedCall(t *testing.T) {
	for name, c := range map[string]struct {
		make  mutant
		fails string
	}{
		"right":          {},
		"leaks":          {leaky("leaks every tenth", 10), "no-leak"},
		"leaks seldom":   {leaky("leaks every 37th", 37), "no-leak"},
		"half the wait":  {change("", func(c *breakerref.Config) { c.Wait /= 2 }), "waits"},
		"twice the wait": {change("", func(c *breakerref.Config) { c.Wait *= 2 }), "waits"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain()
			s.Breaker.Permitted = 1
			s.Make = c.make.make
			r, rep := judged(s, goodRules(s))
			for _, v := range rep.Verdicts {
				named := v.ID == c.fails
				if named != (v.Result == assert.Fail) && (named || v.ID == "no-leak" || v.ID == "waits") {
					t.Errorf("%s is %s\n%s", v.ID, v.Result, describe(r, rep))
				}
			}
		})
	}
}

// TestOpeningLateIsNoLeak has a breaker that opens after 100 outcomes where 10
// were declared. What it lets through until then is no leak, also when pauses of
// the service hide where it opened.
func TestOpeningLateIsNoLeak(t *testing.T) {
	late := change("", func(c *breakerref.Config) { c.Window, c.MinimumCalls = 100, 100 })
	for seed := range uint64(40) {
		s := plain()
		s.Seed, s.Make = seed, late.make
		s.Breaker.Permitted = 1 + int(seed%5)
		s.Stalls = stalls{Every: 150 * ms, Took: span{50 * ms, 400 * ms}}
		r, rep := judged(s, goodRules(s))
		if v := verdict(rep, "no-leak"); v.Result == assert.Fail {
			t.Fatalf("seed %d: %s is %s\n%s", seed, v.ID, v.Result, describe(r, rep))
		}
	}
}
