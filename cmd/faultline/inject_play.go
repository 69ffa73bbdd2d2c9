package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/trace"
)

// When the phases of an experiment begin to be played, and what comes after the last.
const (
	playNow   = "now"
	playFirst = "first"
	thenEnd   = "end"
	thenStay  = "stay"
	thenLoop  = "loop"
)

// choices are the two flags that say so.
func (f *injectFlags) choices() {
	f.play = choice{playNow, []string{playNow, playFirst}}
	f.then = choice{thenEnd, []string{thenEnd, thenStay, thenLoop}}
}

// playable says what is in the way of playing these phases so.
func (f injectFlags) playable(file string, phases []injectPhase, injectors int) error {
	var errs []error
	file = filepath.ToSlash(file)
	if f.given("phase") && f.given("then") {
		errs = append(errs, errors.New("--then says what comes after the last phase, and one that --phase names lasts until Ctrl-C; leave out one of them"))
	}
	if f.play.word == playFirst && phases[0].lockedOut(injectors) {
		errs = append(errs, fmt.Errorf("--play first: phase %s of %s lets nobody in, so the first request would never come; leave it out", phases[0].Name, file))
	}
	for _, p := range phases {
		if !p.endless && p.Sessions != nil {
			errs = append(errs, fmt.Errorf("%s: phase %s lasts until its users have made their rounds, and nobody knows here when that is; choose one phase, as: faultline inject --phase %s %s",
				file, p.Name, p.Name, file))
			continue
		}
		if !p.endless && p.Duration == 0 && p.lockedOut(injectors) {
			errs = append(errs, fmt.Errorf("%s: phase %s lasts until its %d calls have come, and lets nobody in; choose one phase, as: faultline inject --phase %s %s",
				file, p.Name, p.Calls.N, p.Name, file))
		}
	}
	return errors.Join(errs...)
}

// lockedOut reports whether no request reaches any of the injectors.
func (p injectPhase) lockedOut(injectors int) bool {
	for _, rules := range p.Faults {
		if len(rules) > 0 && rules[0].Action.Door() {
			injectors--
		}
	}
	return injectors == 0
}

// lasting says how long a phase lasts.
func (p injectPhase) lasting() string {
	if p.Duration > 0 {
		return yamldoc.FormatDuration(p.Duration)
	}
	return "until " + plural(p.Calls.N, "request has", "requests have") + " come and gone"
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// quota is how many requests a phase of calls lasts for, of that dependency that gets
// most of them.
type quota struct {
	most  int
	since time.Duration
	moved chan struct{} // closed when the phase is over for all that come

	mu      sync.Mutex
	came    map[string]int // by injector
	arrived int
	ended   int
	full    chan struct{} // closed when its last request has ended, or one more has come
	over    bool          // full is closed
}

// newQuota returns the quota of a phase; nil for one that lasts for a time.
func newQuota(p experiments.Phase, now time.Duration) *quota {
	if p.Duration > 0 || p.Calls == nil {
		return nil
	}
	return &quota{most: p.Calls.N, since: now, moved: make(chan struct{}), came: map[string]int{}, full: make(chan struct{})}
}

// takes counts an arrival; false: it is one too many, and belongs to the next phase.
func (q *quota) takes(injector string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over || q.came[injector] >= q.most {
		q.end()
		return false
	}
	q.came[injector]++
	q.arrived++
	return true
}

// gone counts a request that has its end.
func (q *quota) gone(a *trace.Attempt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.Arr < q.since || a.Unread() {
		return
	}
	q.ended++
	if q.ended < q.arrived {
		return
	}
	for _, n := range q.came {
		if n >= q.most {
			q.end()
		}
	}
}

// end tells that the phase is over. mu is held.
func (q *quota) end() {
	if !q.over {
		q.over = true
		close(q.full)
	}
}

// watch returns what has every request of an injector counted before it is decided.
// What is one too many waits for the next phase, so that a phase has no more than its
// number, whoever comes next.
func (s *stage) watch(ctx context.Context, injector string) func(*http.Request) {
	return func(*http.Request) {
		for {
			q := s.quota.Load()
			if q == nil || q.takes(injector) {
				return
			}
			select {
			case <-q.moved:
			case <-ctx.Done():
				return
			}
		}
	}
}

// departed tells of a request that has its end.
func (s *stage) departed(a *trace.Attempt) {
	if q := s.quota.Load(); q != nil {
		q.gone(a)
	}
}

// moves puts the quota of the phase that has just begun in force; nobody of them: none.
// Those who wait for that go on.
func (s *stage) moves(n int) {
	var next *quota
	if n >= 0 && n < len(s.in.phases) && !s.in.phases[n].endless {
		next = newQuota(s.in.phases[n].Phase, s.rec.Since(time.Now()))
	}
	if last := s.quota.Swap(next); last != nil {
		close(last.moved)
	}
}

// await waits for the first request, if the phases are to begin with it. It returns when
// the first phase began, or a jump that came before.
func (s *stage) await(ctx context.Context) (began time.Time, to *jump) {
	if s.in.first == nil {
		return time.Now(), nil
	}
	s.say("phase %s begins with the first request", s.phase)
	select {
	case <-s.in.first.Came():
		return s.in.first.At(), nil
	case j := <-s.in.jumps:
		return time.Now(), &j
	case <-ctx.Done():
		return time.Now(), nil
	}
}

// jumpTo enters the phase that somebody wishes for, and returns its number, -1 for none.
func (s *stage) jumpTo(to *jump) int {
	err := s.enter(to.phase)
	n := slices.IndexFunc(s.in.phases, func(p injectPhase) bool { return p.Name == to.phase })
	s.moves(n)
	to.done <- err
	return n
}

// following is the phase after one; false: there is none.
func (in injection) following(n int) (int, bool) {
	if n+1 < len(in.phases) {
		return n + 1, true
	}
	return 0, in.then == thenLoop
}

// finalPhase has the last phase stay, if it is to.
func (in *injection) finalPhase() {
	if in.then == thenStay {
		in.phases[len(in.phases)-1].endless = true
	}
}

// begins has the first phases of some injectors begin with the first request.
func (in *injection) begins(play string) {
	if play == playFirst {
		in.first = injector.NewFirst()
	}
}
