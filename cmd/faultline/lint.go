package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref/resilience4j/lint"
)

// The formats of lint that others have not.
const (
	formatSARIF  = "sarif"
	formatGitHub = "github"
)

// none is what --max-severity tolerates when a note is too much, too.
const none = "none"

// stdinName is the file that "-" is.
const stdinName = "stdin.yml"

// lintFlags are the flags of lint.
type lintFlags struct {
	format        choice
	tolerated     choice
	explain       bool
	effective     bool
	instance      string
	rate          perSecond
	clientTimeout timespan
	profiles      []string
	noColor       bool
}

// perSecond is a number of calls a second as a flag, as 20 or 20/s.
type perSecond float64

// String implements pflag.Value.
func (r *perSecond) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }

// Type implements pflag.Value.
func (r *perSecond) Type() string { return "rate" }

// Set implements pflag.Value.
func (r *perSecond) Set(s string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "/s"), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return errors.New("write calls a second, as 20/s or 0.5/s")
	}
	*r = perSecond(n)
	return nil
}

func (a app) lintCommand() *cobra.Command {
	f := lintFlags{
		format:    choice{formatText, []string{formatText, formatJSON, formatSARIF, formatGitHub}},
		tolerated: choice{lint.Warning.String(), []string{none, lint.Note.String(), lint.Warning.String(), lint.Error.String()}},
	}
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Say what is wrong with a Resilience4j configuration, or will surprise",
		Long: `lint reads the Resilience4j configuration of Spring Boot applications, YAML or
.properties, and says what Spring refuses, what has no effect, what keeps a
breaker from ever opening, and which defaults are not what most people expect.
It runs nothing. - is YAML from standard input.

An error is certain from the file alone; a warning is most likely not what is
wanted; a note is worth knowing. A file for one profile, as
application-prod.yml, is not blamed for what it leaves out. Placeholders are
filled from the environment; what depends on one without a value is not judged.

A comment takes back the findings of a rule on its line, or on the next, and says
why:

  minimumNumberOfCalls: 50  # faultline:ignore minimum-above-window until May

With --effective it prints what each instance is configured to instead, with
where each value comes from. docs/lint.md lists the rules.

Exit codes: 0 nothing worse than --max-severity, 1 something is, 2 bad usage, or a
file that cannot be read; the others are still looked at.`,
		Example: `  faultline lint application.yml
  faultline lint --rate 20/s --client-timeout 2s application.yml
  faultline lint --format sarif application.yml
  faultline lint --explain minimum-calls-unset
  faultline lint --effective=payments application.yml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !f.explain {
				return errors.New("lint needs a file, as in: faultline lint src/main/resources/application.yml")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case f.explain:
				return a.explainRules(f, args)
			case f.effective:
				return a.printEffective(f, args)
			}
			return a.lintFiles(f, args)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *lintFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.format, "format", "what goes to standard output")
	flags.Var(&f.tolerated, "max-severity", "the worst that is tolerated; what is worse gives exit code 1")
	flags.BoolVar(&f.explain, "explain", false, "explain the `rules` that are named in place of files, or list all")
	flags.Var(&shownInstance{f}, "effective", "print what `INSTANCE` (as --effective=payments; without a name all) is configured to, in place of findings")
	flags.Lookup("effective").NoOptDefVal = allInstances
	flags.Var(&f.rate, "rate", "calls a second that one replica sends through each breaker, as 20/s, for the rules that need it")
	flags.Var(&f.clientTimeout, "client-timeout", "after what the breaker's client gives up, for the rules that need it")
	flags.StringSliceVar(&f.profiles, "profile", nil, "active `profile` of Spring; may be given again")
	flags.BoolVar(&f.noColor, "no-color", false, "no colours, also on a terminal (as the variable NO_COLOR)")
}

// allInstances is what --effective without a name stands for; no instance has such a name.
const allInstances = "*"

// shownInstance is the flag --effective, which may have a name.
type shownInstance struct{ of *lintFlags }

// String implements pflag.Value.
func (s *shownInstance) String() string { return "" }

// Type implements pflag.Value.
func (s *shownInstance) Type() string { return "INSTANCE" }

// Set implements pflag.Value.
func (s *shownInstance) Set(name string) error {
	if s.of.effective = true; name != allInstances {
		s.of.instance = name
	}
	return nil
}

// options are what the rules know beside the files.
func (f *lintFlags) options(env func(string) string) lint.Options {
	return lint.Options{
		Profiles: f.profiles,
		Env: func(name string) (string, bool) {
			value := env(name)
			return value, value != ""
		},
		Rate: float64(f.rate), ClientTimeout: time.Duration(f.clientTimeout),
	}
}

// source reads a file, or standard input for -, which is taken for YAML.
func (a app) source(file string) (name string, src []byte, err error) {
	if file != "-" {
		src, err = os.ReadFile(file)
		return file, src, err
	}
	src, err = io.ReadAll(a.stdin)
	if err != nil {
		err = fmt.Errorf("read standard input: %w", err)
	}
	return stdinName, src, err
}

// linted is a file and what was found in it.
type linted struct {
	name   string
	result *lint.Result
	err    error // it cannot be read
}

// lintFiles holds files to the rules.
func (a app) lintFiles(f lintFlags, files []string) error {
	var all []linted
	for _, file := range files {
		name, src, err := a.source(file)
		l := linted{name: name, err: err}
		if err == nil {
			l.result, l.err = lint.File(name, src, f.options(a.getenv))
		}
		all = append(all, l)
	}
	if err := a.writeLint(f, all); err != nil {
		return exit(report.ExitInconclusive, fmt.Errorf("lint: %w", err))
	}
	return f.verdict(a, all)
}

// verdict says which files could not be read, and ends with the exit code.
func (f *lintFlags) verdict(a app, all []linted) error {
	unread, worst := false, lint.Severity(0)
	for _, l := range all {
		if l.err != nil {
			unread = true
			a.say("%v", l.err)
		}
	}
	for _, found := range found(all) {
		if found.Suppressed == "" {
			worst = max(worst, found.Severity)
		}
	}
	switch {
	case unread:
		return exit(report.ExitDefinition, nil)
	case worst > f.worstTolerated():
		return exit(report.ExitFail, nil)
	}
	return nil
}

// worstTolerated is the severity that is not yet too much.
func (f *lintFlags) worstTolerated() lint.Severity {
	for _, s := range []lint.Severity{lint.Note, lint.Warning, lint.Error} {
		if s.String() == f.tolerated.word {
			return s
		}
	}
	return 0 // None.
}
