package trace

import (
	"slices"
	"sync"
	"time"
)

// Recorder collects a trace from many goroutines. It never drops a record; its
// lock is held only for an append, so it may be used inside a synctest bubble.
type Recorder struct {
	epoch time.Time

	mu           sync.Mutex
	singleFlight bool
	inFlight     map[string]struct{}
	arrivals     map[arrivalKey]int
	blind        map[string][]Blind // by injector, in the order of time
	sources      map[string]*source // by injector
	last         *source            // of them, which mostly is the next one
	calls        pile[Call]
	attempts     pile[Attempt]
	marks        []Mark
	phases       []Phase
	onCall       func(Call)
	onArrival    func(Attempt)
	onDeparture  func(Attempt)
}

// source is what came to one injector.
type source struct {
	injector  string
	seq       int             // the number of the last arrival
	anonymous []time.Duration // arrivals without an id, sorted
	streams   lines
}

type arrivalKey struct{ injector, id string }

// NewRecorder returns a recorder whose instants count from epoch.
func NewRecorder(epoch time.Time) *Recorder {
	return &Recorder{
		epoch:    epoch,
		inFlight: map[string]struct{}{},
		arrivals: map[arrivalKey]int{},
		sources:  map[string]*source{},
		blind:    map[string][]Blind{},
	}
}

// Epoch returns the instant that offset 0 stands for.
func (r *Recorder) Epoch() time.Time { return r.epoch }

// Since converts a reading of the clock to an offset of this trace.
func (r *Recorder) Since(t time.Time) time.Duration { return t.Sub(r.epoch) }

// OnCall sets what is told of every ended call, after it was recorded and
// outside the recorder's lock. It is set before the run starts.
func (r *Recorder) OnCall(f func(Call)) { r.onCall = f }

// OnArrival sets what is told of every arrival, after it was recorded and
// outside the recorder's lock. It is set before the run starts.
func (r *Recorder) OnArrival(f func(Attempt)) { r.onArrival = f }

// OnDeparture sets what is told of every attempt that has its end, after that was
// recorded and outside the recorder's lock. It is set before the run starts.
func (r *Recorder) OnDeparture(f func(Attempt)) { r.onDeparture = f }

// SingleFlight turns on joining by containment: a request without an id that
// arrives while exactly one call is in flight belongs to that call. An attempt that
// is no request is left alone: it is recorded when its connection ends, and another
// call may be in flight by then. So is a stream: a service opens it again by itself when it
// was broken.
func (r *Recorder) SingleFlight(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.singleFlight = on
}

// Sent tells that the call with this id is on its way.
func (r *Recorder) Sent(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight[id] = struct{}{}
}

// Ended records a finished call.
func (r *Recorder) Ended(c Call) {
	r.mu.Lock()
	delete(r.inFlight, c.ID)
	r.calls.add(c)
	r.mu.Unlock()
	if r.onCall != nil {
		r.onCall(c)
	}
}

// Arrived records an attempt at its arrival, gives it its number and returns
// the handle that [Recorder.Departed] takes.
func (r *Recorder) Arrived(a Attempt) (handle int) {
	r.mu.Lock()
	from := r.source(a.Injector)
	from.seq++
	a.Seq = from.seq
	a.Dep, a.Abandon = None, None
	if a.ID == "" && r.singleFlight && len(r.inFlight) == 1 && !a.Unread() && !a.Stream {
		for id := range r.inFlight {
			a.ID, a.By = id, BySingleFlight
		}
	}
	if a.ID != "" {
		r.arrivals[arrivalKey{a.Injector, a.ID}]++
	} else {
		from.anonymous = inserted(from.anonymous, a.Arr)
	}
	handle = r.attempts.add(a)
	if a.Stream {
		from.streams.begin(handle, a)
	}
	r.mu.Unlock()
	if r.onArrival != nil {
		r.onArrival(a)
	}
	return handle
}

