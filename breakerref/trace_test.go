package breakerref_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline-go/faultline/breakerref"
)

// recordedRun is a line of the recorded runs: a configuration, and what the real
// library did in each step under a virtual clock.
type recordedRun struct {
	ID    int            `json:"id"`
	Cfg   recordedConfig `json:"cfg"`
	Steps []recordedStep `json:"ops"`
}

type recordedConfig struct {
	StartUnixMS   int64   `json:"startUnixMs"`
	Type          string  `json:"type"`
	Size          int     `json:"size"`
	Min           int     `json:"min"`
	Permitted     int     `json:"permitted"`
	FailRate      float32 `json:"failRate"`
	SlowRate      float32 `json:"slowRate"`
	SlowMS        int64   `json:"slowMs"`
	WaitMS        int64   `json:"waitMs"`
	WaitFn        string  `json:"waitFn"`
	Auto          bool    `json:"auto"`
	MaxHalfOpenMS int64   `json:"maxHalfOpenMs"`
	AfterHalfOpen string  `json:"afterHalfOpen"`
	Initial       string  `json:"initial"`
}

type recordedStep struct {
	Op     []any    `json:"op"` // a verb, and its argument if it has one
	Result any      `json:"r"`
	State  string   `json:"s"`
	FR     float32  `json:"fr"`
	SR     float32  `json:"sr"`
	M      [5]int   `json:"m"` // buffered, failed, slow, slowFailed, notPermitted
	Events []string `json:"ev"`
}

// seen is what a step shows, recorded or replayed.
type seen struct {
	Result  any
	State   string
	Metrics breakerref.Metrics
	Events  []string
}

