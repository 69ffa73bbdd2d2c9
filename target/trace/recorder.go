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
	blind        map[string][]Blind // by injector, in the order of time
	sources      map[string]*source // by injector
	last         *source            // of them, which mostly is the next one
	indexed      int                // so many attempts are in the indexes of their sources
	calls        pile[Call]
	attempts     ledger
	marks        []Mark
	phases       []Phase
	onCall       func(Call)
	onArrival    func(Attempt)
	onDeparture  func(Attempt)
}

// NewRecorder returns a recorder whose instants count from epoch.
func NewRecorder(epoch time.Time) *Recorder {
	return &Recorder{
		epoch:    epoch,
		inFlight: map[string]struct{}{},
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
	r.index()
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

// BySingleFlight is the By of an attempt that was joined by containment.
const BySingleFlight = "single_flight"

// Departed completes the attempt behind handle, whose injector, number, id and arrival stay. The
// function is called under the recorder's lock: it sets fields and nothing else.
func (r *Recorder) Departed(handle int, complete func(*Attempt)) {
	r.mu.Lock()
	at := r.attempts.change(handle)
	complete(at)
	if from := r.source(at.Injector); at.Stream || len(from.streams.open) > 0 {
		from.streams.end(handle, at)
	}
	r.attempts.end(handle)
	if r.onDeparture == nil {
		r.mu.Unlock()
		return
	}
	a := *at
	r.mu.Unlock()
	r.onDeparture(a)
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
// wait only while it copies what has no end, not while it sorts.
func (r *Recorder) Snapshot(h Header) *Trace {
	h.Format, h.Version, h.Epoch = Format, Version, r.epoch
	t, attempts := r.copy()
	t.Header, t.Attempts = h, attempts.all()
	t.sort()
	return t
}

// copy returns the records in the order of recording.
func (r *Recorder) copy() (*Trace, reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Trace{Phases: slices.Clone(r.phases), Calls: r.calls.all(), Marks: slices.Clone(r.marks)}, r.attempts.read()
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
		out = append(out, r.attempts.at(i))
	}
	return out
}
