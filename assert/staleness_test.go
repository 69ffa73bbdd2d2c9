package assert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
)

// How old the fallback's answers are is judged by what they say, and only where an answer that
// is kept without a bound would have been found out.
func TestStaleness(t *testing.T) {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	byAge := assert.FallbackStaleness{Breaker: "cb", Max: 3 * time.Second, From: "header:Age"}
	byDate := assert.FallbackStaleness{Breaker: "cb", Max: 3 * time.Second, From: "$.as_of"}
	for name, c := range map[string]struct {
		aside  aside
		rule   assert.FallbackStaleness
		outage time.Duration
		want   assert.Result
		says   string
	}{
		"bounded":               {aside{Keep: 3 * time.Second}, byAge, 7 * time.Second, pass, ""},
		"bounded, dated":        {aside{Keep: 3 * time.Second, Dated: true}, byDate, 7 * time.Second, pass, ""},
		"without a bound":       {aside{Keep: time.Hour}, byAge, 7 * time.Second, fail, "older than 3s"},
		"without one, dated":    {aside{Keep: time.Hour, Dated: true}, byDate, 7 * time.Second, fail, "older than 3s"},
		"a bound too large":     {aside{Keep: 3500 * ms, Dated: true}, byDate, 7 * time.Second, fail, "older than 3s"},
		"too short an outage":   {aside{Keep: time.Hour}, byAge, 2 * time.Second, dunno, "no good answer for longer than 3s"},
		"some without an age":   {aside{Keep: 3 * time.Second, Ageless: 10}, byAge, 7 * time.Second, dunno, "have no header:Age"},
		"old, and some without": {aside{Keep: time.Hour, Ageless: 10}, byAge, 7 * time.Second, fail, ""},
		"another place":         {aside{Keep: time.Hour}, byDate, 7 * time.Second, dunno, "have no $.as_of"},
		"no fallback":           {aside{}, byAge, 7 * time.Second, dunno, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds() {
				s := plain()
				s.Seed, s.Aside, s.NoFallback = seed, c.aside, true
				s.Phases = []phase{
					{Name: "baseline", Duration: time.Second, Rate: 50},
					{Name: "outage", Duration: c.outage, Rate: 50, Faults: unavailable()},
					{Name: "end", Duration: 3 * time.Second, Rate: 50},
				}
				r, rep := judged(s, alone("outage", c.rule))
				if v := rep.Verdicts[0]; v.Result != c.want || !strings.Contains(v.Reason, c.says) {
					t.Fatalf("seed %d: %s, %q, %q; want %s, %q\n%s", seed, v.Result, v.Observed, v.Reason, c.want, c.says, describe(r, rep))
				}
			}
		})
	}
	t.Run("clocks that differ", func(t *testing.T) {
		s := plain()
		s.Aside, s.NoFallback = aside{Keep: 3 * time.Second, Dated: true}, true
		s.Phases = []phase{{Name: "baseline", Duration: time.Second, Rate: 50}, {Name: "outage", Duration: 7 * time.Second, Rate: 50, Faults: unavailable()}}
		for _, behind := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
			r := simulate(s)
			for i := range r.trace.Calls {
				c := &r.trace.Calls[i]
				if c.Told == nil {
					continue
				}
				at, err := time.Parse(time.RFC3339Nano, c.Told.Ages["$.as_of"])
				if err != nil {
					t.Fatal(err)
				}
				c.Told.Ages["$.as_of"] = at.Add(-behind).Format(time.RFC3339Nano)
				c.Told.Ages["header:Date"] = r.trace.Header.Epoch.Add(c.Send - behind).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
			}
			r.spec.Assertions = alone("outage", byDate)
			if v := assert.Evaluate(r.spec, r.trace).Verdicts[0]; v.Result == fail {
				t.Errorf("%s behind: %s, %s", behind, v.Result, v.Reason)
			}
		}
	})
}

// ageGoldens are runs whose verdicts about the age of the fallback are kept.
func ageGoldens() []golden {
	with := func(keep time.Duration, ageless int) func(*setup) {
		return func(s *setup) {
			s.NoFallback, s.Aside = true, aside{Keep: keep, Ageless: ageless}
			s.Phases = []phase{{Name: "baseline", Duration: time.Second, Rate: 50}, {Name: "outage", Duration: 7 * time.Second, Rate: 50, Faults: unavailable()}}
		}
	}
	rule := assert.FallbackStaleness{Breaker: "cb", Max: 3 * time.Second, From: "header:Age"}
	return []golden{
		{name: "fallback is bounded in age", with: with(3*time.Second, 0), phase: "outage", rule: rule, want: assert.Pass},
		{name: "fallback is kept for ever", with: with(time.Hour, 0), phase: "outage", rule: rule, want: assert.Fail},
		{name: "fallback is kept for longer, by no more than the unit of its age", with: with(4500*ms, 0), phase: "outage", rule: rule, want: assert.Inconclusive},
		{name: "fallback does not always say its age", with: with(3*time.Second, 7), phase: "outage", rule: rule, want: assert.Inconclusive},
		{name: "outage is too short for an old fallback", with: with(time.Hour, 0), phase: "outage", rule: assert.FallbackStaleness{Breaker: "cb", Max: time.Minute, From: "header:Age"}, want: assert.Inconclusive},
	}
}
