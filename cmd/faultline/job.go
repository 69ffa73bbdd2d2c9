package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/ci"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

// outcome is what one experiment came to.
type outcome struct {
	summary report.Summary
	end     report.End
	missing []string // files of the run's folder that could not be written
}

// carryOutJob carries out one experiment, judges it and leaves its folder.
func (a app) carryOutJob(ctx context.Context, f runFlags, j job) outcome {
	began := a.now()
	res, err := a.measure(ctx, f, j)
	o := outcome{summary: report.Summary{
		Experiment: j.plan.Name,
		File:       j.file,
		Sets:       j.plan.Sets,
		Policy:     report.Policy(f.inconclusive.word),
		Seed:       j.plan.Seed,
		Tool:       toolVersion(),
		Started:    began,
		Duration:   a.now().Sub(began),
	}}
	o.conclude(ctx, j.plan, res, err)
	o.missing = a.leave(f, j, o, res)
	return o
}

// measure runs the plan. What came before the error, if anything, is returned
// with it.
func (a app) measure(ctx context.Context, f runFlags, j job) (*run.Result, error) {
	// The plan is written first, so that a run that dies leaves what it was.
	if err := writeAtomic(filepath.Join(j.dir, "plan.yaml"), func(w io.Writer) error {
		plan, err := movable(j.plan, filepath.Dir(j.file))
		if err != nil {
			return err
		}
		doc, err := experiments.MarshalPlan(plan)
		if err != nil {
			return err
		}
		_, err = w.Write(doc)
		return err
	}); err != nil {
		return nil, err
	}
	opt := run.Options{Tool: toolVersion(), BaseDir: filepath.Dir(j.file), Hurry: hurry(ctx)}
	if j.plan.SUT.Launch != nil {
		log, err := os.Create(filepath.Join(j.dir, "sut.log"))
		if err != nil {
			return nil, fmt.Errorf("open the log of the system under test: %w", err)
		}
		defer func() { _ = log.Close() }() // The service writes to it, not this process.
		opt.SUTLog = log
	}
	if !f.quiet {
		p := &progress{w: a.stderr, screen: a.screenOf(a.stderr, f.noColor)}
		p.line(fmt.Sprintf("%s (%s): seed %d, into %s", j.plan.Name, j.file, j.plan.Seed, j.dir))
		defer p.done()
		opt.Progress = p.show
	}
	return a.carryOut(ctx, j.plan, opt)
}

// movable is a plan that does the same wherever its file lies: the folder that the
// service is launched in and the files of certificates no longer depend on that of the
// experiment.
func movable(p *experiments.Plan, folder string) (*experiments.Plan, error) {
	moved := *p
	if p.SUT.Launch != nil {
		launch := *p.SUT.Launch
		moved.SUT.Launch = &launch
		if err := anchor(&launch.Dir, folder); err != nil {
			return nil, fmt.Errorf("find the folder that the service is launched in: %w", err)
		}
	}
	moved.Injectors = slices.Clone(p.Injectors)
	for i := range moved.Injectors {
		in := &moved.Injectors[i]
		if in.TLS == nil || in.TLS.CAFile == "" {
			continue
		}
		secured := *in.TLS
		in.TLS = &secured
		if err := anchor(&secured.CAFile, folder); err != nil {
			return nil, fmt.Errorf("find the certificate of injector %s: %w", in.Name, err)
		}
	}
	return &moved, nil
}

// anchor makes a path absolute that is relative to a folder.
func anchor(path *string, folder string) error {
	if filepath.IsAbs(*path) {
		return nil
	}
	abs, err := filepath.Abs(filepath.Join(folder, *path))
	if err != nil {
		return err
	}
	*path = abs
	return nil
}

// conclude judges what was recorded and says what it comes to.
//
// A run that could not be carried out decides nothing, whatever its trace holds: a
// service that died would otherwise fail on assertions that do not name its
// defect. One that was interrupted is judged as far as it went.
func (o *outcome) conclude(ctx context.Context, plan *experiments.Plan, res *run.Result, err error) {
	s := &o.summary
	recorded := &trace.Trace{}
	if res != nil && res.Trace != nil {
		recorded = res.Trace
		s.Rung = res.Rung
		s.Phases = recorded.Phases
		s.Loads = assert.Loads(recorded)
		s.Calls, s.Attempts = len(recorded.Calls), len(recorded.Attempts)
	}
	rep := assert.Evaluate(plan.Spec(), recorded)
	o.end, s.Reason, s.Remedy = ending(ctx, res, err)
	// Before the first phase there is nothing to be intact, and no state.
	measured := len(recorded.Phases) > 0
	if !measured || o.end == report.EndUnmeasured {
		rep.Verdicts = undecided(rep.Verdicts, s.Reason, s.Remedy)
		rep.Integrity = blameless(rep.Integrity)
	}
	if !measured {
		rep.Integrity, rep.Breakers = nil, nil
	}
	s.Assertions, s.Integrity, s.Breakers = rep.Verdicts, rep.Integrity, rep.Breakers
	s.Verdict, s.ExitCode = report.Conclude(rep, o.end, s.Policy)
}

// ending says how a run ended, and why where that was not to its end.
func ending(ctx context.Context, res *run.Result, err error) (end report.End, reason, remedy string) {
	var precondition *run.PreconditionError
	i := interrupted(ctx)
	switch {
	case i != nil && (err != nil || res == nil || res.Interrupted):
		reason = i.Error()
		if !hasPhases(res) {
			reason += " before the first phase"
		}
		return i.end(), reason, ""
	case errors.As(err, &precondition):
		return report.EndUnmeasured, precondition.What, precondition.Remedy
	case err != nil:
		return report.EndUnmeasured, err.Error(), ""
	case !hasPhases(res):
		return report.EndUnmeasured, "no phase was carried out", "this is a defect of faultline; please report it"
	}
	return report.EndComplete, "", ""
}

