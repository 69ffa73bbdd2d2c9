package injector

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// MostTTL is how long an added fault lives at most.
const MostTTL = 15 * time.Minute

// MostAdded is how many added faults there are at most at a time: each one is asked
// about every request.
const MostAdded = 64

// The errors of changes.
var (
	// ErrLapsed says that nobody renewed the lease in time. Faults are off until it is
	// renewed and a phase is entered.
	ErrLapsed = errors.New("the lease has lapsed, so all faults are off; renew it and enter a phase again")
	// ErrStale says that the plan is not the one that was to be replaced.
	ErrStale = errors.New("another plan is in force than the one that was to be replaced; read it again")
	// ErrNoLease says that there is nothing to renew.
	ErrNoLease = errors.New("faults are not leased")
)

// Replace puts another script in the place of the one in force and enters its phase with
// the current name, as [Injector.Enter] does, and with the same errors. Requests that have
// arrived come to their end under the old script, all later ones meet the new one. An
// invalid script changes nothing; the error joins all that is wrong with it. It returns the
// number of the plan in force, which grows by one.
func (i *Injector) Replace(script fault.Script) (version uint64, err error) {
	version, _, err = i.ReplaceIf(0, script)
	return version, err
}

// ReplaceIf is [Injector.Replace] if the plan with this number is in force, and fails with
// [ErrStale] if another one is. Number 0 is any. It returns the number and the sum of the plan that it put
// in force, or of the one that was in its way.
func (i *Injector) ReplaceIf(version uint64, script fault.Script) (now, sum uint64, err error) {
	p, err := i.newPlan(script, 0)
	inForce := i.phase.Load().plan
	if err == nil {
		inForce, err = i.replace(version, p)
	}
	if err == nil {
		err = i.settleDoor()
	}
	if err != nil {
		err = fmt.Errorf("injector %s: replace the plan: %w", i.cfg.Name, err)
	}
	return inForce.version, inForce.sum, err
}

// replace returns the plan in force, which is p if there is no error.
func (i *Injector) replace(version uint64, p *plan) (*plan, error) {
	i.turn.Lock()
	defer i.turn.Unlock()
	last := i.phase.Load()
	if version != 0 && version != last.plan.version {
		return last.plan, ErrStale
	}
	if i.lapse(time.Now()) {
		return last.plan, ErrLapsed
	}
	p.version = last.plan.version + 1
	p.guard(i)
	next := p.newPhase(last.name, p.player.Phase(last.name))
	if first := last.first; first != nil && !isClosed(first.Came()) {
		next.first = first // The phase waits still.
	}
	p.entered[last.name] = next
	if len(next.faults.Rules()) > 0 {
		i.mark(trace.MarkFaultOn, last.name)
	}
	i.change((&stage{phase: next, plan: p}).with(nil), false)
	if len(last.faults.Rules()) > 0 {
		i.markOff(last.name)
	}
	i.mark(trace.MarkNote, fmt.Sprintf("plan %d is in force", p.version))
	return p, nil
}

// Apply adds a fault to the phase that is on. It is asked about a request before the
// phase's own rules and before what was added earlier, and ends after ttl, which is above 0
// and at most [MostTTL], or with the phase, whichever comes first; then its hangs and holds
// end as those of a phase do. Marks in the trace tell of it by the returned ID, which is the
// rule's own if it has one. After an error, such as those of [Injector.Enter], nothing was added.
func (i *Injector) Apply(rule fault.Rule, ttl time.Duration) (id string, err error) {
	id, err = i.apply(rule, ttl)
	if err == nil {
		i.wakeKeeper()
		if err = i.settleDoor(); err != nil {
			i.drop(id)
			err = errors.Join(err, i.settleDoor()) // As it was before.
		}
	}
	if err != nil {
		return "", fmt.Errorf("injector %s: add a fault: %w", i.cfg.Name, err)
	}
	return id, nil
}

func (i *Injector) apply(rule fault.Rule, ttl time.Duration) (id string, err error) {
	if ttl <= 0 || ttl > MostTTL {
		return "", fmt.Errorf("its time to live is %v; must be above 0 and at most %v", ttl, MostTTL)
	}
	i.turn.Lock()
	defer i.turn.Unlock()
	now := time.Now()
	if i.lapse(now) {
		return "", ErrLapsed
	}
	last := i.phase.Load()
	if len(last.extra) >= MostAdded {
		return "", fmt.Errorf("%d faults were added already, which is the most; wait for the end of one, or clear them", MostAdded)
	}
	if rule.ID == "" {
		i.added++
		rule.ID = "added/" + strconv.FormatUint(i.added, 10)
	}
	if last.knows(rule.ID) {
		return "", fmt.Errorf("the id %q already names a fault; the trace could not tell them apart", rule.ID)
	}
	const only = "added"
	p, err := i.newPlan(fault.Script{Phases: map[string][]fault.Rule{only: {rule}}}, 0)
	if err != nil {
		return "", err
	}
	p.guard(i)
	layer := p.newPhase(last.name, p.player.Phase(only))
	layer.id, layer.until = rule.ID, now.Add(ttl)
	i.mark(trace.MarkFaultOn, rule.ID)
	i.change(last.with(append([]*phase{layer}, last.extra...)), false)
	return rule.ID, nil
}

