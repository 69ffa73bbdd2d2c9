package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
)

// guess is what a service whose inside is not known has towards a dependency: what assertions
// ask of its timeout and its retries.
func (in *instance) guess(injector string) *experiments.Reference {
	s := &experiments.Reference{Injector: injector, Timeout: in.words.timeouts[injector], Policies: experiments.Policies{Retry: guessedRetry(in.plan, injector)}}
	for _, b := range in.plan.Breakers {
		if b.Injector == injector && b.Unit == assert.UnitCall && s.Retry != nil {
			s.Order = []string{experiments.PolicyBreaker, experiments.PolicyRetry}
		}
	}
	return s
}

// What retries are guessed to be where an assertion asks for some and not for this.
const (
	guessedAttempts = 3
	guessedWait     = 50 * time.Millisecond
)

// guessedRetry is the retry that the assertions about a dependency ask for together, or nil.
func guessedRetry(plan *experiments.Plan, injector string) *experiments.Retry {
	r, asked := &experiments.Retry{Wait: guessedWait}, false
	for _, a := range plan.Assertions { // Even chance has its quartiles as far apart as half of its range is wide.
		if rule, ok := a.Rule.(assert.RetrySpacing); ok && rule.Injector == injector {
			r.Jitter = max(r.Jitter, min(0.9, 2.5*rule.Jitter))
		}
	}
	for _, a := range plan.Assertions {
		if a.Rule.About().Injector != injector {
			continue
		}
		switch rule := a.Rule.(type) {
		case assert.RetryAttempts:
			r.Attempts, asked = max(rule.Exactly, rule.Max), true
		case assert.RetrySpacing:
			space(r, rule)
			asked = true
		case assert.RetryBudget:
			r.Budget, asked = guessedBudget(rule), true
		}
	}
	if !asked {
		return nil
	}
	if r.Attempts == 0 {
		r.Attempts = guessedAttempts
	}
	if r.Attempts < 2 {
		return nil
	}
	return r
}

// space sets the waits as a rule asks, with something to spare; how far apart chance may make them
// is known.
func space(r *experiments.Retry, rule assert.RetrySpacing) {
	if rule.Growth > 0 {
		r.Factor = rule.Growth
	}
	if rule.Min > 0 {
		r.Wait = time.Duration(1.1 * float64(rule.Min) / (1 - r.Jitter))
	}
	if rule.Max > 0 {
		r.MaxWait = time.Duration(0.9 * float64(rule.Max) / (1 + r.Jitter))
		r.Wait = min(r.Wait, r.MaxWait)
	}
	r.RetryAfter = r.RetryAfter || rule.RetryAfter
}

// guessedBudget is what Finagle's comes closest to what a rule allows.
func guessedBudget(rule assert.RetryBudget) *retry.BudgetConfig {
	window := min(max(rule.Window, time.Second), time.Minute)
	return &retry.BudgetConfig{
		Window: window.Truncate(time.Second), Ratio: rule.Ratio,
		MinPerSecond: rule.PerSecond + int(float64(rule.Burst)/window.Seconds()),
	}
}

// spares reports whether a service whose inside is not known never sends a request again, as an
// assertion forbids it.
func (in *instance) spares(c *asked, injector string) bool {
	if in.plan.SUT.Reference != nil || in.defect.repeatsAll && in.defect.injector == injector {
		return false
	}
	return slices.ContainsFunc(in.plan.Assertions, func(a experiments.PlanAssertion) bool {
		r, ok := a.Rule.(assert.RetryForbidden)
		return ok && r.Injector == injector && forbids(r, in.dep(injector).asked(c.r), c.r.target.Name)
	})
}

// forbids reports whether a rule is about a request.
func forbids(r assert.RetryForbidden, q fault.Request, target string) bool {
	method := len(r.Methods) == 0 || slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, q.Method) })
	path := len(r.Paths) == 0 || slices.ContainsFunc(r.Paths, func(p string) bool { return (fault.Match{Path: p}).Matches(fault.Request{Path: q.Path}) })
	return method && path && (len(r.Targets) == 0 || slices.Contains(r.Targets, target))
}

// cancels reports whether the service lets go of a dependency when its client leaves: faultline's
// own as it is set to, one whose inside is not known if an assertion asks for it.
func (w *way) cancels() bool {
	injector := w.dep.in.Name
	switch {
	case w.in.defect.clings && w.in.defect.injector == injector:
		return false
	case w.in.plan.SUT.Reference != nil:
		return w.service.Cancels
	}
	return slices.ContainsFunc(w.in.plan.Assertions, func(a experiments.PlanAssertion) bool {
		r, ok := a.Rule.(assert.CancelPropagates)
		return ok && r.Injector == injector
	})
}

// left reports whether a call of faultline's own service ended with its client's leaving, which is
// no outcome to its breaker.
func (w *way) left(c *asked, o outcome) bool {
	return o.why == gaveUp && w.in.plan.SUT.Reference != nil && w.cancels() && c.r.waits.ended()
}

