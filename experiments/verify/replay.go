package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// slack is by how much the clock of a service may differ from this one's within a wait,
// beside a thousandth of the wait.
const slack = 2 * time.Millisecond

// mostThoughts is how many orders of what happened are kept in mind. More than a few
// come up only where all instants are in doubt.
const mostThoughts = 256

// A thought is a breaker that has let through and refused exactly what was seen so far.
// Where an instant is in doubt and matters, there is one thought for each possibility.
type thought struct {
	m    *breakerref.Machine
	last time.Time // of the machine

	// until, in OPEN: calls are refused up to some instant within it. free: nothing is
	// known of its end.
	untilLo, untilHi time.Duration
	free             bool
	openedLo, openHi time.Duration // when it opened
	refusedAt        time.Duration // of the last call that was surely refused since

	halfLo, halfHi time.Duration // when it became half-open

	history []byte // outcomes of the state it is in: S, F, s and f for slow ones
	mark    uint64 // of the history, and of the seconds in which it was made
	row     int    // openings in a row
	waits   []waited
	before  string // the history of the state before
}

// replay is a system on its way through what was seen.
type replay struct {
	sys   System
	cfg   breakerref.Config
	epoch time.Time
	alive []thought
	gaps  []time.Duration // by how much attempts came later than their waits
	try   int             // at which the call that was let through last may be, at most
	lost  bool            // too much was in doubt
	begun bool            // what state it is in is known
}

// waited is how long one open state lasted, as far as it was seen.
type waited struct {
	Visit  int // openings in a row, this one included
	Lo, Hi time.Duration
}

// contradiction is where a system would have done something else.
type contradiction struct {
	at      event
	index   int // of the event
	state   breakerref.State
	history string // of that state
	why     string
	ofRetry bool
	was     thought // before the event
}

// play replays events with a system. It returns nil where the system explains them all.
func (s System) play(seen observed) (r *replay, c *contradiction) {
	r = &replay{sys: s, cfg: s.effective(), epoch: seen.epoch, begun: seen.fresh}
	m, err := breakerref.New(r.cfg, r.wall(0))
	if err != nil {
		return r, &contradiction{why: err.Error()}
	}
	r.alive = []thought{{m: m, last: r.wall(0)}}
	for i, e := range seen.events {
		if c := r.step(i, e); c != nil {
			return r, c
		}
		if r.lost {
			for _, e := range seen.events[i+1:] {
				r.tightened(e) // What is known of the waits between attempts is in doubt no more.
			}
			break
		}
	}
	return r, r.idle(seen)
}

func (r *replay) wall(at time.Duration) time.Time { return r.epoch.Add(at) }

// step takes one event in.
func (r *replay) step(i int, e event) *contradiction {
	if !r.begun && !r.begin(e) {
		return nil
	}
	e = r.tightened(e)
	if why := r.tried(e); why != "" {
		return &contradiction{at: e, index: i, why: why, ofRetry: true, state: r.alive[0].m.State(), history: string(r.alive[0].history), was: r.alive[0]}
	}
	var next []thought
	before, why := r.alive[0].m.State(), ""
	for _, t := range r.alive {
		for _, t := range r.timers(t, e) {
			after, wrong := r.take(t, e)
			next = append(next, after...)
			if wrong != "" {
				why = wrong
			}
		}
	}
	if len(next) == 0 {
		return &contradiction{at: e, index: i, state: before, history: string(r.alive[0].history), why: why, was: r.alive[0]}
	}
	r.alive = distinct(next)
	r.lost = len(r.alive) > mostThoughts
	return nil
}

// begin waits for the first instant at which the state of a service that was running
// before is known: it refuses.
func (r *replay) begin(e event) bool {
	if e.kind != refused {
		return false
	}
	r.begun = true
	t := &r.alive[0]
	_ = t.m.Transition(r.wall(e.lo), breakerref.Open) // CLOSED may always open.
	t.free, t.untilLo, t.untilHi = true, e.lo, math.MaxInt64
	t.openedLo, t.openHi = e.lo, e.lo
	return true
}

// tried says what is wrong with how often a call was tried.
func (r *replay) tried(e event) string {
	switch {
	case e.kind == admitted && e.attempt > r.sys.tries():
		return fmt.Sprintf("a call was tried %d times", e.attempt)
	case e.kind == admitted && e.gap < -time.Millisecond:
		return fmt.Sprintf("a call was tried again %v too soon", -e.gap)
	case e.kind == gaveUp && r.sys.Inside && e.attempt != r.sys.tries():
		return fmt.Sprintf("a call that failed was tried %d times", e.attempt)
	}
	return ""
}

