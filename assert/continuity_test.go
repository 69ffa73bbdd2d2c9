package assert_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// paging builds a trace of users who page through a list, page by page.
type paging struct {
	trace.Trace
	at time.Duration
	n  map[string]int // calls by phase
}

// phase begins a phase, and ends the one before.
func (b *paging) phase(name string) {
	if n := len(b.Phases); n > 0 {
		b.Phases[n-1].To = b.at
	}
	b.at += 10 * ms
	b.Phases = append(b.Phases, trace.Phase{Name: name, From: b.at, To: b.at, Measure: true})
}

// round is one round of a user: pages such as "p 1-5" of the first source, "s 6-10" of
// the second after a failed call, "r 6-10" after a rejected one; "told" in front says
// that the user is told, "lap" that it begins anew, and "gone" is an answer without items
// that sends it back.
func (b *paging) round(user, round int, end trace.SessionEnd, pages ...string) {
	phase := &b.Phases[len(b.Phases)-1]
	lap := 0
	for i, text := range pages {
		words := strings.Fields(text)
		id := fmt.Sprintf("%s/%d", phase.Name, b.n[phase.Name])
		b.n[phase.Name]++
		c := trace.Call{
			ID: id, Phase: phase.Name, Target: "page", Sched: b.at, Send: b.at, First: b.at + 4*ms, End: b.at + 4*ms, Status: 200, Class: "primary",
			Session: &trace.Session{User: user, Round: round, Step: 1, Page: i + 1, Values: map[string][]string{"ids": {}}},
		}
		if words[0] == "lap" {
			lap++
			words = words[1:]
		}
		c.Session.Lap = lap
		if words[0] == "told" {
			c.Class = "restarted"
			words = words[1:]
		}
		b.attempt(id, phase.Name, words[0])
		if words[0] != "p" {
			c.Session.Values["origin"] = []string{"second"}
			if c.Class == "primary" {
				c.Class = "fallback"
			}
		} else {
			c.Session.Values["origin"] = []string{"first"}
		}
		if words[0] == "gone" {
			c.Status, c.Class, c.Session.Values = 410, "gone", nil
		} else if len(words) > 1 {
			var from, to int
			_, _ = fmt.Sscanf(words[1], "%d-%d", &from, &to)
			for k := from; k <= to; k++ {
				c.Session.Values["ids"] = append(c.Session.Values["ids"], fmt.Sprintf("i%d", k))
			}
		}
		if i == len(pages)-1 {
			c.Session.End = end
		}
		b.Calls = append(b.Calls, c)
		phase.Planned, phase.Sent = phase.Planned+1, phase.Sent+1
		b.at += 10 * ms
	}
}

// attempt is what a call of some source makes at the dependency.
func (b *paging) attempt(id, phase, source string) {
	if source == "r" {
		return
	}
	a := trace.Attempt{
		Seq: len(b.Attempts) + 1, Injector: "dep", ID: id, By: "traceparent", Phase: phase, Peer: "a", Method: "GET", Path: "/items",
		Arr: b.at + ms, Dep: b.at + 2*ms, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 200,
	}
	if source != "p" {
		a.Status, a.Rule, a.Action = 503, phase+"/1", "respond"
	}
	b.Attempts = append(b.Attempts, a)
}

// all are the rounds of so many users, one after the other.
func (b *paging) all(users int, pages ...string) {
	for u := 1; u <= users; u++ {
		b.round(u, 1, trace.SessionDone, pages...)
	}
}

// crossing is a run in which users page before, over and after a switch.
func crossing(over func(b *paging)) *trace.Trace {
	b := &paging{n: map[string]int{}}
	b.Marks = []trace.Mark{{Kind: trace.MarkLaunch}, {Kind: trace.MarkRung, Text: "traceparent"}}
	b.phase("before")
	b.all(2, "p 1-5", "p 6-10", "p 11-15", "p 16-18")
	b.phase("switch")
	over(b)
	b.phase("after")
	b.all(2, "p 1-5", "p 6-10", "p 11-15", "p 16-18")
	b.Phases[2].To = b.at
	return &b.Trace
}

