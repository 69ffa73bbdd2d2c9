package assert

import (
	"slices"
	"strings"

	"github.com/faultline-go/faultline/target/match"
)

// toldApart are the ids of the calls of a breaker that surely something else answered.
func (e *evidence) toldApart(breaker string) map[string]bool {
	told := map[string]bool{}
	for _, v := range e.views[breaker] {
		for c := range v.aside {
			told[c.Call.ID] = true
		}
	}
	return told
}

// asideWords says what answered the calls that the breaker did not.
func (v *view) asideWords() string {
	var reasons []string
	for _, s := range v.shorts {
		if !slices.Contains(reasons, s.Reason) && !strings.HasPrefix(s.Reason, match.ReasonOpen) {
			reasons = append(reasons, s.Reason)
		}
	}
	slices.Sort(reasons)
	return strings.Join(reasons, ", ")
}

// doubts are the counts of the calls of which two reasons are possible, by breaker.
func (e *evidence) doubts() map[string][]Short {
	out := map[string][]Short{}
	for name, vs := range e.views {
		for _, v := range vs {
			for _, s := range v.shorts {
				if strings.Contains(s.Reason, " or ") {
					out[name] = append(out[name], s)
				}
			}
		}
		sortShorts(out[name])
	}
	for name, list := range out {
		if len(list) == 0 {
			delete(out, name)
		}
	}
	return out
}

// agreed puts two reports together, of the same assertions: one in whose reading the breaker
// gave the doubtful answers, and one in which they prove nothing. What both say stands, in the
// words of the second, which claims less.
func agreed(narrow, wide Report, doubts map[string][]Short) Report {
	out := wide
	out.Verdicts = slices.Clone(wide.Verdicts)
	for i, n := range narrow.Verdicts {
		if w := wide.Verdicts[i]; n.Result != w.Result {
			out.Verdicts[i] = disagree(n, w, doubts)
		}
	}
	return out
}

// disagree is the verdict about an assertion of which the readings say different things.
func disagree(narrow, wide Verdict, doubts map[string][]Short) Verdict {
	out := wide
	out.Result, out.BlockedBy, out.Margin = Inconclusive, "", ""
	var parts []string
	for _, name := range sortedKeys(doubts) {
		for _, s := range doubts[name] {
			parts = append(parts, s.String())
		}
	}
	out.Reason = "it is not known why the SUT answered some calls itself: " + strings.Join(parts, ", ") +
		"; if the breaker did, this is " + string(narrow.Result) + ", else " + string(wide.Result)
	if wide.Result == Inconclusive && wide.Reason != "" {
		out.Reason += ": " + wide.Reason
	}
	out.Observed = narrow.Observed
	if wide.Observed != narrow.Observed {
		out.Observed += "; or else: " + wide.Observed
	}
	out.Remedy = "say under load.reasons how such an answer is known (open, limited, bulkhead, cached), or keep what else answers out of this phase"
	return out
}
