package breakerref_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// TestRecordedRuns replays runs that were recorded from Resilience4j 2.4.0. All of
// them have to be replayed to the last step: a file cut short must not pass.
func TestRecordedRuns(t *testing.T) {
	const wantRuns, wantSteps, wantCrashes = 120, 6986, 9
	runs, steps, crashes := 0, 0, 0
	for _, run := range readRuns(t, "testdata/resilience4j-2.4.0.jsonl.gz") {
		runs++
		t.Run(strconv.Itoa(run.ID), func(t *testing.T) {
			s, crashed := replay(t, run)
			steps += s
			if crashed {
				crashes++
			}
		})
	}
	if runs != wantRuns || steps != wantSteps || crashes != wantCrashes {
		t.Errorf("replayed %d runs, %d steps and %d crashes of the library, want %d, %d and %d",
			runs, steps, crashes, wantRuns, wantSteps, wantCrashes)
	}
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
		t.Fatal(err)
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
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
}

// replay repeats a run and compares every step. It returns the number of steps
// and whether the library crashed in the last one, which the machine must not.
func replay(t *testing.T, run recordedRun) (steps int, crashed bool) {
	now := time.UnixMilli(run.Cfg.StartUnixMS)
	m, err := breakerref.New(run.Cfg.config(t), now)
	if err != nil {
		t.Fatal(err)
	}
	before := m.Metrics(now)
	for i, step := range run.Steps {
		result := step.apply(t, m, &now)
		got := seen{Result: result, State: m.State().String(), Metrics: m.Metrics(now), Events: eventNames(m)}
		if step.Result == "ArithmeticException" {
			want := seen{State: step.State, Metrics: before, Events: step.Events}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("step %d %v, where the library crashes, wanted (-) and replayed (+):\n%s", i, step.Op, diff)
			}
			return i + 1, true
		}
		if diff := cmp.Diff(step.seen(), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("step %d %v, recorded (-) and replayed (+):\n%s", i, step.Op, diff)
		}
		before = got.Metrics
	}
	return len(run.Steps), false
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
