package run

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// probeTries is how many calls a target gets to reach its dependencies.
const probeTries = 3

// probe sends a call or a few to every target that has a dependency, at every
// replica, and looks at what reaches it: whether anything does, and what it can be
// recognised by.
func (r *runner) probe(ctx context.Context) error {
	r.rec.SingleFlight(true) // Probes are made one at a time.
	look := &look{used: map[string]bool{}, seen: map[string]string{}}
	for i, in := range r.injectors {
		in.Watch(look.at(r.plan.Injectors[i].Name))
		defer in.Watch(nil)
	}
	next := uint64(0)
	replicas := uint64(max(len(r.replicas), 1))
	for _, t := range r.plan.Targets {
		if len(t.DependsOn) == 0 {
			continue
		}
		for k := range replicas {
			if err := r.probeOne(ctx, t, look, next+k, replicas); err != nil {
				return err
			}
			next += probeTries * replicas
		}
	}
	return r.choose(look)
}

// probeOne sends calls with the numbers from seq in this step to one target, at the
// one replica that they belong to, until its dependencies are reached.
func (r *runner) probeOne(ctx context.Context, t match.Target, look *look, seq, step uint64) error {
	var last trace.Call
	for range probeTries {
		call, err := r.attacker.Once(ctx, 0, seq, t)
		if err != nil {
			return fmt.Errorf("probe target %s: %w", t.Name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.awaited(ctx, call, t, look) {
			return nil
		}
		seq += step
		if last = call; r.inSessions(t) {
			break // The next would be answered no other.
		}
	}
	if r.inSessions(t) {
		r.note(fmt.Sprintf("target %s did not reach its dependency by a call alone, outside of its session; the run will show whether it does", t.Name))
		return nil
	}
	return r.unreached(t, last)
}

// inSessions reports whether a target is sent in sessions only, where it may need what the
// steps before it brought.
func (r *runner) inSessions(t match.Target) bool {
	used := false
	for _, p := range r.plan.Phases {
		if !slices.ContainsFunc(r.plan.Sends(p), func(s match.Target) bool { return s.Name == t.Name }) {
			continue
		}
		if p.Sessions == nil {
			return false
		}
		used = true
	}
	return used
}

// How long a service that answers before it calls its dependency is given, and how often it
// is looked whether it has.
const (
	lateProbe = time.Second
	lookAgain = 5 * time.Millisecond
)

// awaited reports whether every dependency of a target got a request of a call: while it was
// under way, or soon after.
func (r *runner) awaited(ctx context.Context, c trace.Call, t match.Target, look *look) bool {
	if !c.Answered() {
		return r.sawAll(c, t, look)
	}
	for until := time.Now().Add(lateProbe); ; {
		if r.sawAll(c, t, look) {
			return true
		}
		if time.Now().After(until) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(lookAgain):
		}
	}
}

// look is what probes show of the requests that reach dependencies.
type look struct {
	used map[string]bool // what they were recognised by
	mu   sync.Mutex
	seen map[string]string // the last one at each injector, in words
}

// at returns what an injector tells of its requests.
func (l *look) at(injector string) func(*http.Request) {
	return func(q *http.Request) {
		// Names only: values may be secrets.
		words := fmt.Sprintf("%s %s with the headers %s", q.Method, q.URL.Path, strings.Join(slices.Sorted(maps.Keys(q.Header)), ", "))
		if q.ContentLength != 0 {
			words += " and a body"
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen[injector] = words
	}
}

// words says what reached the dependencies.
func (l *look) words() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var parts []string
	for _, injector := range slices.Sorted(maps.Keys(l.seen)) {
		parts = append(parts, l.seen[injector]+" at "+injector)
	}
	return strings.Join(parts, "; ")
}

// sawAll reports whether every dependency of a target got a request during a call, or had a
// connection open on which it may have been talked about, and notes how those requests were recognised.
func (r *runner) sawAll(c trace.Call, t match.Target, look *look) bool {
	seen := map[string]bool{}
	for _, a := range r.rec.Snapshot(trace.Header{}).Attempts {
		switch {
		case a.Stream && a.ID != c.ID: // Which call is talked about on it, nobody knows.
			seen[a.Injector] = seen[a.Injector] || a.Arr <= c.End && (a.Closed == 0 || a.Closed >= c.Send)
		case a.Arr < c.Send || a.Unread():
		case a.ID == c.ID: // Also when it was answered: some answer first.
			seen[a.Injector] = true
			look.used[a.By] = true
		case a.Arr > c.End:
		case a.ID == "": // It was recorded when the call had ended.
			seen[a.Injector] = true
			look.used[trace.BySingleFlight] = true
		}
	}
	for _, in := range t.DependsOn {
		if !seen[in] {
			return false
		}
	}
	return true
}

// unreached explains that a dependency is not called.
func (r *runner) unreached(t match.Target, c trace.Call) error {
	got := fmt.Sprintf("status %d, class %s", c.Status, c.Class)
	if c.Err != trace.ErrNone {
		got = "no answer: " + string(c.Err) + " " + c.Detail
	}
	if c.Err == trace.ErrRefused {
		return &PreconditionError{
			What:   "nothing listens at " + r.addressOf(c.Instance) + ": the calls were refused",
			Remedy: "start the system under test first, let faultline launch it (sut.launch), or correct sut.base_url",
		}
	}
	var where []string
	for i, in := range r.plan.Injectors {
		if t.Depends(in.Name) {
			where = append(where, in.Name+" at "+r.injectors[i].URL())
		}
	}
	for _, a := range slices.Backward(r.rec.Snapshot(trace.Header{}).Attempts) {
		if a.Unread() && t.Depends(a.Injector) {
			return &PreconditionError{
				What:   fmt.Sprintf("target %s (%s %s) was called, and what reached its dependency %s was %s", t.Name, t.Method, t.Path, a.Injector, a.Detail),
				Remedy: r.unreadRemedy(a.Injector),
			}
		}
	}
	return &PreconditionError{
		What: fmt.Sprintf("target %s (%s %s) was called %d times%s and never reached its dependency %v; last answer: %s",
			t.Name, t.Method, t.Path, probeTries, atReplica(c.Instance, r.replicas), where, got),
		Remedy: "point the SUT's dependency at the injector's address (sut.launch.env with {{injectors." + t.DependsOn[0] + ".url}}), " +
			"or correct depends_on, and send a request that no cache answers",
	}
}

// unreadRemedy is what helps where nothing that arrived was a request.
func (r *runner) unreadRemedy(injector string) string {
	if file, ok := r.caFiles[injector]; ok {
		return fmt.Sprintf("have the SUT call the dependency at %s and trust the certificate in %s (sut.launch.env with {{injectors.%s.ca_file}}, or tls.ca_file)",
			r.live.injectors[injector].URL(), file, injector)
	}
	return "have the SUT call the dependency by HTTP/1.1, or HTTP/2 with prior knowledge, at the injector's URL"
}

// atReplica names the replica that a call went to.
func atReplica(name string, replicas []experiments.Replica) string {
	if len(replicas) == 0 {
		return ""
	}
	return " at replica " + name
}

// choose takes the first rung of the plan's order by which every probe was
// recognised: the weakest of the carriers that were needed, or, where no carrier
// told, a rung that does without.
func (r *runner) choose(look *look) error {
	if len(look.used) == 0 { // No target has a dependency, or all are talked to on connections that stay open.
		r.rec.SingleFlight(false)
		return nil
	}
	if !look.used[trace.BySingleFlight] {
		for _, by := range slices.Backward(r.plan.Correlate.Order) {
			if look.used[by] {
				r.take(by, "attempts are joined with calls by "+by)
				return nil
			}
		}
	}
	crowded := r.crowded()
	for _, by := range r.plan.Correlate.Order {
		switch {
		case by == trace.BySingleFlight && crowded == "":
			r.take(by, "attempts are joined with calls by single_flight: each belongs to the one call that is in flight when it arrives")
			return nil
		case by == rungAggregate:
			r.take(by, aggregateNote)
			return nil
		}
	}
	return r.unjoinable(look, crowded)
}

// rungAggregate is the rung on which attempts are counted and joined with no call.
const rungAggregate = "aggregate"

// aggregateNote says what that rung disables; assert says the same of each rule.
const aggregateNote = "attempts are joined with calls by aggregate counts alone: breaker.half_open_probes, breaker.reopens_on_failed_probe, " +
	"breaker.leak with a max above 0, breaker.opens with at_call or within_calls, breaker.closes with after_successes " +
	"and fallback.share of short or failed calls cannot be judged"

// take chooses a rung and says so.
func (r *runner) take(by, note string) {
	r.rec.SingleFlight(by == trace.BySingleFlight)
	r.rung = by
	r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkRung, Text: by})
	r.note(note)
}

