package injector

import (
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// Limits bound what faults may do. A request beyond one passes as if there were no fault;
// it is counted (State.Overflow) and recorded (trace.Attempt.Spared). Each is kept exactly,
// at every instant. 0 is no limit.
type Limits struct {
	Faulted   uint64 // requests that faults hit, from Start on
	Share     Ratio  // of all requests, from Start on, that faults hit
	Active    int    // requests that a fault hit and that have no end yet
	Held      int    // of these, those that are held or hang; and connections that nobody reads from
	PerSecond int    // requests that one rule hits within any second; some clients resend thousands, see fault.ErrCode.Storms
}

// Ratio is Num of Den; the zero value is none.
type Ratio struct{ Num, Den uint64 }

// Limit names one of the limits.
type Limit string

// The limits, as the ledger and the metrics name them.
const (
	LimitFaulted   Limit = "faulted"
	LimitShare     Limit = "share"
	LimitActive    Limit = "active"
	LimitHeld      Limit = "held"
	LimitPerSecond Limit = "per_second"
)

// AllLimits are all of them.
func AllLimits() []Limit {
	return []Limit{LimitFaulted, LimitShare, LimitActive, LimitHeld, LimitPerSecond}
}

// check says what is wrong with the limits.
func (l Limits) check() error {
	var errs []error
	if l.Active < 0 || l.Held < 0 || l.PerSecond < 0 {
		errs = append(errs, fmt.Errorf("limits: active %d, held %d, per second %d: none is below 0", l.Active, l.Held, l.PerSecond))
	}
	if l.Share.Num > l.Share.Den {
		errs = append(errs, fmt.Errorf("limits: a share of %d in %d is more than all of them", l.Share.Num, l.Share.Den))
	}
	return errors.Join(errs...)
}

// usage is what is used of the limits; a value is never changed, but replaced.
type usage struct {
	faulted uint64
	active  int
	held    int
}

// budget keeps the limits.
type budget struct {
	limits  Limits
	arrived atomic.Uint64
	used    atomic.Pointer[usage]
	spared  map[Limit]*atomic.Uint64 // requests that passed because of a limit
}

func newBudget(l Limits) *budget {
	b := &budget{limits: l, spared: map[Limit]*atomic.Uint64{}}
	b.used.Store(&usage{})
	for _, name := range AllLimits() {
		b.spared[name] = new(atomic.Uint64)
	}
	return b
}

// take uses up one faulted request, all or nothing: the limit that is in the way, or "".
func (b *budget) take(holds bool) Limit {
	for {
		used := b.used.Load()
		next := usage{faulted: used.faulted + 1, active: used.active + 1, held: used.held}
		if holds {
			next.held++
		}
		if limit := b.exceeded(next, holds); limit != "" {
			return limit
		}
		if b.used.CompareAndSwap(used, &next) {
			return ""
		}
	}
}

// exceeded says which limit such a usage would break. Requests only become more, so a share
// that holds now holds later.
func (b *budget) exceeded(u usage, holds bool) Limit {
	l := b.limits
	switch {
	case l.Faulted > 0 && u.faulted > l.Faulted:
		return LimitFaulted
	case l.Share.Den > 0 && less(l.Share.Num, b.arrived.Load(), u.faulted, l.Share.Den):
		return LimitShare
	case l.Active > 0 && u.active > l.Active:
		return LimitActive
	case holds && l.Held > 0 && u.held > l.Held:
		return LimitHeld
	}
	return ""
}

// less reports whether a*b < c*d, whatever their size.
func less(a, b, c, d uint64) bool {
	h1, l1 := bits.Mul64(a, b)
	h2, l2 := bits.Mul64(c, d)
	return h1 < h2 || h1 == h2 && l1 < l2
}

// change adds to what is in use.
func (b *budget) change(active, held int) {
	for {
		used := b.used.Load()
		next := *used
		next.active += active
		next.held += held
		if b.used.CompareAndSwap(used, &next) {
			return
		}
	}
}

// hold uses up one place for a connection that nobody reads from, if there is one.
func (b *budget) hold() bool {
	for {
		used := b.used.Load()
		next := *used
		next.held++
		if b.limits.Held > 0 && next.held > b.limits.Held {
			return false
		}
		if b.used.CompareAndSwap(used, &next) {
			return true
		}
	}
}

// parks reports whether a request that the rule hits waits for something else than a time
// that the rule gives it.
func parks(r *fault.Rule) bool {
	return r.Hold != nil || r.Action == fault.ActionHang ||
		r.H2.Silent() ||
		r.WebSocket != nil && (r.WebSocket.Stall != nil || r.WebSocket.IgnoreClose) ||
		r.Form.Cut != nil && r.Form.Cut.By == fault.ActionHang ||
		r.Form.After != nil && r.Form.After.Do == fault.AfterHalf
}

// decide asks the stage what becomes of the request, and the limits whether it may.
func (x *exchange) decide(s *stage, r fault.Request) {
	x.budget.arrived.Add(1)
	if x.decideEnvoy(s) {
		return
	}
	if x.verdict, x.phase = x.ask(s, r, x.arrived); x.verdict.Rule != nil {
		x.limit(s)
	}
}

// ask asks the stage what becomes of what has arrived at this instant, and which of its
// phases says so.
func (i *Injector) ask(s *stage, r fault.Request, at time.Time) (fault.Verdict, *phase) {
	if v, p := i.askAmong(s.all, r, at); p != nil {
		return v, p
	}
	return fault.Verdict{}, s.phase
}

// askAmong asks some phases; nil: none of them says anything.
func (i *Injector) askAmong(phases []*phase, r fault.Request, at time.Time) (fault.Verdict, *phase) {
	if i.cfg.First != nil {
		i.cfg.First.came(at)
	}
	if i.overdue(at) {
		return fault.Verdict{}, nil // The keeper is about to end the faults.
	}
	for _, p := range phases {
		if p.id != "" && !at.Before(p.until) || p.isOver() {
			continue // The keeper is about to end it, or somebody has.
		}
		r.At = p.since(at)
		v := p.faults.Decide(r)
		switch {
		case v.Rule == nil:
		case p.isOver(): // It was cleared, maybe while the request's body was awaited.
			p.spared[v.Rule].Add(1)
		default:
			return v, p
		}
	}
	return fault.Verdict{}, nil
}

// isOver reports whether the faults of a phase that is asked have ended: all were cleared, or this one was added
// and has had its time. What a phase that is followed by another one began to look at is its own.
func (p *phase) isOver() bool { return isClosed(p.cleared) || p.id != "" && isClosed(p.ended) }

// limit lets a request pass that is one too many.
func (x *exchange) limit(s *stage) {
	rule := x.verdict.Rule
	holds := parks(rule)
	limit := x.permit(rule, x.phase, holds)
	if limit == "" {
		x.uses, x.holds = true, holds
		return
	}
	x.spared = fmt.Sprintf("rule %s: limit %s", rule.ID, limit)
	x.verdict, x.phase = fault.Verdict{}, s.phase
}

// giveBack ends what limit began.
func (x *exchange) giveBack() { x.release(x.uses, x.holds) }

// permit counts that a rule of a phase hits, if the limits have it; else it returns the one
// that is in the way.
func (i *Injector) permit(rule *fault.Rule, p *phase, holds bool) Limit {
	limit := p.storms[rule].within(func() Limit { return i.budget.take(holds) })
	if limit == "" {
		i.meter.hit(rule.Action)
		return ""
	}
	p.spared[rule].Add(1)
	i.tellLimit(limit, rule.ID)
	return limit
}

// release ends what permit began.
func (i *Injector) release(uses, holds bool) {
	switch {
	case holds:
		i.budget.change(-1, -1)
	case uses:
		i.budget.change(-1, 0)
	}
}

// holdConn reports whether one more connection may be left unread.
func (i *Injector) holdConn() bool {
	if i.budget.hold() {
		return true
	}
	i.tellLimit(LimitHeld, "")
	return false
}

// tellLimit counts what a limit let pass, and logs the first.
func (i *Injector) tellLimit(limit Limit, rule string) {
	if i.budget.spared[limit].Add(1) == 1 {
		i.log.Warn("a limit is reached; what is beyond it passes without a fault",
			slog.String("injector", i.cfg.Name), slog.String("rule", rule), slog.String("limit", string(limit)))
	}
}
