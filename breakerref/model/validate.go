package model

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Validate returns all that is wrong with the configuration, joined, or nil: values
// out of range, combinations that the machine cannot do, and settings that the rest
// of the configuration makes meaningless.
func (c Config) Validate() error {
	var p problems
	c.known(&p)
	c.Count.check(&p)
	c.Window.check(&p)
	c.Trip.check(&p)
	c.Open.check(&p)
	c.HalfOpen.check(&p)
	c.checkGap(&p)
	c.checkWindowAndTrip(&p)
	c.checkOpenAndHalfOpen(&p)
	c.checkHosts(&p)
	p.require(c.Clock >= 0, "clock %v is below 0", c.Clock)
	return errors.Join(p...)
}

// problems collects what is wrong with a configuration.
type problems []error

func (p *problems) require(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// only requires that a setting is left alone unless the condition holds.
func (p *problems) only(set, condition bool, field, needs string) {
	p.require(!set || condition, "%s is set, but does nothing without %s", field, needs)
}

// known requires that every constant is one.
func (c Config) known(p *problems) {
	for _, k := range []struct {
		field        string
		value, first int
		last         int
	}{
		{"count.ignored", int(c.Count.Ignored), 0, int(IgnoredSuccess)},
		{"window.kind", int(c.Window.Kind), 0, int(Gap)},
		{"window.align", int(c.Window.Align), 0, int(AlignOnePerWrite)},
		{"window.scope", int(c.Window.Scope), 0, int(Shared)},
		{"trip.rule", int(c.Trip.Rule), int(Consecutive), int(Rate)},
		{"trip.arithmetic", int(c.Trip.Arithmetic), 0, int(Percent)},
		{"trip.judged", int(c.Trip.Judged), 0, int(OnTick)},
		{"open.growth", int(c.Open.Growth), 0, int(Exponential)},
		{"open.exit", int(c.Open.Exit), 0, int(ExitChecks)},
		{"halfOpen.admit", int(c.HalfOpen.Admit), 0, int(WaitForProbe)},
		{"halfOpen.ignored", int(c.HalfOpen.Ignored), 0, int(ProbeReopens)},
		{"late", int(c.Late), 0, int(LateByOrigin)},
		{"clear.onClose", int(c.Clear.OnClose), 0, int(ClearApart)},
	} {
		p.require(k.value >= k.first && k.value <= k.last, "%s is %d, must be from %d to %d", k.field, k.value, k.first, k.last)
	}
}

func (c Count) check(p *problems) {
	p.only(c.Rejected, c.AtStart, "count.rejected", "count.atStart")
	p.require(c.Timeout >= 0, "count.timeout is %v, must be at least 0s", c.Timeout)
}

func (w Window) check(p *problems) {
	sized := w.Kind == CountSliding || w.Kind == CountTumbling
	timed := w.Kind == TimeSliding || w.Kind == TimeTumbling || w.Kind == Gap
	p.require(!sized || w.Size >= 1 && w.Size <= math.MaxInt32, "window.size is %d, must be from 1 to 2147483647", w.Size)
	p.only(w.Size != 0, sized, "window.size", "a window over a count")
	p.require(!timed || w.Period > 0, "window.period is %v, must be above 0s", w.Period)
	p.only(w.Period != 0, timed, "window.period", "a window over time")
	sliding := w.Kind == TimeSliding
	p.require(!sliding || w.Buckets >= 1 && w.Period/time.Duration(max(1, w.Buckets)) >= 1,
		"window.buckets is %d, must be at least 1 and leave each bucket 1ns of %v", w.Buckets, w.Period)
	p.only(w.Buckets != 0, sliding, "window.buckets", "window.kind TimeSliding")
	p.only(w.Align != AlignStart, sliding, "window.align", "window.kind TimeSliding")
	p.only(w.ByStart, sliding && w.Align == AlignStart, "window.byStart", "window.kind TimeSliding with window.align AlignStart")
	p.only(w.Complete, sliding && w.Align == AlignStart, "window.complete", "window.kind TimeSliding with window.align AlignStart")
	p.require(!w.ByStart || !w.Complete, "window.byStart and window.complete exclude one another")
}

func (t Trip) check(p *problems) {
	rate := t.Rule == Rate
	p.require(rate || t.Failures >= 1, "trip.failures is %d, must be at least 1", t.Failures)
	p.only(t.Failures != 0, !rate, "trip.failures", "trip.rule Consecutive or Failures")
	limit := 1.0
	if t.Arithmetic == Percent {
		limit = 100
	}
	p.require(!rate || t.Rate >= 0 && t.Rate <= limit, "trip.rate is %v, must be from 0 to %v with trip.arithmetic %v", t.Rate, limit, t.Arithmetic)
	p.only(t.Rate != 0, rate, "trip.rate", "trip.rule Rate")
	p.only(t.Over, rate, "trip.over", "trip.rule Rate")
	p.only(t.Arithmetic != Quotient, rate, "trip.arithmetic", "trip.rule Rate")
	p.require(t.Min >= 0, "trip.min is %d, must be at least 0", t.Min)
	p.only(t.OnLook, t.Judged == OnAcquire, "trip.onLook", "trip.judged OnAcquire")
	p.only(t.Min != 0, t.Rule != Consecutive, "trip.min", "trip.rule Failures or Rate")
}

func (o Open) check(p *problems) {
	waits := o.Exit != ExitChecks
	p.require(!waits || o.Wait > 0, "open.wait is %v, must be above 0s", o.Wait)
	p.only(o.Wait != 0, waits, "open.wait", "open.exit ExitCall, ExitTimer or ExitTick")
	p.only(o.Growth != Constant, waits, "open.growth", "open.wait")
	p.require(o.Growth != Exponential || o.Factor > 0 && !math.IsInf(o.Factor, 1), "open.factor is %v, must be above 0", o.Factor)
	p.only(o.Factor != 0, o.Growth == Exponential, "open.factor", "open.growth Exponential")
	p.require(o.MaxWait == 0 || o.MaxWait >= o.Wait, "open.maxWait is %v, must be at least open.wait (%v), or 0s for no limit", o.MaxWait, o.Wait)
	p.only(o.MaxWait != 0, o.Growth != Constant, "open.maxWait", "open.growth Linear or Exponential")
	p.only(o.Decay, o.Exit == ExitTick && o.Growth == Linear, "open.decay", "open.exit ExitTick with open.growth Linear")
	p.only(o.After, o.Exit == ExitCall, "open.after", "open.exit ExitCall")
	p.only(o.OnLook, o.Exit == ExitCall, "open.onLook", "open.exit ExitCall")
	ticks := o.Exit == ExitTick || o.Exit == ExitChecks
	p.require(!ticks || o.Interval > 0, "open.interval is %v, must be above 0s", o.Interval)
	p.only(o.Interval != 0, ticks, "open.interval", "open.exit ExitTick or ExitChecks")
	p.require(o.Exit != ExitChecks || o.Rise >= 1, "open.rise is %d, must be at least 1", o.Rise)
	p.only(o.Rise != 0, o.Exit == ExitChecks, "open.rise", "open.exit ExitChecks")
}

func (h HalfOpen) check(p *problems) {
	capped := h.Admit == Total || h.Admit == Concurrent
	p.require(!capped || h.Permits >= 1, "halfOpen.permits is %d, must be at least 1", h.Permits)
	p.only(h.Permits != 0, capped, "halfOpen.permits", "halfOpen.admit Total or Concurrent")

	tallied := capped || h.Admit == Unlimited
	const needs = "halfOpen.admit Total, Concurrent or Unlimited"
	p.require(h.Results >= 0, "halfOpen.results is %d, must be at least 0", h.Results)
	p.only(h.Results != 0, tallied, "halfOpen.results", needs)
	byCount := tallied && h.Rate == 0
	p.require(!byCount || h.Successes >= 1, "halfOpen.successes is %d, must be at least 1", h.Successes)
	p.require(!byCount || h.Failures >= 1, "halfOpen.failures is %d, must be at least 1", h.Failures)
	p.only(h.Successes != 0, byCount, "halfOpen.successes", needs+" and a halfOpen.rate of 0")
	p.only(h.Failures != 0, byCount, "halfOpen.failures", needs+" and a halfOpen.rate of 0")
	p.only(h.Rate != 0, h.Results > 0, "halfOpen.rate", "halfOpen.results")
	p.require(h.Rate >= 0 && h.Rate <= 1, "halfOpen.rate is %v, must be from 0 to 1", h.Rate)
	p.require(h.Rate == 0 || h.Min >= 1 && h.Min <= h.Results, "halfOpen.min is %d, must be from 1 to halfOpen.results (%d)", h.Min, h.Results)
	p.only(h.Min != 0, h.Rate != 0, "halfOpen.min", "halfOpen.rate")
	p.only(h.Ignored == ProbeReleased, capped, "halfOpen.ignored ProbeReleased", "halfOpen.admit Total or Concurrent")
	p.only(h.Ignored != ProbeHangs, tallied || h.Admit == WaitForProbe, "halfOpen.ignored", needs+", or WaitForProbe")
}

// checkGap holds what the window of kind Gap needs around it.
func (c Config) checkGap(p *problems) {
	w, t := c.Window, c.Trip
	if w.Kind != Gap {
		return
	}
	p.require(t.Rule == Failures && t.Judged == OnFailure && t.Min == 0, "window.kind Gap needs trip.rule Failures, trip.judged OnFailure and no trip.min")
	p.require(c.HalfOpen.Admit == OnePerWait && w.Scope == Shared, "window.kind Gap needs halfOpen.admit OnePerWait and window.scope Shared")
	p.require(w.Period == c.Open.Wait && c.Open.Growth == Constant, "window.kind Gap has one time: window.period (%v) and open.wait (%v) must be equal, and open.growth Constant", w.Period, c.Open.Wait)
	p.require(c.Clear == Clear{}, "window.kind Gap is cleared by its own rule only: clear must be left alone")
}

// checkWindowAndTrip holds the pairs of window, count and trip rule that fit.
func (c Config) checkWindowAndTrip(p *problems) {
	w, t := c.Window, c.Trip
	sized := w.Kind == CountSliding || w.Kind == CountTumbling
	p.require(!sized || t.Rule != Consecutive, "trip.rule Consecutive looks at no window.size: use Failures")
	p.require(w.Kind != CountTumbling || t.Judged == OnRecord && t.Min == 0, "window.kind CountTumbling is judged when it is full: it needs trip.judged OnRecord and no trip.min")
	starts := w.Kind == Cumulative || w.Kind == TimeTumbling || w.Kind == TimeSliding && (w.Align == AlignStart || w.Align == AlignWall)
	p.require(!c.Count.AtStart || starts && c.HalfOpen.Results == 0, "count.atStart needs a window that is Cumulative, TimeTumbling, or TimeSliding with AlignStart or AlignWall, and no halfOpen.results")
	p.require(t.Judged != OnTick || w.Complete, "trip.judged OnTick needs window.complete")
	p.require(t.Judged != OnTick || w.Scope == Shared, "trip.judged OnTick needs window.scope Shared")
	p.only(c.HalfOpen.Ignored != ProbeHangs, c.Count.Ignored == IgnoredDropped, "halfOpen.ignored", "count.ignored IgnoredDropped")
	p.require(c.Clear.OnClose != ClearApart || w.Complete, "clear.onClose ClearApart needs window.complete")
	p.only(c.Clear.OnClose != Keep, w.Scope == Shared, "clear.onClose", "window.scope Shared")
}

// checkOpenAndHalfOpen holds the pairs of what ends OPEN and what follows that fit.
func (c Config) checkOpenAndHalfOpen(p *problems) {
	o, h := c.Open, c.HalfOpen
	p.require(o.Exit != ExitChecks || h.Admit == AdmitAll, "open.exit ExitChecks needs halfOpen.admit AdmitAll")
	p.require(o.Exit != ExitChecks || c.Window.Scope == Shared, "open.exit ExitChecks needs window.scope Shared")
	single := h.Admit == OnePerWait
	p.require(!single || o.Exit == ExitCall && !o.OnLook, "halfOpen.admit OnePerWait needs open.exit ExitCall, without open.onLook")
	p.require(!single || c.Window.Scope == Shared, "halfOpen.admit OnePerWait needs window.scope Shared")
	p.only(c.Clear.OnCheck, o.Exit == ExitChecks, "clear.onCheck", "open.exit ExitChecks")
	p.require(!c.Clear.OnCheck || c.Trip.Judged != OnTick, "clear.onCheck and trip.judged OnTick exclude one another: there is one kind of tick")
	p.require(!o.Decay || c.Trip.Judged != OnTick, "open.decay and trip.judged OnTick exclude one another: there is one kind of tick")
	origin := c.Late == LateByOrigin
	p.require(origin == (h.Admit == WaitForProbe), "late LateByOrigin and halfOpen.admit WaitForProbe need one another")
	p.require(!origin || c.Trip.Judged == OnFailure && c.Window.Scope == Shared, "late LateByOrigin needs trip.judged OnFailure and window.scope Shared")
	ends := h.Ignored == ProbeCloses || h.Ignored == ProbeReopens
	p.require(h.Admit != WaitForProbe || ends || c.Count.Ignored == IgnoredSuccess, "halfOpen.admit WaitForProbe needs halfOpen.ignored ProbeCloses or ProbeReopens: others wait for the probe")
	p.require(!c.Serial || !origin, "serial leaves nobody to wait for a probe: it excludes halfOpen.admit WaitForProbe")
}

func (c Config) checkHosts(p *problems) {
	h := c.Hosts
	gap, ejects := c.Window.Kind == Gap, c.Open.Exit == ExitTick
	p.require(h.Count >= 0, "hosts.count is %d, must be at least 0", h.Count)
	p.require(!gap || h.Count >= 1, "hosts.count is %d, must be at least 1 with window.kind Gap", h.Count)
	p.only(h.Count != 0, gap || ejects, "hosts.count", "window.kind Gap or open.exit ExitTick")
	pool := ejects && h.Count > 0
	p.only(h.MaxEjected != 0, pool, "hosts.maxEjected", "open.exit ExitTick and hosts.count")
	p.only(h.AlwaysOne, pool, "hosts.alwaysOne", "open.exit ExitTick and hosts.count")
	p.only(h.Panic != 0, pool, "hosts.panic", "open.exit ExitTick and hosts.count")
	p.only(h.Merge != 0, pool, "hosts.merge", "open.exit ExitTick and hosts.count")
	p.require(h.Merge >= 0, "hosts.merge is %v, must be at least 0s", h.Merge)
	p.require(h.MaxEjected >= 0 && h.MaxEjected <= 100, "hosts.maxEjected is %d, must be from 0 to 100 (percent)", h.MaxEjected)
	p.require(h.Panic >= 0 && h.Panic <= 100, "hosts.panic is %d, must be from 0 to 100 (percent)", h.Panic)
}
