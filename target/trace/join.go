package trace

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Kind says what became of a call, as far as one injector is concerned.
type Kind string

// What a call was. An answer that broke off is no answer here: a SUT that sends
// its status early may have been deciding still, or may have died, so without an
// attempt it proves no short circuit.
const (
	Admitted Kind = "admitted" // at least one attempt arrived
	Short    Kind = "short"    // answered completely, and no attempt arrived: a short circuit
	Timeout  Kind = "timeout"  // at least one attempt arrived, and the client gave up, or was stopped, before the end of an answer
	Lost     Kind = "lost"     // no attempt and no complete answer
	Unknown  Kind = "unknown"  // none that is surely its own: one without an id arrived meanwhile, a stream was open on which it may have been talked about, another call has the same id, or the injector was blind
)

// Joined is a call with the attempts that it made at one injector.
type Joined struct {
	Call     Call
	Attempts []Attempt // in the order of arrival
	Kind     Kind
	// Unserved says of an Unknown call that it is so for one reason alone: the injector was
	// blind meanwhile. Whoever was served in that time left an attempt, so whatever the call
	// asked of the dependency, it got no answer from there: a breaker rejected it, or it
	// was let through and failed.
	Unserved bool
}

// Join is all calls that depend on one injector, with their attempts.
type Join struct {
	Injector string
	Calls    []Joined
	Orphans  []Attempt // attempts with the id of no recorded call
	NoID     []Attempt // attempts that carried no id
	Blind    []Blind   // when attempts may have come that left no sign, in the order of time
}

// Join attributes the attempts at one injector to the calls whose target
// depends on it. Calls to other targets say nothing about the injector and are
// left out; an attempt that names one of them is an orphan, and so is one whose
// id two calls have. On the aggregate rung no attempt carries an id: then a call
// during which none arrived is still surely short, and all others are unknown.
//
// While the injector's door was shut it saw nobody come. A call that was under way at any
// instant of that time, and of which no attempt is known, is unknown, whatever it was
// answered: that the answer came fast, or is the one that the SUT gives while its breaker is
// open, says that it did not come from the dependency, and no more. A refused connection
// fails as fast, and falls back to the same answer.
//
// The trace must be sorted. What is returned shares its memory with the trace:
// neither must be changed.
func (t *Trace) Join(injector string, depends func(target string) bool) Join {
	j := Join{Injector: injector, Blind: t.Blind(injector)}
	owners := t.owners()
	own, made := t.attribute(injector, owners, depends)
	depending := 0
	for i := range t.Calls {
		if depends(t.Calls[i].Target) {
			depending++
		}
	}
	t.rest(&j, injector, own)
	groups := t.groups(own, made)
	streams := t.streams(injector)
	if depending > 0 {
		j.Calls = make([]Joined, 0, depending)
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		switch {
		case !depends(c.Target):
		case owners.twice(i):
			j.Calls = append(j.Calls, Joined{Call: *c, Kind: Unknown})
		default:
			j.Calls = append(j.Calls, j.of(c, groups(i), streams))
		}
	}
	return j
}

// none stands for no call in the numbering of calls.
const none = -1

// made is the attempts of a call: how many, and where in the trace the first and
// the last of them are.
type made struct{ n, first, last int32 }

// attribute finds the call of each attempt at the injector, or none, and what each
// call made. A call that does not depend on the injector gets none.
func (t *Trace) attribute(injector string, owners *ids, depends func(target string) bool) (own []int32, of []made) {
	own, of = make([]int32, len(t.Attempts)), make([]made, len(t.Calls))
	for i := range t.Attempts {
		a := &t.Attempts[i]
		own[i] = none
		if a.ID == "" || a.Injector != injector {
			continue
		}
		c := owners.find(a.ID)
		if c == none || !depends(t.Calls[c].Target) {
			continue
		}
		own[i] = c
		m := &of[c]
		if m.n == 0 {
			m.first = int32(i)
		}
		m.n, m.last = m.n+1, int32(i)
	}
	return own, of
}

// rest collects the attempts at the injector that no call owns.
func (t *Trace) rest(j *Join, injector string, own []int32) {
	orphans, noID := 0, 0
	each := func(orphan, anonymous func(*Attempt)) {
		for i := range t.Attempts {
			switch a := &t.Attempts[i]; {
			case own[i] != none || a.Injector != injector:
			case a.ID == "":
				anonymous(a)
			default:
				orphan(a)
			}
		}
	}
	each(func(*Attempt) { orphans++ }, func(*Attempt) { noID++ })
	if orphans > 0 {
		j.Orphans = make([]Attempt, 0, orphans)
	}
	if noID > 0 {
		j.NoID = make([]Attempt, 0, noID)
	}
	each(func(a *Attempt) { j.Orphans = append(j.Orphans, *a) }, func(a *Attempt) { j.NoID = append(j.NoID, *a) })
}

// groups returns the attempts of a call by its number. Those that follow one
// another in the trace, as a single one does, are not copied.
func (t *Trace) groups(own []int32, of []made) func(call int) []Attempt {
	scattered := 0
	start := make(map[int32]int)
	for c, m := range of {
		if m.n > 0 && m.last-m.first+1 != m.n {
			start[int32(c)] = scattered
			scattered += int(m.n)
		}
	}
	room := make([]Attempt, scattered)
	if scattered > 0 {
		next := maps.Clone(start)
		for i, c := range own {
			if at, ok := next[c]; ok {
				room[at] = t.Attempts[i]
				next[c]++
			}
		}
	}
	return func(call int) []Attempt {
		m := of[call]
		if m.n == 0 {
			return nil
		}
		if at, ok := start[int32(call)]; ok {
			return room[at : at+int(m.n) : at+int(m.n)]
		}
		return t.Attempts[m.first : m.last+1 : m.last+1]
	}
}

// of classifies one call by its attempts and its answer.
func (j *Join) of(c *Call, as []Attempt, streams streams) Joined {
	one := Joined{Call: *c, Attempts: as}
	switch reached := len(as) > 0; {
	case reached && (c.Err == ErrTimeout || c.Err == ErrCanceled):
		one.Kind = Timeout
	case reached:
		one.Kind = Admitted
	case arrivedWithin(j.NoID, c.Send, c.End), streams.open(c.Send, c.End):
		one.Kind = Unknown
	case blindDuring(j.Blind, c.Send, c.End):
		one.Kind, one.Unserved = Unknown, true
	case c.Answered():
		one.Kind = Short
	default:
		one.Kind = Lost
	}
	return one
}

// arrivedWithin reports whether any attempt arrived in [from, to]; attempts are
// in the order of arrival.
func arrivedWithin(as []Attempt, from, to time.Duration) bool {
	i, _ := slices.BinarySearchFunc(as, from, func(a Attempt, t time.Duration) int {
		return cmp.Compare(a.Arr, t)
	})
	return i < len(as) && as[i].Arr <= to
}

// Share is the part of the attempts that joined a call, 0..1; 1 when there are
// none.
func (j Join) Share() float64 {
	joined := 0
	for _, c := range j.Calls {
		joined += len(c.Attempts)
	}
	all := joined + len(j.Orphans) + len(j.NoID)
	if all == 0 {
		return 1
	}
	return float64(joined) / float64(all)
}