func pagingSpec(rule assert.FallbackContinuity) assert.Spec {
	cfg := breakerref.Default()
	cfg.Window, cfg.MinimumCalls, cfg.Wait, cfg.Permitted = 10, 10, 200*ms, 1
	faults := map[string][]fault.Rule{"dep": {{ID: "switch/1", Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}, Select: fault.Select{After: 2}}}}
	return assert.Spec{
		Targets: []match.Target{{Name: "page", Path: "/items", DependsOn: []string{"dep"}}},
		Classes: match.Classes{
			{Name: "restarted", JSONPath: map[string]any{"$.restarted": true}},
			{Name: "gone", Status: []int{410}},
			{Name: "fallback", JSONPath: map[string]any{"$.origin": "second"}},
			{Name: "primary", Status: []int{200}},
		},
		Breakers:   []assert.Breaker{{Name: "cb", Injector: "dep", Targets: []string{"page"}, Declared: true, Config: cfg, Failure: match.DefaultFailure()}},
		Phases:     []assert.Phase{{Name: "before", Measure: true}, {Name: "switch", Measure: true, Faults: faults}, {Name: "after", Measure: true}},
		Integrity:  assert.DefaultIntegrity(),
		Assertions: []assert.Assertion{{ID: "it", Phase: "switch", Rule: rule}},
	}
}

