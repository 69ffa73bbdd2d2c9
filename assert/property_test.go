package assert_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
)

// drawnCase is a drawn service with assertions that agree with how it is built.
type drawnCase struct {
	setup setup
	rules []assert.Assertion
}

// TestRightServiceNeverFails draws services, traffic and faults, the same ones
// every time unless FAULTLINE_DEEP=1. Whatever a rule says that agrees with how
// the breaker is built must not fail.
func TestRightServiceNeverFails(t *testing.T) {
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		rapid.Check(t, func(rt *rapid.T) {
			s, as := drawn{rt}.experiment()
			if bad := wrongly(drawnCase{s, as}); bad != "" {
				rt.Fatal(bad)
			}
		})
		return
	}
	gen := rapid.Custom(func(rt *rapid.T) drawnCase {
		s, as := drawn{rt}.experiment()
		return drawnCase{s, as}
	})
	for seed := range 150 {
		if bad := wrongly(gen.Example(seed)); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
	}
}

// wrongly says which rule fails of a drawn case although it should not.
func wrongly(c drawnCase) string {
	r, rep := judged(c.setup, c.rules)
	for _, v := range rep.Verdicts {
		if v.Result == assert.Fail && !trulyFails(c.setup, r, v) {
			return fmt.Sprintf("%s fails\n%+v\n%s", v.ID, c.setup, describe(r, rep))
		}
	}
	return ""
}

// trulyFails reports whether a rule of a drawn experiment does not hold of a
// right service. Some cannot: a breaker does open in an outage, and one that is
// not declared, or was running before, opens earlier than on an empty window.
func trulyFails(s setup, r result, v assert.Verdict) bool {
	switch strings.TrimPrefix(v.ID, v.Phase+" ") {
	case "stays":
		return opened(r, v.Phase)
	case "opens", "opens within":
		return s.Undeclared || s.Running != nil
	case "honest", "fallback":
		return true // counted from the answers alone
	}
	return false
}

// opened reports whether the breaker truly opened in a phase.
func opened(r result, phase string) bool {
	for i, p := range r.trace.Phases {
		if p.Name != phase {
			continue
		}
		end := r.trace.Phases[len(r.trace.Phases)-1].To * 2
		if i+1 < len(r.trace.Phases) {
			end = r.trace.Phases[i+1].From
		}
		for _, h := range r.truth {
			if h.to == breakerref.Open && h.at >= p.From && h.at <= end {
				return true
			}
		}
	}
	return false
}
