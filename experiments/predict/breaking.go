package predict

import (
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
)

// breaking asks the breaker that a call is declared to ask, if there is one.
type breaking struct{ way *way }

func (l *breaking) wrap(next step) step {
	return func(c *asked, done func(outcome)) {
		b, _ := l.way.declared(c.r)
		if b == nil {
			next(c, done)
			return
		}
		b.ask(c, func(p permit, why cause) {
			if why == refused && l.way.in.defect.mutant.Around.FallbackCalls {
				next(c, func(outcome) { done(outcome{why: why}) })
				return
			}
			if why != replied {
				done(outcome{why: why})
				return
			}
			inner := c
			if b.cut > 0 {
				inner = c.within(c.scope.inside())
				b.agenda.queue(b.now, b.cut, inner.scope.end)
			}
			next(inner, func(o outcome) { done(l.end(c, b, p, o)) })
		})
	}
}

// end tells the breaker what came of a call, if it hears of it.
func (l *breaking) end(c *asked, b *breaker, p permit, o outcome) outcome {
	if l.way.left(c, o) {
		b.release(p)
		return o
	}
	return b.conclude(p, o, l.way.service.RejectionsFail)
}

// ask asks for a call, and waits if the breaker makes it wait for another one.
func (b *breaker) ask(c *asked, then func(permit, cause)) {
	p, answer := b.acquire()
	switch {
	case answer == model.Admitted:
		then(p, replied)
	case answer == model.Rejected:
		then(p, refused)
	case c.scope.ended():
		then(p, gaveUp)
	default:
		waits := true
		b.waiting[p.Token] = append(b.waiting[p.Token], func() {
			if waits {
				waits = false
				b.ask(c, then)
			}
		})
		c.scope.onEnd(func() {
			if waits {
				waits = false
				then(p, gaveUp)
			}
		})
	}
}

// conclude tells the breaker what came of a call that was let through, and returns what
// the caller is told.
func (b *breaker) conclude(p permit, o outcome, rejectionsFail bool) outcome {
	defer b.wake(p)
	if o.why.rejection() && !rejectionsFail {
		b.ignore(p)
		return o
	}
	took := b.now - p.at
	bad := counts(b.failure, rejectionsFail, o, took)
	o.failed = o.failed || bad
	if b.record(p, mutant.Outcome{Failed: bad, Took: took, Abandoned: o.why == gaveUp}) {
		return outcome{why: refused}
	}
	return o
}

// release takes back the permission of a call that ended without an outcome.
func (b *breaker) release(p permit) {
	defer b.wake(p)
	if !p.Stray {
		b.made.Release(b.clock(), p.Permit)
		b.note()
	}
}

// wake has those ask anew who waited for a call.
func (b *breaker) wake(p permit) {
	waiting := b.waiting[p.Token]
	if len(waiting) == 0 || p.Stray {
		return
	}
	delete(b.waiting, p.Token)
	for _, do := range waiting {
		b.after(0, do)
	}
}
