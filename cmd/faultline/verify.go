package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/experiments/verify"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	instance string
	profiles []string
	url      string
	command  string
	dir      string
	env      []string
	ready    string
	method   string
	body     string
	headers  []string
	injector string
	answer   string
	fail     int
	timeout  time.Duration
	scale    float64
	plan     bool
	format   choice
	out      string
	quiet    bool
	noColor  bool
}

func (a app) verifyCommand() *cobra.Command {
	f := verifyFlags{format: choice{formatText, []string{formatText, formatJSON}}}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a running service does what its Resilience4j file declares",
		Long: `verify reads the circuit breaker of an instance, and the retry of the same name,
from application.yml, and sends the service calls that would come out otherwise
if any of their parameters had another value. It plays the dependency itself, so
the service has to call the injector in its place. Then it prints of each
parameter what is declared, what the reference predicts, what was seen, and where
the value was written. Where they differ it names the calls that show it, and
the value that explains everything that was seen.

A service that is started with --command begins with an empty breaker. One that
runs already is opened and closed first, which takes one wait more. In --url and
--env, {{sut.port}} is a free port and {{injectors.dependency.url}} where the
dependency is. For long waits, start the service with all durations of its
breaker's waits multiplied by a number, and say so with --wait-scale.

Exit codes: 0 the service is as declared, as far as traffic can tell, 1 it is not,
2 bad usage or configuration, 3 could not tell.`,
		Example: `  faultline verify application.yml --instance payments --url http://127.0.0.1:8080/pay --injector 127.0.0.1:9901
  faultline verify application.yml --instance payments --plan
  faultline verify application.yml --instance payments --url 'http://127.0.0.1:{{sut.port}}/pay' --command ./checkout --ready /actuator/health --env 'SERVER_PORT={{sut.port}}' --env 'PAYMENTS_URL={{injectors.dependency.url}}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("verify needs one file, as in: faultline verify application.yml --instance payments --url http://127.0.0.1:8080/pay")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error { return a.verifyFile(cmd.Context(), f, files[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.instance, "instance", "", "`NAME` of the circuit breaker in the file (default: the only one)")
	flags.StringArrayVar(&f.profiles, "spring-profile", nil, "active `PROFILE` of the file; may be given again")
	flags.StringVar(&f.url, "url", "", "`URL` that is called, with path and query; its calls go through the breaker")
	flags.StringVar(&f.command, "command", "", "`WORDS` that start the service, separated by blanks (default: it runs)")
	flags.StringVar(&f.dir, "dir", "", "folder `DIR` in which it is started")
	flags.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` in its environment; may be given again")
	flags.StringVar(&f.ready, "ready", "", "`PATH` that answers 200 when the service is ready, and does not ask the breaker (needed with --command)")
	flags.StringVar(&f.method, "method", http.MethodGet, "`METHOD` of the calls")
	flags.StringVar(&f.body, "body", "", "`TEXT` that the calls send")
	flags.StringArrayVar(&f.headers, "header", nil, "`NAME:VALUE` that the calls send; may be given again")
	flags.StringVar(&f.injector, "injector", "127.0.0.1:0", "`ADDR` where the dependency is played; a running service has to call it")
	flags.StringVar(&f.answer, "answer", "{}", "`TEXT` that the dependency answers with 200 when it is well")
	flags.IntVar(&f.fail, "fail-status", http.StatusServiceUnavailable, "`STATUS` of the dependency that the breaker counts as a failure")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "`TIME` after which a call is given up")
	flags.Float64Var(&f.scale, "wait-scale", 1, "`FACTOR` by which the service's waits are multiplied, as it was started")
	flags.BoolVar(&f.plan, "plan", false, "say what would be done and how long it takes, and do nothing")
	flags.Var(&f.format, "format", "what goes to standard output")
	flags.StringVar(&f.out, "out", "", "folder `DIR` of the run, new or empty (default: a new one under "+outRoot+")")
	flags.BoolVar(&f.quiet, "quiet", false, "say nothing of the course of the run")
	flags.BoolVar(&f.noColor, "no-color", false, "no colours, also on a terminal (as the variable NO_COLOR)")
	return cmd
}

