package assert

// About is what a rule speaks of: a breaker, an injector, targets, some of them or none.
type About struct {
	Breaker  string
	Injector string
	Targets  []string
}

// About implements [Rule].
func (r Opens) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r StaysClosed) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r Leak) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r OpenDuration) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r HalfOpenProbes) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r ReopensOnFailedProbe) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r Closes) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r NeverStuck) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r ShortLatency) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r FallbackShare) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r FallbackContinuity) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r FallbackStaleness) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r EjectionOpens) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r EjectionDuration) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r EjectionReturns) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r RecoveryTime) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r HerdPeak) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r HerdSync) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r ReportedStateAgrees) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r MetricAgrees) About() About { return About{Breaker: r.Breaker} }

// About implements [Rule].
func (r AbandonedAfter) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r CancelPropagates) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r DownstreamConcurrency) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r RetryAttempts) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r RetryAmplification) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r RetrySpacing) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r RetryBudget) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r RetryForbidden) About() About { return About{Injector: r.Injector} }

// About implements [Rule].
func (r Latency) About() About { return About{Targets: r.Targets} }

// About implements [Rule].
func (r Isolation) About() About { return About{Targets: r.Targets} }

// About implements [Rule].
func (r SLO) About() About { return About{Targets: r.Targets} }

// About implements [Rule].
func (r Share) About() About { return About{Breaker: r.Breaker, Targets: r.Targets} }

// About implements [Rule].
func (r DownstreamCalls) About() About { return About{Breaker: r.Breaker, Injector: r.Injector} }

// About implements [Rule].
func (r DownstreamRate) About() About { return About{Injector: r.Injector, Targets: r.Targets} }

// About implements [Rule].
func (FallbackForbidden) About() About { return About{} }

// About implements [Rule].
func (steadyState) About() About { return About{} }

// breakerOf names the breaker whose states a rule needs, or none: a rule that says itself
// whether there was any state, and those that count answers, need none.
func breakerOf(r Rule) string {
	switch r := r.(type) {
	case Opens, StaysClosed, EjectionOpens, FallbackShare, FallbackStaleness, MetricAgrees, Share:
		return ""
	case DownstreamCalls:
		if r.When == "" || r.When == StateClosed {
			return ""
		}
	}
	return r.About().Breaker
}
