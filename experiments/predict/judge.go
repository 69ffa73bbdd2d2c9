package predict

import (
	"cmp"
	"fmt"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
)

// judge says of each assertion whether the load can decide it.
func judge(plan *experiments.Plan, report assert.Report, right run) ([]Assertion, error) {
	j := judging{plan: plan, right: right, verdicts: map[string]map[string]assert.Verdict{}}
	out := []Assertion{}
	for _, v := range report.Verdicts {
		a, err := j.one(v)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// judging plays wrong services, each only once.
type judging struct {
	plan     *experiments.Plan
	right    run
	verdicts map[string]map[string]assert.Verdict // by defect, by assertion
}

// one says whether the load can decide one assertion, given its verdict about the
// right service.
func (j *judging) one(v assert.Verdict) (Assertion, error) {
	a := j.assertion(v)
	out := Assertion{
		ID: v.ID, Kind: v.Kind, Phase: v.Phase, Line: v.Line, Can: CanDecide,
		Expected: v.Expected, Observed: v.Observed, Reason: v.Reason, Remedy: v.Remedy,
	}
	if rule, injector := throughStream(j.plan, a.Phase); rule != "" {
		out.Can, out.Observed, out.Remedy = NotPredicted, "", "run it"
		out.Reason = fmt.Sprintf("fault %s is of connections at %s that calls may share: what it does to a call is up to what is said on them", rule, injector)
		return out, nil
	}
	if reason := bySessions(j.plan, a); reason != "" {
		out.Can, out.Observed, out.Reason, out.Remedy = NotPredicted, "", reason, "run it"
		return out, nil
	}
	if reason := byEjection(j.plan, a); reason != "" {
		out.Can, out.Observed, out.Reason, out.Remedy = NotPredicted, "", reason, "run it"
		return out, nil
	}
	for _, name := range breakersOf(j.plan, a) {
		if !foretold(j.plan, declaration(j.plan, name)) {
			out.Can, out.Observed = NotPredicted, ""
			out.Reason = fmt.Sprintf("breaker %s is not declared, so when it opens and for how long is not known", name)
			out.Remedy = fmt.Sprintf("declare window, minimum_calls, failure_rate, wait and permitted_calls under breakers.%s", name)
			return out, nil
		}
	}
	if reason, remedy := unforeseen(j.plan, a); reason != "" {
		out.Can, out.Observed, out.Reason, out.Remedy = NotPredicted, "", reason, remedy
		return out, nil
	}
	switch v.Result {
	case assert.Pass:
		out.Reason, out.Remedy = "", ""
		if lucky, err := j.lucky(&out); lucky || err != nil {
			return out, err
		}
		return out, j.negative(&out, a)
	case assert.Fail:
		return out, j.contradicts(&out, v)
	case assert.Skipped:
		out.Reason = "it leans on " + v.BlockedBy + ": " + v.Reason
		out.Remedy = cmp.Or(out.Remedy, "see to "+v.BlockedBy+" first")
	default:
	}
	out.Can = CannotDecide
	return out, nil
}

// lucky reports whether an assertion can be decided only if the calls meet the
// breaker at the right moments.
func (j *judging) lucky(out *Assertion) (bool, error) {
	for _, own := range others() {
		v, err := j.verdict(own, defect{says: own.String()}, out.ID)
		if err != nil {
			return false, err
		}
		if v.Result == assert.Inconclusive || v.Result == assert.Skipped {
			out.Can, out.Observed, out.Remedy = CannotDecide, v.Observed, v.Remedy
			out.Reason = "only if calls happen to come at the right moments, else " + v.Reason
			return true, nil
		}
	}
	return false, nil
}

// assertion finds the assertion of a verdict; that of the steady state is in no
// plan and has no rule.
func (j *judging) assertion(v assert.Verdict) assert.Assertion {
	for _, a := range j.plan.Spec().Assertions {
		if a.ID == v.ID {
			return a
		}
	}
	return assert.Assertion{ID: v.ID, Phase: v.Phase}
}

// contradicts concludes about an assertion that fails a right service: it
// contradicts what is declared, unless it asks for more speed than is supposed.
func (j *judging) contradicts(out *Assertion, v assert.Verdict) error {
	out.Can = Contradicts
	if out.Remedy == "" {
		out.Remedy = "correct the assertion, or what the file declares the service to be"
	}
	fast, err := j.verdict(still, defect{says: "no time"}, v.ID)
	if err == nil && fast.Result == assert.Pass {
		out.Can = NotPredicted
		out.Reason = fmt.Sprintf("it depends on how fast the service is; supposed are %s for each answer", 2*quick+4*hop)
		out.Remedy = "run it, or allow for more time"
	}
	return err
}

// negative plays the wrong services that an assertion is there to notice.
func (j *judging) negative(out *Assertion, a assert.Assertion) error {
	for _, d := range negatives(j.plan, a, j.right) {
		v, err := j.verdict(quick, d, a.ID)
		switch {
		case err != nil:
			return err
		case v.Result == assert.Fail, v.Result == assert.Skipped && v.BlockedBy != "":
			// What it leans on has failed: the defect does not go unseen.
			if out.Notices != "" {
				out.Notices += "; "
			}
			out.Notices += d.says
		case out.Misses == "":
			out.Can, out.Misses, out.Observed = WouldNotNotice, d.says, v.Observed
			out.Reason, out.Remedy = v.Reason, v.Remedy
			if v.Result == assert.Pass {
				out.Reason = "it would pass"
				out.Remedy = "bound it more narrowly, or look at it where it makes a difference"
			}
		}
	}
	return nil
}

// verdict is that about one assertion, if the service has a defect.
func (j *judging) verdict(own time.Duration, d defect, id string) (assert.Verdict, error) {
	key := fmt.Sprintf("%s|%s|%s|%v|%s", d.breaker, d.phase, d.opensIn, d.targets, d.says)
	if j.verdicts[key] == nil {
		ran, err := play(j.plan, own, d, len(j.right.trace.Calls))
		if err != nil {
			return assert.Verdict{}, err
		}
		j.verdicts[key] = map[string]assert.Verdict{}
		for _, v := range assert.Evaluate(j.plan.Spec(), ran.trace).Verdicts {
			j.verdicts[key][v.ID] = v
		}
	}
	return j.verdicts[key][id], nil
}