// TestRecordedTraces replays what was recorded from Resilience4j 2.4.0: every
// *.jsonl.gz in the folder that RESILIENCE4J_TRACES names, or in testdata. All of a
// case has to be replayed: a file cut short must not pass.
func TestRecordedTraces(t *testing.T) {
	folder, ours := os.Getenv("RESILIENCE4J_TRACES"), false
	if folder == "" {
		folder, ours = "testdata", true
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var all replayed
	for _, file := range files {
		for _, run := range readRuns(t, file) {
			got, diff := replay(t, run)
			all.add(got)
			if diff != "" {
				t.Errorf("%s, case %d: %s", filepath.Base(file), run.ID, diff)
			}
		}
	}
	fmt.Fprintf(os.Stdout, "replayed %d operations of %d cases, %d differences\n", all.operations, all.cases, all.differences)
	switch want := (replayed{cases: 120, operations: 6986, crashes: 9}); {
	case all.cases == 0:
		t.Errorf("there are no recorded cases in %s", folder)
	case ours && all != want:
		t.Errorf("replayed %+v, want %+v", all, want)
	}
}

// replayed is how much of what was recorded has been repeated.
type replayed struct{ cases, operations, differences, crashes int }

func (r *replayed) add(o replayed) {
	r.cases += o.cases
	r.operations += o.operations
	r.differences += o.differences
	r.crashes += o.crashes
}

func readRuns(t *testing.T, path string) []recordedRun {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	d := json.NewDecoder(bufio.NewReader(z))
	d.DisallowUnknownFields()
	var runs []recordedRun
	for {
		var r recordedRun
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return runs
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		runs = append(runs, r)
	}
}

// replay repeats a case and compares every operation, up to the first that differs:
// what follows from another state says no more. Where the library crashed the machine
// must not, unless it is strict.
func replay(t *testing.T, run recordedRun) (r replayed, diff string) {
	t.Helper()
	now := time.UnixMilli(run.Cfg.StartUnixMS)
	cfg := run.Cfg.config(t)
	m, err := breakerref.New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Strict = true
	strict, err := breakerref.New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	r.cases = 1
	before := m.Metrics(now)
	for i, step := range run.Steps {
		r.operations++
		then := now
		want, result := step.seen(), step.apply(t, m, &now)
		exact := seen{Result: step.strictly(t, strict, &then), State: strict.State().String(), Metrics: strict.Metrics(then), Events: eventNames(strict)}
		if step.Result == "ArithmeticException" {
			r.crashes++
			want.Result, want.Metrics = nil, before // Nothing was recorded on either side.
			if exact.Result == step.Result {
				exact.Result = nil
			}
		}
		got := seen{Result: result, State: m.State().String(), Metrics: m.Metrics(now), Events: eventNames(m)}
		if diff := cmp.Diff([]seen{want, want}, []seen{got, exact}, cmpopts.EquateEmpty()); diff != "" {
			r.differences++
			return r, fmt.Sprintf("operation %d %v, recorded (-) and replayed (+), plain and strict:\n%s", i, step.Op, diff)
		}
		before = got.Metrics
	}
	return r, ""
}

// strictly applies the step to a strict machine. What it crashes with is its result.
func (s recordedStep) strictly(t *testing.T, m *breakerref.Machine, now *time.Time) (result any) {
	t.Helper()
	crashed := ""
	defer func() {
		if crashed != "" {
			result = crashed
		}
	}()
	defer crash(&crashed)
	return s.apply(t, m, now)
}

func (s recordedStep) seen() seen {
	return seen{
		Result: s.Result,
		State:  s.State,
		Metrics: breakerref.Metrics{
			FailureRate: s.FR, SlowRate: s.SR,
			Buffered: s.M[0], Failed: s.M[1], Slow: s.M[2], SlowFailed: s.M[3], NotPermitted: s.M[4],
		},
		Events: s.Events,
	}
}

func (s recordedStep) ms(t *testing.T) time.Duration {
	t.Helper()
	ms, ok := s.Op[1].(float64)
	if !ok {
		t.Fatalf("step %v has no number of milliseconds", s.Op)
	}
	return time.Duration(ms) * time.Millisecond
}

// apply does the step and returns its result in the terms of the recording.
func (s recordedStep) apply(t *testing.T, m *breakerref.Machine, now *time.Time) any {
	t.Helper()
	switch s.Op[0] {
	case "acq":
		return m.Acquire(*now)
	case "ok", "unrec": // An error that is not among the recorded ones is a success.
		m.Record(*now, false, s.ms(t))
	case "err":
		m.Record(*now, true, s.ms(t))
	case "ign":
		m.Ignore(*now)
	case "rel":
		m.Release(*now)
	case "adv":
		*now = now.Add(s.ms(t))
		m.Advance(*now)
	case "to":
		return illegal(m.Transition(*now, state(t, fmt.Sprint(s.Op[1]))))
	case "openFor":
		return illegal(m.OpenFor(*now, s.ms(t)))
	case "reset":
		m.Reset(*now)
	default:
		t.Fatalf("unknown step %v", s.Op)
	}
	return nil
}

func illegal(err error) any {
	if err != nil {
		return "illegal"
	}
	return nil
}

func (c recordedConfig) config(t *testing.T) breakerref.Config {
	t.Helper()
	cfg := breakerref.Config{
		Window:                c.Size,
		MinimumCalls:          c.Min,
		FailureRate:           c.FailRate,
		SlowRate:              c.SlowRate,
		SlowDuration:          time.Duration(c.SlowMS) * time.Millisecond,
		Wait:                  time.Duration(c.WaitMS) * time.Millisecond,
		AutoHalfOpen:          c.Auto,
		Permitted:             c.Permitted,
		HalfOpenMaxWait:       time.Duration(c.MaxHalfOpenMS) * time.Millisecond,
		HalfOpenMaxWaitCloses: c.AfterHalfOpen == "CLOSED",
		Initial:               state(t, c.Initial),
	}
	if c.Type == "TIME_BASED" {
		cfg.WindowType = breakerref.TimeBased
	}
	if exp, ok := strings.CutPrefix(c.WaitFn, "exp:"); ok {
		by, most, _ := strings.Cut(exp, ":max:")
		cfg.WaitMultiplier = number(t, by)
		if most != "" {
			cfg.WaitMax = time.Duration(number(t, most)) * time.Millisecond
		}
	}
	return cfg
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func state(t *testing.T, name string) breakerref.State {
	t.Helper()
	for s := breakerref.Closed; s <= breakerref.ForcedOpen; s++ {
		if s.String() == name {
			return s
		}
	}
	t.Fatalf("there is no state %q", name)
	return 0
}

func eventNames(m *breakerref.Machine) []string {
	events := m.Events()
	names := make([]string, 0, len(events))
	for _, e := range events {
		names = append(names, e.String())
	}
	return names
}
