package assert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
)

// A right SUT never fails, whatever the traffic and its own peculiarities.
func TestRightSUTNeverFails(t *testing.T) {
	tally := map[string]map[assert.Result]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s, as := drawn{rt}.experiment()
		r, rep := judged(s, as)
		bad := untrue(r, rep)
		for _, v := range rep.Verdicts {
			kind := v.ID[strings.Index(v.ID, " ")+1:]
			if tally[kind] == nil {
				tally[kind] = map[assert.Result]int{}
			}
			tally[kind][v.Result]++
			if v.Result == assert.Fail {
				bad = append(bad, v.ID+" fails")
			}
		}
		if len(bad) > 0 {
			rt.Fatalf("%v\n%+v\n%s", bad, s, describe(r, rep))
		}
	})
	kinds := make([]string, 0, len(tally))
	for k := range tally {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		t.Logf("%-14s pass %d, inconclusive %d, skipped %d", k, tally[k][assert.Pass], tally[k][assert.Inconclusive], tally[k][assert.Skipped])
	}
}

// untrue lists where an inferred change of state is not where a true one was.
func untrue(r result, rep assert.Report) []string {
	var bad []string
	check := func(i int, tl assert.Timeline, to breakerref.State, in assert.Interval) {
		for _, h := range r.truth {
			if fmt.Sprintf("i%d", h.instance) != tl.Instance && tl.Instance != "" {
				continue
			}
			if h.to == to && h.at >= in.Lo && h.at <= in.Hi {
				return
			}
		}
		bad = append(bad, fmt.Sprintf("segment %d of %q: no true change to %v in [%v %v]", i, tl.Instance, to, in.Lo, in.Hi))
	}
	for _, tl := range rep.Breakers {
		for i, s := range tl.Segments {
			switch {
			case i == 0:
			case s.State == assert.StateOpen:
				check(i, tl, breakerref.Open, s.From)
			case s.State == assert.StateHalfOpen:
				check(i, tl, breakerref.HalfOpen, s.From)
			case s.State == assert.StateClosed:
				check(i, tl, breakerref.Closed, s.From)
			}
		}
	}
	return bad
}

var _ = time.Second
