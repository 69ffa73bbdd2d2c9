package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/trace"
)

// declaredPolicy is what a member without a breaker is said to do.
type declaredPolicy struct {
	kind     string        // retry, concurrency, rate or time limit
	attempts int           // of retry: those of a call
	wait     time.Duration // of retry: between two of them; of rate: its cycle; of time limit: the limit
	max      int           // of concurrency and rate
	abandons bool          // of time limit: the attempt is ended as well
	differs  string        // what the documentation says instead, and what happens
}

// readPolicy reads it.
func readPolicy(v yamldoc.Value) *declaredPolicy {
	m := v.Map("")
	defer m.Done()
	p := &declaredPolicy{kind: m.Choice("retry", "concurrency", "rate", "time_limit")}
	k := m.Need(p.kind).Map("")
	defer k.Done()
	p.differs = k.Get("differs").Text("")
	switch p.kind {
	case "retry":
		p.attempts, p.wait = k.Need("attempts").Count(2, 1), k.Need("wait").DurationOrZero(0)
	case "concurrency":
		p.max = k.Need("max").Count(1, 1)
	case "rate":
		p.max, p.wait = k.Need("max").Count(1, 1), k.Need("every").Duration(time.Second)
	case "time_limit":
		p.wait, p.abandons = k.Need("is").Duration(time.Second), k.Need("abandons").Bool(false)
	}
	return p
}

// text says it in words.
func (p *declaredPolicy) text() string {
	switch p.kind {
	case "retry":
		return fmt.Sprintf("%d attempts of a failing call, %s between them", p.attempts, short(p.wait))
	case "concurrency":
		return fmt.Sprintf("at most %d at a time, the others are refused at once", p.max)
	case "rate":
		return fmt.Sprintf("%d every %s, the others are refused at once", p.max, short(p.wait))
	}
	if p.abandons {
		return "answered after " + short(p.wait) + ", the attempt is given up"
	}
	return "answered after " + short(p.wait) + ", the attempt runs on"
}

// phases writes what is done to it.
func (p *declaredPolicy) phases(b *strings.Builder) {
	b.WriteString("breakers: { dependency: { injector: dependency, target: quote, unit: attempt } }\nphases:\n  - { name: baseline, load: { calls: 4, concurrency: 1, gap: 300ms } }\n")
	phase := map[string]string{
		"retry":       "load: { calls: 4, concurrency: 1, gap: 5ms }, " + failing(0),
		"concurrency": "duration: 1500ms, load: { rate: 50/s }, faults: [ { injector: dependency, latency: { fixed: 200ms } } ]",
		"rate":        fmt.Sprintf("duration: %s, load: { rate: 100/s }", short(6*p.wait)),
		"time_limit":  fmt.Sprintf("load: { calls: 5, concurrency: 5 }, faults: [ { injector: dependency, latency: { fixed: %s } } ]", short(3*p.wait)),
	}[p.kind]
	fmt.Fprintf(b, "  - { name: policy, %s }\n", phase)
	if p.kind == "time_limit" { // Attempts that run on end before the service is stopped, which would end them.
		fmt.Fprintf(b, "  - { name: rest, pause: %s }\n", short(3*p.wait))
	}
	b.WriteString("  - { name: after, load: { calls: 1 } }\n")
	b.WriteString("assert:\n  - { id: reached, phase: policy, downstream.calls: { injector: dependency, min: 1 } }\n")
}

// policyRun is the phase in which the policy is looked at.
type policyRun struct {
	late     bool // some calls were not sent in time, or the machine was seen to be busy
	calls    []trace.Call
	attempts map[string][]trace.Attempt // by call, in the order of arrival
	all      []trace.Attempt
}

func readPolicyRun(t *trace.Trace) policyRun {
	r := policyRun{attempts: map[string][]trace.Attempt{}}
	for _, p := range t.Phases {
		r.late = r.late || p.Name == "policy" && p.Dropped > 0
	}
	for _, c := range t.Calls {
		if c.Phase == "policy" {
			r.calls = append(r.calls, c)
		}
	}
	for _, a := range t.Attempts {
		if strings.HasPrefix(a.ID, "policy/") && a.Injector == "dependency" {
			r.all = append(r.all, a)
			r.attempts[a.ID] = append(r.attempts[a.ID], a)
		}
	}
	slices.SortFunc(r.all, func(a, b trace.Attempt) int { return int(a.Arr - b.Arr) })
	for _, as := range r.attempts {
		slices.SortFunc(as, func(a, b trace.Attempt) int { return int(a.Arr - b.Arr) })
	}
	return r
}

