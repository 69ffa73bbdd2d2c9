package assert_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/trace"
)

// diary is a breaker that notes what it is asked and told, for each instance of a SUT.
type diary struct {
	breaker
	instance int
	noted    []entry
}

// entry is what happened to a breaker at an instant, and its state afterwards.
type entry struct {
	at                         time.Time
	admitted, rejected, failed bool
	state                      breakerref.State
}

func (d *diary) Acquire(now time.Time) bool {
	ok := d.breaker.Acquire(now)
	d.noted = append(d.noted, entry{at: now, admitted: ok, rejected: !ok, state: d.State()})
	return ok
}

func (d *diary) Record(now time.Time, failed bool, took time.Duration) {
	d.breaker.Record(now, failed, took)
	d.noted = append(d.noted, entry{at: now, failed: failed, state: d.State()})
}

// asking is how a SUT is asked what it thinks of itself, and how it lies.
type asking struct {
	every, took time.Duration
	late        time.Duration                                   // it tells what was true so long ago
	lie         func(said string, at time.Duration) string      // of its state; nil: it does not; "" is a page that does not answer
	counts      func(e entry) bool                              // what its counter counts
	skew        func(value int, at time.Duration) (text string) // nil: the counter tells what it counts
}

// observed simulates a setup whose breakers keep a diary, and adds marks of what they report
// to the trace.
func observed(s setup, q asking) result {
	var diaries []*diary
	built := s.Make
	s.Make = func(c breakerref.Config, now time.Time) breaker {
		b := breaker(reference(c, now))
		if built != nil {
			b = built(c, now)
		}
		diaries = append(diaries, &diary{breaker: b, instance: len(diaries)})
		return diaries[len(diaries)-1]
	}
	r := simulate(s)
	end := time.Duration(0)
	for _, p := range r.trace.Phases {
		end = max(end, p.To)
	}
	for _, d := range diaries {
		instance := ""
		if s.Instances > 0 {
			instance = fmt.Sprintf("i%d", d.instance)
		}
		for at := 7 * ms; at < end; at += max(q.every, q.took) {
			// It was true when half of the time was over, or earlier, but not before the run.
			state, n := d.when(r.trace.Header.Epoch.Add(max(at+q.took/2-q.late, ms)), q.counts)
			for _, m := range q.marks(at, state, n) {
				m.At, m.Dur, m.Instance = at+q.took, q.took, instance
				r.trace.Marks = append(r.trace.Marks, m)
			}
		}
	}
	return r
}

// when is the state of a breaker at an instant, and how much it had counted.
func (d *diary) when(at time.Time, counts func(entry) bool) (breakerref.State, int) {
	state, n := breakerref.Closed, 0
	for _, e := range d.noted {
		if e.at.After(at) {
			break
		}
		state = e.state
		if counts != nil && counts(e) {
			n++
		}
	}
	return state, n
}

// marks are what is reported.
func (q asking) marks(at time.Duration, state breakerref.State, n int) []trace.Mark {
	said, value := state.String(), strconv.Itoa(n)
	if q.lie != nil {
		said = q.lie(said, at)
	}
	if q.skew != nil {
		value = q.skew(n, at)
	}
	told := trace.Mark{Kind: trace.MarkReported, Subject: "cb", Text: said}
	if said == "" {
		told = trace.Mark{Kind: trace.MarkUntold, Subject: "cb", Text: "/actuator/circuitbreakers was answered with status 404"}
	}
	if q.counts == nil {
		return []trace.Mark{told}
	}
	return []trace.Mark{told, {Kind: trace.MarkCounter, Subject: counter("").Subject(), Text: value}}
}

// counter asks that the SUT's counter is what was seen.
func counter(of assert.Seen) assert.MetricAgrees {
	return assert.MetricAgrees{
		Breaker: "cb", Prometheus: "/actuator/prometheus", Name: "calls_total", Labels: map[string]string{"name": "payments"}, Equals: of, MaxLag: 50 * ms,
	}
}

