package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
)

// defaultSeed is used where neither the experiment nor --seed names one. It is
// fixed so that a gate does the same every time.
const defaultSeed = 1

// The words of --format.
const (
	formatText = "text"
	formatJSON = "json"
)

// runFlags are the flags of run.
type runFlags struct {
	out          string
	junit        string
	seed         seed
	seedGiven    bool
	sets         []string
	format       choice
	inconclusive choice
	quiet        bool
	noColor      bool
}

func (a app) runCommand() *cobra.Command {
	f := runFlags{
		seed:         defaultSeed,
		format:       choice{formatText, []string{formatText, formatJSON}},
		inconclusive: choice{string(report.PolicyFail), []string{string(report.PolicyFail), string(report.PolicySkip)}},
	}
	cmd := &cobra.Command{
		Use:   "run FILE...",
		Short: "Carry out experiments, judge them and report",
		Long: `run carries out experiments one after another and judges each.

Every file is read before anything is started; a mistake in one of them starts
nothing. Each run leaves a folder: plan.yaml, trace.jsonl, verdicts.json,
junit.xml, summary.md, and sut.log where faultline launched the system under
test. The report goes to standard output, the course of the run to standard
error.

Exit codes: 0 all passed, 1 an assertion failed, 2 bad usage or definition, 3
could not tell, 130 or 143 interrupted. Ctrl-C once stops the load, clears the
faults and judges what there is; twice kills a launched service that does not
end.`,
		Example: `  faultline run experiments/quickstart.yaml
  faultline run --out out/quickstart --junit junit.xml experiments/quickstart.yaml
  faultline run --format json --quiet experiments/quickstart.yaml
  faultline run --set phases.outage.duration=2s --set assert.trips.at_call=10 experiments/quickstart.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("run needs an experiment file, as in: faultline run experiments/quickstart.yaml")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			f.seedGiven = cmd.Flags().Changed("seed")
			return a.runFiles(cmd.Context(), f, files)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "folder `DIR` of the run, new or empty; with several files, each gets a folder in it (default: a new one under "+outRoot+")")
	flags.Var(&f.seed, "seed", "seed `N` of everything random; wins over the one in the experiment")
	flags.StringArrayVar(&f.sets, "set", nil, "change `PATH=VALUE` in every experiment before it is read, as breakers.payments.wait=2s; items of lists by name, id or index; may be given again")
	flags.StringVar(&f.junit, "junit", "", "also write a JUnit XML `FILE` with all experiments")
	flags.Var(&f.format, "format", "what goes to standard output; json is the content of verdicts.json")
	flags.Var(&f.inconclusive, "inconclusive", "what an assertion that could not be decided counts as: exit code 3, or 0")
	flags.BoolVar(&f.quiet, "quiet", false, "print only what did not pass")
	flags.BoolVar(&f.noColor, "no-color", false, "no colours, also on a terminal (as the variable NO_COLOR)")
	return cmd
}

// runFiles reads all experiments, then carries them out.
func (a app) runFiles(ctx context.Context, f runFlags, files []string) error {
	plans, err := a.load(f, files)
	if err != nil {
		return err
	}
	jobs, err := a.prepare(f, files, plans)
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	code := a.untilSignal(ctx, "stopping the load and clearing the faults; once more to stop at once", func(ctx context.Context) int {
		return a.runJobs(ctx, f, jobs)
	})
	return exit(code, nil)
}

// load reads every file and prints all that is wrong with any of them.
func (a app) load(f runFlags, files []string) ([]*experiments.Plan, error) {
	plans := make([]*experiments.Plan, 0, len(files))
	wrong := 0
	for _, file := range files {
		plan, err := loadFile(file, f.sets)
		if err != nil {
			if len(files) > 1 {
				err = inFile(file, err)
			}
			a.say("%v", err)
			wrong++
			continue
		}
		if f.seedGiven {
			plan.Seed = uint64(f.seed)
		}
		plans = append(plans, plan)
	}
	if wrong > 0 {
		return nil, exit(report.ExitDefinition, fmt.Errorf("%s; nothing was started", countFiles(wrong, len(files))))
	}
	return plans, nil
}

// inFile says in which of several files something that was set does not fit.
func inFile(file string, err error) error {
	problems, ok := errors.AsType[experiments.Problems](err)
	if !ok {
		return err
	}
	for i := range problems {
		if problems[i].Line == 0 {
			problems[i].File = file + ": " + problems[i].File
		}
	}
	return problems
}

func countFiles(wrong, all int) string {
	switch {
	case all == 1:
		return "the experiment is not usable"
	case wrong == 1:
		return fmt.Sprintf("1 of %d experiments is not usable", all)
	}
	return fmt.Sprintf("%d of %d experiments are not usable", wrong, all)
}

// loadFile reads one experiment, with what is set otherwise. An error says in which
// file, and what to do.
func loadFile(file string, sets []string) (*experiments.Plan, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a folder; name the experiment files in it, such as %s", file, filepath.Join(file, "*.yaml"))
	}
	src, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file%s", file, nearFile(file))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: may not be read; check its permissions", file)
	case err != nil:
		return nil, fmt.Errorf("read experiment: %w", err)
	}
	return experiments.LoadPlan(file, src, defaultSeed, sets...)
}

// job is one experiment that is ready to be carried out.
type job struct {
	file string
	plan *experiments.Plan
	dir  string
}

// prepare makes the folders that will be written to, so that a run is not lost
// for want of one.
func (a app) prepare(f runFlags, files []string, plans []*experiments.Plan) ([]job, error) {
	if f.junit != "" {
		if err := givenFile(f.junit); err != nil {
			return nil, fmt.Errorf("--junit %s: %w", f.junit, err)
		}
	}
	if f.out != "" {
		if err := givenFolder(f.out); err != nil {
			return nil, err
		}
	}
	jobs := make([]job, 0, len(plans))
	taken := map[string]int{}
	for i, plan := range plans {
		dir, err := f.folder(plan, len(plans) > 1, taken, a)
		if err != nil {
			discard(jobs...)
			return nil, err
		}
		jobs = append(jobs, job{files[i], plan, dir})
	}
	return jobs, nil
}

// discard removes the folders of runs that never began. One that is not empty
// stays, since os.Remove removes no such folder.
func discard(jobs ...job) {
	for _, j := range jobs {
		_ = os.Remove(j.dir)
	}
}

// folder makes the folder of one run.
func (f runFlags) folder(plan *experiments.Plan, several bool, taken map[string]int, a app) (string, error) {
	switch {
	case f.out == "":
		return newFolder(plan.Name, a.now())
	case !several:
		return f.out, nil
	}
	name := folderName(plan.Name)
	taken[name]++
	if n := taken[name]; n > 1 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	dir := filepath.Join(f.out, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the run: %w", err)
	}
	return dir, nil
}

// runJobs carries out experiments one after another and returns the exit code of
// all of them together. What comes after an interruption is not started.
func (a app) runJobs(ctx context.Context, f runFlags, jobs []job) int {
	var done []outcome
	told := true
	for _, j := range jobs {
		if interrupted(ctx) != nil {
			a.say("%s: not run", j.file)
			discard(j)
			continue
		}
		o := a.carryOutJob(ctx, f, j)
		told = a.print(f, o.summary, len(done) > 0) && told
		a.whereabouts(f, j, o)
		done = append(done, o)
	}
	if f.junit != "" {
		told = a.writeJUnit(f, done) && told
	}
	code := exitCode(done)
	if len(jobs) > 1 && f.format.word == formatText && (!f.quiet || code != report.ExitPass) {
		told = a.put("\n"+overall(done, len(jobs))+"\n") && told
	}
	if !told {
		// Who is told nothing must not take it for a pass.
		code = report.Worst(code, report.ExitInconclusive)
	}
	return code
}

// exitCode is that of several runs together.
func exitCode(done []outcome) int {
	var codes []int
	for _, o := range done {
		codes = append(codes, o.summary.ExitCode)
		if len(o.missing) > 0 {
			// Who finds no verdict must not take it for a pass.
			codes = append(codes, report.ExitInconclusive)
		}
	}
	return report.Worst(codes...)
}

// overall counts the outcomes of several experiments.
func overall(done []outcome, all int) string {
	count := map[report.Outcome]int{}
	for _, o := range done {
		count[o.summary.Verdict]++
	}
	var words []string
	for _, o := range []report.Outcome{
		report.OutcomePass, report.OutcomeFail, report.OutcomeInconclusive, report.OutcomeAborted, report.OutcomeInterrupted,
	} {
		if count[o] > 0 {
			words = append(words, fmt.Sprintf("%d %s", count[o], o))
		}
	}
	if left := all - len(done); left > 0 {
		words = append(words, fmt.Sprintf("%d not run", left))
	}
	return fmt.Sprintf("%d experiments: %s", all, strings.Join(words, ", "))
}
