package trace_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

// bySeq lets go-cmp compare attempts in whatever order they are.
var bySeq = cmpopts.SortSlices(func(a, b trace.Attempt) bool {
	return cmp.Or(cmp.Compare(a.Injector, b.Injector), cmp.Compare(a.Seq, b.Seq)) < 0
})

func byArrival(a, b trace.Attempt) int { return cmp.Compare(a.Arr, b.Arr) }

func bySend(a, b trace.Call) int { return cmp.Compare(a.Send, b.Send) }

// drawTrace is any sorted trace in which ids are unique. Instants are few, so
// that many are equal, and attempts name recorded calls, others, or none.
func drawTrace(t *rapid.T) *trace.Trace {
	tr := &trace.Trace{Header: drawHeader(t)}
	n := rapid.IntRange(0, 12)
	for i := range n.Draw(t, "phases") {
		tr.Phases = append(tr.Phases, drawPhase(t, i))
	}
	for i := range n.Draw(t, "calls") {
		tr.Calls = append(tr.Calls, drawCall(t, i))
	}
	seq := map[string]int{}
	for range n.Draw(t, "attempts") {
		a := drawAttempt(t)
		seq[a.Injector]++
		a.Seq = seq[a.Injector]
		tr.Attempts = append(tr.Attempts, a)
	}
	for range n.Draw(t, "marks") {
		tr.Marks = append(tr.Marks, drawMark(t))
	}
	sorted, err := trace.Read(bytes.NewReader(written(t, tr)))
	if err != nil {
		t.Fatalf("what was written is refused: %v", err)
	}
	sorted.Header = tr.Header
	return sorted
}

// written is the trace file of tr.
func written(t interface{ Fatalf(string, ...any) }, tr *trace.Trace) []byte {
	var file bytes.Buffer
	if err := trace.Write(&file, tr); err != nil {
		t.Fatalf("write: %v", err)
	}
	return file.Bytes()
}

func drawHeader(t *rapid.T) trace.Header {
	return trace.Header{
		Format: trace.Format, Version: trace.Version,
		Experiment: rapid.String().Draw(t, "experiment"),
		Tool:       rapid.String().Draw(t, "tool"),
		Seed:       rapid.Uint64().Draw(t, "seed"),
		Epoch: time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).
			In(time.FixedZone("", 60*rapid.IntRange(-12*60, 14*60).Draw(t, "zone"))),
		Plan: rapid.SampledFrom([]json.RawMessage{
			nil, json.RawMessage(`null`), json.RawMessage(`{"rule":"slow>2s","path":"/a?b&c","line":"` + "\u2028" + `"}`), json.RawMessage(`[1.50,1e9]`),
		}).Draw(t, "plan"),
	}
}

// instant draws from few values, and now and then from all.
func instant(t *rapid.T, label string) time.Duration {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-1, 9), func(n int) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64Range(math.MinInt64, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
	).Draw(t, label)
}

func drawPhase(t *rapid.T, i int) trace.Phase {
	count := rapid.IntRange(0, 1000)
	return trace.Phase{
		Name: fmt.Sprintf("%s-%d", rapid.String().Draw(t, "name"), i), From: instant(t, "from"), To: instant(t, "to"),
		Measure: rapid.Bool().Draw(t, "measure"), OpenLoop: rapid.Bool().Draw(t, "open"),
		Planned: count.Draw(t, "planned"), Sent: count.Draw(t, "sent"), Dropped: count.Draw(t, "dropped"), Saturated: count.Draw(t, "saturated"),
		Rounds: rapid.SampledFrom([]*trace.Rounds{nil, {}, {Done: 3, Broken: 1}, {Cut: 2}}).Draw(t, "rounds"),
	}
}

func drawCall(t *rapid.T, i int) trace.Call {
	return trace.Call{
		ID: fmt.Sprintf("a/%d", i), Phase: rapid.String().Draw(t, "phase"),
		Target: rapid.SampledFrom([]string{"checkout", "browse", ""}).Draw(t, "target"),
		Sched:  instant(t, "sched"), Send: instant(t, "send"), First: instant(t, "first"), End: instant(t, "end"),
		Status: rapid.SampledFrom([]int{0, 200, 503}).Draw(t, "status"),
		Err:    rapid.SampledFrom([]trace.ErrKind{trace.ErrNone, trace.ErrTimeout, trace.ErrReset, trace.ErrOther}).Draw(t, "err"),
		Detail: rapid.String().Draw(t, "detail"), Class: rapid.String().Draw(t, "class"), Instance: rapid.String().Draw(t, "instance"),
		Session: drawSession(t), RetryAfter: rapid.SampledFrom([]string{"", "1"}).Draw(t, "retry after"), Port: rapid.IntRange(0, 3).Draw(t, "port"),
	}
}

