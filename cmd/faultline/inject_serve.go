package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/trace"
)

// inject listens, plays the phases and writes the trace. It returns the exit code.
func (a app) inject(ctx context.Context, in injection, file string) int {
	rec := trace.NewRecorder(time.Now())
	t := newTeller(rec, a.say)
	s := &stage{app: a, in: in, rec: rec, phase: in.phases[0].Name} // They listen in it.
	s.moves(0)
	rec.OnDeparture(func(a trace.Attempt) { t.departed(&a); s.departed(&a) })
	running, err := s.startInjectors(ctx)
	s.running = running
	var api *control.Server
	if err == nil {
		api, err = a.startControl(ctx, in, running, rec)
	}
	var cas map[string]string
	if err == nil {
		cas, err = run.WriteCAs(in.plan, running, in.folder, "")
	}
	if err == nil {
		_, err = io.WriteString(a.stdout, describeInjection(in, running, cas)+describeControl(in, api))
	}
	if err == nil {
		telling, hush := context.WithCancel(ctx)
		var teller sync.WaitGroup
		teller.Go(func() { t.tell(telling) })
		s.play(ctx)
		hush()
		teller.Wait()
		err = closeInjection(api, running)
		t.line()
		t.total()
		a.tellMisfits(in, running)
		a.say("ledger %s", rec.LedgerHash())
	} else {
		err = errors.Join(err, closeInjection(api, running))
	}
	if err == nil && file != "" {
		header := trace.Header{Experiment: in.name, Tool: toolVersion(), Seed: in.seed}
		err = writeAtomic(file, func(w io.Writer) error { return trace.Write(w, rec.Snapshot(header)) })
	}
	if err != nil {
		a.say("faultline: %v", err)
		return report.ExitInconclusive
	}
	return report.ExitPass
}

// startInjectors lets every dependency listen. Those that do are returned in any
// case.
func (s *stage) startInjectors(ctx context.Context) ([]*injector.Injector, error) {
	in, rec := s.in, s.rec
	var running []*injector.Injector
	for _, cfg := range in.injectors {
		cfg.Seed, cfg.Recorder, cfg.Phase, cfg.First = in.seed, rec, in.phases[0].Name, in.first
		cfg.Watch = s.watch(ctx, cfg.Name)
		if len(in.phases[0].Faults[cfg.Name]) > 0 {
			rec.Mark(trace.Mark{At: rec.Since(time.Now()), Kind: trace.MarkFaultOn, Subject: cfg.Name, Text: cfg.Phase})
		}
		// Not ctx: the last answers are told of before the ports are closed.
		i, err := injector.Start(context.WithoutCancel(ctx), cfg)
		if err != nil {
			return running, err
		}
		running = append(running, i)
	}
	return running, nil
}

// closeInjection ends what can change faults, and then the faults.
func closeInjection(api *control.Server, running []*injector.Injector) error {
	var errs []error
	if api != nil {
		errs = append(errs, api.Close())
	}
	for _, i := range running {
		errs = append(errs, i.Close())
	}
	return errors.Join(errs...)
}

// stage is the dependencies and the phase that they are in.
type stage struct {
	app

	in      injection
	running []*injector.Injector
	rec     *trace.Recorder
	phase   string
	quota   atomic.Pointer[quota] // of the phase; nil: it has none
}

func (s *stage) mark(kind trace.MarkKind, subject, phase string) {
	s.rec.Mark(trace.Mark{At: s.rec.Since(time.Now()), Kind: kind, Subject: subject, Text: phase})
}

// enter enters a phase everywhere, and tells of what that meets. A fault's mark encloses
// its effect: on before, off after the switch.
func (s *stage) enter(name string) error {
	var errs []error
	for k, i := range s.running {
		injector := s.in.injectors[k].Name
		if i.Faulty(name) {
			s.mark(trace.MarkFaultOn, injector, name)
		}
		errs = append(errs, i.Enter(name))
		if i.Faulty(s.phase) {
			s.mark(trace.MarkFaultOff, injector, s.phase)
		}
	}
	s.phase = name
	err := errors.Join(errs...)
	if err != nil {
		s.say("faultline: %v", err)
	}
	return err
}

