package predict

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// sut is the system under test: one instance, or as many as it has replicas.
type sut struct{ instances []*instance }

// replica is where call seq goes.
func (s *sut) replica(seq uint64) *instance { return s.instances[seq%uint64(len(s.instances))] }

// instance is one instance of the service.
type instance struct {
	*playing
	name     string
	breakers map[string]*breaker // by name
	ways     map[string]*way     // by injector; of faultline's own service, by route and injector
	workers  *room
	words    *words
}

// request is a client's request.
type request struct {
	call      int // its index in the trace
	id, phase string
	target    match.Target
}

// answer is what a client gets.
type answer struct {
	status int
	class  string
	err    trace.ErrKind

	told *trace.Told
}

func newSUT(w *playing) (*sut, error) {
	words, err := newWords(w.plan)
	if err != nil {
		return nil, err
	}
	names := []string{""}
	if len(w.plan.SUT.Replicas) > 0 {
		names = nil
		for _, r := range w.plan.SUT.Replicas {
			names = append(names, r.Name)
		}
	}
	s := &sut{}
	for _, name := range names {
		in := &instance{playing: w, name: name, breakers: map[string]*breaker{}, ways: map[string]*way{}, words: words}
		if ref := w.plan.SUT.Reference; ref != nil {
			in.workers = newRoom(ref.Workers)
		}
		if err := s.arm(in); err != nil {
			return nil, err
		}
		s.instances = append(s.instances, in)
	}
	return s, nil
}

