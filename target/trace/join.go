package trace

import (
	"cmp"
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
	Unknown  Kind = "unknown"  // none that is surely its own: one without an id arrived meanwhile, or another call has the same id
)

// Joined is a call with the attempts that it made at one injector.
type Joined struct {
	Call     Call
	Attempts []Attempt // in the order of arrival
	Kind     Kind
}

// Join is all calls that depend on one injector, with their attempts.
type Join struct {
	Injector string
	Calls    []Joined
	Orphans  []Attempt // attempts with the id of no recorded call
	NoID     []Attempt // attempts that carried no id
}

// Join attributes the attempts at one injector to the calls whose target
// depends on it. Calls to other targets say nothing about the injector and are
// left out; an attempt that names one of them is an orphan, and so is one whose
// id two calls have. The trace must be sorted.
func (t *Trace) Join(injector string, depends func(target string) bool) Join {
	j := Join{Injector: injector}
	byID := map[string][]Attempt{}
	for _, a := range t.Attempts {
		switch {
		case a.Injector != injector:
		case a.ID == "":
			j.NoID = append(j.NoID, a)
		default:
			byID[a.ID] = append(byID[a.ID], a)
		}
	}
	twice := t.ambiguous()
	for _, c := range t.Calls {
		if !depends(c.Target) {
			continue
		}
		if twice[c.ID] {
			j.Calls = append(j.Calls, Joined{Call: c, Kind: Unknown})
			continue
		}
		as := byID[c.ID]
		delete(byID, c.ID)
		j.Calls = append(j.Calls, Joined{Call: c, Attempts: as, Kind: kind(c, as, j.NoID)})
	}
	for _, a := range t.Attempts {
		if _, left := byID[a.ID]; left && a.Injector == injector {
			j.Orphans = append(j.Orphans, a)
		}
	}
	return j
}

// ambiguous holds the ids that more than one call has. To give the attempts to
// either would make a short circuit of the other.
func (t *Trace) ambiguous() map[string]bool {
	seen, twice := make(map[string]bool, len(t.Calls)), map[string]bool{}
	for _, c := range t.Calls {
		if seen[c.ID] {
			twice[c.ID] = true
		}
		seen[c.ID] = true
	}
	return twice
}

// kind classifies one call by its attempts and its answer.
func kind(c Call, as, noID []Attempt) Kind {
	switch {
	case len(as) > 0 && (c.Err == ErrTimeout || c.Err == ErrCanceled):
		return Timeout
	case len(as) > 0:
		return Admitted
	case arrivedWithin(noID, c.Send, c.End):
		return Unknown
	case c.Answered():
		return Short
	default:
		return Lost
	}
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