// crowded names a phase in which more than one call may be in flight, so that an
// attempt cannot be joined by containment.
func (r *runner) crowded() string {
	i := slices.IndexFunc(r.plan.Phases, func(p experiments.Phase) bool { return p.Calls == nil || p.Calls.Concurrency != 1 })
	if i < 0 {
		return ""
	}
	return r.plan.Phases[i].Name
}

// unjoinable explains that no rung of the order works.
func (r *runner) unjoinable(look *look, crowded string) error {
	order := r.plan.Correlate.Order
	what := fmt.Sprintf("what reaches the dependency carries none of %v; it was %s", order, look.words())
	ways := []string{
		"let the SUT pass traceparent or x-request-id on",
		"name a header that it does pass on in correlate.order (header:NAME)",
		"put {{.ID}} into what it passes on of a target's path, query or body and add template to the order",
	}
	switch {
	case !slices.Contains(order, trace.BySingleFlight):
		ways = append(ways, "add single_flight, with load: {calls: ..., concurrency: 1} in every phase")
	case crowded != "":
		what += fmt.Sprintf("; and phase %s has more than one call in flight, so single_flight cannot join attempts with calls", crowded)
		ways = append(ways, "use load: {calls: ..., concurrency: 1} in every phase")
	}
	ways = append(ways, "add aggregate, by which counts alone are judged")
	return &PreconditionError{What: what, Remedy: strings.Join(ways, "; or ")}
}
