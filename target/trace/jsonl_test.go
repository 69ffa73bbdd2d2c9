package trace_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

var update = flag.Bool("update", false, "write the golden file anew; look at the difference before committing it")

// outage is a short run: one call is retried and admitted, one meets an open
// breaker, one is given up at a dependency that hangs.
func outage() *trace.Trace {
	attempt := func(seq int, id string, arr, dep time.Duration, rule string) trace.Attempt {
		return trace.Attempt{
			Seq: seq, Injector: "payments", ID: id, By: "traceparent", Phase: "outage", Peer: "127.0.0.1:40112", Method: "POST", Path: "/charges/a&b",
			Arr: arr, Dep: dep, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 503, Rule: rule,
		}
	}
	hung := attempt(3, "outage/2", 24*ms, trace.None, "outage.payments[1]")
	hung.Abandon, hung.Outcome, hung.Status = 1024*ms, trace.OutcomeHang, 0
	return &trace.Trace{
		Header: trace.Header{
			Format: trace.Format, Version: trace.Version, Experiment: "checkout-payments-breaker", Tool: "v0.1.0", Seed: 42,
			Epoch: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC), Plan: []byte(`{"name":"checkout-payments-breaker","failure":["5xx","slow>2s"]}`),
		},
		Phases: []trace.Phase{{Name: "outage", To: 30 * ms, Measure: true, OpenLoop: true, Planned: 4, Sent: 3, Saturated: 1}},
		Marks: []trace.Mark{
			{Kind: trace.MarkFaultOn, Subject: "payments"},
			{At: 9 * ms, Kind: trace.MarkStall, Dur: 2 * ms, Text: "this process did not run"},
			{At: 30 * ms, Kind: trace.MarkFaultOff, Subject: "payments"},
		},
		Calls: []trace.Call{
			{ID: "outage/0", Phase: "outage", Target: "checkout", Send: 61 * time.Microsecond, First: 8 * ms, End: 8*ms + 1, Status: 200, Class: "fallback", Instance: "a"},
			{ID: "outage/1", Phase: "outage", Target: "checkout", Sched: 10 * ms, Send: 10 * ms, First: 11 * ms, End: 11 * ms, Status: 200, Class: "fallback"},
			{ID: "outage/2", Phase: "outage", Target: "checkout", Sched: 20 * ms, Send: 20 * ms, First: trace.None, End: 1020 * ms, Err: trace.ErrTimeout},
		},
		Attempts: []trace.Attempt{
			attempt(1, "outage/0", 2*ms, 3*ms, "outage.payments[0]"),
			attempt(2, "outage/0", 5*ms, 6*ms, "outage.payments[0]"),
			hung,
		},
	}
}

// TestGolden holds the file's form, which other tools read.
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "outage.jsonl")
	got := written(t, outage())
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	read, err := trace.Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outage(), read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// Any trace is read back as it was, sorted.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sorted := drawTrace(rt)
		tr := shuffled(rt, sorted)
		file := written(rt, tr)
		got, err := trace.Read(bytes.NewReader(file))
		if err != nil {
			rt.Fatalf("%v in\n%s", err, file)
		}
		if diff := cmp.Diff(sorted, got); diff != "" {
			rt.Errorf("(-want +got):\n%s", diff)
		}
		anyOrder := []cmp.Option{
			bySeq, cmpopts.EquateEmpty(),
			cmpopts.SortSlices(func(a, b trace.Call) bool { return a.ID < b.ID }),
			cmpopts.SortSlices(func(a, b trace.Phase) bool { return a.Name < b.Name }),
			cmpopts.SortSlices(func(a, b trace.Mark) bool { return fmt.Sprint(a) < fmt.Sprint(b) }),
		}
		if diff := cmp.Diff(tr, got, anyOrder...); diff != "" {
			rt.Errorf("in any order (-want +got):\n%s", diff)
		}
		if !slices.IsSortedFunc(got.Attempts, byArrival) || !slices.IsSortedFunc(got.Calls, bySend) {
			rt.Errorf("what was read is not sorted by time:\n%s", file)
		}
		if again := written(rt, got); !bytes.Equal(file, again) {
			rt.Errorf("written again it differs:\n%s\n%s", file, again)
		}
	})
}

