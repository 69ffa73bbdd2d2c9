package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

// carry is how a fake run carries out a plan.
type carry func(context.Context, *experiments.Plan, run.Options) (*run.Result, error)

// fake is an app whose runs are fake.
type fake struct {
	app
	out, err bytes.Buffer
	signals  chan<- os.Signal
}

func newFake(c carry) *fake {
	f := &fake{}
	f.app = app{
		stdin:  strings.NewReader(""),
		stdout: &f.out,
		stderr: &f.err,
		getenv: func(string) string { return "" },
		now:    func() time.Time { return time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC) },
		notify: func(s chan<- os.Signal) func() {
			f.signals = s
			return func() {}
		},
		carryOut: c,
	}
	return f
}

// summary reads a run's verdicts.json.
func summary(t *testing.T, dir string) report.Summary {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "verdicts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s report.Summary
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// recorded is a run of one phase in which all is well.
func recorded() *run.Result {
	const n = 30
	t := &trace.Trace{Phases: []trace.Phase{{Name: "healthy", To: n * time.Millisecond, Measure: true, Planned: n, Sent: n}}}
	for i := range n {
		id := fmt.Sprintf("healthy/%d", i)
		at := time.Duration(i) * time.Millisecond
		t.Calls = append(t.Calls, trace.Call{
			ID: id, Phase: "healthy", Target: "search", Class: "primary", Status: 200,
			Sched: at, Send: at, First: at + 400*time.Microsecond, End: at + 500*time.Microsecond,
		})
		t.Attempts = append(t.Attempts, trace.Attempt{
			Seq: i + 1, Injector: "engine", ID: id, By: "traceparent", Phase: "healthy", Outcome: trace.OutcomeAnswered, Status: 200,
			Arr: at + 100*time.Microsecond, Dep: at + 200*time.Microsecond, Abandon: trace.None,
		})
	}
	return &run.Result{Rung: "traceparent", Trace: t}
}

func TestARunThatPasses(t *testing.T) {
	f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) { return recorded(), nil })
	dir := filepath.Join(t.TempDir(), "out")
	if code := f.main([]string{"run", "--out", dir, "testdata/good.yaml"}); code != report.ExitPass {
		t.Errorf("exit code %d\n%s%s", code, f.out.String(), f.err.String())
	}
	if s := summary(t, dir); s.Verdict != report.OutcomePass || s.Calls != 30 || s.Attempts != 30 || s.Rung != "traceparent" {
		t.Errorf("verdicts.json says %+v", s)
	}
}

// A load that could not be delivered decides nothing, and what to do is said.
func TestALoadThatWasNotDelivered(t *testing.T) {
	f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
		res := recorded()
		res.Trace.Phases[0].OpenLoop, res.Trace.Phases[0].Planned, res.Trace.Phases[0].Dropped = true, 1000, 970
		return res, nil
	})
	dir := filepath.Join(t.TempDir(), "out")
	if code := f.main([]string{"run", "--out", dir, "testdata/good.yaml"}); code != report.ExitInconclusive {
		t.Errorf("exit code %d\n%s%s", code, f.out.String(), f.err.String())
	}
	v := summary(t, dir).Assertions[0]
	if v.Result != assert.Inconclusive || !strings.Contains(v.Reason, "97% (970 of 1000 slots were not sent in time)") || !strings.Contains(v.Remedy, "lower the rate") {
		t.Errorf("verdict %+v", v)
	}
}

// A run that could not be carried out says why and what to do, and decides nothing.
func TestRunsThatWereNotCarriedOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		carry carry
		say   []string
	}{
		{"precondition", func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
			return nil, fmt.Errorf("start: %w", &run.PreconditionError{What: "nobody calls the dependency", Remedy: "set ENGINE_URL"})
		}, []string{"nobody calls the dependency", "set ENGINE_URL"}},
		{"precondition with a trace", func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
			return recorded(), &run.PreconditionError{What: "the service died", Remedy: "look into sut.log"}
		}, []string{"the service died", "look into sut.log"}},
		{"environment", func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
			return nil, errors.New("listen 127.0.0.1:9901: address already in use")
		}, []string{"address already in use"}},
		{"nothing at all", func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
			return nil, nil
		}, []string{"no phase was carried out"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(tt.carry)
			dir := filepath.Join(t.TempDir(), "out")
			code := f.main([]string{"run", "--inconclusive", "skip", "--out", dir, "testdata/good.yaml"})
			if code != report.ExitInconclusive {
				t.Errorf("exit code %d\n%s", code, f.err.String())
			}
			s := summary(t, dir)
			if s.Verdict != report.OutcomeInconclusive || s.ExitCode != code {
				t.Errorf("verdicts.json says %s, %d", s.Verdict, s.ExitCode)
			}
			if len(s.Assertions) != 1 || s.Assertions[0].Result != assert.Inconclusive || s.Assertions[0].ID != "honest" {
				t.Errorf("assertions: %+v", s.Assertions)
			}
			for _, words := range tt.say {
				for what, text := range map[string]string{"report": f.out.String(), "reason and remedy": s.Reason + s.Remedy} {
					if !strings.Contains(text, words) {
						t.Errorf("%q is missing in %s:\n%s", words, what, text)
					}
				}
			}
		})
	}
}

