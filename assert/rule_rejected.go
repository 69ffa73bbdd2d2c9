package assert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Rejection is what becomes of calls that a limiter does not let through. They are answered,
// and not left to hang, with Status; with RetryAfter the answer says so in that header, as a
// number of seconds or a date (RFC 9110, section 10.2.3); with KeepsConnection the next
// call on the connection is answered as well.
//
// Of a limiter before a dependency a call was rejected that made no attempt and was answered
// with a status of 400 and above, or not at all; one that a cache or a fallback answered was
// not. Of one at the SUT's own door it is a call that was answered with Status, 429 or 503, or
// class rejected, or not at all,
// without an attempt at any dependency. To pass, there are 20 of them, and of their connections five
// on which another call followed. A connection is also given up where, of calls one after the
// other, each that follows a rejected one needs another, and none that follows one that was let
// through: five of both.
type Rejection struct {
	Status          int
	RetryAfter      bool
	KeepsConnection bool
}

// expected says what is asked of rejected calls.
func (x Rejection) expected() string {
	s := fmt.Sprintf("what is rejected is answered with status %d", x.Status)
	if x.RetryAfter {
		s += " and Retry-After"
	}
	if x.KeepsConnection {
		s += ", on a connection that goes on"
	}
	return s
}

// rejected reports whether an answer is the limiter's, of one at the SUT's own door.
func (r DownstreamRate) rejected(c *trace.Call) bool {
	const tooMany, unavailable = 429, 503
	own := r.Rejected != nil && c.Status == r.Rejected.Status
	return own || c.Status == tooMany || c.Status == unavailable || c.Class == match.ClassRejected
}

// turned sums up what became of the calls that were rejected.
type turned struct {
	calls    []*trace.Call // rejected
	silent   []*trace.Call // of these, left to hang
	broken   []*trace.Call // of these, whose connection ended
	other    []*trace.Call // of these, with another status
	wordless []*trace.Call // of these, without a time to come again
	cut      []*trace.Call // that followed on the connection of one of these, which ended
	followed int           // calls on such connections
	parted   []*trace.Call // of these in a lockstep, after which the next call needed another connection
	together int           // the others of these
	kept     int           // calls in a lockstep that were let through, and whose connection the next used
	lost     int           // those after which the next needed another
	known    map[string]bool
}

// rejections judges what became of the calls that were rejected.
func (r DownstreamRate) rejections(e *evidence, a Assertion) Verdict {
	t := r.turnedAway(e, a)
	out := Verdict{Result: Inconclusive, Observed: plural(len(t.calls), "call") + " rejected"}
	const few, certain = 5, 3
	switch {
	case len(t.other) > 0:
		out.Result, out.Evidence = Fail, callsOf(t.other)
		out.Reason = fmt.Sprintf("rejected calls were answered otherwise than with status %d: %s", r.Rejected.Status, kinds(t.other))
	case len(t.silent) > 0:
		out.Result, out.Evidence, out.miss = Fail, callsOf(t.silent), starved(t.silent)
		out.Reason = "rejected calls were not answered: " + kinds(t.silent)
	case r.Rejected.KeepsConnection && len(t.cut) >= certain:
		out.Result, out.Evidence = Fail, callsOf(t.cut)
		out.Reason = "the next call on the connection of one that was rejected was not answered: " + kinds(t.cut)
	case t.givenUp():
		out.Result, out.Evidence = Fail, callsOf(t.parted)
		out.Reason = fmt.Sprintf("after each of %s that were rejected the next call needed another connection, and after none of %d that were let through",
			plural(len(t.parted), "call"), t.kept)
	case len(t.broken) >= certain:
		out.Result, out.Evidence = Fail, callsOf(t.broken)
		out.Reason = "rejected calls were not answered: " + kinds(t.broken)
	case len(t.wordless) > 0:
		out.Result, out.Evidence = Fail, callsOf(t.wordless)
		out.Reason = fmt.Sprintf("%s were rejected without a Retry-After of seconds or a date", plural(len(t.wordless), "call"))
	case len(t.calls) < enough:
		out.Reason = fmt.Sprintf("%s rejected for certain %s, %d are needed", plural(len(t.calls), "call"), inPhase(a), enough)
		out.Remedy = "send more calls than the limiter lets through"
	case len(t.broken)+len(t.cut) > 0:
		out.Reason = fmt.Sprintf("%s on a connection that ended, which the SUT may have closed as it was idle: %s", plural(len(t.broken)+len(t.cut), "call"), kinds(append(t.broken, t.cut...)))
		out.Remedy = "send calls without long pauses"
	case r.Rejected.KeepsConnection && t.followed < few:
		out.Reason = fmt.Sprintf("%s followed on a connection on which one had been rejected, %d are needed", plural(t.followed, "call"), few)
		out.Remedy = "send calls one at a time (calls with concurrency 1), so that they share a connection; if the SUT closes it after a rejection, this cannot hold"
	default:
		out.Result = Pass
	}
	return out
}