var (
	agreesState = assert.ReportedStateAgrees{Breaker: "cb", MaxLag: 400 * ms}
	often       = asking{every: 100 * ms, took: 2 * ms}
	onCall      = assert.ReportedStateAgrees{Breaker: "cb", MaxLag: 400 * ms, OnCall: true}
	rejections  = func(e entry) bool { return e.rejected }
	admissions  = func(e entry) bool { return e.admitted }
	failures    = func(e entry) bool { return e.failed }
	asks        = func(e entry) bool { return e.rejected || e.admitted }
)

// always is a SUT that says the same of its state whatever it is.
func always(said string) func(string, time.Duration) string {
	return func(string, time.Duration) string { return said }
}

// silence is a phase without calls for longer than the wait, after the breaker was open.
func silence(s *setup) {
	s.Phases = []phase{s.Phases[0], {Name: "outage", Duration: 1500 * ms, Rate: 100, Faults: unavailable()}, {Name: "silence", Duration: 3 * time.Second}, s.Phases[3]}
}

// byTimer says half-open two and a half seconds after the start, when the wait of a breaker that
// tripped at once is over.
func byTimer(said string, at time.Duration) string {
	if said == "OPEN" && at > 2500*ms {
		return "HALF_OPEN"
	}
	return said
}

// rests puts an unmeasured pause before and after a phase.
func rests(name string) func(*setup) {
	rest := func(after string) phase {
		return phase{Name: "rest-" + after, Duration: 600 * ms, Unmeasured: true}
	}
	return func(s *setup) {
		i := slices.IndexFunc(s.Phases, func(p phase) bool { return p.Name == name })
		s.Phases = slices.Insert(slices.Insert(slices.Clone(s.Phases), i+1, rest("after")), i, rest("before"))
	}
}

// reportCase is one verdict about what a SUT says of itself.
type reportCase struct {
	name  string
	with  func(*setup)
	asked func(*asking)
	phase string
	rule  assert.Rule
	want  assert.Result
}