// Equal traces give equal bytes, in whatever order their records are.
func TestOrderOfRecordsLeavesNoMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		if diff := cmp.Diff(string(written(t, tr)), string(written(t, shuffled(t, tr)))); diff != "" {
			t.Errorf("(-one order +another):\n%s", diff)
		}
	})
}

// Where many records share an instant, the side and then the id decide; lines in
// another order, as of a file sorted by other means, are read as the same trace.
func TestOrderWithinAnInstant(t *testing.T) {
	const n, instants = 99, 3
	tr := &trace.Trace{Header: outage().Header}
	for i := n; i > 0; i-- {
		at, name := time.Duration(i%instants), fmt.Sprintf("a/%02d", i)
		tr.Attempts = append(tr.Attempts, trace.Attempt{Seq: i, Injector: "payments", Arr: at})
		tr.Calls = append(tr.Calls, trace.Call{ID: name, Send: at})
		tr.Marks = append(tr.Marks, trace.Mark{At: at, Kind: trace.MarkNote, Text: name})
		tr.Phases = append(tr.Phases, trace.Phase{Name: name, From: at})
	}
	want := []string{"header"}
	for at := range instants {
		for _, side := range []string{`{"phase":{"name":"a/%02d"`, `{"mark":{"t":[at],"kind":"note","text":"a/%02d"`, `{"call":{"id":"a/%02d"`, `{"attempt":{"seq":%d,`} {
			for i := 1; i <= n; i++ {
				if i%instants == at {
					want = append(want, fmt.Sprintf(strings.ReplaceAll(side, "[at]", strconv.Itoa(at)), i))
				}
			}
		}
	}
	file := written(t, tr)
	lines := strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i, line := range lines[1:] {
		if !strings.HasPrefix(line, want[i+1]) {
			t.Fatalf("line %d is %swant %s", i+2, line, want[i+1])
		}
	}
	lines[len(lines)-1] += "\n"
	slices.Reverse(lines[1:])
	got, err := trace.Read(strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	ordered, err := trace.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ordered, got); diff != "" {
		t.Errorf("in reverse (-want +got):\n%s", diff)
	}
}

// Writing leaves the trace as it was, and says its own format and version.
func TestWriteTouchesNothing(t *testing.T) {
	tr := outage()
	tr.Header.Format, tr.Header.Version = "", 0
	slices.Reverse(tr.Calls)
	slices.Reverse(tr.Attempts)
	slices.Reverse(tr.Marks)
	before := trace.Trace{
		Header: tr.Header, Phases: slices.Clone(tr.Phases), Calls: slices.Clone(tr.Calls),
		Attempts: slices.Clone(tr.Attempts), Marks: slices.Clone(tr.Marks),
	}
	if diff := cmp.Diff(string(written(t, outage())), string(written(t, tr))); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, *tr); diff != "" {
		t.Errorf("the trace (-before +after):\n%s", diff)
	}
}

