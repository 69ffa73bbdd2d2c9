package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// spans is how large a trace the codec is measured with: calls and attempts of
// half an hour at 25 per second.
const spans = 100_000

// largeTrace is a run of n spans, half of them calls and half attempts.
func largeTrace(n int) *trace.Trace {
	t := &trace.Trace{
		Header: trace.Header{
			Format: trace.Format, Version: trace.Version, Experiment: "large", Tool: "v0.1.0", Seed: 7,
			Epoch: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC),
		},
		Phases: []trace.Phase{{Name: "outage", To: time.Duration(n) * 20 * time.Millisecond, Measure: true, OpenLoop: true, Planned: n / 2, Sent: n / 2}},
	}
	for i := range n / 2 {
		at := time.Duration(i) * 40 * time.Millisecond
		id := "outage/" + strconv.Itoa(i)
		t.Calls = append(t.Calls, trace.Call{
			ID: id, Phase: "outage", Target: "checkout", Sched: at, Send: at + 61*time.Microsecond,
			First: at + 70*time.Millisecond, End: at + 71*time.Millisecond, Status: 200, Class: "fallback",
		})
		t.Attempts = append(t.Attempts, trace.Attempt{
			Seq: i + 1, Injector: "payments", ID: id, By: "traceparent", Phase: "outage", Peer: "127.0.0.1:40112", Method: "POST", Path: "/charges",
			Arr: at + 4*time.Millisecond, Dep: at + 64*time.Millisecond, Abandon: trace.None,
			Outcome: trace.OutcomeAnswered, Status: 503, Rule: "outage/payments/0",
		})
	}
	return t
}

func BenchmarkWrite(b *testing.B) {
	t := largeTrace(spans)
	var size bytes.Buffer
	if err := trace.Write(&size, t); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := trace.Write(io.Discard, t); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	if err := trace.Write(&file, largeTrace(spans)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trace.Read(bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	t := largeTrace(spans)
	b.ReportAllocs()
	for b.Loop() {
		t.Join("payments", func(string) bool { return true })
	}
}

// One call and one attempt, as the hands record them.
func BenchmarkRecorderEnded(b *testing.B) {
	rec := trace.NewRecorder(time.Time{})
	c := largeTrace(2).Calls[0]
	b.ReportAllocs()
	for b.Loop() {
		rec.Sent(c.ID)
		rec.Ended(c)
	}
}

func BenchmarkRecorderArrived(b *testing.B) {
	rec := trace.NewRecorder(time.Time{})
	a := largeTrace(2).Attempts[0]
	ids := make([]string, 1024)
	for i := range ids {
		ids[i] = fmt.Sprintf("outage/%d", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a.ID = ids[i%len(ids)]
		h := rec.Arrived(a)
		rec.Departed(h, func(to *trace.Attempt) { to.Dep, to.Status = a.Dep, a.Status })
	}
}

// All processors record at once: what contention for the lock costs.
func BenchmarkRecorderParallel(b *testing.B) {
	rec := trace.NewRecorder(time.Time{})
	t := largeTrace(2)
	c, a := t.Calls[0], t.Attempts[0]
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			rec.Departed(rec.Arrived(a), func(to *trace.Attempt) { to.Dep = a.Dep })
			rec.Ended(c)
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	rec := trace.NewRecorder(time.Time{})
	t := largeTrace(spans)
	for i := range t.Calls {
		rec.Arrived(t.Attempts[i])
		rec.Ended(t.Calls[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		rec.Snapshot(trace.Header{})
	}
}