// tightened is an event with what is known by the waits between attempts: they lie between
// the end of one and the beginning of the next.
func (r *replay) tightened(e event) event {
	if r.sys.Retry == nil {
		return e
	}
	before := r.sys.pause(e.attempt - 1)
	if e.kind == admitted {
		r.try = r.sys.fits(max(r.try, 1), e.hi-e.lo, e.attempt)
	}
	switch {
	case e.kind == admitted && e.attempt > 1:
		e.gap = e.hi - e.lo - before
		r.gaps = append(r.gaps, e.gap)
		e.lo = min(e.hi, e.lo+before)
	case r.sys.Inside:
	case e.kind == ended:
		e.tookHi -= before
		after := time.Duration(0)
		switch {
		case !e.final:
			after = r.sys.pause(e.attempt)
		case e.failed:
			after = r.sys.pauses(r.try)
		}
		e.tookHi = max(e.tookLo, e.tookHi-after)
		e.hi = max(e.lo, e.hi-after)
	case e.kind == refused:
		e.lo = min(e.hi, e.lo+r.sys.refusal())
	case e.kind == gaveUp:
		e.attempt = r.try
		e.lo = min(e.hi, e.lo+r.sys.pauses(r.try))
	}
	return e
}

// fits is the number of the try that an attempt is, at most: tries that were refused may have
// come before it, as far as there was time for the waits between them.
func (s System) fits(last int, within time.Duration, attempt int) int {
	try := last + 1
	if attempt == 1 {
		try = 1
		last = 0
	}
	if s.FinalRefusal {
		return min(try, s.tries()) // A refusal would have been the last.
	}
	within -= s.pause(last)
	for try < s.tries() && within >= s.pause(try) {
		within -= s.pause(try)
		try++
	}
	return try
}

// pause is how long a caller waits after its n-th attempt, at least.
func (s System) pause(n int) time.Duration {
	if n < 1 || s.Retry == nil {
		return 0
	}
	w := float64(s.Retry.Wait)
	for range n - 1 {
		if s.Retry.Multiplier != 0 {
			w *= s.Retry.Multiplier
		}
	}
	if s.Retry.MaxWait > 0 {
		w = min(w, float64(s.Retry.MaxWait))
	}
	return time.Duration(w * (1 - s.Retry.RandomFactor)).Truncate(time.Millisecond)
}

// pauses are those from the n-th attempt to the last, where all that follow it are refused.
func (s System) pauses(n int) time.Duration {
	sum := time.Duration(0)
	if s.FinalRefusal && n < s.tries() {
		return s.pause(n)
	}
	for ; n < s.tries(); n++ {
		sum += s.pause(n)
	}
	return sum
}

// idle says that callers waited longer between attempts than they should have: each time,
// and not only when the machine was slow.
func (r *replay) idle(seen observed) *contradiction {
	const enough = 8
	if r.sys.Retry == nil || len(r.gaps) < enough || r.sys.Retry.RandomFactor != 0 {
		return nil
	}
	shortest := slices.Min(r.gaps)
	if shortest <= max(10*time.Millisecond, r.sys.Retry.Wait/5) {
		return nil
	}
	last := seen.events[len(seen.events)-1]
	return &contradiction{
		at: last, index: len(seen.events), ofRetry: true, state: r.alive[0].m.State(), was: r.alive[0],
		why: fmt.Sprintf("each attempt came at least %v later than it should have", shortest.Round(time.Millisecond)),
	}
}

// timers are what may have become of a half-open breaker by itself before an event.
func (r *replay) timers(t thought, e event) []thought {
	if t.m.State() != breakerref.HalfOpen || r.cfg.HalfOpenMaxWait < time.Millisecond {
		return []thought{t}
	}
	lo, hi := t.halfLo+r.cfg.HalfOpenMaxWait, t.halfHi+r.cfg.HalfOpenMaxWait
	tol := slack + r.cfg.HalfOpenMaxWait/1000
	var all []thought
	if e.lo <= hi+tol { // It may not have fired.
		all = append(all, t)
	}
	if e.hi >= lo-tol { // It may have.
		fired := t.clone()
		due, _ := fired.m.NextTimer()
		fired.m.Advance(due)
		fired.last = due
		fired.moved(fired.m.State())
		if fired.m.State() == breakerref.Open {
			r.opened(&fired, lo, hi, due)
		}
		all = append(all, fired)
	}
	return all
}

