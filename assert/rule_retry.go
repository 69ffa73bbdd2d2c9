package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// retryRule is a rule about what a SUT sends again, or still has under way for
// nobody: it is judged by the attempts at one injector, and by no breaker's state.
type retryRule interface {
	Rule
	dependency() string
}

// link is how an attempt came to follow the one before it, of the same call and for
// the same thing.
type link int

const (
	linkRetry  link = iota // the one before had failed, or was not answered
	linkResend             // its connection had broken without an answer, just before: libraries send again by themselves then
	linkAgain              // it was answered well: this may be a further request, and no retry
)

// tries are the attempts of one call that ask a dependency for the same thing, which
// is the same method and path without its query, in the order of arrival. A call that
// asks for two things has two of them.
type tries struct {
	call  *trace.Call
	list  []*trace.Attempt
	links []link // links[i] is between list[i] and list[i+1]
}

// shaky reports whether a retry follows on a broken connection, and so may be one of the library's
// that a pause of the SUT made late. One such request proves nothing, and three do.
func (t *tries) shaky() bool {
	for i, l := range t.links {
		if l == linkRetry && broken(t.list[i]) {
			return true
		}
	}
	return false
}

// count is how many attempts the SUT has made of one request: at least the longest row
// of certain retries, at most all that arrived.
func (t *tries) count() numbers {
	n := numbers{Hi: len(t.list)}
	row := 1
	for _, l := range t.links {
		switch l {
		case linkRetry:
			row++
		case linkAgain:
			row = 1
		case linkResend:
		}
		n.Lo = max(n.Lo, row)
	}
	n.Lo = max(n.Lo, row)
	return n
}

// last is the last attempt.
func (t *tries) last() *trace.Attempt { return t.list[len(t.list)-1] }

// retries is what was sent again at one injector by the calls of one phase.
type retries struct {
	e        *evidence
	injector string
	a        Assertion
	join     *trace.Join
	all      []*tries
	calls    []*trace.Joined // of the phase that depend on the injector
	unclear  int             // calls of which attempts may be missing, or be another's
	after    int             // tries that went on when their call had been answered
	alone    int             // tries that were answered well at once, in the whole run
	again    int             // tries of which every attempt was answered well, and there were several
	slack    time.Duration
	library  bool // the HTTP library sends again by itself, as was seen
}

// retriesOf collects the tries of the calls of an assertion's phase.
func (e *evidence) retriesOf(injector string, a Assertion) *retries {
	r := &retries{e: e, injector: injector, a: a, join: e.joinOf(injector), slack: e.noticed(injector)}
	for i := range r.join.Calls {
		for _, t := range r.split(&r.join.Calls[i]) {
			r.library = r.library || slices.Contains(t.links, linkResend)
		}
	}
	for i := range r.join.Calls {
		r.take(&r.join.Calls[i])
	}
	return r
}

// take takes in a call: of the whole run for the habits of the SUT, and of the phase for the rest.
func (r *retries) take(c *trace.Joined) {
	ts := r.split(c)
	for _, t := range ts {
		r.habit(t)
	}
	if c.Call.Phase != r.a.Phase && (r.a.Phase != "" || !r.e.measured(c.Call.Phase)) {
		return
	}
	r.calls = append(r.calls, c)
	if r.clouded(c) {
		r.unclear++
		return
	}
	for _, t := range ts {
		r.after += one(t.call.Answered() && t.last().Arr > t.call.End)
	}
	r.all = append(r.all, ts...)
}

// clouded reports whether attempts of a call may have left no sign, or one that nobody
// can give to a call.
func (r *retries) clouded(c *trace.Joined) bool {
	odd := func(at trace.Attempt) bool { return at.Late || at.Stream }
	return touched(r.join.Blind, &c.Call) || slices.ContainsFunc(c.Attempts, odd) || arrivals(r.join.NoID, c.Call.Send, c.Call.End) > 0
}