// A panic is faultline's fault: not a verdict, and not bad usage, which is what
// Go's own exit code for it would say.
func TestPanicIsAnInternalError(t *testing.T) {
	f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
		panic("index out of range")
	})
	code := f.main([]string{"run", "--out", filepath.Join(t.TempDir(), "out"), "testdata/good.yaml"})
	if code != report.ExitInconclusive || !strings.Contains(f.err.String(), "internal error: index out of range") {
		t.Errorf("exit code %d\n%s", code, f.err.String())
	}
}

func TestFirstSignalStopsAndJudges(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
		name   string
	}{
		{syscall.SIGINT, 130, "Ctrl-C"},
		{syscall.SIGTERM, 143, "SIGTERM"},
		{syscall.SIGHUP, 143, "SIGHUP"},
	} {
		f := newFake(nil)
		f.carryOut = func(ctx context.Context, _ *experiments.Plan, _ run.Options) (*run.Result, error) {
			f.signals <- tt.signal
			<-ctx.Done()
			r := recorded()
			r.Interrupted = true
			return r, nil
		}
		dir := filepath.Join(t.TempDir(), "out")
		code := f.main([]string{"run", "--out", dir, "testdata/good.yaml", "testdata/good.yaml"})
		if code != tt.code {
			t.Errorf("%v: exit code %d\n%s", tt.signal, code, f.err.String())
		}
		s := summary(t, filepath.Join(dir, "good"))
		if s.Verdict != report.OutcomeInterrupted || s.ExitCode != tt.code || s.Calls != 30 || !strings.Contains(s.Reason, tt.name) {
			t.Errorf("%v: verdicts.json says %+v", tt.signal, s)
		}
		for _, words := range []string{"INTERRUPTED\n  why         interrupted by " + tt.name, "\n  judged      what was recorded until then, up to phase healthy;"} {
			if !strings.Contains(f.out.String(), words) || strings.Contains(f.out.String(), "NOT CARRIED OUT") {
				t.Errorf("%v: %q is missing in:\n%s", tt.signal, words, f.out.String())
			}
		}
		for _, words := range []string{"interrupted by " + tt.name, "; stopping the load", "testdata/good.yaml: not run"} {
			if !strings.Contains(f.err.String(), words) {
				t.Errorf("%q is missing in:\n%s", words, f.err.String())
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "good-2")); err == nil {
			t.Errorf("%v: the second run, which never began, left a folder", tt.signal)
		}
	}
}

func TestSecondSignalWaitsForNothing(t *testing.T) {
	for _, third := range []bool{false, true} {
		hang, finished := make(chan struct{}), make(chan struct{})
		f := newFake(nil)
		code := f.untilSignal(t.Context(), "once more", func(ctx context.Context) int {
			defer close(finished)
			f.signals <- syscall.SIGINT
			<-ctx.Done()
			select {
			case <-hurry(ctx):
				t.Error("hurried by the first signal")
			default:
			}
			f.signals <- syscall.SIGTERM
			<-hurry(ctx)
			if third {
				f.signals <- syscall.SIGTERM
			}
			<-hang // A disk that takes its time.
			return 0
		})
		if code != 143 || !strings.Contains(f.err.String(), "stopping at once") || strings.Contains(f.err.String(), "without waiting") == third {
			t.Errorf("a third signal: %v: exit code %d\n%s", third, code, f.err.String())
		}
		close(hang)
		<-finished
	}
}

// The second signal does not throw away what the first one has saved.
func TestSecondSignalKeepsWhatThereIs(t *testing.T) {
	f := newFake(nil)
	f.carryOut = func(ctx context.Context, _ *experiments.Plan, o run.Options) (*run.Result, error) {
		f.signals <- syscall.SIGINT
		<-ctx.Done()
		f.signals <- syscall.SIGINT
		<-o.Hurry // The service that did not end is killed.
		r := recorded()
		r.Interrupted = true
		return r, nil
	}
	dir := filepath.Join(t.TempDir(), "out")
	if code := f.main([]string{"run", "--out", dir, "testdata/good.yaml"}); code != 130 {
		t.Errorf("exit code %d\n%s", code, f.err.String())
	}
	if s := summary(t, dir); s.Verdict != report.OutcomeInterrupted || s.Calls != 30 {
		t.Errorf("verdicts.json says %+v", s)
	}
}