// TestReadErrors shows that each mistake is told with its line.
func TestReadErrors(t *testing.T) {
	lines := strings.SplitAfter(string(written(t, outage())), "\n")
	header, phase, call := lines[0], lines[1], lines[3]
	if !strings.HasPrefix(phase, `{"phase"`) || !strings.HasPrefix(call, `{"call"`) {
		t.Fatalf("not a phase and a call:\n%s%s", phase, call)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"empty file", "", "line 1: the file is empty; a trace starts with its header"},
		{"blank file", "\n", "line 1: this is not the header of a trace: unexpected end of JSON input"},
		{"another file", "apiVersion: faultline/v1\n", "line 1: this is not the header of a trace: invalid character 'a'"},
		{"missing header", phase, "line 1: the header is missing; a trace starts with it"},
		{"another format", `{"header":{"format":"har","version":1}}` + "\n", `line 1: format "har" is not "faultline-trace": this is not a trace`},
		{"newer version with new fields", `{"header":{"format":"faultline-trace","version":2,"clock":"x"},"index":[]}` + "\n", "line 1: trace version 2; this faultline reads version 1"},
		{"no version", `{"header":{"format":"faultline-trace"}}` + "\n", "line 1: trace version 0; this faultline reads version 1"},
		{"unknown field of the header", `{"header":{"format":"faultline-trace","version":1,"clock":"x"}}` + "\n", `line 1: json: unknown field "clock"`},
		{"header and a record in one line", strings.TrimSuffix(header, "}\n") + `,"mark":{"t":0,"kind":"note"}}` + "\n", "line 1: the line holds 2 records; each holds one"},
		{"second header", header + phase + header, "line 3: a second header; a file holds one trace"},
		{"bad JSON", header + phase + "{call}\n" + call, "line 3: invalid character 'c' looking for beginning of object key string"},
		{"unknown kind", header + `{"span":{}}` + "\n", `line 2: json: unknown field "span"`},
		{"unknown field", header + phase + `{"call":{"id":"a/1","t_sent":5}}` + "\n", `line 3: json: unknown field "t_sent"`},
		{"wrong type", header + `{"mark":{"t":"5s","kind":"note"}}` + "\n", "line 2: json: cannot unmarshal string into Go struct field Mark.mark.t of type time.Duration"},
		{"no record", header + "{}\n", "line 2: the line holds no record; known are header, phase, call, attempt and mark"},
		{"record of nothing", header + phase + `{"call":null}` + "\n", "line 3: the line holds no record"},
		{"two records in one object", header + `{"call":{},"attempt":{}}` + "\n", "line 2: the line holds 2 records; each holds one"},
		{"two objects in one line", header + strings.TrimSuffix(call, "\n") + call, `line 2: "{\"call\":{\"id\":\"outag" follows the record; each line holds one`},
		{"something after a record", header + `{"call":{}},` + "\n", `line 2: "," follows the record; each line holds one`},
		{"empty line", header + phase + "\n" + call, "line 3: the line is empty; each holds one record"},
		{"empty line at the end", header + phase + "\n", "line 3: the line is empty"},
		{"record over two lines", header + "{\"mark\":\n{}}\n", "line 2: the record ends too early: the file was cut off, or broken into other lines"},
		{"truncated last line", header + phase + call[:40], "line 3: the record ends too early: the file was cut off"},
		{"truncated header", header[:40], "line 1: this is not the header of a trace: unexpected end of JSON input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr, err := trace.Read(strings.NewReader(tc.text))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if tr != nil {
				t.Error("a trace comes with the error")
			}
		})
	}
}