// outlasting is a timeout towards a dependency that is longer than what an assertion looks at which
// asks that the service goes by its clients' patience, or 0.
func outlasting(plan *experiments.Plan, injector string) time.Duration {
	longest := time.Duration(0)
	for _, a := range plan.Assertions {
		if r, ok := a.Rule.(assert.CancelPropagates); ok && r.Injector == injector {
			longest = max(longest, 2*(plan.Timeout+r.Within))
		}
	}
	return longest
}

// retries is a service with the retry of a defect, if it has one.
func (d defect) retries(s *experiments.Reference) *experiments.Reference {
	if d.retry == nil || d.injector != s.Injector {
		return s
	}
	wrong := *s
	changed := experiments.Retry{Attempts: 1}
	if s.Retry != nil {
		changed = *s.Retry
	}
	d.retry(&changed)
	if wrong.Retry = &changed; wrong.Order != nil && !slices.Contains(wrong.Order, experiments.PolicyRetry) {
		wrong.Order = append([]string{experiments.PolicyRetry}, wrong.Order...)
	}
	return &wrong
}

// retried is a defect of retries.
func retried(injector, says string, change func(*experiments.Retry)) defect {
	return defect{injector: injector, retry: change, says: says + " at " + injector}
}

// wrongRetries are the defects of rules about retries.
func wrongRetries(plan *experiments.Plan, rule assert.Rule) []defect {
	switch r := rule.(type) {
	case assert.RetryAttempts:
		return wrongAttempts(r)
	case assert.RetryAmplification:
		return []defect{storm(plan, r)}
	case assert.RetrySpacing:
		return wrongSpacing(r)
	case assert.RetryBudget:
		return []defect{retried(r.Injector, "tries again without a budget", func(s *experiments.Retry) {
			s.Budget, s.Attempts = nil, max(s.Attempts, guessedAttempts)
		})}
	case assert.RetryForbidden:
		d := retried(r.Injector, "sends such requests again", func(s *experiments.Retry) {
			s.Methods, s.Attempts = nil, max(s.Attempts, 2)
		})
		d.repeatsAll = true
		return []defect{d}
	case assert.CancelPropagates:
		return []defect{{injector: r.Injector, clings: true, says: "goes on for clients that have left at " + r.Injector}}
	}
	return nil
}

// wrongAttempts makes one more, and one less.
func wrongAttempts(r assert.RetryAttempts) []defect {
	makes := func(n int) defect {
		return retried(r.Injector, "makes "+plural(n, "attempt"), func(s *experiments.Retry) { s.Attempts = n })
	}
	ds := []defect{makes(max(r.Exactly, r.Max) + 1)}
	if r.Exactly > 1 {
		ds = append(ds, makes(r.Exactly-1))
	}
	return ds
}

// storm multiplies what it is asked for, and nothing stops it.
func storm(plan *experiments.Plan, r assert.RetryAmplification) defect {
	n := int(math.Floor(r.Max)) + 1
	d := retried(r.Injector, "makes "+plural(n, "attempt")+" of all that fails", func(s *experiments.Retry) {
		s.Attempts, s.Methods, s.Budget, s.On = max(n, s.Attempts), nil, nil, nil
	})
	d.repeatsAll = true
	if b := breakerAt(plan, r.Injector); b != "" {
		open := neverOpens(b)
		d.breaker, d.mutant, d.says = open.breaker, open.mutant, d.says+", and never opens"
	}
	return d
}

// wrongSpacing breaks each thing that is asked of waits.
func wrongSpacing(r assert.RetrySpacing) []defect {
	var ds []defect
	add := func(asked bool, says string, change func(*experiments.Retry)) {
		if asked {
			ds = append(ds, retried(r.Injector, says, change))
		}
	}
	add(r.Min > 0, "does not wait", func(s *experiments.Retry) { s.Wait, s.Factor, s.MaxWait, s.Jitter, s.RetryAfter = 0, 0, 0, 0, false })
	add(r.Max > 0, fmt.Sprintf("waits for %s", 2*r.Max), func(s *experiments.Retry) { s.Wait, s.Factor, s.MaxWait = 2*r.Max, 0, 0 })
	add(r.Growth > 0, "waits always as long", func(s *experiments.Retry) { s.Factor, s.MaxWait = 0, 0 })
	add(r.Jitter > 0, "waits without chance", func(s *experiments.Retry) { s.Jitter = 0 })
	add(r.RetryAfter, "does not heed Retry-After", func(s *experiments.Retry) { s.RetryAfter = false })
	return ds
}

// repeatsSupposed says what is taken for granted of the retries of a service whose inside is not
// known.
func repeatsSupposed(plan *experiments.Plan) []string {
	var out []string
	once := false
	for _, in := range plan.Injectors {
		r := guessedRetry(plan, in.Name)
		if r == nil {
			once = true
			continue
		}
		s := fmt.Sprintf("it makes %s at %s, %s apart", plural(r.Attempts, "attempt"), in.Name, r.Wait.Round(time.Millisecond))
		if r.Factor > 0 {
			s += fmt.Sprintf(" at first and each wait %g times the one before", r.Factor)
		}
		out = append(out, s+", as its assertions ask")
	}
	if once {
		out = append(out, "it calls a dependency once, without retries, where no assertion speaks of them")
	}
	if len(out) == 1 && once {
		return []string{"it calls a dependency once, without retries"}
	}
	return out
}