// take is what comes of a thought by an event, which may be nothing, and then why.
func (r *replay) take(t thought, e event) ([]thought, string) {
	switch e.kind {
	case admitted:
		return r.admit(t, e)
	case refused, gaveUp:
		return r.refuse(t, e)
	case ended:
		return r.record(t, e), ""
	}
	return []thought{t}, ""
}

// due keeps a machine in a state that a timer has not ended.
func (t *thought) due(at time.Time) time.Time {
	if at.Before(t.last) {
		at = t.last
	}
	if due, ok := t.m.NextTimer(); ok && !at.Before(due) {
		at = due.Add(-1)
	}
	t.last = at
	return at
}

// admit lets a call through.
func (r *replay) admit(t thought, e event) ([]thought, string) {
	if r.sys.Inside && e.attempt > 1 {
		return []thought{t}, "" // The breaker is not asked again.
	}
	tol := r.tolerance(&t)
	if t.m.State() == breakerref.Open {
		if !t.free && t.untilLo-tol >= e.hi {
			return nil, "let through"
		}
		t = t.clone()
		t.wait(e)
		t.halfLo, t.halfHi = max(e.lo, t.untilLo), max(e.hi, t.untilLo)
		at := r.wall(e.hi)
		if until := t.m.OpenUntil(); !at.After(until) {
			at = until.Add(1)
		}
		t.last, t.free = at, false
		t.moved(breakerref.HalfOpen)
		t.m.Acquire(at)
		return []thought{t}, ""
	}
	if t.m.State() == breakerref.HalfOpen {
		t = t.clone()
	}
	if !t.m.Acquire(t.due(r.wall(e.hi))) {
		return nil, "let through"
	}
	return []thought{t}, ""
}

// refuse has a call refused.
func (r *replay) refuse(t thought, e event) ([]thought, string) {
	if e.kind == gaveUp && (r.sys.Inside || e.attempt >= r.sys.tries()) {
		return []thought{t}, "" // It was not to be tried again.
	}
	switch t.m.State() {
	case breakerref.Open:
		if !t.free && e.lo > t.untilHi+r.tolerance(&t) {
			return nil, "refused"
		}
		t.untilLo, t.refusedAt = max(t.untilLo, e.lo), max(t.refusedAt, e.lo)
		return []thought{t}, ""
	case breakerref.HalfOpen:
		t = t.clone()
		if t.m.Acquire(t.due(r.wall(e.hi))) {
			return nil, "refused"
		}
		return []thought{t}, ""
	default:
		return nil, "refused"
	}
}

// tolerance is that of the end of the open state that a thought is in.
func (r *replay) tolerance(t *thought) time.Duration {
	return slack + (t.untilHi-t.openHi)/1000
}

// wait notes how long it was open, where a call was refused before one was let through.
func (t *thought) wait(e event) {
	if !t.free && t.refusedAt > 0 {
		t.waits = append(slices.Clone(t.waits), waited{t.row, t.refusedAt - t.openHi, e.hi - t.openedLo})
	}
}

// record ends a call.
func (r *replay) record(t thought, e event) []thought {
	if r.sys.Inside && !e.final {
		return []thought{t} // The breaker is told of the last attempt.
	}
	var all []thought
	slows, instants := r.slow(e), r.instants(&t, e)
	for _, slow := range slows {
		for _, at := range instants {
			next := t
			if len(slows)+len(instants) > 2 {
				next = t.clone() // There is more than one.
			}
			r.end(&next, e, slow, at)
			all = append(all, next)
		}
	}
	return all
}

// end tells a breaker of an outcome.
func (r *replay) end(t *thought, e event, slow bool, at time.Time) {
	was, took := t.m.State(), time.Duration(0)
	if slow {
		took = r.cfg.SlowDuration + 1
	}
	at = t.due(at)
	t.m.Record(at, e.failed, took)
	t.note(letter(e.failed, slow), at)
	now := t.m.State()
	if now == was {
		return
	}
	t.moved(now)
	if now == breakerref.Open {
		r.opened(t, e.lo, e.hi, at)
	}
}