// verifyFile verifies one instance of one file.
func (a app) verifyFile(ctx context.Context, f verifyFlags, file string) error {
	if f.scale <= 0 {
		return exit(report.ExitDefinition, fmt.Errorf("--wait-scale %v: write a number above 0, as 0.1", f.scale))
	}
	declared, err := f.declared(file)
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	service, err := f.service()
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	program, err := verify.Derive("verify-"+folderName(f.instanceOf(declared)), declared, service, f.command != "")
	if err != nil {
		return exit(report.ExitDefinition, fmt.Errorf("%s: %w", file, err))
	}
	if f.plan {
		o := program.Outline()
		write := o.WriteText
		if f.format.word == formatJSON {
			write = o.WriteJSON
		}
		if err := write(a.stdout); err != nil {
			return exit(report.ExitInconclusive, err)
		}
		return nil
	}
	return exit(a.untilSignal(ctx, "stopping; once more to stop at once", func(ctx context.Context) int {
		return a.carryOutVerify(ctx, f, file, program)
	}), nil)
}

func (f verifyFlags) instanceOf(d verify.Declared) string {
	if f.instance != "" {
		return f.instance
	}
	return d.Breaker.Name
}

// declared reads the file.
func (f verifyFlags) declared(file string) (verify.Declared, error) {
	var none verify.Declared
	src, err := os.ReadFile(file)
	if err != nil {
		return none, fmt.Errorf("read the configuration: %w", err)
	}
	read, err := resilience4j.Read(file, src, resilience4j.Options{Profiles: f.profiles, Env: os.LookupEnv})
	if err != nil {
		return none, err
	}
	for _, p := range read.Problems() {
		if p.Kind.StopsSpring() {
			return none, fmt.Errorf("a service with this file does not start: %w", p)
		}
	}
	all := read.Instances(resilience4j.CircuitBreaker)
	switch {
	case len(all) == 0:
		return none, fmt.Errorf("%s: there is no circuit breaker in it (resilience4j.circuitbreaker.instances)", file)
	case f.instance == "" && len(all) > 1:
		return none, fmt.Errorf("%s: which of its circuit breakers? add --instance with one of %s", file, strings.Join(all, ", "))
	case f.instance == "":
		f.instance = all[0]
	case !slices.Contains(all, f.instance):
		return none, fmt.Errorf("%s: there is no circuit breaker %s in it; it has %s", file, f.instance, strings.Join(all, ", "))
	}
	return verify.Declare(read, f.instance, f.scale)
}

// service is how the service under test is reached.
func (f verifyFlags) service() (verify.Service, error) {
	s := verify.Service{Listen: f.injector, Fail: f.fail, Timeout: f.timeout, Stub: fault.Respond{Status: http.StatusOK, Body: f.answer}}
	switch {
	case f.timeout <= 0:
		return s, fmt.Errorf("--timeout %v: write a time above 0", f.timeout)
	case f.fail < 400 || f.fail > 599:
		return s, fmt.Errorf("--fail-status %d: write a status from 400 to 599", f.fail)
	case f.url == "" && !f.plan:
		return s, errors.New("which URL is called? add --url http://127.0.0.1:8080/path, or --plan to only see what would be done")
	case f.command == "" && !f.plan && strings.HasSuffix(f.injector, ":0"):
		return s, errors.New("a running service has to call the dependency where faultline plays it: add --injector 127.0.0.1:9901 and have it call there, or start it with --command")
	case f.command != "" && f.ready == "":
		return s, errors.New("--command needs --ready: a path that answers 200 when the service is ready, and does not ask the breaker")
	case f.command == "" && (f.dir != "" || len(f.env) > 0):
		return s, errors.New("--dir and --env are for a service that is started; add --command")
	}
	base, path, err := splitURL(f.url)
	if err != nil {
		return s, err
	}
	s.SUT.BaseURL = base
	s.Target = match.Target{Method: strings.ToUpper(f.method), Path: path, Body: f.body}
	if s.Target.Headers, err = namedValues("--header", f.headers, ":"); err != nil {
		return s, err
	}
	if f.command != "" {
		launch := &experiments.Launch{Command: strings.Fields(f.command), Dir: f.dir, Stop: 10 * time.Second}
		if launch.Env, err = namedValues("--env", f.env, "="); err != nil {
			return s, err
		}
		s.SUT.Launch = launch
	}
	if f.ready != "" {
		s.SUT.Ready = &experiments.Ready{Get: f.ready, Expect: http.StatusOK, Timeout: 2 * time.Minute}
	}
	return s, nil
}

