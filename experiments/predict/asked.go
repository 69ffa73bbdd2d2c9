package predict

import (
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// asked is a call on its way to a dependency.
type asked struct {
	r      *request
	number uint64 // among those of the service
	scope  *scope // how long somebody waits for it
	begun  func() // tells a time limiter that its time begins; nil: there is none
}

// begin tells that from now on a caller of asynchronous code would hold a future.
func (c *asked) begin() {
	if c.begun != nil {
		c.begun()
	}
}

// within returns the same call for which somebody waits otherwise.
func (c *asked) within(s *scope) *asked {
	other := *c
	other.scope = s
	return &other
}

// scope is how long somebody waits for a call; nil: for as long as it takes.
type scope struct {
	over  bool
	hooks []func()
}

// inside returns one that ends with this one, and may end earlier.
func (s *scope) inside() *scope {
	made := &scope{over: s.ended()}
	s.onEnd(made.end)
	return made
}

func (s *scope) ended() bool { return s != nil && s.over }

// onEnd calls do when the scope ends.
func (s *scope) onEnd(do func()) {
	if s != nil && !s.over {
		s.hooks = append(s.hooks, do)
	}
}

func (s *scope) end() {
	if s.over {
		return
	}
	s.over = true
	for _, do := range s.hooks {
		do()
	}
	s.hooks = nil
}

// cause says why there is no reply; the zero value: there is one.
type cause int

const (
	replied cause = iota
	gaveUp        // somebody's patience was over
	refused       // by the breaker
	full          // the bulkhead
	limited       // by the rate limiter
	crowded       // the rate limiter tells no more keys apart
)

// rejection reports whether a policy beside the breaker refused the call.
func (c cause) rejection() bool { return c == full || c == limited || c == crowded }

// outcome is what came of asking a dependency.
type outcome struct {
	why    cause
	failed bool  // it counts as a failure
	reply  reply // of the dependency, if it has replied

	limit *limit.Decision // of a rate limiter that refused the call, or tells all
}

// good reports whether there is an answer that is not a failure.
func (o outcome) good() bool {
	return o.why == replied && !o.failed && o.reply.outcome == trace.OutcomeAnswered
}

// fine is a good outcome of no dependency.
func fine() outcome { return outcome{reply: reply{outcome: trace.OutcomeAnswered}} }

// counts reports whether an outcome that took so long is said to count as a failure.
func counts(f match.Failure, rejectionsFail bool, o outcome, took time.Duration) bool {
	switch {
	case o.why.rejection():
		return rejectionsFail
	case o.why == refused:
		return false
	case f.Slow > 0 && took > f.Slow:
		return true
	case o.why == gaveUp:
		return f.Abandon
	}
	return failed(f, o.reply)
}

// step makes a call, or says why there is none.
type step func(c *asked, done func(outcome))

// policy is one that is there, at work.
type policy interface{ wrap(next step) step }

// exactly plans something for when d has passed, a moment later, as a timer does: nothing
// happens at the instant of something else.
func (w *playing) exactly(d time.Duration, do func()) { w.at(w.now+d+w.shift(999), do) }

// pause goes on after so long, or tells at once that nobody waits for the call any more.
func (w *playing) pause(c *asked, d time.Duration, then func(ok bool)) {
	if c.scope.ended() {
		then(false)
		return
	}
	over := false
	end := func(ok bool) {
		if !over {
			over = true
			then(ok)
		}
	}
	w.exactly(d, func() { end(true) })
	c.scope.onEnd(func() { end(false) })
}

// asksFor is how long an answer asks to be left alone.
func asksFor(a *fault.Respond, now time.Time) time.Duration {
	switch {
	case a == nil || a.RetryAfter == nil:
		return 0
	case a.RetryAfter.Date: // It is told in whole seconds.
		return max(0, now.Add(a.RetryAfter.In).Truncate(time.Second).Sub(now))
	}
	return a.RetryAfter.In
}
