package predict

import (
	"net/http"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
)

// defect is one way in which a service is not what is declared. The zero value is
// none.
type defect struct {
	says    string // what it does, for a person
	breaker string // whose it is, for the ones of a breaker

	apart   bool                     // each instance has one of its own, where all are to share it
	config  func(*breakerref.Config) // a number is set wrongly
	model   func(*model.Config)      // one of the numbers of another library's breaker is
	late    int                      // it opens so many outcomes too late
	opensIn string                   // the phase in which it opens without a cause

	mutant    mutant.Mutant // a defect with a name
	miscounts bool          // its counters show half of what they count

	noFallback bool
	around     func(*experiments.Reference) // what lies around a call is set wrongly

	phase   string   // the following concern the calls of this phase only; empty: all
	targets []string // and to these targets only; empty: all
	class   string   // of all answers; "error" is a 500 of no class
	slow    time.Duration
	tardy   time.Duration // the same for answers to what the breaker refused

	injector string
	timeout  *time.Duration // towards the injector; 0: none
	twice    bool           // every call is made twice, to the injector
	silent   bool           // answers come from a cache

	retry      func(*experiments.Retry) // towards the injector, it is changed
	repeatsAll bool                     // towards it, also what must not be sent again is
	clings     bool                     // it goes on for clients that have left
}

// errorClass is the class of answers that are errors.
const errorClass = "error"

// concerns reports whether the defect is one of a request's answer.
func (d defect) concerns(r *request) bool {
	return (d.phase == "" || d.phase == r.phase) && (len(d.targets) == 0 || slices.Contains(d.targets, r.target.Name))
}

// concernsBreaker reports whether the defect is one of a breaker: of all, where none is named
// and it has a name itself.
func (d defect) concernsBreaker(name string) bool {
	return d.breaker == name || d.breaker == "" && d.mutant.Name != ""
}

// delays is how much later an answer comes.
func (d defect) delays(r *request, refused bool) time.Duration {
	switch {
	case !d.concerns(r):
		return 0
	case refused:
		return d.slow + d.tardy + d.mutant.Around.SlowReject
	}
	return d.slow
}

// answers is what is answered in place of a right answer.
func (d defect) answers(r *request, a answer, w *words) answer {
	if d.class == "" || !d.concerns(r) {
		return a
	}
	if d.class == errorClass {
		return answer{status: http.StatusInternalServerError, class: match.Unclassified}
	}
	wrong, _ := w.of(d.class, http.StatusOK)
	return wrong
}

// repeats reports whether calls to an injector are made twice.
func (d defect) repeats(injector string) bool { return d.twice && d.injector == injector }

// patience is how long the service waits for an injector that it should wait for
// so long.
func (d defect) patience(injector string, declared time.Duration) time.Duration {
	switch {
	case d.mutant.Around.NoTimeout:
		return 0
	case d.timeout != nil && d.injector == injector:
		return *d.timeout
	}
	return declared
}
