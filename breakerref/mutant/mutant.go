package mutant

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/target/match"
)

// Part is what of a service is wrong.
type Part string

// The parts.
const (
	PartBreaker  Part = "breaker"
	PartRetry    Part = "retry"
	PartTimeout  Part = "timeout"
	PartBulkhead Part = "bulkhead"
	PartLimiter  Part = "limiter"
	PartFallback Part = "fallback"
	PartReport   Part = "report" // what it tells of itself
)

// Resilience4j is the base of most mutants: the breaker of package breakerref.
const Resilience4j = "resilience4j"

// Gobreaker is the base of the mutants whose rule Resilience4j does not have: an outcome
// counts for the state that admitted its call, and else not at all.
const Gobreaker = "gobreaker"

// Mutant is a defect. The zero value is none.
type Mutant struct {
	Name string // a word, as in sut.reference.defect
	Says string // what it does wrong, as in "it ..."
	Part Part
	Base string // the model whose rule it breaks: Resilience4j or a preset of breakerref/model

	// Caught are the kinds of the rules that name it, such as breaker.opens. Another rule
	// may fail as well, by what follows from the defect; that does not say what is wrong.
	Caught []string

	Needs   Needs
	Breaker Change
	Around  Around
}

// Needs is what a service must have so that the defect can show.
type Needs struct {
	Fallback   bool
	TimeWindow bool // a window of time
	CallWindow bool // a window of calls
	HalfOpen   bool // a state in which probes are limited
	Library    bool // Resilience4j's breaker: no model of another has what goes wrong

	Retry, TimeLimiter, Bulkhead, Limiter, Cache, Paging bool

	Cancels  bool // a client that leaves ends its call
	LimitKey bool // a rate limiter for each value of a header
	Order    bool // policies that nest otherwise than they do where nobody says how
}

// Change is what is wrong with a breaker. Nil is nothing.
type Change struct {
	Config  func(*breakerref.Config) // its numbers, where the base is Resilience4j
	Model   func(*model.Config)      // where it is another one
	Failure func(*match.Failure)     // what it counts
	Twins   int                      // so many breakers, asked in turn, in place of one; 0: one

	wrong func(*wrong)
}

// Around is what is wrong with the service around its breaker. The zero value is nothing.
type Around struct {
	NoTimeout     bool          // it waits for the dependency without end
	SlowReject    time.Duration // so much later is answered what the breaker rejects
	HidesRejected bool          // its counter shows half of what it rejects

	Policies     func(*Policies) // what is set wrongly, see Mutant.Set
	Limiter      Limiter
	LimitStatus  int  // of what the rate limiter rejects, in place of 429; 0: that
	NoRetryAfter bool // of what it rejects
	MutesLimited bool // it does not answer what it rejects
	LeaksPlaces  bool // the bulkhead loses a place with each call that fails
	SharesPlaces bool // all dependencies have one bulkhead

	OnSwitch string // what a list does where its sources switch; empty: what it is set to

	FallbackAlways     bool // the fallback answers although the dependency did
	EmptyFallback      bool // the fallback has nothing, which is served as a success
	NoFallback         bool // there is none
	FallbackEverywhere bool // routes without one have that of the rest
	FallbackCalls      bool // the dependency is called once more in place of what the breaker rejects
}

// All are all mutants, those of one part together.
func All() []Mutant {
	return slices.Concat(opening(), counting(), waiting(), probing(), admitting(), reporting(),
		retries(), timeouts(), bulkheads(), limiters(), fallingBack())
}

// Find returns the mutant of a name.
func Find(name string) (Mutant, bool) {
	all := All()
	i := slices.IndexFunc(all, func(m Mutant) bool { return m.Name == name })
	if i < 0 {
		return Mutant{}, false
	}
	return all[i], true
}

// Names are those of all mutants, in their order.
func Names() []string {
	var names []string
	for _, m := range All() {
		names = append(names, m.Name)
	}
	return names
}