// split takes the attempts of a call apart by what they ask for.
func (r *retries) split(c *trace.Joined) []*tries {
	var out []*tries
	for i := range c.Attempts {
		at := &c.Attempts[i]
		path, _, _ := strings.Cut(at.Path, "?")
		k := slices.IndexFunc(out, func(t *tries) bool {
			p, _, _ := strings.Cut(t.list[0].Path, "?")
			return p == path && t.list[0].Method == at.Method
		})
		if k < 0 {
			out = append(out, &tries{call: &c.Call, list: []*trace.Attempt{at}})
			continue
		}
		t := out[k]
		t.links = append(t.links, r.link(t.last(), at))
		t.list = append(t.list, at)
	}
	return out
}

// habit notes how often the SUT asks for a thing if nothing is wrong with the answer.
func (r *retries) habit(t *tries) {
	if slices.ContainsFunc(t.list, func(at *trace.Attempt) bool { return r.failed(at) || at.Done() == trace.None }) {
		return
	}
	r.alone += one(len(t.list) == 1)
	r.again += one(len(t.list) > 1)
}

// repeats reports whether the SUT asks for a thing more than once although it was
// answered well, so that a second attempt is no sign of a retry.
func (r *retries) repeats() bool { return r.again > 0 && 50*r.again > r.alone }

// link says how an attempt came to follow another one.
func (r *retries) link(before, at *trace.Attempt) link {
	o := before.Done()
	switch {
	case o == trace.None || o > at.Arr:
		if before.Outcome == trace.OutcomeAnswered && !r.failed(before) {
			return linkAgain // It was under way, and nothing became wrong with it: both may have been wanted.
		}
		return linkRetry
	case !r.failed(before):
		return linkAgain
	case broken(before) && (r.library || at.Arr-o-r.e.slept(o, at.Arr) <= r.quick(at.Phase)):
		return linkResend // Where the library does it at all, a pause of the SUT may have made it late.
	}
	return linkRetry
}

// quick is within which time of the end of a connection what is sent again may have been
// sent by the HTTP library itself, which does not wait: as long as the SUT takes to notice
// anything, and longer where this machine kept it from a CPU.
func (r *retries) quick(phase string) time.Duration {
	for _, c := range r.e.checks {
		if c.Name == checkPressure && c.Phase == phase {
			return r.slack + c.late
		}
	}
	return r.slack
}

// badRequest is the first status that says that something is wrong.
const badRequest = 400

// broken reports whether an attempt ended with its connection or its stream, and not by a
// whole answer or its caller's leaving.
func broken(at *trace.Attempt) bool {
	return at.Abandon == trace.None && at.Outcome != trace.OutcomeAnswered && at.Outcome != trace.OutcomeUpstream
}

// failed reports whether an attempt may be sent again for how it ended. It is wider than
// what a breaker counts: also an answer such as 429 is.
func (r *retries) failed(at *trace.Attempt) bool {
	if at.Abandon != trace.None || at.Outcome != trace.OutcomeAnswered || at.Status >= badRequest {
		return true
	}
	_, may := match.DefaultFailure().Answer(at.Status, at.GRPC)
	for _, b := range r.e.spec.Breakers {
		if b.Injector == r.injector {
			_, is := b.Failure.Answer(at.Status, at.GRPC)
			may = may || is
		}
	}
	return may
}

// due reports whether the SUT had all reason to try once more after the last attempt: a
// fault has hit each of them, and each has failed, and its client still waited. It is not
// where a breaker may have said no, and not of a SUT that answers before it is done: when
// it gives up is not known.
func (r *retries) due(t *tries) bool {
	if r.after > 0 {
		return false
	}
	for _, at := range t.list {
		if at.Rule == "" || !r.failed(at) || at.Done() == trace.None {
			return false
		}
	}
	return t.call.Answered() && t.call.End >= t.last().Done() && r.free(t, t.call.End)
}

// free reports whether no breaker can have rejected an attempt of a request until an instant: it
// was closed for certain since the call was sent (also a rejection before the first attempt may
// have been tried again, and be one of those that the SUT allows itself). One that asks for each
// call says no only to the first.
func (r *retries) free(t *tries, until time.Duration) bool {
	for _, b := range r.e.spec.Breakers {
		if b.Injector != r.injector || !slices.Contains(b.Targets, t.call.Target) {
			continue
		}
		d := Interval{t.call.Send, until}
		if b.Unit == UnitCall {
			d.Hi = t.list[0].Arr
		}
		if slices.ContainsFunc(r.e.views[b.Name], func(v *view) bool { return v.mayBeOf(t.call) && !v.closedFor(d) }) {
			return false
		}
	}
	return true
}