// turnedAway finds the calls that were rejected, for certain. What this process, or the end of
// the load, kept from being answered was not.
func (r DownstreamRate) turnedAway(e *evidence, a Assertion) turned {
	t := turned{known: map[string]bool{}}
	take := func(c *trace.Call) {
		if !e.excused(c) && (c.Phase == a.Phase || a.Phase == "" && e.measured(c.Phase)) {
			t.add(c, *r.Rejected)
		}
	}
	if r.Of == RateAnswers {
		r.atDoor(e, take)
	} else {
		r.before(e, take)
	}
	if r.Rejected.KeepsConnection {
		r.follow(e, &t)
	}
	return t
}

// atDoor visits the calls that the SUT's own limiter rejected, or left to hang.
func (r DownstreamRate) atDoor(e *evidence, take func(*trace.Call)) {
	lost := e.lostEverywhere()
	for i := range e.trace.Calls {
		c := &e.trace.Calls[i]
		mine := len(r.Targets) == 0 || slices.Contains(r.Targets, c.Target)
		if mine && (!c.Answered() && lost(c) || c.Answered() && r.rejected(c)) {
			take(c)
		}
	}
}

// before visits the calls that a limiter before a dependency rejected, or left to hang.
func (r DownstreamRate) before(e *evidence, take func(*trace.Call)) {
	const bad = 400
	j := e.joinOf(r.Injector)
	for i := range j.Calls {
		if c := &j.Calls[i]; c.Kind == trace.Lost || c.Kind == trace.Short && c.Call.Status >= bad {
			take(&c.Call)
		}
	}
}

// lostEverywhere tells of a call without an answer whether it reached none of the dependencies
// of its target for certain: one that did was let in, whatever became of it then.
func (e *evidence) lostEverywhere() func(*trace.Call) bool {
	reached := map[string]bool{}
	for _, t := range e.spec.Targets {
		for _, injector := range t.DependsOn {
			j := e.joinOf(injector)
			for i := range j.Calls {
				if c := &j.Calls[i]; c.Call.Target == t.Name && c.Kind != trace.Lost {
					reached[c.Call.ID] = true
				}
			}
		}
	}
	return func(c *trace.Call) bool { return !reached[c.ID] }
}

// excused reports whether a call went without an answer for another reason than a limiter's.
// One that faultline stopped at the end of its load, or that went on for longer than this
// process stood still, had been left to hang if that was for long.
func (e *evidence) excused(c *trace.Call) bool {
	if c.Answered() {
		return false
	}
	short := c.End-c.Send-e.slept(c.Send, c.End) <= starvation
	return c.Err == trace.ErrRefused || e.exited > 0 || short && (c.Err == trace.ErrCanceled || e.stalled(c.Send, c.End))
}

// add counts a call that was rejected.
func (t *turned) add(c *trace.Call, want Rejection) {
	t.calls = append(t.calls, c)
	t.known[c.ID] = true
	switch {
	case c.Err == trace.ErrTimeout, c.Err == trace.ErrCanceled:
		t.silent = append(t.silent, c)
	case !c.Answered():
		t.broken = append(t.broken, c)
	case c.Status != want.Status:
		t.other = append(t.other, c)
	case want.RetryAfter && !comesAgain(c.RetryAfter):
		t.wordless = append(t.wordless, c)
	}
}

// comesAgain reports whether a header says when to come again.
func comesAgain(header string) bool {
	_, err := strconv.ParseUint(strings.TrimSpace(header), 10, 32)
	if err != nil {
		_, err = time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", header)
	}
	return err == nil
}

// follow looks at the next call on each connection on which one was rejected. One that no
// answer came to since its client gave up may have been held up by anything.
func (r DownstreamRate) follow(e *evidence, t *turned) {
	next := map[int]*trace.Call{} // by port
	for i := len(e.trace.Calls) - 1; i >= 0; i-- {
		c := &e.trace.Calls[i]
		if c.Port == 0 {
			continue
		}
		if then := next[c.Port]; then != nil && then.Send >= c.End && t.known[c.ID] {
			t.followed++
			if e.exited == 0 && (then.Err == trace.ErrReset || then.Err == trace.ErrEOF || then.Err == trace.ErrProtocol) {
				t.cut = append(t.cut, then)
			}
		}
		next[c.Port] = c
	}
	slices.Reverse(t.cut)
	r.step(e, t)
}

// step looks at calls that were sent one after the other, whether the next one used the
// connection of the one before. A client that has a single connection to offer takes it.
func (r DownstreamRate) step(e *evidence, t *turned) {
	busy := time.Duration(0) // until then other calls were under way
	for i := 1; i < len(e.trace.Calls); i++ {
		c, then := &e.trace.Calls[i-1], &e.trace.Calls[i]
		alone := c.Send >= busy && then.Send >= c.End
		busy = max(busy, ceased(c))
		same := c.Target == then.Target && c.Instance == then.Instance && c.Phase == then.Phase
		if !alone || !same || c.Port == 0 || then.Port == 0 || !c.Answered() {
			continue
		}
		switch stays := c.Port == then.Port; {
		case t.known[c.ID] && stays:
			t.together++
		case t.known[c.ID]:
			t.parted = append(t.parted, c)
		case r.rejected(c):
		case stays:
			t.kept++
		default:
			t.lost++
		}
	}
}

// givenUp reports whether the SUT ended the connection of each call that it rejected: no
// client does that which goes on with the others.
func (t *turned) givenUp() bool {
	const several = 5
	return len(t.parted) >= several && t.together == 0 && t.kept >= several && t.lost == 0
}