// note adds an outcome to the history.
func (t *thought) note(outcome byte, at time.Time) {
	t.history = append(t.history, outcome)
	t.mark = (t.mark^uint64(outcome)^uint64(at.Unix())<<8)*1099511628211 + 1
}

// moved begins the history of another state.
func (t *thought) moved(to breakerref.State) {
	t.before, t.history, t.mark = string(t.history), nil, 0
	if to == breakerref.Closed {
		t.row = 0
	}
}

// opened notes when an open state began and how long it lasts.
func (r *replay) opened(t *thought, lo, hi time.Duration, at time.Time) {
	wait := t.m.OpenUntil().Sub(at)
	shortest, longest := wait, wait
	if f := r.sys.Breaker.WaitRandom; f > 0 {
		shortest = time.Duration(float64(wait)*(1-f)) - time.Millisecond
		longest = time.Duration(float64(wait)*(1+f)) + time.Millisecond
		if most := r.cfg.WaitMax; most > 0 {
			shortest, longest = min(shortest, most), min(longest, most)
		}
	}
	t.row++
	t.openedLo, t.openHi, t.refusedAt, t.free = lo, hi, 0, false
	t.untilLo, t.untilHi = lo+shortest, hi+longest
}

// slow says whether a call was slow: it may have been either.
func (r *replay) slow(e event) []bool {
	tookLo, tookHi := e.tookLo, e.tookHi
	if r.sys.Inside {
		tookLo, tookHi = e.wholeLo, e.wholeHi
	}
	switch {
	case tookLo > r.cfg.SlowDuration:
		return []bool{true}
	case tookHi <= r.cfg.SlowDuration:
		return []bool{false}
	}
	return []bool{false, true}
}

// instants are those at which a call may have been recorded, where it matters: in another
// second of a window that is kept in seconds.
func (r *replay) instants(t *thought, e event) []time.Time {
	lo, hi := r.wall(e.lo), r.wall(e.hi)
	if r.cfg.WindowType == breakerref.TimeBased && t.m.State() == breakerref.Closed && lo.Unix() != hi.Unix() {
		return []time.Time{lo, hi}
	}
	return []time.Time{lo}
}

func letter(failed, slow bool) byte {
	switch {
	case failed && slow:
		return 'f'
	case failed:
		return 'F'
	case slow:
		return 's'
	}
	return 'S'
}

func (t thought) clone() thought {
	t.m = t.m.Clone()
	t.history = append([]byte(nil), t.history...)
	return t
}

// distinct leaves out thoughts that are the same from here on.
func distinct(all []thought) []thought {
	if len(all) == 1 {
		return all
	}
	seen := map[string]bool{}
	out := all[:0]
	for _, t := range all {
		key := fmt.Sprint(t.m.State(), t.mark, t.row, t.untilLo, t.untilHi, t.halfHi, t.m.OpenUntil().Sub(t.last) > 0)
		if !seen[key] {
			seen[key] = true
			out = append(out, t)
		}
	}
	return out
}

// likely reports whether chance gives waits as those that were seen: random waits that
// always come out as one and the same are none. Of n that are drawn evenly, all lie within a
// share d of the range with a probability of about n times d to the power of n-1.
func (r *replay) likely() bool {
	f := r.sys.Breaker.WaitRandom
	if f == 0 || len(r.alive) == 0 {
		return true
	}
	// Only those count that were seen well: the k narrowest, for any k.
	seen := slices.Clone(r.alive[0].waits)
	slices.SortFunc(seen, func(a, b waited) int { return cmp.Compare(a.Hi-a.Lo, b.Hi-b.Lo) })
	least, most := math.Inf(1), 0.0
	for i, w := range seen {
		middle := float64(r.sys.wait(w.Visit))
		least, most = min(least, float64(w.Lo)/middle), max(most, float64(w.Hi)/middle)
		const few, unlikely = 3, 1e-4
		if n := float64(i + 1); n >= few && n*math.Pow((most-least)/(2*f), n-1) < unlikely {
			return false
		}
	}
	return true
}

// chance is how probable it is that random waits come out as those that were seen, as
// closely as they were seen; 1 where they are not random.
func (r *replay) chance() float64 {
	f, p := r.sys.Breaker.WaitRandom, 1.0
	if f == 0 || len(r.alive) == 0 {
		return p
	}
	for _, w := range r.alive[0].waits {
		p *= min(1, float64(w.Hi-w.Lo)/(2*f*float64(r.sys.wait(w.Visit))))
	}
	return p
}