// play goes on with the first phase, in which they listen, and plays one after the other,
// until the last one is over or ctx ends; a jump goes on with another one.
func (s *stage) play(ctx context.Context) {
	n := 0
	began, to := s.await(ctx)
	if to != nil {
		n, began = s.jumpTo(to), time.Now()
	}
	for {
		s.rec.Mark(trace.Mark{At: s.rec.Since(began), Kind: trace.MarkPhaseStart, Subject: s.phase})
		over, to := s.waitPhase(ctx, n, began)
		s.mark(trace.MarkPhaseEnd, s.phase, "")
		next, more := s.in.following(n)
		switch {
		case to != nil:
			n = s.jumpTo(to)
		case !over || !more:
			_ = s.enter("") // It was told.
			s.moves(-1)
			return
		default:
			n = next
			_ = s.enter(s.in.phases[n].Name) // It was told.
			s.moves(n)
		}
		began = time.Now()
	}
}

// waitPhase says which phase is on since when, and waits for its end, or for a jump to
// another one. It returns over as false when ctx ended first.
func (s *stage) waitPhase(ctx context.Context, n int, began time.Time) (over bool, to *jump) {
	var end <-chan time.Time
	var full <-chan struct{}
	switch {
	case n < 0:
		s.say("phase %s, until the next change", cmp.Or(s.phase, "without faults"))
	case !s.in.phases[n].endless:
		p := s.in.phases[n]
		s.say("phase %d of %d: %s, %s%s", n+1, len(s.in.phases), p.Name, p.lasting(), faultsInWords(s.in, p))
		if q := s.quota.Load(); q != nil {
			full = q.full
			break
		}
		timer := time.NewTimer(p.Duration - time.Since(began))
		defer timer.Stop()
		end = timer.C
	case !s.in.byFlags:
		s.say("phase %s, until Ctrl-C%s", s.phase, faultsInWords(s.in, s.in.phases[n]))
	}
	select {
	case <-end:
		return true, nil
	case <-full:
		return true, nil
	case j := <-s.in.jumps:
		return false, &j
	case <-ctx.Done():
		return false, nil
	}
}

// describeInjection says where which dependency listens, and who answers.
func describeInjection(in injection, running []*injector.Injector, cas map[string]string) string {
	var b strings.Builder
	for k, i := range running {
		cfg := in.injectors[k]
		name := ""
		if !in.byFlags {
			name = cfg.Name + " "
		}
		fmt.Fprintf(&b, "%slistening on %s, %s%s\n", name, i.URL(), healthyInWords(cfg), trustInWords(cfg, cas))
		if cfg.EnvoyHeaders {
			b.WriteString("  and what requests ask for by headers x-envoy-fault-*\n")
		}
	}
	if in.byFlags {
		fmt.Fprintf(&b, "  fault%s\n", faultsInWords(in, in.phases[0]))
	}
	return b.String()
}

// faultsInWords says what goes wrong in a phase.
func faultsInWords(in injection, p injectPhase) string {
	var all []string
	for _, cfg := range in.injectors {
		for _, r := range p.Faults[cfg.Name] {
			name := ""
			if len(in.injectors) > 1 {
				name = cfg.Name + " "
			}
			all = append(all, name+ruleInWords(r))
		}
	}
	if len(all) == 0 {
		return ": none, the dependency is healthy"
	}
	if len(all) == 1 {
		return ": " + all[0]
	}
	return ":\n    " + strings.Join(all, "\n    ")
}

