package experiments

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// The ends of what a rule or a criterion bounds, behind a subject.
const (
	ofShare   = ".share"
	ofLatency = ".latency"
)

// classes are the subjects that are names of classes.
func (r *reader) classes() []string {
	list := []string{match.Unclassified}
	for _, c := range r.plan.Classes {
		if c.Name != "" {
			list = append(list, c.Name)
		}
	}
	return list
}

// bounded are the numbers that a criterion can bound.
func (r *reader) bounded() []string {
	subjects := append(r.classes(), assert.SubjectError)
	if len(r.breakers.known) > 0 || r.breakers.blind {
		subjects = append(subjects, assert.SubjectShort)
	}
	var list []string
	for _, s := range subjects {
		list = append(list, s+ofShare)
	}
	for _, s := range append([]string{""}, r.classes()...) {
		for _, q := range quantiles() {
			list = append(list, strings.TrimPrefix(s+ofLatency, ".")+"."+q.key)
		}
	}
	return list
}

// steadyState reads what holds in a healthy system. It is looked at before any
// fault, so there must be something to look at.
func (r *reader) steadyState(v yamldoc.Value) {
	seen := &names{kind: "criterion"}
	for _, item := range v.Items() {
		c, ok := r.criterion(item)
		if ok {
			seen.declare(item, bounds(c))
			r.plan.SteadyState = append(r.plan.SteadyState, c)
		}
	}
	if len(r.plan.SteadyState) == 0 || r.noPhases {
		return
	}
	for _, p := range r.plan.Phases {
		if len(p.Faults) > 0 {
			break
		}
		if p.Measure && !p.pause() {
			return
		}
	}
	v.Problemf("no measured phase sends calls before the first fault, so it could not be seen to hold; begin with one, as {name: baseline, duration: 5s}")
}

// bounds is what a criterion is about, and from which side.
func bounds(c assert.Criterion) string {
	return strings.Join(strings.Fields(c.String())[:2], " ")
}

// criterion reads a bound in one line, such as "primary.share >= 99.5%". It is
// false when there is none or it is wrong.
func (r *reader) criterion(v yamldoc.Value) (assert.Criterion, bool) {
	text, ok := v.Scalar(`a criterion such as "primary.share >= 99.5%"`)
	if !ok {
		return assert.Criterion{}, false
	}
	c, err := parseCriterion(text, r.bounded(), r.noClasses)
	if err != nil {
		v.Problemf("%v", err)
		return assert.Criterion{}, false
	}
	return c, true
}

// parseCriterion reads a criterion about one of the known numbers, or any if all
// are to be taken.
func parseCriterion(text string, known []string, all bool) (assert.Criterion, error) {
	parts := regexp.MustCompile(`^([^<>=!]*)([<>=!]*)(.*)$`).FindStringSubmatch(text)
	if parts == nil {
		return assert.Criterion{}, fmt.Errorf("%q is not a criterion; write it in one line, as primary.share >= 99.5%% or latency.p99 <= 300ms", text)
	}
	number, op, limit := strings.TrimSpace(parts[1]), parts[2], strings.TrimSpace(parts[3])
	c, ok := about(number)
	ok = ok && (all || slices.Contains(known, number))
	switch {
	case op == "":
		return c, fmt.Errorf("%q has no comparison; write it as primary.share >= 99.5%% or latency.p99 <= 300ms", text)
	case number == "":
		return c, fmt.Errorf("%q compares nothing; write it as primary.share >= 99.5%% or latency.p99 <= 300ms", text)
	case !ok:
		return c, fmt.Errorf("%q is not known here%s", number, yamldoc.Hint(number, known))
	case op != ">=" && op != "<=":
		return c, fmt.Errorf("%s is not a comparison here; write >= or <=", op)
	case c.Quantile > 0 && op == ">=":
		return c, fmt.Errorf("a latency is bounded from above; write %s <= %s", number, limit)
	}
	c.AtLeast = op == ">="
	return withLimit(c, limit)
}

// about reads which number a criterion bounds.
func about(number string) (assert.Criterion, bool) {
	if subject, ok := strings.CutSuffix(number, ofShare); ok {
		return assert.Criterion{Subject: subject}, true
	}
	for _, q := range quantiles() {
		if name, ok := strings.CutSuffix("."+number, ofLatency+"."+q.key); ok {
			subject := strings.TrimPrefix(name, ".")
			if subject == "" {
				subject = assert.SubjectAll
			}
			return assert.Criterion{Subject: subject, Quantile: q.value}, true
		}
	}
	return assert.Criterion{}, false
}

// withLimit reads the bound itself. One that holds whatever happens says nothing.
func withLimit(c assert.Criterion, limit string) (assert.Criterion, error) {
	if c.Quantile > 0 {
		d, err := yamldoc.ParseDuration(limit)
		if err == nil && d == 0 {
			err = errors.New("a latency is above zero")
		}
		c.Latency = d
		return c, err
	}
	share, err := yamldoc.ParseShare(limit)
	c.Share = share.Float()
	switch {
	case err != nil:
		return c, err
	case c.AtLeast && share.Num == 0:
		return c, errors.New("at least 0% holds whatever happens")
	case !c.AtLeast && share.Num == share.Den:
		return c, errors.New("at most 100% holds whatever happens")
	}
	return c, nil
}
