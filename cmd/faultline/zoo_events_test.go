package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// stateEvent is a change of state as the library itself told it.
type stateEvent struct {
	at    time.Duration // since the trace's epoch
	state string
}

// slip is how far a library's own event may lie outside of the interval that was inferred
// for it: its clock is the wall's, and it writes the event down after the fact.
const slip = time.Millisecond

// eventErrors tells how far the inferred instants of a run are from the library's own
// events: of t_open, the middle of its interval; of t_half, that between the sending of the first
// probe and its arrival. An event outside of its interval is wrong.
func (m truth) eventErrors(t *testing.T, out string, e zooEvidence) (tOpen, tHalf string, f finding) {
	t.Helper()
	events := m.stateEvents(t, out, e.trace)
	var open, half []time.Duration
	var far []string
	from, until := e.phase("trip").From, e.phase("settled").To
	for _, s := range e.report.Breakers[0].Segments {
		if s.From.Lo < from || s.From.Hi > until || s.State == assert.StateClosed {
			continue
		}
		event, ok := nearestEvent(events, s)
		if !ok || event.at < s.From.Lo-slip || event.at > s.From.Hi+slip {
			far = append(far, fmt.Sprintf("%s is inferred at %v to %v, the library says at %v", s.State, s.From.Lo, s.From.Hi, event.at))
		}
		if s.State == assert.StateOpen {
			open = append(open, (event.at - (s.From.Lo+s.From.Hi)/2).Abs())
		} else {
			half = append(half, (event.at - e.admitted(s.From.Hi)).Abs())
		}
	}
	t.Logf("t_open is off by %v; t_half by %v", open, half)
	if len(open) == 0 || len(half) == 0 {
		return "", "", finding{observed: "no opening, or no visit, to compare with the library's events", open: true}
	}
	return spreadOf(open), spreadOf(half), finding{observed: strings.Join(far, "; "), wrong: len(far) > 0, rough: true}
}

// spreadOf is the median and the largest of some durations, in milliseconds.
func spreadOf(all []time.Duration) string {
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%s (at most %s, of %d)", milliseconds(sorted[len(sorted)/2]), milliseconds(sorted[len(sorted)-1]), len(sorted))
}

// nearestEvent is the library's event of a state that is nearest to where one was inferred.
func nearestEvent(events []stateEvent, s assert.Segment) (best stateEvent, ok bool) {
	far := func(e stateEvent) time.Duration { return max(s.From.Lo-e.at, e.at-s.From.Hi, 0) }
	for _, e := range events {
		if e.state == string(s.State) && (!ok || far(e) < far(best)) {
			best, ok = e, true
		}
	}
	return best, ok
}

// stateEvents are the changes that the library told of: to its log, or to who asked the
// actuator for its events.
func (m truth) stateEvents(t *testing.T, out string, tr *trace.Trace) []stateEvent {
	t.Helper()
	var all []stateEvent
	add := func(at, state string) {
		if at, _, ok := strings.Cut(at, "["); ok || at != "" {
			when, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				t.Fatalf("read an event: %v", err)
			}
			all = append(all, stateEvent{when.Sub(tr.Header.Epoch), state})
		}
	}
	switch m.events {
	case "log":
		text, err := os.ReadFile(filepath.Join(out, "states"))
		if errors.Is(err, os.ErrNotExist) {
			t.Fatal("the service kept no log of its breaker's states")
		} else if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			at, state, _ := strings.Cut(strings.TrimSpace(line), " ")
			add(at, state)
		}
	case "actuator":
		for _, k := range tr.Marks {
			if k.Kind == trace.MarkEvent {
				at, change, _ := strings.Cut(k.Text, " ")
				_, state, _ := strings.Cut(change, "_TO_")
				add(at, state)
			}
		}
	}
	return all
}

// admitted is the middle of the time in which the attempt was let through that arrived at an
// instant.
func (e zooEvidence) admitted(arrived time.Duration) time.Duration {
	for _, a := range e.trace.Attempts {
		if a.Arr != arrived {
			continue
		}
		for _, c := range e.trace.Calls {
			if c.ID == a.ID {
				return (c.Send + arrived) / 2
			}
		}
	}
	return arrived
}

// phase is a phase of the run.
func (e zooEvidence) phase(name string) trace.Phase {
	for _, p := range e.trace.Phases {
		if p.Name == name {
			return p
		}
	}
	return trace.Phase{}
}