// drawSession is a step of a session, or none.
func drawSession(t *rapid.T) *trace.Session {
	if rapid.Bool().Draw(t, "alone") {
		return nil
	}
	s := &trace.Session{
		User: rapid.IntRange(1, 9).Draw(t, "user"), Round: rapid.IntRange(1, 9).Draw(t, "round"), Lap: rapid.IntRange(0, 2).Draw(t, "lap"),
		Step: rapid.IntRange(1, 3).Draw(t, "step"), Page: rapid.IntRange(1, 9).Draw(t, "page"),
		End: rapid.SampledFrom([]trace.SessionEnd{"", trace.SessionDone, trace.SessionBroken, trace.SessionCut}).Draw(t, "over"),
		Why: rapid.String().Draw(t, "why"),
	}
	if rapid.Bool().Draw(t, "values") {
		// A list that is empty is not one that is missing.
		s.Values = map[string][]string{"ids": rapid.SampledFrom([][]string{{}, {"a"}, {"a", ""}}).Draw(t, "ids")}
	}
	return s
}

func drawAttempt(t *rapid.T) trace.Attempt {
	return trace.Attempt{
		Injector: rapid.SampledFrom([]string{"payments", "payments-2", "billing"}).Draw(t, "injector"),
		ID:       rapid.SampledFrom([]string{"", "a/0", "a/1", "a/2", "a/11", "b/0"}).Draw(t, "id"),
		By:       rapid.SampledFrom([]string{"", "traceparent", trace.BySingleFlight}).Draw(t, "by"),
		Phase:    rapid.String().Draw(t, "phase"), Peer: rapid.String().Draw(t, "peer"),
		Method: rapid.String().Draw(t, "method"), Path: rapid.String().Draw(t, "path"),
		Arr: instant(t, "arr"), Dep: instant(t, "dep"), Abandon: instant(t, "abandon"),
		Outcome: rapid.SampledFrom([]trace.Outcome{trace.OutcomeOpen, trace.OutcomeAnswered, trace.OutcomeHang}).Draw(t, "outcome"),
		Status:  rapid.SampledFrom([]int{0, 200, 503}).Draw(t, "status"), Rule: rapid.String().Draw(t, "rule"),
		Detail: rapid.SampledFrom([]string{"", "no request"}).Draw(t, "detail"), Spared: rapid.String().Draw(t, "spared"),
		GRPC:   rapid.SampledFrom([]string{"", "OK", "UNAVAILABLE", "17", trace.GRPCNoStatus, trace.GRPCUnreadable, trace.GRPCNoMessage}).Draw(t, "grpc"),
		Action: rapid.String().Draw(t, "action"), Delay: time.Duration(rapid.Int64().Draw(t, "delay")),
		Stream: rapid.Bool().Draw(t, "stream"), Closed: max(0, instant(t, "closed")),
		BytesUp: rapid.Int64().Draw(t, "up"), BytesDown: rapid.Int64().Draw(t, "down"),
	}
}

func drawMark(t *rapid.T) trace.Mark {
	return trace.Mark{
		At:      instant(t, "at"),
		Kind:    rapid.SampledFrom([]trace.MarkKind{trace.MarkFaultOn, trace.MarkNote}).Draw(t, "kind"),
		Subject: rapid.SampledFrom([]string{"", "payments", "billing"}).Draw(t, "subject"),
		Text:    rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "text"),
		Dur:     rapid.SampledFrom([]time.Duration{0, ms}).Draw(t, "dur"),

		Instance: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "instance"),
	}
}

// shuffled is the trace with the records of each kind in any order.
func shuffled(t *rapid.T, tr *trace.Trace) *trace.Trace {
	return &trace.Trace{
		Header: tr.Header,
		Phases: shuffle(t, tr.Phases, "phases"), Calls: shuffle(t, tr.Calls, "calls"),
		Attempts: shuffle(t, tr.Attempts, "attempts"), Marks: shuffle(t, tr.Marks, "marks"),
	}
}

// shuffle is a copy of s in any order.
func shuffle[T any](t *rapid.T, s []T, label string) []T {
	if len(s) == 0 {
		return nil
	}
	return rapid.Permutation(slices.Clone(s)).Draw(t, "order of "+label)
}
