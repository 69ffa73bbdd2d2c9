package assert

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// throng counts calls under way: how many there may have been at an instant, and how many
// there were at once, for certain, when there were the most.
type throng struct {
	may  []edge // of the times in which each may have been under way
	sure []edge // and was for certain
	most int
}

// edge is the beginning (+1) or the end (-1) of a time, and how many there are right after it.
type edge struct {
	at      time.Duration
	step, n int
}

// add takes in a call that may have been under way in may, and was in sure.
func (t *throng) add(may, sure Interval) {
	t.may = append(t.may, edge{at: may.Lo, step: 1}, edge{at: may.Hi, step: -1})
	if sure.Hi > sure.Lo {
		t.sure = append(t.sure, edge{at: sure.Lo, step: 1}, edge{at: sure.Hi, step: -1})
	}
}

// settle counts what was taken in. Of edges at one instant the likelier order is not known:
// those of what may be begin first, those of what is certain end first.
func (t *throng) settle() {
	slices.SortFunc(t.may, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step)) })
	slices.SortFunc(t.sure, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	for _, list := range [][]edge{t.may, t.sure} {
		n := 0
		for i := range list {
			n += list[i].step
			list[i].n = n
		}
	}
	for _, e := range t.sure {
		t.most = max(t.most, e.n)
	}
}

// full reports whether as many may have been under way at some instant of a rejection as ever
// were: a bulkhead that holds so many, or fewer, would have been full.
func (t *throng) full(r *rejection) bool {
	return t.most > 0 && reached(t.may, r, t.most)
}

// reached reports whether there were as many as most at some instant of a rejection.
func reached(edges []edge, r *rejection, most int) bool {
	i, _ := slices.BinarySearchFunc(edges, r.lo, func(e edge, at time.Duration) int {
		if e.at < at {
			return -1
		}
		return 1
	})
	if i > 0 && edges[i-1].n >= most {
		return true
	}
	for ; i < len(edges) && edges[i].at <= r.hi; i++ {
		if edges[i].n >= most {
			return true
		}
	}
	return false
}

// stood reports whether as many were under way for certain at some instant of a rejection.
func (t *throngs) stood(r *rejection) bool { return t.own.stood(r) || t.all.stood(r) }

func (t *throng) stood(r *rejection) bool { return t.most > 0 && reached(t.sure, r, t.most) }

// neighbours are the calls to targets that do not ask the breaker, but other dependencies
// (or the same one otherwise): a bulkhead may hold them all together.
type neighbours struct {
	calls    []*trace.Call
	attempts map[string]Interval // by call: from the first arrival to the last outcome
}

// neighboursOf collects them.
func (e *evidence) neighboursOf(b Breaker) neighbours {
	out := neighbours{attempts: map[string]Interval{}}
	for i := range e.trace.Calls {
		c := &e.trace.Calls[i]
		if t, ok := e.target(c.Target); ok && len(t.DependsOn) > 0 && !slices.Contains(b.Targets, c.Target) {
			out.calls = append(out.calls, c)
		}
	}
	if len(out.calls) == 0 {
		return out
	}
	for i := range e.trace.Attempts {
		a := &e.trace.Attempts[i]
		if done := a.Done(); a.ID != "" && done != trace.None {
			in, ok := out.attempts[a.ID]
			if !ok {
				in = Interval{a.Arr, done}
			}
			out.attempts[a.ID] = Interval{min(in.Lo, a.Arr), max(in.Hi, done)}
		}
	}
	return out
}

// target finds a target by its name.
func (e *evidence) target(name string) (match.Target, bool) {
	i := slices.IndexFunc(e.spec.Targets, func(t match.Target) bool { return t.Name == name })
	if i < 0 {
		return match.Target{}, false
	}
	return e.spec.Targets[i], true
}

// throngs are the calls that the breaker let through, and these with all others.
type throngs struct{ own, all throng }

func newThrongs(v *view, beside neighbours) *throngs {
	t := &throngs{}
	for _, a := range v.adm {
		may := Interval{a.call.Call.Send, max(a.settled, ceased(&a.call.Call))}
		sure := Interval{a.hi, a.early}
		if a.early == forever || a.ghost {
			sure.Hi = sure.Lo
		}
		t.own.add(may, sure)
		t.all.add(may, sure)
	}
	for _, c := range beside.calls {
		if in, ok := beside.attempts[c.ID]; ok && (v.instance == "" || c.Instance == "" || c.Instance == v.instance) {
			t.all.add(Interval{c.Send, max(ceased(c), in.Hi)}, in)
		}
	}
	t.own.settle()
	if len(beside.calls) > 0 {
		t.all.settle()
	}
	return t
}

// full says that a rejection may be that of a full bulkhead, or else that it is the breaker's.
func (t *throngs) full(r *rejection, first time.Duration) cause {
	if t.own.full(r) || t.all.full(r) {
		return cause{reason: match.ReasonBulkhead, by: byPlateau, sure: r.hi < first}
	}
	return cause{reason: match.ReasonOpen, by: byNobody, sure: true}
}
