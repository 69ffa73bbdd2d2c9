package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/target/trace"
)

// teller counts what reaches the injectors of inject and tells of it.
type teller struct {
	say  func(format string, args ...any)
	rec  *trace.Recorder
	last tally
	told bool // that an upstream could not be reached

	mu  sync.Mutex
	now tally // guarded by mu
	// plain are those of now.ended that were answered with a status and no more, which most are.
	plain [1000]int
}

// tally counts requests, those that have ended by how they did.
type tally struct {
	arrived, hit int
	spared       int // by a limit
	ended        map[end]int
	unreached    string // the injector whose upstream was not there
	cut          bool   // what it cannot pass on is a connection
}

// end is what is told of how an attempt ended.
type end struct {
	outcome trace.Outcome
	status  int
	grpc    string // of an answer of gRPC
	left    bool   // by the caller
}

func endOf(a *trace.Attempt) end { return end{a.Outcome, a.Status, a.GRPC, a.Abandon != trace.None} }

// newTeller returns one that counts what is recorded from now on.
func newTeller(rec *trace.Recorder, say func(string, ...any)) *teller {
	t := &teller{say: say, rec: rec, now: tally{ended: map[end]int{}}}
	rec.OnArrival(func(a trace.Attempt) { t.arrived(&a) })
	rec.OnDeparture(func(a trace.Attempt) { t.departed(&a) })
	return t
}

func (t *teller) arrived(a *trace.Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.arrived++
	if a.Spared != "" && !passedOn(a) {
		t.now.spared++
	}
	if a.Rule != "" && !passedOn(a) {
		t.now.hit++
	}
}

// passedOn reports whether an attempt is a connection, which a fault may hit later than it came.
func passedOn(a *trace.Attempt) bool { return a.Stream && a.Unread() }

func (t *teller) departed(a *trace.Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := endOf(a); e.outcome == trace.OutcomeAnswered && e.grpc == "" && !e.left && e.status >= 0 && e.status < len(t.plain) {
		t.plain[e.status]++
	} else {
		t.now.ended[e]++
	}
	if a.Rule != "" && passedOn(a) {
		t.now.hit++
	}
	if a.Spared != "" && passedOn(a) {
		t.now.spared++
	}
	if a.Outcome == trace.OutcomeUpstream {
		t.now.unreached, t.now.cut = a.Injector, a.Stream
	}
}

// tell prints a line a second until ctx ends.
func (t *teller) tell(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			t.line()
		}
	}
}

// line tells what came since the line before, if anything did.
func (t *teller) line() {
	now := t.count()
	defer func() { t.last = now }()
	since := map[string]int{}
	for e, n := range now.ended {
		if more := n - t.last.ended[e]; more > 0 {
			since[e.word()] += more
		}
	}
	arrived := now.arrived - t.last.arrived
	if arrived == 0 && len(since) == 0 {
		return
	}
	s := fmt.Sprintf("%4.0fs  %d arrived, %d hit", t.rec.Since(time.Now()).Seconds(), arrived, now.hit-t.last.hit)
	if len(since) > 0 {
		s += " | " + pairs(since, ":")
	}
	t.say("%s", s)
	if now.unreached != "" && !t.told {
		t.told = true
		t.say("injector %s cannot reach its upstream; %s (%s)", now.unreached, now.unpassed(), unreachable)
	}
}

// total tells what came altogether.
func (t *teller) total() {
	parts := []string{fmt.Sprintf("in all %d arrived, %d hit", t.last.arrived, t.last.hit)}
	if t.last.spared > 0 {
		parts[0] += fmt.Sprintf(", %d spared by a limit", t.last.spared)
	}
	words := map[string]int{}
	for e, n := range t.last.ended {
		words[e.word()] += n
	}
	if len(words) > 0 {
		parts = append(parts, pairs(words, ":"))
	}
	t.say("%s", strings.Join(parts, " | "))
}

// count is what was counted up to now.
func (t *teller) count() tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now
	now.ended = maps.Clone(now.ended)
	for status, n := range t.plain {
		if n > 0 {
			now.ended[end{outcome: trace.OutcomeAnswered, status: status}] = n
		}
	}
	return now
}

// unreachable is how an attempt is called whose upstream was not there.
const unreachable = "unreachable"

// word says how an attempt ended: its status, that of gRPC if HTTP has nothing to say, or what happened to its connection.
func (e end) word() string {
	switch e.outcome {
	case trace.OutcomeAnswered:
		if e.grpc != "" && e.status == http.StatusOK {
			return e.grpc
		}
		if e.status == 0 { // It was no answer, but a connection that both sides closed.
			return "through"
		}
		return strconv.Itoa(e.status)
	case trace.OutcomeReset:
		return "reset"
	case trace.OutcomeFIN:
		return "closed"
	case trace.OutcomeHang:
		if e.left {
			return "abandoned"
		}
		return "hung"
	case trace.OutcomeUpstream:
		return unreachable
	case trace.OutcomeOpen:
	}
	return "open"
}

// trustInWords says what callers of a dependency with TLS have to trust.
func trustInWords(cfg injector.Config, cas map[string]string) string {
	switch file := cas[cfg.Name]; {
	case cfg.TLS == nil:
		return ""
	case file == "":
		return "; callers cannot trust its certificate, as injectors." + cfg.Name + ".tls names no ca_file"
	default:
		return "; callers have to trust " + file
	}
}

// tellMisfits tells of faults that were not played, as the callers' protocol does not know
// them.
func (a app) tellMisfits(in injection, running []*injector.Injector) {
	for k, i := range running {
		for _, m := range i.Misfits() {
			a.say("injector %s: %s was met %d times and not played, but answered 501: %s", in.injectors[k].Name, m.Rule, m.Met, m.What)
		}
	}
}