// drop takes an added fault away that cannot be had.
func (i *Injector) drop(id string) {
	i.turn.Lock()
	defer i.turn.Unlock()
	s := i.phase.Load()
	left := slices.DeleteFunc(slices.Clone(s.extra), func(p *phase) bool { return p.id == id })
	i.change(s.with(left), false)
}

// knows reports whether a rule has this ID.
func (s *stage) knows(id string) bool {
	named := func(r *fault.Rule) bool { return r.ID == id }
	return slices.ContainsFunc(s.plan.player.Rules(), named) ||
		slices.ContainsFunc(s.extra, func(p *phase) bool { return p.id == id })
}

// Clear ends all faults at once, until a phase is entered or a fault is added. Hangs end
// with a closed connection, holds and latencies at once; what is sent drop by drop is
// sent without further waits; connections that nobody listened to are served. It waits for
// no request. The error is that of taking callers in again.
func (i *Injector) Clear() error {
	i.turn.Lock()
	i.clear("faults were cleared")
	i.turn.Unlock()
	if err := i.settleDoor(); err != nil {
		return fmt.Errorf("injector %s: clear: %w", i.cfg.Name, err)
	}
	return nil
}

// clear puts a stage without faults in force. turn is held.
func (i *Injector) clear(why string) {
	last := i.phase.Load()
	i.change((&stage{phase: last.plan.healthy(last.name), plan: last.plan, off: true}).with(nil), true)
	if len(last.faults.Rules()) > 0 {
		i.markOff(last.name)
	}
	i.mark(trace.MarkNote, why)
}

// Renew tells that whoever is responsible for the faults is still there: they stay on for
// another Config.Lease. If the lease has lapsed, it begins anew all the same, but a phase must
// be entered for its faults to come back, as [ErrLapsed] says. Without a lease it returns
// [ErrNoLease].
func (i *Injector) Renew() error {
	if i.cfg.Lease == 0 {
		return fmt.Errorf("injector %s: renew: %w", i.cfg.Name, ErrNoLease)
	}
	i.turn.Lock()
	now := time.Now()
	lapsed := i.lapse(now)
	i.leased.Store(new(now.Add(i.cfg.Lease)))
	i.turn.Unlock()
	i.wakeKeeper()
	if err := i.settleDoor(); err != nil {
		return fmt.Errorf("injector %s: renew: %w", i.cfg.Name, err)
	}
	if lapsed {
		return fmt.Errorf("injector %s: renew: %w", i.cfg.Name, ErrLapsed)
	}
	return nil
}

// overdue reports whether nobody has renewed the lease in time.
func (i *Injector) overdue(now time.Time) bool {
	end := i.leased.Load()
	return end != nil && !now.Before(*end)
}

// lapse clears the faults when the lease is over, once, and reports whether it is. turn is held.
func (i *Injector) lapse(now time.Time) bool {
	if !i.overdue(now) {
		i.lapsed = nil
		return false
	}
	if end := i.leased.Load(); i.lapsed != end {
		i.lapsed = end
		i.clear(fmt.Sprintf("the lease of %v was not renewed, so all faults are off", i.cfg.Lease))
		i.log.Warn("nobody renewed the lease, so all faults are off", slog.String("injector", i.cfg.Name))
	}
	return true
}

// keep ends what has its time, until the injector ends.
func (i *Injector) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-i.wake:
		case <-i.closing:
			return
		}
		timer.Stop()
		if next, waits := i.expire(time.Now()); waits {
			timer.Reset(time.Until(next))
		}
	}
}

// wakeKeeper tells the keeper that something may end earlier than it thinks.
func (i *Injector) wakeKeeper() { wake(i.wake) }

// expire ends what has its time, and says when the next thing has.
func (i *Injector) expire(now time.Time) (next time.Time, waits bool) {
	i.turn.Lock()
	lapsed := i.lapse(now)
	s := i.phase.Load()
	var left []*phase
	for _, p := range s.extra {
		if !now.Before(p.until) {
			continue
		}
		left = append(left, p)
		if !waits || p.until.Before(next) {
			next, waits = p.until, true
		}
	}
	over := len(left) < len(s.extra)
	if over {
		i.change(s.with(left), false)
	}
	if end := i.leased.Load(); end != nil && !lapsed && (!waits || end.Before(next)) {
		next, waits = *end, true
	}
	i.turn.Unlock()
	if over || lapsed {
		if err := i.settleDoor(); err != nil {
			i.log.Error("callers are not taken in again", slog.String("injector", i.cfg.Name), slog.Any("error", err))
		}
	}
	return next, waits
}

// mark records an event of this injector.
func (i *Injector) mark(kind trace.MarkKind, text string) {
	i.cfg.Recorder.Mark(trace.Mark{At: i.offset(time.Now()), Kind: kind, Subject: i.cfg.Name, Text: text})
}

func (i *Injector) markOff(what string) { i.mark(trace.MarkFaultOff, what) }

// closeIdle closes the connections that wait for a request.
func (i *Injector) closeIdle() {
	i.mu.Lock()
	all := slices.Collect(maps.Keys(i.conns))
	i.mu.Unlock()
	for _, c := range all {
		if c.idle.Load() {
			_ = c.Close()
		}
	}
}
