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

	base func(breakerref.Config) model.Config // nil: Resilience4j's
}

// Needs is what a service must have so that the defect can show.
type Needs struct {
	Fallback   bool
	TimeWindow bool // a window of time
	CallWindow bool // a window of calls
	HalfOpen   bool // a state in which probes are limited
	Limiter    bool // a rate limiter
	Library    bool // Resilience4j's breaker: no model of another has what goes wrong
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
	NoTimeout      bool          // it waits for the dependency without end
	SlowReject     time.Duration // so much later is answered what the breaker rejects
	FallbackAlways bool          // the fallback answers although the dependency did
	EmptyFallback  bool          // the fallback has nothing, which is served as a success
	NoFallback     bool          // there is none
	HidesRejected  bool          // its counter shows half of what it rejects
	MutesLimited   bool          // it does not answer what its rate limiter refuses
}

// All are all mutants, those of one part together.
func All() []Mutant {
	return slices.Concat(opening(), counting(), waiting(), probing(), admitting(), reporting(), around(), limiting())
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

// BaseModel is the breaker, with the numbers of a configuration, whose rule the mutant
// breaks; nil where that is Resilience4j's.
func (m Mutant) BaseModel(cfg breakerref.Config) *model.Config {
	if m.base == nil {
		return nil
	}
	made := m.base(cfg)
	return &made
}

// ofGobreaker is a gobreaker with the numbers of a configuration: it opens by so many
// failures in a row as that needs calls.
func ofGobreaker(cfg breakerref.Config) model.Config {
	made := model.Gobreaker(model.GobreakerSettings{
		MaxRequests: cfg.Permitted, Timeout: cfg.Wait,
		Trip: model.Trip{Rule: model.Consecutive, Failures: cfg.MinimumCalls},
	})
	made.Name = cfg.Name
	return made
}

// Bases are the models that mutants have other than Resilience4j's.
func Bases() []string { return []string{Gobreaker} }

// Right is no mutant: a right service whose breaker is that of a base.
func Right(base string) Mutant {
	if base == Gobreaker {
		return Mutant{Base: base, base: ofGobreaker}
	}
	return Mutant{Base: Resilience4j}
}
