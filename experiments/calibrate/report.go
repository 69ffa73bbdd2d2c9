package calibrate

import (
	"fmt"
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
)

// Report is what came of a calibration.
type Report struct {
	Mutants      []Defect `json:"mutants"`
	Good         []Good   `json:"good"`
	Caught       int      `json:"caught"`
	Total        int      `json:"total"` // of mutants
	FalseAlarms  int      `json:"false_alarms"`
	Inconclusive int      `json:"inconclusive"`       // right services and mutants of which nothing could be said
	Unplayed     []string `json:"unplayed,omitempty"` // experiments that virtual time can tell nothing of: sockets can
}

// Defect is a mutant, and what named it.
type Defect struct {
	Name         string   `json:"name"`
	Part         string   `json:"part"`
	Base         string   `json:"base"`
	Says         string   `json:"says"`
	CaughtBy     []string `json:"caught_by"` // experiment/assertion
	MissedBy     []string `json:"missed_by"` // those of rules that can name it and did not: it made no difference there, or too little was seen
	Caught       bool     `json:"caught"`
	Inconclusive string   `json:"inconclusive,omitempty"` // why nothing was decided, in real time; such a mutant is not missed

	undecided string // why a rule that can name it decided nothing
}

// Good is a right service, and what was said of it.
type Good struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"` // of a verdict other than pass
}

// The verdicts on a right service.
const (
	VerdictPass         = "pass"
	VerdictFail         = "fail"
	VerdictInconclusive = "inconclusive"
)

// Missed are the mutants that were not caught although they could be looked at.
func (r *Report) Missed() []Defect {
	return slices.DeleteFunc(slices.Clone(r.Mutants), func(d Defect) bool { return d.Caught || d.Inconclusive != "" })
}

// add adds a mutant, of which nothing is known yet, and returns its place.
func (r *Report) add(m mutant.Mutant) int {
	r.Mutants = append(r.Mutants, Defect{
		Name: m.Name, Part: string(m.Part), Base: m.Base, Says: m.Says, CaughtBy: []string{}, MissedBy: []string{},
	})
	return len(r.Mutants) - 1
}

// judged takes what was said of the mutant in an experiment. In real time a machine may be too
// busy to say anything.
func (d *Defect) judged(experiment string, m mutant.Mutant, vs []assert.Verdict, timed bool) {
	for _, v := range vs {
		id := experiment + "/" + v.ID
		switch {
		case !slices.Contains(m.Caught, v.Kind):
		case v.Result == assert.Fail:
			d.CaughtBy = append(d.CaughtBy, id)
		default:
			d.MissedBy = append(d.MissedBy, id)
			if v.Result != assert.Pass && timed {
				if why := fmt.Sprintf("%s: %s", id, v.Reason); d.undecided == "" || why < d.undecided {
					d.undecided = why // Whichever is played first.
				}
			}
		}
	}
}

// judged takes what was said of a right service.
func (g *Good) judged(vs []assert.Verdict) {
	g.Verdict = VerdictPass
	if len(vs) == 0 {
		g.Verdict, g.Reason = VerdictInconclusive, "there is no verdict"
	}
	for _, v := range vs {
		switch v.Result {
		case assert.Pass:
		case assert.Fail:
			g.Verdict, g.Reason = VerdictFail, fmt.Sprintf("%s: expected %s, observed %s", v.ID, v.Expected, v.Observed)
			return
		default:
			g.Verdict, g.Reason = VerdictInconclusive, fmt.Sprintf("%s: %s", v.ID, v.Reason)
		}
	}
}

// sum sums up.
func (r *Report) sum() {
	for i := range r.Mutants {
		d := &r.Mutants[i]
		slices.Sort(d.CaughtBy)
		slices.Sort(d.MissedBy)
		switch d.Caught = len(d.CaughtBy) > 0; {
		case d.Caught:
			r.Caught++
		case d.undecided != "":
			d.Inconclusive = d.undecided
			r.Inconclusive++
		}
	}
	for _, g := range r.Good {
		switch g.Verdict {
		case VerdictFail:
			r.FalseAlarms++
		case VerdictInconclusive:
			r.Inconclusive++
		}
	}
}
