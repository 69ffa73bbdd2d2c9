package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Short counts calls that were answered without an attempt at the dependency (or, where
// the SUT refused the connection, not answered), for one reason. Where the trace leaves open
// which of two it was, Reason names both, as in "open or bulkhead".
type Short struct {
	Reason string `json:"reason"` // one of match.Reasons, or two of them with " or " between
	Calls  int    `json:"calls"`
	By     string `json:"by"` // the evidence
}

// cause is what is known of why a call was answered without the dependency.
type cause struct {
	reason string // what it was, if not the open breaker
	by     string
	sure   bool // it was that; else it may have been the breaker as well
}

// open says that the breaker rejected it.
func (w cause) open() bool { return w.reason == match.ReasonOpen }

// words names the reason, or both.
func (w cause) words() string {
	if w.sure || w.open() {
		return w.reason
	}
	return match.ReasonOpen + " or " + w.reason
}

// tellApart leaves those rejections that are the breaker's. What something else answered, a
// limiter, a bulkhead, a cache, may still have been an outcome to a breaker around that, a
// failure or a success: it becomes an admission that proves nothing. Where the evidence does
// not decide, the reading does: a doubtful answer is the breaker's in one, and in the other,
// which is wide, it proves nothing. A verdict stands where both agree, see [Evaluate].
//
// The evidence, from the best on: the answer says so, and leaves no doubt (match.Certain); it
// says so by a convention, or is of class primary, as what the dependency gives, so that a
// cache or a call that was merged with another gave it; or there were as many calls under way
// as never more were (the plateau of a full bulkhead). The last three decide only as long as
// nothing has come about that a breaker may open by. Thereafter they are in doubt, but for a
// plateau that lies wholly beside rejections of which the breaker alone can be the reason, or
// in the half-open visit after those, where no other one does: then nothing speaks for a
// bulkhead.
func (v *view) tellApart(wide bool, beside neighbours) {
	if len(v.rej) == 0 {
		return
	}
	reasons := v.reasons(beside)
	kept := v.rej[:0:0]
	count := map[Short]int{}
	var others []*trace.Joined
	for i, r := range v.rej {
		w := reasons[i]
		v.doubts = v.doubts || !w.open() && !w.sure
		count[Short{Reason: w.words(), By: w.by}]++
		if w.open() || !w.sure && !wide {
			kept = append(kept, r)
			continue
		}
		others = append(others, r.call)
	}
	for s, n := range count {
		s.Calls = n
		v.shorts = append(v.shorts, s)
	}
	if len(others) == 0 {
		return
	}
	v.rej = kept
	v.besides(others)
	v.index = index{alive: v.index.alive}
	v.sort()
}

// besides takes in calls that something beside the breaker answered.
func (v *view) besides(others []*trace.Joined) {
	v.aside = map[*trace.Joined]bool{}
	for _, c := range others {
		v.aside[c] = true
		at := &trace.Attempt{Injector: v.breaker.Injector, ID: c.Call.ID, Arr: c.Call.End, Dep: trace.None, Abandon: trace.None}
		v.adm = append(v.adm, &admission{
			call: c, attempt: at, lo: c.Call.Send, hi: c.Call.End, newest: c.Call.Send, o: c.Call.End, early: c.Call.Send,
			settled: c.Call.End, settle: c.Call.End, failMay: true, slowMay: true, count: 1, ghost: true, unreached: true,
		})
	}
}

// reasons finds why each rejection was one, by its index.
func (v *view) reasons(beside neighbours) []cause {
	out := make([]cause, len(v.rej))
	crowds := newThrongs(v, beside)
	first := v.causeAt()
	var firm []*rejection // of which the breaker alone can be the reason
	for i, r := range v.rej {
		if out[i] = v.said(r, first); out[i].reason == "" {
			out[i] = crowds.full(r, first)
		}
		if out[i].open() {
			firm = append(firm, r)
		}
	}
	sup := support{}
	near := v.beside(firm)
	for i, r := range v.rej {
		if w := out[i]; !w.open() {
			sup.take(w, !w.sure && w.mute() && near(r), crowds.stood(r))
		}
	}
	for i, w := range out {
		if !w.open() && w.mute() && !w.sure && !sup[w.reason].speaks() {
			out[i] = cause{reason: match.ReasonOpen, by: byElsewhere, sure: true}
		}
	}
	return out
}

// support is what speaks for a reason beside the breaker, by the reason.
type support map[string]backing

// backing counts: said are answers that say the reason, or of which nothing but it can be the
// reason; unlike are those that the breaker does not explain well, and stood those of them at
// which the plateau stood for certain.
type backing struct{ said, unlike, stood int }

func (s support) take(w cause, explained, stood bool) {
	b := s[w.reason]
	switch {
	case w.sure || !w.mute():
		b.said++
	case explained:
	case w.by == byPlateau:
		b.unlike, b.stood = b.unlike+1, b.stood+one(stood)
	default:
		b.said++
	}
	s[w.reason] = b
}

// standing is the share of rejections by a bulkhead at which as many calls as it holds are
// seen at the dependency, at the least: the others come while one is on its way there or back.
const standing = 0.25

// speaks reports whether anything speaks for the reason: a plateau has to stand.
func (b backing) speaks() bool {
	return b.said > 0 || b.unlike > 0 && float64(b.stood) >= standing*float64(b.unlike)
}

// mute reports whether nothing in the answer itself speaks for the reason.
func (w cause) mute() bool { return w.by == byPlateau || w.by == byPrimary }

const (
	byPlateau = "as many calls were under way as ever"
	byPrimary = "an answer of class primary"
	byNobody  = "nothing else explains it"

	byElsewhere = "no other reason is seen elsewhere"
)

// said is what the answer itself says. Before first nothing had come about that a breaker
// may open by. A fallback may keep its answers; that it does says nothing of why it was asked.
func (v *view) said(r *rejection, first time.Duration) cause {
	c := &r.call.Call
	reason, by := c.Says()
	vague := false
	switch {
	case reason == "" && c.Class == match.ClassPrimary:
		reason, by, vague = match.ReasonCached, byPrimary, v.vague
	case reason == match.ReasonCached && c.Class == match.ClassFallback && !match.Certain(by):
		return cause{}
	case reason == "":
		return cause{}
	}
	return cause{reason: reason, by: by, sure: match.Certain(by) || reason == match.ReasonOpen || r.hi < first && !vague}
}

// causeAt is the first instant at which anything may have come about that a breaker opens by:
// an outcome that is not wholly good, a call that came to nothing, or, in a service that was
// running before, what came before it is known to be closed.
func (v *view) causeAt() time.Duration {
	if n := v.permitted(); v.after() || !v.fresh && (len(v.byHi) <= n || v.anyRejectedBetween(-1, v.byHi[n].hi)) {
		return 0 // It may have been open when the trace began.
	}
	first := forever
	for _, a := range v.adm {
		if a.blemished() || a.early == forever {
			first = min(first, a.early, a.hi)
		}
	}
	for _, c := range v.calls {
		if c.Kind == trace.Lost || c.Kind == trace.Unknown {
			first = min(first, c.Call.Send)
		}
	}
	return first
}

// blemished reports whether an outcome is one that some breaker may hold against the dependency.
func (a *admission) blemished() bool {
	return a.faulted || a.failMay || a.slowMay || a.attempt.Status >= 400
}

// beside reports of a rejection whether the breaker explains it: with fewer admissions between
// than show it to be closed, it was open before, or there are rejections of which it alone can
// be the reason both before and after; or it was open right after, and an outcome that may have
// opened it was recorded since the last admission.
func (v *view) beside(firm []*rejection) func(*rejection) bool {
	runs := v.openRuns(firm)
	bad := v.badOutcomes()
	few := 2*v.permitted() + 10 // as many show it to be closed
	return func(r *rejection) bool {
		i, _ := slices.BinarySearchFunc(runs, r.hi, func(x Interval, t time.Duration) int { return cmp.Compare(x.Lo, t) })
		if i > 0 && v.arrivedFrom(r.lo)-v.arrivedFrom(runs[i-1].Lo) < few {
			return true
		}
		j, _ := slices.BinarySearchFunc(firm, r.hi, func(x *rejection, t time.Duration) int { return cmp.Compare(x.hi, t) })
		if j > 0 && j < len(firm) && v.arrivedFrom(firm[j].hi)-v.arrivedFrom(firm[j-1].hi) < few {
			return true
		}
		for ; j < len(firm); j++ {
			if v.admittedBetween(r.hi, firm[j].lo) {
				return false
			}
			if firm[j].lo >= r.lo {
				return bad.since(v.lastSent(r.hi), r.hi)
			}
		}
		return false
	}
}

// openRuns are the times from the first to the third of three rejections with no admission
// wholly between them, each told by its last instant: from then on it was open for certain.
func (v *view) openRuns(firm []*rejection) []Interval {
	var runs []Interval
	for i := 2; i < len(firm); i++ {
		if !v.admittedBetween(firm[i-2].hi, firm[i].lo) {
			runs = append(runs, Interval{firm[i].hi, firm[i].hi})
		}
	}
	return runs
}

// lastSent is when the last admission up to an instant was sent, or -1.
func (v *view) lastSent(t time.Duration) time.Duration {
	for i := v.sentAfter(t) - 1; i >= 0; i-- {
		if !v.adm[i].ghost {
			return v.adm[i].lo
		}
	}
	return -1
}

// outcomes are those that a breaker may open by, in the order of early, with the greatest
// settled up to each.
type outcomes struct{ early, settled []time.Duration }

func (v *view) badOutcomes() outcomes {
	var bad []*admission
	for _, a := range v.adm {
		if a.blemished() {
			bad = append(bad, a)
		}
	}
	slices.SortFunc(bad, func(a, b *admission) int { return cmp.Compare(a.early, b.early) })
	var o outcomes
	last := time.Duration(-1)
	for _, a := range bad {
		last = max(last, a.settled)
		o.early, o.settled = append(o.early, a.early), append(o.settled, last)
	}
	return o
}

// since reports whether one of them may have been recorded in [from, to].
func (o outcomes) since(from, to time.Duration) bool {
	n := atMost(o.early, to)
	return n > 0 && o.settled[n-1] >= from
}

// sortShorts puts the counts in order, the most frequent first.
func sortShorts(s []Short) []Short {
	slices.SortFunc(s, func(a, b Short) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.By, b.By))
	})
	return s
}

// refused counts the calls of a view whose connection the SUT itself refused.
func (v *view) refused() []Short {
	n := 0
	for _, c := range v.calls {
		n += one(c.Kind == trace.Lost && c.Call.Err == trace.ErrRefused)
	}
	if n == 0 {
		return nil
	}
	return []Short{{Reason: match.ReasonRefused, Calls: n, By: "the SUT refused the connection"}}
}

// String is a count as a sentence part.
func (s Short) String() string { return fmt.Sprintf("%d %s (%s)", s.Calls, s.Reason, s.By) }