// A signal that comes when everything is over still ends what called faultline,
// but does not make the verdict of a complete run an interrupted one.
func TestSignalAfterTheRun(t *testing.T) {
	f := newFake(nil)
	f.carryOut = func(ctx context.Context, _ *experiments.Plan, _ run.Options) (*run.Result, error) {
		r := recorded()
		f.signals <- syscall.SIGINT
		<-ctx.Done()
		return r, nil
	}
	dir := filepath.Join(t.TempDir(), "out")
	if code := f.main([]string{"run", "--out", dir, "testdata/good.yaml"}); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if s := summary(t, dir); s.Verdict == report.OutcomeInterrupted {
		t.Errorf("verdicts.json says %s", s.Verdict)
	}
}

// A report that nobody could read is not a pass.
func TestLostReportIsNotAPass(t *testing.T) {
	f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) { return recorded(), nil })
	f.stdout = brokenWriter{}
	code := f.main([]string{"run", "--out", filepath.Join(t.TempDir(), "out"), "testdata/good.yaml"})
	if code != report.ExitInconclusive || !strings.Contains(f.err.String(), "no space left") {
		t.Errorf("exit code %d\n%s", code, f.err.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// The seed of the command line wins; a launched service's log is in the folder.
func TestWhatARunIsGiven(t *testing.T) {
	var seed uint64
	f := newFake(func(_ context.Context, p *experiments.Plan, o run.Options) (*run.Result, error) {
		seed = p.Seed
		if o.BaseDir != "testdata" || o.Tool == "" {
			t.Errorf("options: %+v", o)
		}
		return recorded(), nil
	})
	f.main([]string{"run", "--seed", "77", "--out", filepath.Join(t.TempDir(), "out"), "testdata/good.yaml"})
	if seed != 77 {
		t.Errorf("seed %d", seed)
	}
}

// With no --out, every run has a new folder, also two of the same second.
func TestDefaultFolders(t *testing.T) {
	file, err := filepath.Abs("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) { return recorded(), nil })
	f.main([]string{"run", file, file})
	for _, dir := range []string{"good-20261130-010203", "good-20261130-010203-2"} {
		if s := summary(t, filepath.Join("faultline-out", dir)); s.Experiment != "good" {
			t.Errorf("%s: %+v", dir, s)
		}
	}
}

// plan.yaml does the same from wherever it is run: it no longer depends on the
// folder of the experiment.
func TestMovable(t *testing.T) {
	abs, err := filepath.Abs("some/folder")
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": abs, "svc": filepath.Join(abs, "svc"), "../svc": filepath.Join(filepath.Dir(abs), "svc"), abs: abs} {
		plan := &experiments.Plan{SUT: experiments.SUT{Launch: &experiments.Launch{Dir: dir, Command: []string{"x"}}}}
		got, err := movable(plan, "some/folder")
		if err != nil || got.SUT.Launch.Dir != want || got.SUT.Launch.Command[0] != "x" {
			t.Errorf("%q: %+v, %v; want %q", dir, got.SUT.Launch, err, want)
		}
		if plan.SUT.Launch.Dir != dir {
			t.Errorf("%q: the plan that is carried out has changed to %q", dir, plan.SUT.Launch.Dir)
		}
	}
	if got, err := movable(&experiments.Plan{}, "some/folder"); err != nil || got.SUT.Launch != nil {
		t.Errorf("nothing is launched: %+v, %v", got, err)
	}
	for file, want := range map[string]string{"": "", "ca.pem": filepath.Join(abs, "ca.pem"), "../ca.pem": filepath.Join(filepath.Dir(abs), "ca.pem"), filepath.Join(abs, "x.pem"): filepath.Join(abs, "x.pem")} {
		plan := &experiments.Plan{Injectors: []experiments.Injector{{Name: "plain"}, {Name: "payments", TLS: &experiments.TLS{CAFile: file}}}}
		got, err := movable(plan, "some/folder")
		if err != nil || got.Injectors[1].TLS.CAFile != want || got.Injectors[0].TLS != nil {
			t.Errorf("%q: %+v, %v; want %q", file, got.Injectors, err, want)
		}
		if plan.Injectors[1].TLS.CAFile != file {
			t.Errorf("%q: the plan that is carried out has changed", file)
		}
	}
}

// A run that was not carried out blames no integrity check for what is undecided.
func TestNotCarriedOutBlamesNoCheck(t *testing.T) {
	for _, died := range []bool{false, true} {
		f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
			r := recorded()
			r.Trace.Attempts = nil // So that a check does not hold and voids the verdict.
			if died {
				return r, &run.PreconditionError{What: "the service died"}
			}
			return r, nil
		})
		dir := filepath.Join(t.TempDir(), "out")
		f.main([]string{"run", "--out", dir, "testdata/good.yaml"})
		blamed := slices.ContainsFunc(summary(t, dir).Integrity, func(c assert.Check) bool { return len(c.Affects) > 0 })
		if blamed == died {
			t.Errorf("the service died: %v, checks blamed: %v\n%s", died, blamed, f.out.String())
		}
	}
}