// A file cut off at any byte is refused with its last line, except between two
// lines, where nothing shows that more was to come.
func TestReadCutOff(t *testing.T) {
	file := string(written(t, outage()))
	for n := range len(file) + 1 {
		text := file[:n]
		between := n > 0 && (text[n-1] == '\n' || file[n] == '\n')
		tr, err := trace.Read(strings.NewReader(text))
		last := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
		switch {
		case !between && (err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", last))):
			t.Errorf("cut after %d bytes: got %v, want an error at line %d", n, err, last)
		case between && err != nil:
			t.Errorf("cut after %d bytes, between two lines: %v", n, err)
		case between && len(tr.Phases)+len(tr.Calls)+len(tr.Attempts)+len(tr.Marks) != last-1:
			t.Errorf("cut after line %d: not all of its records were read", last)
		}
	}
}

// A reader's own error is passed on with the line that it cut short; small
// pieces make no difference.
func TestReadFromTroubledReader(t *testing.T) {
	file := written(t, outage())
	broken := errors.New("disk gone")
	_, err := trace.Read(io.MultiReader(bytes.NewReader(file[:bytes.IndexByte(file, '\n')+10]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("got %v, want it at line 2", err)
	}
	tr, err := trace.Read(iotest.OneByteReader(iotest.DataErrReader(bytes.NewReader(file))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outage(), tr); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

var errFull = errors.New("disk full")

func TestWriteErrors(t *testing.T) {
	big := largeTrace(1000)
	size := len(written(t, big))
	for _, room := range []int{0, size / 2, size - 1} {
		if err := trace.Write(&full{room}, big); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "write trace") {
			t.Errorf("with room for %d of %d bytes: %v", room, size, err)
		}
	}
	if err := trace.Write(&full{size}, big); err != nil {
		t.Errorf("with room for all: %v", err)
	}
	bad := outage()
	bad.Header.Plan = []byte("{plan}")
	if err := trace.Write(io.Discard, bad); err == nil || !strings.HasPrefix(err.Error(), "write trace header: ") {
		t.Errorf("a plan that is no JSON: %v", err)
	}
	bad = outage()
	bad.Header.Epoch = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := trace.Write(io.Discard, bad); err == nil || !strings.HasPrefix(err.Error(), "write trace header: ") {
		t.Errorf("an epoch that has no RFC 3339 form: %v", err)
	}
}

// A long run's trace costs memory in proportion to its file, and not much more.
func TestLargeTrace(t *testing.T) {
	tr := largeTrace(spans / 5) // All of them are for the benchmarks.
	var file bytes.Buffer
	file.Grow(8 << 20)
	allocated := func(f func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	var got *trace.Trace
	var err error
	write := allocated(func() { err = trace.Write(&file, tr) })
	if err != nil {
		t.Fatal(err)
	}
	size := float64(file.Len())
	read := allocated(func() { got, err = trace.Read(bytes.NewReader(file.Bytes())) })
	if err != nil {
		t.Fatal(err)
	}
	if write > 4*size || read > 20*size {
		t.Errorf("a file of %.0f bytes: writing allocated %.1f, reading %.1f times as much; want at most 4 and 20", size, write/size, read/size)
	}
	if !slices.Equal(tr.Calls, got.Calls) || !slices.Equal(tr.Attempts, got.Attempts) {
		t.Error("what was read is not what was written")
	}
}

// FuzzRead reads anything: what is accepted can be written, and is then read as
// the same trace.
func FuzzRead(f *testing.F) {
	file := written(f, outage())
	f.Add(file)
	f.Add(file[:len(file)/2])
	lines := bytes.SplitAfter(file, []byte("\n"))
	for _, l := range lines[1:] {
		f.Add(slices.Concat(lines[0], l))
	}
	for _, s := range []string{
		"", "\n", "{}", "null", `{"header":null}`, `{"header":{"format":"faultline-trace","version":2}}`,
		`{"header":{"format":"faultline-trace","version":1,"plan": { "a" : 1.50, "b":"<\u2028\ud800>" }}}` + "\r\n" + `{"mark":{"t":-9223372036854775808,"kind":"\u0000"}}`,
		`{"header":{"format":"faultline-trace","version":1,"epoch":"0000-01-01T00:00:00+23:59"}}`,
		`{"header":{"format":"faultline-trace","version":1}}` + "\n" + `{"mark":{"t":1e3,"kind":"note"}}`,
		`{"HEADER":{"Format":"faultline-trace","version":1},"header":{"format":"har","version":1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := trace.Read(bytes.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("an error without a line: %v", err)
			}
			return
		}
		first := written(t, tr)
		again, err := trace.Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, first)
		}
		tr.Header.Plan, again.Header.Plan = nil, nil // Writing drops the spaces of a plan.
		if diff := cmp.Diff(tr, again); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
		again, _ = trace.Read(bytes.NewReader(first))
		if second := written(t, again); !bytes.Equal(first, second) {
			t.Errorf("written twice:\n%s\n%s", first, second)
		}
	})
}
