package trace_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// A recorder is told of both sides; joining them says what became of each call.
func Example() {
	rec := trace.NewRecorder(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC))
	rec.Sent("outage/0")
	handle := rec.Arrived(trace.Attempt{Injector: "payments", ID: "outage/0", By: "traceparent", Arr: 2 * time.Millisecond})
	rec.Departed(handle, func(a *trace.Attempt) {
		a.Outcome, a.Status, a.Dep = trace.OutcomeAnswered, 503, 3*time.Millisecond
	})
	rec.Ended(trace.Call{ID: "outage/0", Target: "checkout", End: 4 * time.Millisecond, Status: 503})
	rec.Sent("outage/1")
	rec.Ended(trace.Call{ID: "outage/1", Target: "checkout", Send: 10 * time.Millisecond, End: 11 * time.Millisecond, Status: 200, Class: "fallback"})

	tr := rec.Snapshot(trace.Header{Experiment: "checkout"})
	join := tr.Join("payments", func(target string) bool { return target == "checkout" })
	for _, c := range join.Calls {
		fmt.Println(c.Call.ID, c.Kind, "attempts:", len(c.Attempts))
	}
	fmt.Println("joined:", join.Share())
	// Output:
	// outage/0 admitted attempts: 1
	// outage/1 short attempts: 0
	// joined: 1
}

// A trace file is read back as it was written.
func ExampleWrite() {
	tr := &trace.Trace{
		Header: trace.Header{Experiment: "checkout", Tool: "v0.1.0", Seed: 42, Epoch: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)},
		Marks:  []trace.Mark{{At: 5 * time.Second, Kind: trace.MarkFaultOn, Subject: "payments"}},
	}
	var file bytes.Buffer
	if err := trace.Write(&file, tr); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(file.String())
	read, err := trace.Read(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.Header.Experiment, read.Marks[0].At)
	// Output:
	// {"header":{"format":"faultline-trace","version":1,"experiment":"checkout","tool":"v0.1.0","seed":42,"epoch":"2026-11-30T03:00:00Z"}}
	// {"mark":{"t":5000000000,"kind":"fault_on","subject":"payments"}}
	// checkout 5s
}

// What is not a trace is refused with its line.
func ExampleRead() {
	_, err := trace.Read(strings.NewReader(`{"header":{"format":"faultline-trace","version":1}}
{"mark":{"t":0,"kind":"note"}}
{"call":{"id":"outage/0","latency":5}}
`))
	fmt.Println(err)
	// Output: line 3: json: unknown field "latency"
}