// source is what came to an injector up to now. mu is held.
func (r *Recorder) source(injector string) *source {
	if r.last == nil || r.last.injector != injector {
		if r.sources[injector] == nil {
			r.sources[injector] = &source{injector: injector}
		}
		r.last = r.sources[injector]
	}
	return r.last
}

// BySingleFlight is the By of an attempt that was joined by containment.
const BySingleFlight = "single_flight"

// Departed completes the attempt behind handle. The function is called under the
// recorder's lock: it sets fields and nothing else.
func (r *Recorder) Departed(handle int, complete func(*Attempt)) {
	r.mu.Lock()
	at := r.attempts.at(handle)
	complete(at)
	r.source(at.Injector).streams.end(handle, at)
	if r.onDeparture == nil {
		r.mu.Unlock()
		return
	}
	a := *at
	r.mu.Unlock()
	r.onDeparture(a)
}

// Arrivals returns how many attempts with the id of a call have reached the
// injector.
func (r *Recorder) Arrivals(injector, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals[arrivalKey{injector, id}]
}

// Reached reports whether an ended call may have reached the injector, by what was
// recorded up to now: an attempt has its id, or one without an id arrived while it
// was under way, or a stream was open, or the injector was blind. It is the opposite of
// what [Trace.Join] calls short or lost.
func (r *Recorder) Reached(injector string, c Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.arrivals[arrivalKey{injector, c.ID}] > 0 {
		return true
	}
	if blindDuring(r.blind[injector], c.Send, c.End) {
		return true
	}
	from := r.source(injector)
	i, _ := slices.BinarySearch(from.anonymous, c.Send)
	return i < len(from.anonymous) && from.anonymous[i] <= c.End || from.streams.spanned(c.Send, c.End)
}

// Hidden reports whether an ended call met a door of the injector that was shut, and no
// attempt has its id: then nothing shows whether it came there.
func (r *Recorder) Hidden(injector string, c Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals[arrivalKey{injector, c.ID}] == 0 && blindDuring(r.blind[injector], c.Send, c.End)
}

// inserted puts an instant in its place among sorted ones, mostly at their end.
func inserted(at []time.Duration, t time.Duration) []time.Duration {
	i := len(at)
	for i > 0 && at[i-1] > t {
		i--
	}
	return slices.Insert(at, i, t)
}

// InFlight returns how many calls are under way.
func (r *Recorder) InFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.inFlight)
}

// Mark records an event. Those of one injector's door come in the order of time.
func (r *Recorder) Mark(m Mark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, m)
	if m.Kind == MarkDoorShut || m.Kind == MarkDoorOpen {
		r.blind[m.Subject] = door(r.blind[m.Subject], m)
	}
}

// Phase records what became of a phase.
func (r *Recorder) Phase(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases = append(r.phases, p)
}

// Snapshot returns what has been recorded up to now as a sorted trace of its
// own: later records do not change it. Calls still in flight are not in it;
// attempts not ended have Dep and Abandon None. Recorders of other goroutines
// wait only while it copies, not while it sorts.
func (r *Recorder) Snapshot(h Header) *Trace {
	h.Format, h.Version, h.Epoch = Format, Version, r.epoch
	t := r.copy()
	t.Header = h
	t.sort()
	return t
}

// copy returns the records in the order of recording.
func (r *Recorder) copy() *Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Trace{
		Phases:   slices.Clone(r.phases),
		Calls:    r.calls.all(),
		Attempts: r.attempts.all(),
		Marks:    slices.Clone(r.marks),
	}
}

// Recorded returns how many attempts have been recorded.
func (r *Recorder) Recorded() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts.n
}

// AttemptsFrom returns copies of at most so many attempts, in the order of recording, from a
// place on; the first is at 0. Who records waits while it copies, so ask for a few hundred.
func (r *Recorder) AttemptsFrom(place, most int) []Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Attempt
	for i := max(place, 0); i < r.attempts.n && len(out) < most; i++ {
		out = append(out, *r.attempts.at(i))
	}
	return out
}