func reportCases() []reportCase {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	lies := func(f func(string, time.Duration) string) func(*asking) { return func(q *asking) { q.lie = f } }
	counts := func(f func(entry) bool) func(*asking) { return func(q *asking) { q.counts = f } }
	skewed := func(f func(int, time.Duration) string) func(*asking) {
		return func(q *asking) { q.counts, q.skew = rejections, f }
	}
	some := counter(assert.SeenShort)
	some.Tolerance = 0.02
	return append([]reportCase{
		{name: "state is as reported", phase: "outage", rule: agreesState, want: pass},
		{name: "state is as reported, all along", rule: agreesState, want: pass},
		{name: "state is as reported, while closed", phase: "end", rule: agreesState, want: pass},
		{name: "state is as reported, by a slow page", asked: func(q *asking) { q.took = 300 * ms }, phase: "outage", rule: agreesState, want: pass},
		{name: "state is as reported, a little late", asked: func(q *asking) { q.late = 350 * ms }, phase: "outage", rule: agreesState, want: pass},
		{name: "state is forced open, as operators say", asked: lies(func(s string, _ time.Duration) string { return strings.ReplaceAll(s, "OPEN", "FORCED_OPEN") }), phase: "outage", rule: agreesState, want: pass},
		{name: "metric that lies: always closed", asked: lies(always("CLOSED")), phase: "outage", rule: agreesState, want: fail},
		{name: "metric that lies: always open", asked: lies(always("OPEN")), phase: "end", rule: agreesState, want: fail},
		{name: "metric that lies: half-open on a timer", asked: lies(func(s string, at time.Duration) string {
			if s == "OPEN" && at.Truncate(time.Second) != at.Truncate(2*time.Second) {
				return "HALF_OPEN"
			}
			return s
		}), phase: "outage", rule: agreesState, want: fail},
		{name: "half-open on a timer although nobody called", with: silence, asked: lies(byTimer), phase: "silence", rule: onCall, want: fail},
		{name: "half-open on a timer, as it may", with: silence, asked: lies(byTimer), phase: "silence", rule: agreesState, want: dunno},
		{name: "not half-open while nobody calls", with: silence, phase: "silence", rule: onCall, want: pass},
		{name: "not half-open while nobody calls, by a page that is silent just then", with: silence, asked: lies(func(s string, at time.Duration) string {
			if at > 2300*ms {
				return ""
			}
			return s
		}), phase: "silence", rule: onCall, want: dunno},
		{name: "not half-open while nobody calls, where everybody calls", phase: "outage", rule: onCall, want: dunno},
		{name: "metric that lies: half-open for ever", asked: lies(func(s string, at time.Duration) string {
			if s == "CLOSED" && at > 5*time.Second {
				return "HALF_OPEN"
			}
			return s
		}), phase: "end", rule: agreesState, want: fail},
		{name: "metric that is two seconds late", asked: func(q *asking) { q.late = 1900 * ms }, phase: "recovery", rule: agreesState, want: fail},
		{name: "state is not reported", asked: lies(always("")), phase: "outage", rule: agreesState, want: dunno},
		{name: "state is not reported while open", asked: lies(func(s string, _ time.Duration) string { return strings.TrimPrefix(s, "OPEN") }), phase: "outage", rule: agreesState, want: dunno},
		{name: "state has a word of its own", asked: lies(always("UNKNOWN")), phase: "outage", rule: agreesState, want: dunno},
		{name: "state of an undeclared breaker, always open", with: undeclared, asked: lies(always("OPEN")), phase: "end", rule: agreesState, want: dunno},
		{name: "state of an undeclared breaker, always closed", with: undeclared, asked: lies(always("CLOSED")), phase: "outage", rule: agreesState, want: fail},
		{name: "state, lag as long as the wait", phase: "outage", rule: assert.ReportedStateAgrees{Breaker: "cb", MaxLag: time.Second}, want: dunno},
		{name: "state, of a leaky breaker", with: made(leaky("", 10)), phase: "outage", rule: agreesState, want: dunno},
		{name: "state, per instance", with: func(s *setup) { s.Instances, s.Replicas = 2, true }, phase: "end", rule: agreesState, want: pass},
		{name: "state of a breaker that waits for less than declared", with: wrong(func(c *breakerref.Config) { c.Wait = 60 * ms }), phase: "outage", rule: agreesState, want: dunno},
		{name: "state while probes hang", with: func(s *setup) {
			s.Phases = []phase{s.Phases[0], {Name: "hang", Duration: 9 * time.Second, Rate: 100, Faults: hanging()}}
			s.SUTTimeout = 4 * time.Second
		}, phase: "hang", rule: agreesState, want: pass},
		{name: "state, few calls", with: low, phase: "outage", rule: agreesState, want: pass},
		{name: "state, aggregate", with: func(s *setup) { s.Aggregate = true }, phase: "outage", rule: agreesState, want: dunno},
	}, []reportCase{
		{name: "counter of rejections", with: rests("outage"), asked: counts(rejections), phase: "outage", rule: counter(assert.SeenShort), want: pass},
		{name: "counter of few admissions", with: rests("outage"), asked: counts(admissions), phase: "outage", rule: counter(assert.SeenAdmitted), want: dunno},
		{name: "counter of admissions", with: rests("ratio"), asked: counts(admissions), phase: "ratio", rule: counter(assert.SeenAdmitted), want: pass},
		{name: "counter of failures", with: rests("ratio"), asked: counts(failures), phase: "ratio", rule: counter(assert.SeenFailed), want: pass},
		{name: "counter of calls", with: rests("outage"), asked: counts(asks), phase: "outage", rule: counter(assert.SeenCalls), want: pass},
		{name: "counter of calls, all along", asked: counts(asks), rule: counter(assert.SeenCalls), want: dunno},
		{name: "counter of admissions that has rejections too", with: rests("outage"), asked: counts(asks), phase: "outage", rule: counter(assert.SeenAdmitted), want: fail},
		{name: "counter of failures that has rejections too", with: rests("outage"), asked: counts(func(e entry) bool { return e.failed || e.rejected }), phase: "outage", rule: counter(assert.SeenFailed), want: fail},
		{name: "counter of rejections that misses every tenth", with: rests("outage"), asked: skewed(func(n int, _ time.Duration) string { return strconv.Itoa(n - n/10) }), phase: "outage", rule: counter(assert.SeenShort), want: fail},
		{name: "counter of rejections that stands still", with: rests("outage"), asked: skewed(func(int, time.Duration) string { return "3.0" }), phase: "outage", rule: counter(assert.SeenShort), want: fail},
		{name: "counter without pauses around", asked: counts(rejections), phase: "outage", rule: counter(assert.SeenShort), want: dunno},
		{name: "counter without pauses around, with tolerance", asked: counts(rejections), phase: "outage", rule: some, want: pass},
		{name: "counter that misses every tenth, with tolerance", asked: skewed(func(n int, _ time.Duration) string { return strconv.Itoa(n - n/10) }), phase: "outage", rule: some, want: fail},
		{name: "counter that was not there at first", with: rests("trip"), asked: skewed(func(n int, _ time.Duration) string {
			if n == 0 {
				return ""
			}
			return strconv.Itoa(n)
		}), phase: "outage", rule: some, want: pass},
		{name: "counter that is not there", asked: skewed(func(int, time.Duration) string { return "" }), phase: "outage", rule: some, want: dunno},
		{name: "counter that goes down", asked: skewed(func(n int, _ time.Duration) string { return strconv.Itoa(n % 100) }), phase: "outage", rule: some, want: dunno},
		{name: "counter of what does not happen", with: rests("end"), asked: counts(rejections), phase: "end", rule: counter(assert.SeenShort), want: dunno},
		{name: "counter of another page", asked: counts(nil), phase: "outage", rule: some, want: dunno},
		{name: "counter, it is not said what a retry asks", with: func(s *setup) {
			s.Unit, s.Retry = assert.UnitUnknown, retry{Attempts: 2, Backoff: span{5 * ms, 8 * ms}}
		}, asked: counts(admissions), phase: "outage", rule: counter(assert.SeenAdmitted), want: dunno},
	}...)
}

