package predict

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/experiments"
)

// live is the guess about the breakers' states by which a run ends phases and lets
// held requests go.
type live struct{ breakers []*guess }

// guess is what is thought of one breaker.
type guess struct {
	name, injector     string
	targets            []string
	free               int           // admissions in a row that make it look closed
	rejected, admitted int           // in a row
	since              time.Duration // end of the first of the rejections
}

// openAfter is how many rejections in a row make a breaker look open.
const openAfter = 3

func newLive(plan *experiments.Plan) *live {
	l := &live{}
	for _, b := range plan.Breakers {
		l.breakers = append(l.breakers, &guess{name: b.Name, injector: b.Injector, targets: b.Targets, free: 3*b.Config.Permitted + 10})
	}
	return l
}

// begin forgets what was before: it may have changed since.
func (l *live) begin() {
	for _, b := range l.breakers {
		b.rejected, b.admitted = 0, 0
	}
}

// ended looks at call n, which has ended, and tells the dependencies of rejections.
func (l *live) ended(w *playing, n int) {
	c := w.trace.Calls[n]
	for _, b := range l.breakers {
		switch {
		case !slices.Contains(b.targets, c.Target) || !c.Answered() || w.dep(b.injector).hidFrom(n):
		case w.dep(b.injector).reachedBy(n):
			if b.rejected == 0 || c.Send > b.since {
				b.rejected = 0
				b.admitted++
			}
		default:
			if b.rejected == 0 {
				b.since = c.End
			}
			b.rejected, b.admitted = b.rejected+1, 0
			w.dep(b.injector).rejected(c.Send)
		}
	}
}

// is reports whether the calls of the current phase show a breaker in a state.
func (l *live) is(breaker, state string) bool {
	i := slices.IndexFunc(l.breakers, func(b *guess) bool { return b.name == breaker })
	if state == "open" {
		return l.breakers[i].rejected >= openAfter
	}
	return l.breakers[i].admitted >= l.breakers[i].free
}