// TestContinuity judges users who page while the source switches. What a person reads
// of it is in testdata/continuity.txt.
func TestContinuity(t *testing.T) {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	plain := assert.FallbackContinuity{Breaker: "cb", Items: "ids", Told: []string{"restarted", "gone"}}
	unnamed := assert.FallbackContinuity{Breaker: "cb", Items: "ids"}
	named := assert.FallbackContinuity{Breaker: "cb", Items: "ids", Source: "origin"}
	over := func(pages ...string) func(*paging) { return func(b *paging) { b.all(4, pages...) } }
	var out strings.Builder
	for _, tc := range []struct {
		name  string
		rule  assert.FallbackContinuity
		trace *trace.Trace
		want  assert.Result
	}{
		{"goes on exactly", plain, crossing(over("p 1-5", "p 6-10", "s 11-15", "r 16-18")), pass},
		{"goes on exactly, and back", plain, crossing(over("p 1-5", "s 6-10", "r 11-15", "p 16-18")), pass},
		{"goes on exactly, in pages of another size", plain, crossing(over("p 1-5", "s 6-6", "r 7-17", "r 18-18")), pass},
		{"the rest in another order", plain, crossing(over("p 1-5", "s 11-18", "r 6-10")), pass},
		{"told, and begins anew", plain, crossing(over("p 1-5", "p 6-10", "told s 1-5", "r 6-10", "r 11-15", "r 16-18")), pass},
		{"told by an answer without items", plain, crossing(over("p 1-5", "gone", "lap r 1-5", "r 6-10", "r 11-15", "r 16-18")), pass},
		{"sent back by the script, which the rule does not name", unnamed, crossing(over("p 1-5", "gone", "lap r 1-5", "r 6-10", "r 11-15", "r 16-18")), pass},
		{"another source by name, that has fewer", named, crossing(over("p 1-5", "s 11-15", "r 16-18")), pass},
		{"a page lost", plain, crossing(over("p 1-5", "p 6-10", "s 16-18")), fail},
		{"a page lost on the way back", plain, crossing(over("p 1-5", "s 6-10", "p 16-18")), fail},
		{"the end is lost: 200 and an empty list", plain, crossing(over("p 1-5", "p 6-10", "s")), fail},
		{"a page repeated", plain, crossing(over("p 1-5", "p 6-10", "s 6-10", "r 11-15", "r 16-18")), fail},
		{"sent back", plain, crossing(over("p 1-5", "p 6-10", "s 1-5", "r 6-10", "r 11-15", "r 16-18")), fail},
		{"told, and lost before", plain, crossing(over("p 1-5", "s 11-15", "told r 11-15", "r 16-18")), fail},
		{"told, and repeated after", plain, crossing(over("p 1-5", "told s 6-10", "r 6-10", "r 11-15", "r 16-18")), fail},
		{"an item twice on one page", plain, crossing(over("p 1-5", "s 6-9", "r 9-18")), fail},
		{"one of many users", plain, crossing(func(b *paging) {
			b.all(5, "p 1-5", "p 6-10", "s 11-15", "r 16-18")
			b.round(6, 1, trace.SessionDone, "p 1-5", "p 6-10", "s 12-15", "r 16-18")
		}), fail},
		{"repeated in a round that ended early", plain, crossing(func(b *paging) {
			b.all(3, "p 1-5", "p 6-10", "s 11-15", "r 16-18")
			b.round(4, 1, trace.SessionBroken, "p 1-5", "p 6-10", "s 6-10")
		}), fail},

		{"rounds that ended early", plain, crossing(func(b *paging) {
			for u := range 5 {
				b.round(u+1, 1, trace.SessionBroken, "p 1-5", "p 6-10", "s 16-18")
			}
		}), dunno},
		{"few rounds", plain, crossing(func(b *paging) {
			b.all(2, "p 1-5", "p 6-10", "s 11-15", "r 16-18")
			b.round(3, 1, trace.SessionDone, "r 1-10", "r 11-18")
		}), dunno},
		{"no switch", plain, crossing(func(b *paging) { b.all(4, "r 1-5", "r 6-10", "s 11-18") }), dunno},
		{"a page lost, and nobody saw the list afterwards", plain, change1(crossing(over("p 1-5", "p 6-10", "s 16-18")), func(t *trace.Trace) { cutAfter(t, "switch") }), dunno},
		{"nobody saw the list before", plain, change1(crossing(over("p 1-5", "p 6-10", "s 16-18")), func(t *trace.Trace) {
			for i := range 8 {
				t.Calls[i].Session = nil
			}
		}), dunno},
		{"the list grows", plain, change1(crossing(over("p 1-5", "p 6-10", "s 16-18")), func(t *trace.Trace) {
			s := t.Calls[len(t.Calls)-1].Session
			s.Values["ids"] = append(s.Values["ids"], "i19")
		}), dunno},
		{"a list that repeats items by itself", plain, change1(crossing(over("p 1-5", "s 6-18")), func(t *trace.Trace) {
			for i := range t.Calls {
				if ids := t.Calls[i].Session.Values["ids"]; len(ids) > 1 {
					ids[1] = "i1"
				}
			}
		}), dunno},
		{"a class that says which source answers, and a page repeated there", plain, crossing(over("p 1-5", "told s 6-10", "told r 6-10", "told r 11-18")), dunno},
		{"a class that says which source answers", plain, crossing(over("p 1-5", "told s 1-5", "told r 6-10", "told r 11-18")), pass},
		{"nothing captured", assert.FallbackContinuity{Breaker: "cb", Items: "others"}, crossing(over("p 1-5", "s 6-18")), dunno},
	} {
		spec := pagingSpec(tc.rule)
		rep := assert.Evaluate(spec, tc.trace)
		v := verdict(rep, "it")
		fmt.Fprintf(&out, "# %s\n%s\n", tc.name, text(v))
		if v.Result != tc.want {
			t.Errorf("%s: %s, want %s\n%s", tc.name, v.Result, tc.want, text(v))
		}
	}
	compare(t, "continuity.txt", out.String())
}

func change1(t *trace.Trace, f func(*trace.Trace)) *trace.Trace {
	f(t)
	return t
}

// cutAfter drops what was sent after a phase.
func cutAfter(t *trace.Trace, phase string) {
	for i, p := range t.Phases {
		if p.Name == phase {
			t.Phases = t.Phases[:i+1]
			break
		}
	}
	end := t.Phases[len(t.Phases)-1].To
	for i, c := range t.Calls {
		if c.Send >= end {
			t.Calls = t.Calls[:i]
			break
		}
	}
	for i, a := range t.Attempts {
		if a.Arr >= end {
			t.Attempts = t.Attempts[:i]
			break
		}
	}
}