// TestReports holds the verdicts about what a SUT says of itself to what it was made to say,
// and their words to a golden file.
func TestReports(t *testing.T) {
	var b strings.Builder
	for _, c := range reportCases() {
		s, q := plain(), often
		if c.with != nil {
			c.with(&s)
		}
		if c.asked != nil {
			c.asked(&q)
		}
		r := observed(s, q)
		r.spec.Assertions = []assert.Assertion{{ID: "this", Phase: c.phase, Rule: c.rule}}
		rep := assert.Evaluate(r.spec, r.trace)
		if v := rep.Verdicts[0]; v.Result != c.want {
			t.Errorf("%s: %s, want %s\n%s%s", c.name, v.Result, c.want, text(v), describe(r, rep))
		} else {
			fmt.Fprintf(&b, "# %s\n%s\n", c.name, text(v))
		}
	}
	compare(t, "reported.txt", b.String())
}

// What a right SUT says of itself is never called a lie, whatever the traffic and its own
// peculiarities.
func TestReportsOfRightServicesNeverFail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		s, _ := d.experiment()
		q := asking{every: d.ms(50, 1000, "every"), took: d.ms(1, 300, "page took")}
		seen := rapid.SampledFrom([]assert.Seen{assert.SeenCalls, assert.SeenShort, assert.SeenAdmitted, assert.SeenFailed}).Draw(rt, "seen")
		q.counts = map[assert.Seen]func(entry) bool{assert.SeenCalls: asks, assert.SeenShort: rejections, assert.SeenAdmitted: admissions, assert.SeenFailed: failures}[seen]
		lag := s.Breaker.Wait * time.Duration(d.int(0, 49, "lag")) / 100
		q.late = lag * time.Duration(d.int(0, 100, "late")) / 100
		r := observed(s, q)
		same := counter(seen)
		same.MaxLag = lag
		asked := []assert.Rule{assert.ReportedStateAgrees{Breaker: "cb", MaxLag: lag, OnCall: true}, same}
		if s.Retry.Attempts > 1 { // Then calls and what asks the breaker are not as many.
			asked = asked[:1]
		}
		r.spec.Assertions = nil
		for i, rule := range asked {
			for _, p := range append([]phase{{}}, s.Phases...) {
				r.spec.Assertions = append(r.spec.Assertions, assert.Assertion{ID: fmt.Sprint(i, p.Name), Phase: p.Name, Rule: rule})
			}
		}
		rep := assert.Evaluate(r.spec, r.trace)
		for _, v := range rep.Verdicts {
			if v.Result == assert.Fail {
				rt.Fatalf("%s\n%+v\n%s", text(v), s, describe(r, rep))
			}
		}
	})
}