// actionInWords says what a fault does.
func actionInWords(r fault.Rule) string {
	var b strings.Builder
	switch r.Action {
	case fault.ActionRespond:
		if r.Respond.GRPC == nil {
			fmt.Fprintf(&b, "respond %d", r.Respond.Status)
		}
	case fault.ActionPass:
		switch {
		case r.WebSocket != nil:
			b.WriteString("WebSocket with " + r.WebSocket.String())
		case r.H2 == nil:
			b.WriteString("healthy answer")
		}
	case fault.ActionRefuse:
		return "refuse all connections"
	case fault.ActionUnreachable, fault.ActionDeaf:
		return string(r.Action) + " to all connections"
	case fault.ActionReset, fault.ActionClose, fault.ActionHang, fault.ActionTCP:
		b.WriteString(string(r.Action))
	case fault.ActionTLS, fault.ActionSettings: // Of these, the words below are all.
	case fault.ActionGarbage:
		fmt.Fprintf(&b, "%d bytes of garbage", r.Garbage)
	}
	if words := experiments.ProtocolWords(r); words != "" {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(words)
	}
	if r.Stealth {
		b.WriteString(" before the first byte")
	}
	if form := r.Form.String(); form != "" {
		fmt.Fprintf(&b, ", %s,", form)
	}
	if r.Hold != nil {
		fmt.Fprintf(&b, " after a hold of %s", yamldoc.FormatDuration(r.Hold.Max))
	}
	if late := latencyInWords(r.Latency); late != "" {
		fmt.Fprintf(&b, " after %s", late)
	}
	return b.String()
}

// latencyInWords says how long a latency is, and when it passes; empty: there is none.
func latencyInWords(l fault.Latency) string {
	if late := (&spread{l.Min, l.Max}).String(); late != "" && !l.Late() {
		return late
	}
	return l.String()
}

// ruleInWords says what a fault does, and to whom.
func ruleInWords(r fault.Rule) string {
	if r.Action.Door() {
		return actionInWords(r)
	}
	if r.TCP != nil {
		return tcpInWords(r)
	}
	var b strings.Builder
	b.WriteString(actionInWords(r) + selectionInWords(r.Select))
	if r.Match.Method != "" {
		b.WriteString(" " + r.Match.Method)
	}
	if r.Action.Layer() == fault.LayerRequest {
		b.WriteString(" request" + severalEnd(r.Select))
	} else {
		b.WriteString(" connection" + severalEnd(r.Select))
	}
	if r.Match.Path != "" {
		b.WriteString(" of " + r.Match.Path)
	}
	if len(r.Match.Header) > 0 {
		b.WriteString(" with the header " + pairs(r.Match.Header, "="))
	}
	rest := r.Match
	rest.Method, rest.Path, rest.Header = "", "", nil
	if !rest.Everything() {
		fmt.Fprintf(&b, " that match %s", rest)
	}
	switch key := r.Select.Sticky; key.By {
	case fault.StickyHeader, fault.StickyCookie:
		fmt.Fprintf(&b, ", the same for each %s %s", key.By, key.Name)
	case fault.StickyPath, fault.StickyPeer:
		fmt.Fprintf(&b, ", the same for each %s", key.By)
	}
	return b.String()
}

// severalEnd is the end of what is counted.
func severalEnd(s fault.Select) string {
	if s.Kind == fault.SelectFirst && s.First == 1 {
		return ""
	}
	return "s"
}

// selectionInWords says which of the requests that match are hit; what is counted
// comes after it.
func selectionInWords(s fault.Select) string {
	part := (&share{Num: s.Num, Den: s.Den}).String()
	if s.Ramp != nil {
		part = "a share (" + s.Ramp.String() + ")"
	}
	switch s.Kind {
	case fault.SelectAll:
		return " to all"
	case fault.SelectRatio:
		return fmt.Sprintf(" to %s of", part)
	case fault.SelectShuffle:
		return fmt.Sprintf(" to %s, shuffled by %d, of", part, s.Block)
	case fault.SelectRandom:
		return fmt.Sprintf(" to %s, at random, of", part)
	case fault.SelectFirst:
		if s.First == 1 {
			return " to the first"
		}
		return fmt.Sprintf(" to the first %d", s.First)
	case fault.SelectAfter:
		return fmt.Sprintf(" to all but the first %d", s.After)
	case fault.SelectEvery:
		return fmt.Sprintf(" to the last of every %d", s.Every)
	case fault.SelectScript:
		return fmt.Sprintf(" by the script %s to", s.Pattern)
	case fault.SelectBurst:
		return fmt.Sprintf(" in bursts of about %d after about %d each to", s.Length, s.Gap)
	}
	return ""
}