// splitURL cuts an address from its path. A port may be a template.
func splitURL(url string) (base, path string, err error) {
	if url == "" {
		return "http://127.0.0.1:8080", "/", nil // Of a plan, which calls nothing.
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme != "http" && scheme != "https" || rest == "" {
		return "", "", fmt.Errorf("--url %s: write it with http:// and a host, as http://127.0.0.1:8080/pay", url)
	}
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, "/" + path, nil
}

// namedValues reads names with values.
func namedValues(flag string, all []string, by string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range all {
		name, value, ok := strings.Cut(one, by)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%s %s: write NAME%sVALUE", flag, one, by)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

// carryOutVerify runs a program and returns the exit code.
func (a app) carryOutVerify(ctx context.Context, f verifyFlags, file string, p *verify.Program) int {
	dir, err := f.folder(p.Plan.Name, a.now())
	if err != nil {
		a.say("faultline: %v", err)
		return report.ExitDefinition
	}
	if !f.quiet {
		a.say("waits that cannot be avoided: %v", p.Unavoidable.Round(time.Millisecond))
	}
	p.Plan.File = file
	here, _ := os.Getwd()
	j := job{filepath.Join(here, "verify.yaml"), p.Plan, dir}
	res, err := a.measure(ctx, runFlags{quiet: f.quiet, noColor: f.noColor}, j)
	return a.leaveVerify(f, dir, concludeVerify(ctx, p, res, err), res)
}

// folder makes the folder of a run.
func (f verifyFlags) folder(name string, now time.Time) (string, error) {
	if f.out == "" {
		return newFolder(name, now)
	}
	return f.out, givenFolder(f.out)
}

// concludeVerify judges what was recorded, or says why there is nothing to judge.
func concludeVerify(ctx context.Context, p *verify.Program, res *run.Result, err error) verify.Report {
	_, reason, remedy := ending(ctx, res, err)
	if reason == "" {
		return p.Judge(res.Trace)
	}
	if remedy != "" {
		reason += "; " + remedy
	}
	return verify.Report{Reason: reason, Rows: []verify.Row{}, Unavoidable: p.Unavoidable}
}

// leaveVerify writes the report and the folder.
func (a app) leaveVerify(f verifyFlags, dir string, r verify.Report, res *run.Result) int {
	code := report.ExitPass
	switch {
	case r.Failed():
		code = report.ExitFail
	case !r.Decided():
		code = report.ExitInconclusive
	}
	write := r.WriteText
	if f.format.word == formatJSON {
		write = r.WriteJSON
	}
	files := map[string]func(io.Writer) error{"verify.json": r.WriteJSON, "verify.txt": r.WriteText}
	if res != nil && res.Trace != nil {
		files["trace.jsonl"] = func(w io.Writer) error { return trace.Write(w, res.Trace) }
	}
	for name, content := range files {
		if err := writeAtomic(filepath.Join(dir, name), content); err != nil {
			a.say("faultline: %v", err)
			code = report.Worst(code, report.ExitInconclusive)
		}
	}
	if err := write(a.stdout); err != nil {
		a.say("faultline: %v", err)
		code = report.Worst(code, report.ExitInconclusive)
	}
	if !f.quiet {
		a.say("in %s: plan.yaml, trace.jsonl, verify.json, verify.txt", dir)
	}
	return code
}