// observe tells what the trace shows of the policy.
func (p *declaredPolicy) observe(t *trace.Trace) finding {
	r := readPolicyRun(t)
	if len(r.all) == 0 {
		return finding{observed: "nothing reached the dependency", open: true}
	}
	switch p.kind {
	case "retry":
		return p.observeRetry(r)
	case "concurrency":
		return p.observeConcurrency(r)
	case "rate":
		return p.observeRate(r)
	}
	return p.observeLimit(r)
}

// observeRetry counts the attempts of each call, and what is between them.
func (p *declaredPolicy) observeRetry(r policyRun) finding {
	least, most := len(r.all), 0
	shortest, longest := trace.Forever, time.Duration(0)
	for _, c := range r.calls {
		as := r.attempts[c.ID]
		least, most = min(least, len(as)), max(most, len(as))
		for i := 1; i < len(as); i++ {
			gap := as[i].Arr - as[i-1].Done()
			shortest, longest = min(shortest, gap), max(longest, gap)
		}
	}
	if most < 2 {
		return finding{observed: "1 attempt", wrong: true}
	}
	return finding{
		observed: fmt.Sprintf("%s attempts, %v to %v between them", fromTo(least, most), shortest.Round(time.Millisecond), longest.Round(time.Millisecond)),
		wrong:    least != p.attempts || most != p.attempts || shortest < p.wait*9/10,
		open:     longest > p.wait*3/2+50*time.Millisecond,
	}
}

// fromTo is a number, or two.
func fromTo(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// observeConcurrency counts how many are under way at once, and how fast others are refused.
func (p *declaredPolicy) observeConcurrency(r policyRun) finding {
	most := 0
	for _, a := range r.all {
		at := 0
		for _, other := range r.all {
			if other.Arr <= a.Arr && other.Done() > a.Arr {
				at++
			}
		}
		most = max(most, at)
	}
	refused, fast := r.refused()
	return finding{
		observed: fmt.Sprintf("%d at a time; %d calls refused, nine of ten within %v", most, refused, fast.Round(time.Millisecond)),
		wrong:    most > p.max || most < p.max && refused > 0,
		open:     refused < 10 || fast > 100*time.Millisecond,
	}
}

// refused counts the calls that were answered and did not reach the dependency, and tells how
// fast nine of ten of them were.
func (r policyRun) refused() (n int, fast time.Duration) {
	var took []time.Duration
	for _, c := range r.calls {
		if len(r.attempts[c.ID]) == 0 && c.Answered() {
			took = append(took, c.End-c.Send)
		}
	}
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return len(took), took[(len(took)-1)*9/10]
}

// observeRate tells the calls that are let through together from each other by the pauses
// between them; the first and the last such group may be cut. Where load was late nothing is
// wrong: permits may have been left over.
func (p *declaredPolicy) observeRate(r policyRun) finding {
	var sizes []int
	var starts []time.Duration
	for i, a := range r.all {
		if i == 0 || a.Arr-r.all[i-1].Arr > p.wait/4 {
			sizes, starts = append(sizes, 0), append(starts, a.Arr)
		}
		sizes[len(sizes)-1]++
	}
	refused, fast := r.refused()
	refusals := fmt.Sprintf("%d calls refused, nine of ten within %v", refused, fast.Round(time.Millisecond))
	if len(sizes) < 4 || refused < 10 {
		return finding{observed: fmt.Sprintf("%d groups of calls, %d refused", len(sizes), refused), open: true}
	}
	sizes, starts = sizes[1:len(sizes)-1], starts[1:len(starts)-1]
	least, most := slices.Min(sizes), slices.Max(sizes)
	mean := (starts[len(starts)-1] - starts[0]) / time.Duration(len(starts)-1)
	right := least == p.max && most == p.max
	return finding{
		observed: fmt.Sprintf("%s every %v; %s", fromTo(least, most), mean.Round(time.Millisecond), refusals),
		wrong:    !right && !r.late,
		open:     !right || (mean-p.wait).Abs() > p.wait/10 || fast > 100*time.Millisecond,
	}
}

// observeLimit tells when callers are answered, and what becomes of the attempt.
func (p *declaredPolicy) observeLimit(r policyRun) finding {
	fastest, slowest := trace.Forever, time.Duration(0)
	given := 0
	for _, c := range r.calls {
		fastest, slowest = min(fastest, c.End-c.Send), max(slowest, c.End-c.Send)
	}
	for _, a := range r.all {
		if a.Abandon != trace.None {
			given++
		}
	}
	return finding{
		observed: fmt.Sprintf("answered after %v to %v, %d of %d attempts given up", fastest.Round(time.Millisecond), slowest.Round(time.Millisecond), given, len(r.all)),
		wrong:    fastest < p.wait*9/10 || fastest > p.wait*5/2 || p.abandons != (given == len(r.all)),
		open:     slowest > p.wait*3/2,
	}
}
