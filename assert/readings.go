package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// reading is what the SUT said of itself: true at some instant of [asked, answered].
type reading struct {
	asked, answered time.Duration
	text            string
	instance        string
}

// told is what there is of one subject, in the order of time.
type told struct {
	readings []reading
	untold   []reading // text says why nothing was learnt
}

// told collects the marks of a kind about a subject.
func (e *evidence) told(kind trace.MarkKind, subject string) told {
	var t told
	for _, m := range e.trace.Marks {
		r := reading{m.At - m.Dur, m.At, m.Text, m.Instance}
		switch {
		case m.Subject != subject:
		case m.Kind == kind:
			t.readings = append(t.readings, r)
		case m.Kind == trace.MarkUntold:
			t.untold = append(t.untold, r)
		}
	}
	return t
}

// of leaves what the instance of a view said of itself. The reason says why that cannot be
// told, or is empty.
func (t told) of(v *view) (own told, reason, remedy string) {
	const name = "name the instances: sut.replicas with an address each, or sut.instance_header"
	instance := v.instance
	if instance == "" && len(v.calls) > 0 {
		instance = v.calls[0].Call.Instance // There is one at most, or views would be apart.
	}
	seen := map[string]bool{}
	for _, r := range t.readings {
		seen[r.instance] = true
	}
	mine := func(r reading) bool { return r.instance == instance || len(seen) == 1 && v.instance == "" }
	for _, r := range t.readings {
		if mine(r) {
			own.readings = append(own.readings, r)
		}
	}
	for _, r := range t.untold {
		if r.instance == instance || r.instance == "" || v.instance == "" {
			own.untold = append(own.untold, r)
		}
	}
	if len(own.readings) == 0 && len(t.readings) > 0 {
		return own, "what was reported does not say which instance reported it, or not this one", name
	}
	return own, "", ""
}

// within leaves the readings that were asked for in a window and answered in it.
func (t told) within(w Interval) told {
	out := func(r reading) bool { return r.asked < w.Lo || r.answered >= w.Hi }
	return told{slices.DeleteFunc(slices.Clone(t.readings), out), slices.DeleteFunc(slices.Clone(t.untold), out)}
}

// silence says why there is no reading.
func (t told) silence() string {
	if len(t.untold) == 0 {
		return "nothing was asked for in this time"
	}
	return fmt.Sprintf("asked %d times in vain: %s", len(t.untold), t.untold[len(t.untold)-1].text)
}

// lastBefore is when the last of the admissions was sent that lie wholly before t, and
// whether there is one. Those that prove nothing are left out.
func (v *view) lastBefore(t time.Duration) (time.Duration, bool) {
	last, found := time.Duration(0), false
	for i := v.arrivedFrom(t) - 1; i >= 0; i-- {
		a := v.byHi[i]
		if found && a.hi <= last {
			break // So do all that arrived before it.
		}
		if !a.leaked && !a.ghost {
			last, found = max(last, a.lo), true
		}
	}
	return last, found
}

// others reports whether any call that was under way in [from, to], and may have asked this
// instance, was not of this kind, or met a shut door, so that its kind is not known.
func (v *view) others(kind trace.Kind, from, to time.Duration) bool {
	return slices.ContainsFunc(v.join.Calls, func(c trace.Joined) bool {
		if c.Call.Send > to || ceased(&c.Call) < from || v.instance != "" && c.Call.Instance != "" && c.Call.Instance != v.instance {
			return false
		}
		return c.Kind != kind || touched(v.join.Blind, &c.Call)
	})
}

// neverOpen reports that the declared breaker was open at no instant of [from, to]: it let
// calls through before and after, closer together than its wait, and rejected none between.
// The calls next to that time are the evidence.
func (v *view) neverOpen(from, to time.Duration) ([]*admission, bool) {
	lo, ok := v.lastBefore(from)
	i := v.sentAfter(to)
	hi := v.index.minHi[i]
	if !ok || !v.breaker.Declared || hi == forever || hi-lo > v.wait || v.others(trace.Admitted, lo, hi) {
		return nil, false
	}
	first := v.sentAfter(lo - 1)
	return v.adm[first:min(i+1, len(v.adm))], true
}

// threeInARow is how many calls have to be rejected around an instant so that nothing but an
// open breaker explains it: what OPEN is made of, see section "States" of this package.
const threeInARow = 3

// alwaysOpen reports that the breaker was open at every instant of [from, to]: every call that
// was under way was rejected, and so were others before and after, while no outcome was
// outstanding that could have changed its mind. Those calls are the evidence.
func (v *view) alwaysOpen(from, to time.Duration) ([]*rejection, bool) {
	i := v.rejectedFrom(from)
	after := v.nextRejected(to)
	if i == 0 || after == nil {
		return nil, false
	}
	before := v.rej[i-1]
	if v.index.busy[v.sentAfter(after.hi)] >= before.lo || v.others(trace.Short, before.lo, after.hi) {
		return nil, false
	}
	end, _ := slices.BinarySearchFunc(v.rej, after.hi, func(r *rejection, t time.Duration) int { return cmp.Compare(r.hi, t) })
	around := v.rej[i-1 : min(end+1, len(v.rej))]
	return around, len(around) >= threeInARow
}

// unasked reports that a breaker that becomes half-open when a call comes was not so at any
// instant of [from, to]: it was open before, and no call has been let through since, nor was
// an outcome outstanding. The rejections before are the evidence.
func (v *view) unasked(from, to time.Duration) ([]*rejection, bool) {
	i := v.rejectedFrom(from)
	if i < threeInARow {
		return nil, false
	}
	before := v.rej[i-threeInARow : i]
	first := forever
	for _, r := range before {
		first = min(first, r.lo)
	}
	if v.index.busy[v.sentAfter(to)] >= first || v.others(trace.Short, first, to) {
		return nil, false
	}
	return before, true
}

// settledClosed is how many calls, beside those that a visit takes to close, have to be let
// through after a half-open visit until a breaker that says it is still half-open is not
// believed.
const settledClosed = 100

// longClosed reports that the declared breaker was closed at every instant of [from, to],
// and not half-open: it has been letting all calls through since it was launched, or for
// many more than half-open would, with no time in which it can have been open.
func (v *view) longClosed(from, to time.Duration) ([]*admission, bool) {
	for i, s := range v.segs {
		if s.state != StateClosed || s.from.Hi > from || s.to.Lo < to || !v.breaker.Declared {
			continue
		}
		first, last := v.sentAfter(s.from.Hi), v.sentAfter(from)
		known := i == 0 && v.fresh || last-first >= 2*v.permitted()+settledClosed
		if !known || first >= last || last >= len(v.adm) {
			return nil, false
		}
		begin := v.adm[first].lo
		if _, hides := v.hidesOpen(v.wait, begin, to); hides || v.others(trace.Admitted, begin, to) {
			return nil, false
		}
		return v.adm[max(first, last-9) : last+1], true
	}
	return nil, false
}