func hasPhases(res *run.Result) bool {
	return res != nil && res.Trace != nil && len(res.Trace.Phases) > 0
}

// undecided turns verdicts into ones that say why nothing can be said.
func undecided(verdicts []assert.Verdict, reason, remedy string) []assert.Verdict {
	out := make([]assert.Verdict, 0, len(verdicts))
	for _, v := range verdicts {
		out = append(out, assert.Verdict{
			ID: v.ID, Kind: v.Kind, Phase: v.Phase, Line: v.Line,
			Result: assert.Inconclusive, Expected: v.Expected, Observed: "not measured",
			Reason: reason, Remedy: remedy,
		})
	}
	return out
}

// blameless returns checks that made no verdict inconclusive, since something else
// did.
func blameless(checks []assert.Check) []assert.Check {
	out := slices.Clone(checks)
	for i := range out {
		out[i].Affects = nil
	}
	return out
}

// leave writes the run's folder. It tells of what could not be written and returns
// the names of those files. verdicts.json comes last: where it is, the run is over.
func (a app) leave(f runFlags, j job, o outcome, res *run.Result) (missing []string) {
	type file struct {
		name  string
		write func(io.Writer) error
	}
	files := []file{
		{"junit.xml", func(w io.Writer) error { return ci.WriteJUnit(w, []ci.Run{o.ciRun()}, f.ciOptions()) }},
		{"summary.md", func(w io.Writer) error { return report.WriteMarkdown(w, o.summary) }},
		{"verdicts.json", func(w io.Writer) error { return report.WriteJSON(w, o.summary) }},
	}
	if res != nil && res.Trace != nil {
		files = append([]file{{"trace.jsonl", func(w io.Writer) error { return trace.Write(w, res.Trace) }}}, files...)
	}
	for _, file := range files {
		if err := writeAtomic(filepath.Join(j.dir, file.name), file.write); err != nil {
			a.say("faultline: %v", err)
			missing = append(missing, file.name)
		}
	}
	return missing
}

// ciRun is the outcome as CI systems are told of it.
func (o outcome) ciRun() ci.Run {
	s := o.summary
	r := ci.Run{
		Experiment: s.Experiment, File: s.File, Sets: s.Sets, Tool: s.Tool, Seed: s.Seed, Rung: s.Rung,
		Started: s.Started, Duration: s.Duration, Phases: s.Phases,
		Report: assert.Report{Verdicts: s.Assertions, Integrity: s.Integrity, Breakers: s.Breakers},
	}
	kind := ""
	switch o.end {
	case report.EndComplete:
		return r
	case report.EndUnmeasured:
		kind = "precondition"
	case report.EndAborted:
		kind = "aborted"
	case report.EndInterrupted, report.EndTerminated:
		kind = "interrupted"
	}
	r.Trouble = &ci.Trouble{Type: kind, Reason: s.Reason, Remedy: s.Remedy}
	return r
}

func (f runFlags) ciOptions() ci.Options {
	return ci.Options{SkipInconclusive: f.inconclusive.word == string(report.PolicySkip)}
}

// writeJUnit writes the file of --junit and reports whether it could.
func (a app) writeJUnit(f runFlags, done []outcome) bool {
	runs := make([]ci.Run, 0, len(done))
	for _, o := range done {
		runs = append(runs, o.ciRun())
	}
	err := writeAtomic(f.junit, func(w io.Writer) error { return ci.WriteJUnit(w, runs, f.ciOptions()) })
	if err != nil {
		a.say("faultline: --junit: %v", err)
	}
	return err == nil
}

// print writes a report to standard output, apart from the one before it, and
// reports whether it could.
func (a app) print(f runFlags, s report.Summary, another bool) bool {
	var b strings.Builder
	var err error
	if f.format.word == formatJSON {
		err = report.WriteJSON(&b, s)
	} else {
		screen := a.screenOf(a.stdout, f.noColor)
		err = report.WriteText(&b, s, report.TextOptions{
			Width: screen.width, Color: screen.color, ASCII: screen.ascii, Quiet: f.quiet,
		})
		if another && b.Len() > 0 {
			return a.put("\n" + b.String())
		}
	}
	if err != nil {
		a.say("faultline: %v", err)
	}
	return a.put(b.String()) && err == nil
}

// whereabouts says at the end of a report where the run's folder is, on standard
// error: the last line of standard output is the verdict.
func (a app) whereabouts(f runFlags, j job, o outcome) {
	if len(o.missing) == 0 && (f.format.word == formatJSON || f.quiet && o.summary.Verdict == report.OutcomePass) {
		return
	}
	if len(o.missing) > 0 {
		consequence := ""
		if code := exitCode([]outcome{o}); code != o.summary.ExitCode {
			consequence = fmt.Sprintf("; the exit code is %d, since a run without them is no pass", code)
		}
		a.say("what could be written of this run is in %s; missing are %s%s", j.dir, strings.Join(o.missing, ", "), consequence)
		return
	}
	a.say("everything of this run is in %s", j.dir)
}

// put writes to standard output and reports whether it could.
func (a app) put(text string) bool {
	_, err := io.WriteString(a.stdout, text)
	if err != nil {
		a.say("faultline: write the report: %v", err)
	}
	return err == nil
}
