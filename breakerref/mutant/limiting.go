package mutant

// limiting are the mutants of a rate limiter.
func limiting() []Mutant {
	return []Mutant{{
		Name: "limiter_mute", Says: "does not answer what its rate limiter refuses",
		Part: PartLimiter, Base: Resilience4j, Around: Around{MutesLimited: true}, Caught: []string{rates}, Needs: Needs{Limiter: true},
	}}
}
