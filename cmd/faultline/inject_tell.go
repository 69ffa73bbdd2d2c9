package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// teller counts what reached the injectors of inject and tells of it.
type teller struct {
	in   injection
	rec  *trace.Recorder
	say  func(format string, args ...any)
	last tally
	told bool // that an upstream could not be reached
}

// tally counts requests, per outcome in words those that have ended.
type tally struct {
	arrived, hit int
	ended        map[string]int
	unreached    string // the injector whose upstream was not there
}

func newTeller(in injection, rec *trace.Recorder, say func(string, ...any)) *teller {
	return &teller{in: in, rec: rec, say: say}
}

// tellShare bounds what telling costs: counting takes all that was recorded, and
// where that is much, a line comes less often than once a second.
const tellShare = 20

// tell prints a line a second until ctx ends.
func (t *teller) tell(ctx context.Context) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		t.line()
		timer.Reset(max(time.Second, tellShare*time.Since(began)))
	}
}

// line tells what came since the line before, if anything did.
func (t *teller) line() {
	now := t.count()
	defer func() { t.last = now }()
	since := map[string]int{}
	for word, n := range now.ended {
		if more := n - t.last.ended[word]; more > 0 {
			since[word] = more
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
		t.say("injector %s cannot reach its upstream; %s (%s)", now.unreached, t.in.unpassed(now.unreached), unreachable)
	}
}

// total tells what came altogether.
func (t *teller) total() {
	parts := []string{fmt.Sprintf("in all %d arrived, %d hit", t.last.arrived, t.last.hit)}
	if len(t.last.ended) > 0 {
		parts = append(parts, pairs(t.last.ended, ":"))
	}
	t.say("%s", strings.Join(parts, " | "))
}

// count looks at all that was recorded.
func (t *teller) count() tally {
	c := tally{ended: map[string]int{}}
	for _, a := range t.rec.Snapshot(trace.Header{}).Attempts {
		c.arrived++
		if a.Rule != "" {
			c.hit++
		}
		if word := ended(a); word != "" {
			c.ended[word]++
		}
		if a.Outcome == trace.OutcomeUpstream {
			c.unreached = a.Injector
		}
	}
	return c
}

// unreachable is how an attempt is called whose upstream was not there.
const unreachable = "unreachable"

// ended says how an attempt ended: its status, or what happened to its connection.
// It says nothing of one that has not.
func ended(a trace.Attempt) string {
	switch a.Outcome {
	case trace.OutcomeAnswered:
		if a.Stream && a.Status == 0 {
			return "through"
		}
		return strconv.Itoa(a.Status)
	case trace.OutcomeReset:
		return "reset"
	case trace.OutcomeFIN:
		return "closed"
	case trace.OutcomeHang:
		if a.Abandon != trace.None {
			return "abandoned"
		}
		return "hung"
	case trace.OutcomeUpstream:
		return unreachable
	case trace.OutcomeOpen:
	}
	return ""
}