// arm gives an instance its breakers: its own, or those that all share.
func (s *sut) arm(in *instance) error {
	for _, b := range in.plan.Breakers {
		if b.Shared && len(s.instances) > 0 {
			in.breakers[b.Name] = s.instances[0].breakers[b.Name]
			continue
		}
		var err error
		if in.breakers[b.Name], err = newBreaker(in.playing, b, nameOf(b, in.name)); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is the instance whose breaker it is: of a shared one, none.
func nameOf(b assert.Breaker, instance string) string {
	if b.Shared {
		return ""
	}
	return instance
}

// serve is one request at the service; done is called once with the answer, if
// there is one.
func (in *instance) serve(r *request, done func(answer)) {
	in.workers.enter(func() {
		in.after(in.own, func() {
			in.ask(r, func(a answer, refused bool) {
				in.after(in.own+in.defect.delays(r, refused), func() {
					in.workers.leave()
					done(in.defect.answers(r, a, in.words))
				})
			})
		})
	})
}

// ask asks the dependencies of a request, one after the other, and makes an answer
// of what came of it.
func (in *instance) ask(r *request, done func(a answer, refused bool)) {
	if in.defect.silent && in.defect.concerns(r) {
		done(in.words.primary(nil), false)
		return
	}
	if ref := in.plan.SUT.Reference; ref != nil {
		service, canned := routed(ref, r.target.Path)
		if canned != nil {
			done(in.words.canned(canned, sourcePrimary), false)
			return
		}
		in.wayOf(service).ask(r, func(o outcome) { done(in.words.reference(service, o, in.defect), o.refused) })
		return
	}
	in.askAll(r, r.target.DependsOn, outcome{good: true}, done)
}

// askAll asks what is left of the dependencies of a service whose inside is not
// known. The first that fails decides the answer.
func (in *instance) askAll(r *request, left []string, first outcome, done func(a answer, refused bool)) {
	if len(left) == 0 {
		done(in.words.foreign(r, first, in.defect), first.refused)
		return
	}
	in.wayOf(&experiments.Reference{Injector: left[0], Timeout: in.words.timeouts[left[0]]}).ask(r, func(o outcome) {
		if first.good {
			first = o
		}
		in.askAll(r, left[1:], first, done)
	})
}

// routed finds who serves a path of faultline's own service.
func routed(ref *experiments.Reference, path string) (*experiments.Reference, *fault.Respond) {
	for _, route := range ref.Routes {
		if (fault.Match{Path: route.Path}).Matches(fault.Request{Path: withoutQuery(path)}) {
			return route.Service, route.Respond
		}
	}
	return ref, nil
}

// way is how an instance calls one dependency.
type way struct {
	in             *instance
	dep            *dependency
	service        *experiments.Reference
	pool, bulkhead *room
}

// wayOf returns the way that a service has to its dependency; there is one for each.
func (in *instance) wayOf(s *experiments.Reference) *way {
	key := s.Injector
	if ref := in.plan.SUT.Reference; ref != nil {
		for i := range ref.Routes {
			if ref.Routes[i].Service == s {
				key = fmt.Sprintf("%s %d", s.Injector, i)
			}
		}
	}
	if in.ways[key] == nil {
		in.ways[key] = &way{in: in, dep: in.dep(s.Injector), service: s, pool: newRoom(s.Pool), bulkhead: newRoom(s.Bulkhead)}
	}
	return in.ways[key]
}

// outcome is what came of asking a dependency.
type outcome struct {
	good    bool
	refused bool // by the breaker
	full    bool // by the bulkhead
	replied bool // reply holds what the dependency did
	reply   reply
}

// ask makes a call, with as many attempts as it needs and may have.
func (w *way) ask(r *request, done func(outcome)) {
	attempts := max(1, w.service.Attempts)
	var try func(n int)
	try = func(n int) {
		w.attempt(r, func(o outcome) {
			if o.good || o.refused || n >= attempts {
				done(o)
				return
			}
			w.in.after(w.service.RetryWait, func() { try(n + 1) })
		})
	}
	if w.in.defect.repeats(w.dep.in.Name) {
		w.attempt(r, func(outcome) { try(1) })
		return
	}
	try(1)
}

// declared finds the breaker that a request asks on this way. It is nil where it is
// not declared, as then nothing is known of it.
func (w *way) declared(r *request) (*breaker, match.Failure) {
	for _, b := range w.in.plan.Breakers {
		if b.Injector == w.dep.in.Name && slices.Contains(b.Targets, r.target.Name) {
			if !b.Declared {
				return nil, b.Failure
			}
			return w.in.breakers[b.Name], b.Failure
		}
	}
	return nil, match.DefaultFailure()
}

// attempt asks the breaker and then the dependency.
func (w *way) attempt(r *request, done func(outcome)) {
	b, failure := w.declared(r)
	p := permit{ok: true, at: w.in.now}
	if b != nil {
		p = b.acquire()
	}
	if !p.ok {
		done(outcome{refused: true})
		return
	}
	if !w.bulkhead.try() {
		if b != nil {
			b.release(p)
		}
		done(outcome{full: true})
		return
	}
	w.exchange(r, func(rep reply, replied bool) {
		w.bulkhead.leave()
		took := w.in.now - p.at
		bad := failure.Abandon
		if replied {
			bad = failed(failure, rep)
		}
		bad = bad || failure.Slow > 0 && took > failure.Slow
		if b != nil {
			b.record(p, bad, took)
		}
		done(outcome{good: !bad && replied && rep.outcome == trace.OutcomeAnswered, replied: replied, reply: rep})
	})
}

// exchange sends a request and tells how it ended: by a reply, or by the service's
// patience.
func (w *way) exchange(r *request, over func(rep reply, replied bool)) {
	in, ended := w.in, false
	var leave func()
	sent := false
	end := func(rep reply, replied bool) {
		if ended {
			return
		}
		ended = true
		if sent {
			w.pool.leave()
		}
		over(rep, replied)
	}
	w.pool.enter(func() {
		if ended { // It was given up while it waited for a connection.
			w.pool.leave()
			return
		}
		sent = true
		in.after(hop, func() {
			leave = w.dep.arrive(r, func(rep reply) { in.after(hop, func() { end(rep, true) }) })
		})
	})
	if timeout := in.defect.patience(w.dep.in.Name, w.service.Timeout); timeout > 0 {
		in.agenda.queue(in.now, timeout, func() {
			if ended {
				return
			}
			end(reply{}, false)
			in.after(hop, func() {
				if leave != nil {
					leave()
				}
			})
		})
	}
}

// room is a number of places; nil has no end of them.
type room struct {
	free  int
	queue []func()
}

func newRoom(n int) *room {
	if n == 0 {
		return nil
	}
	return &room{free: n}
}

// enter calls do as soon as there is a place.
func (r *room) enter(do func()) {
	if r == nil || r.try() {
		do()
		return
	}
	r.queue = append(r.queue, do)
}

// try takes a place if there is one.
func (r *room) try() bool {
	if r == nil {
		return true
	}
	if r.free == 0 {
		return false
	}
	r.free--
	return true
}

// leave gives a place to who waits the longest.
func (r *room) leave() {
	switch {
	case r == nil:
	case len(r.queue) > 0:
		do := r.queue[0]
		r.queue = r.queue[1:]
		do()
	default:
		r.free++
	}
}

// timeouts is how long the service waits for each dependency: as faultline's own
// service is told to, as an assertion asks, or, where nobody says, half of what the
// clients do.
func timeouts(plan *experiments.Plan) (by map[string]time.Duration, guessed []experiments.Injector) {
	by = map[string]time.Duration{}
	for _, a := range plan.Assertions {
		if r, ok := a.Rule.(assert.AbandonedAfter); ok && by[r.Injector] == 0 {
			by[r.Injector] = r.Equals
			if r.Equals == 0 {
				by[r.Injector] = r.Max / 10 * 9
			}
		}
	}
	for _, in := range plan.Injectors {
		if by[in.Name] == 0 {
			by[in.Name] = plan.Timeout / 2
			guessed = append(guessed, in)
		}
	}
	return by, guessed
}
