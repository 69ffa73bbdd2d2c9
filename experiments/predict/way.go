package predict

import (
	"errors"
	"fmt"
	"slices"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
)

// way is how an instance calls one dependency.
type way struct {
	in      *instance
	dep     *dependency
	service *experiments.Reference
	pool    *room
	calls   uint64
	chain   step  // all policies around the call
	kept    *kept // nil: no answers are
}

// newWay returns the way that a service has to its dependency, or what is wrong with its
// policies.
func newWay(in *instance, s *experiments.Reference) (*way, error) {
	s = in.defect.retries(in.defect.service(s))
	w := &way{in: in, dep: in.dep(s.Injector), service: s, pool: newRoom(s.Pool)}
	if s.Cache != nil {
		w.kept = &kept{cache: *s.Cache, answers: map[string]keptAnswer{}}
	}
	w.chain = w.reach
	var wrong error
	for _, word := range slices.Backward(s.Nested()) {
		p, err := w.policy(word)
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("play the %s towards %s: %w", word, s.Injector, err))
			continue
		}
		w.chain = p.wrap(w.chain)
	}
	return w, wrong
}

// policy makes the one of a word.
func (w *way) policy(word string) (policy, error) {
	switch {
	case word == experiments.PolicyRetry:
		return newRetrying(w)
	case word == experiments.PolicyRateLimiter:
		return newLimiting(w)
	case word == experiments.PolicyTimeLimiter:
		return newTimeLimiting(w)
	case word == experiments.PolicyBulkhead && w.service.ThreadPool != nil:
		return newThreads(w)
	case word == experiments.PolicyBulkhead:
		return newPlaces(w)
	default:
		return &breaking{w}, nil
	}
}

// wayOf returns the way that faultline's own service has to its dependency; there is one for each.
func (in *instance) wayOf(s *experiments.Reference) *way { return in.ways[s] }

// wayTo returns the way that a service whose inside is not known has to a dependency.
func (in *instance) wayTo(injector string) *way { return in.guessed[injector] }

// ask makes a call, with all that is around it.
func (w *way) ask(r *request, done func(outcome)) {
	c := &asked{r: r, number: w.calls}
	if w.cancels() {
		c.scope = r.waits
	}
	w.calls++
	if w.in.defect.repeats(w.dep.in.Name) {
		w.chain(c, func(outcome) { w.chain(c, done) })
		return
	}
	w.chain(c, done)
}

// declared finds the breaker that a request asks on this way. It is nil where it is
// not declared, as then nothing is known of it.
func (w *way) declared(r *request) (*breaker, match.Failure) {
	for _, b := range w.in.plan.Breakers {
		if b.Injector == w.dep.in.Name && slices.Contains(b.Targets, r.target.Name) {
			made := w.in.breakers[b.Name]
			if !b.Declared && made.made.Other == nil {
				return nil, b.Failure
			}
			return made, made.failure
		}
	}
	return nil, match.DefaultFailure()
}

// reach calls the dependency.
func (w *way) reach(c *asked, done func(outcome)) {
	c.begin()
	if c.scope.ended() {
		done(outcome{why: gaveUp})
		return
	}
	_, failure := w.declared(c.r)
	start := w.in.now
	w.exchange(c, func(o outcome) {
		o.failed = counts(failure, false, o, w.in.now-start)
		done(o)
	})
}

// exchange sends a request and tells how it ended: by a reply, or by somebody's
// patience.
func (w *way) exchange(c *asked, over func(outcome)) {
	in, ended := w.in, false
	var leave func()
	sent := false
	end := func(o outcome) {
		if ended {
			return
		}
		ended = true
		if sent {
			w.pool.leave()
		}
		over(o)
	}
	w.pool.enter(func() {
		if ended { // It was given up while it waited for a connection.
			w.pool.leave()
			return
		}
		sent = true
		in.after(hop, func() {
			leave = w.dep.arrive(c.r, func(rep reply) { in.after(hop, func() { end(outcome{reply: rep}) }) })
		})
	})
	giveUp := func() {
		if ended {
			return
		}
		end(outcome{why: gaveUp})
		in.after(hop, func() {
			if leave != nil {
				leave()
			}
		})
	}
	c.scope.onEnd(giveUp)
	if timeout := in.defect.patience(w.dep.in.Name, w.service.Timeout); timeout > 0 {
		in.agenda.queue(in.now, timeout, giveUp)
	}
}