// mayBeOf reports whether a call may have asked the breaker that a view looks at.
func (v *view) mayBeOf(c *trace.Call) bool {
	return v.era.in(c.Send) && (v.instance == "" || c.Instance == "" || v.instance == c.Instance)
}

// closedFor reports whether a breaker was closed during all of an interval: it was inferred to be,
// and it cannot have opened and been open for a wait unseen since it was closed for certain. That it
// is by as many admissions in a row as close it from whatever state it was in (2N+10), or by its
// close, or from the start of a service that was started for the run.
func (v *view) closedFor(d Interval) bool {
	i := slices.IndexFunc(v.segs, func(s segment) bool {
		return s.state == StateClosed && s.from.Hi <= d.Lo && (s.last || d.Hi < s.to.Lo)
	})
	if i < 0 {
		return false
	}
	since := v.segs[i].from.Hi
	unsure := i == 0 && !v.fresh && since == 0 || i > 0 && v.segs[i-1].visit != nil && v.segs[i-1].visit.presumed
	if from, ok := v.passedBefore(d.Lo, 2*v.permitted()+10); ok && from > since {
		since, unsure = from, false
	}
	if unsure {
		return false
	}
	_, hides := v.hidesOpen(v.shortest(), since, d.Hi)
	return !hides
}

// passedBefore is when the n-th admission before an instant was decided at the earliest, of those
// that are of this instance for certain.
func (v *view) passedBefore(t time.Duration, n int) (time.Duration, bool) {
	for _, a := range slices.Backward(v.adm[:v.sentAfter(t-1)]) {
		if a.ghost || a.hi > t {
			continue
		}
		if n--; n == 0 {
			return a.lo, true
		}
	}
	return 0, false
}

// unsaid says why attempts cannot be told to be retries at all, or nothing.
func (r *retries) unsaid() (reason, remedy string) {
	switch {
	case r.join.Share() < r.e.spec.Integrity.Join:
		return fmt.Sprintf("only %s of the attempts at %s joined a call", percent(r.join.Share()), r.injector),
			"let the SUT pass traceparent (or a header named in correlate.order) on to the dependency"
	case r.repeats():
		return fmt.Sprintf("the SUT asks %s for the same thing more than once although it is answered well (%d of %d times), so a further attempt need not be a retry", r.injector, r.again, r.again+r.alone),
			"judge targets whose calls ask for a thing once, or bound retry.amplification"
	}
	return "", ""
}

// doubts says what keeps further attempts from being retries for certain: how many libraries
// may have sent by themselves, and how many follow a good answer.
func doubts(all []*tries) (resends, again int) {
	for _, t := range all {
		for i, l := range t.links {
			resends += one(l == linkResend || l == linkRetry && broken(t.list[i]))
			again += one(l == linkAgain)
		}
	}
	return resends, again
}

// doubtWords says so in a sentence.
func doubtWords(resends, again int) string {
	var parts []string
	if resends > 0 {
		parts = append(parts, fmt.Sprintf("%s followed on a connection that broke without an answer, and the HTTP library may have sent %s again by itself", plural(resends, "attempt"), them(resends)))
	}
	if again > 0 {
		parts = append(parts, fmt.Sprintf("%s followed on a good answer, and may be a further request", plural(again, "attempt")))
	}
	return strings.Join(parts, "; ")
}

// doubtRemedy says what to do about it.
const doubtRemedy = "let the dependency fail by a whole answer (respond: {status: 503}), which no library sends again for without being told"

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// callIDs is the ids of the calls of tries, at most ten.
func callIDs(all []*tries) []string {
	var out []string
	for _, t := range all {
		if len(out) == 10 {
			break
		}
		if len(out) == 0 || out[len(out)-1] != t.call.ID {
			out = append(out, t.call.ID)
		}
	}
	return out
}

// factor prints a factor as experiments write it.
func factor(f float64) string {
	if math.IsInf(f, 1) {
		return "without end"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", f), "0"), ".") + "x"
}
