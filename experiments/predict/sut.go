package predict

import (
	"errors"
	"fmt"
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
	breakers map[string]*breaker             // by name
	ways     map[*experiments.Reference]*way // of faultline's own service
	guessed  map[string]*way                 // of another one, by injector
	workers  *room
	words    *words
	places   *places // the last bulkhead that was made; nil: none was
}

// request is a client's request.
type request struct {
	call      int // its index in the trace
	id, phase string
	target    match.Target
	waits     *scope // how long its client does
}

// answer is what a client gets.
type answer struct {
	status     int
	class      string
	err        trace.ErrKind
	retryAfter string // that header

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
		in := &instance{playing: w, name: name, breakers: map[string]*breaker{}, guessed: map[string]*way{}, words: words}
		if err := s.arm(in); err != nil {
			return nil, err
		}
		if err := errors.Join(in.reference(), in.foreign()); err != nil {
			return nil, err
		}
		s.instances = append(s.instances, in)
	}
	return s, nil
}

// arm gives an instance its breakers: its own, or those that all share.
func (s *sut) arm(in *instance) error {
	for _, b := range in.plan.Breakers {
		apart := in.defect.apart && in.defect.breaker == b.Name
		if b.Shared && len(s.instances) > 0 && !apart {
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

// reference prepares the ways of faultline's own service.
func (in *instance) reference() (err error) {
	ref := in.plan.SUT.Reference
	if ref == nil {
		return nil
	}
	in.workers = newRoom(ref.Workers)
	in.ways = map[*experiments.Reference]*way{}
	for _, s := range services(ref) {
		set := *s
		if in.defect.around != nil {
			in.defect.around(&set)
		}
		if in.ways[s], err = newWay(in, &set); err != nil {
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

// foreign prepares the ways of a service whose inside is not known.
func (in *instance) foreign() error {
	if in.plan.SUT.Reference != nil {
		return nil
	}
	for i := range in.plan.Injectors {
		name := in.plan.Injectors[i].Name
		way, err := newWay(in, in.guess(name))
		if err != nil {
			return fmt.Errorf("guess the retries that assertions ask for: %w", err)
		}
		in.guessed[name] = way
	}
	return nil
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
		way := in.wayOf(service)
		way.ask(r, func(o outcome) {
			if o.why == limited && in.defect.mutant.Around.MutesLimited {
				return // Its client gives up some day.
			}
			done(in.words.reference(service, o, way.remember(r, o), in.defect, in.clock()), o.why == refused)
		})
		return
	}
	in.askAll(r, r.target.DependsOn, fine(), done)
}

// askAll asks what is left of the dependencies of a service whose inside is not
// known. The first that fails decides the answer.
func (in *instance) askAll(r *request, left []string, first outcome, done func(a answer, refused bool)) {
	if len(left) == 0 {
		done(in.words.foreign(r, first, in.defect), first.why == refused)
		return
	}
	in.wayTo(left[0]).ask(r, func(o outcome) {
		if first.good() {
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
			by[in.Name] = outlasting(plan, in.Name)
		}
		if by[in.Name] == 0 {
			by[in.Name] = plan.Timeout / 2
			guessed = append(guessed, in)
		}
	}
	return by, guessed
}
