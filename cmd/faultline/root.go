package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Main carries out one command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	defer survive()()
	return app{
		stdin:    stdin,
		stdout:   stdout,
		stderr:   stderr,
		getenv:   os.Getenv,
		now:      time.Now,
		notify:   notify,
		carryOut: run.Run,
	}.main(args)
}

// app is what the commands reach of the world. Tests replace parts of it.
type app struct {
	stdin    io.Reader
	stdout   io.Writer // the report
	stderr   io.Writer // what is said on the way
	getenv   func(string) string
	now      func() time.Time
	notify   func(chan<- os.Signal) (stop func())
	carryOut func(context.Context, *experiments.Plan, run.Options) (*run.Result, error)
}

// say tells a person something on the way. Where standard error leads nowhere there
// is nobody to tell, and nothing depends on it.
func (a app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// exitError ends a command with an exit code. Without an error, what there is to
// say has been said.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns what happened.
func (e *exitError) Unwrap() error { return e.err }

// exit makes the error that ends a command with a code, nil for 0.
func exit(code int, err error) error {
	if code == report.ExitPass && err == nil {
		return nil
	}
	return &exitError{code, err}
}

// main carries out a command line. What cobra refuses is bad usage; a command
// says its own exit code. A panic is an internal error: faultline could not tell,
// which Go's own exit code, 2, would call a bad definition.
func (a app) main(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = a.internalError(p)
		}
	}()
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var e *exitError
	switch {
	case err == nil:
		return report.ExitPass
	case !errors.As(err, &e):
		e = &exitError{report.ExitDefinition, helpful(root, err)}
	}
	if e.err != nil {
		a.say("faultline: %v", e.err)
	}
	return e.code
}

// internalError tells of a panic.
func (a app) internalError(p any) int {
	a.say("faultline: internal error: %v\n%s\nThis is a defect of faultline, not of what it tests; please report it with the lines above.",
		p, debug.Stack())
	return report.ExitInconclusive
}

// root builds the tree of commands.
func (a app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "faultline",
		Short: "Prove from outside what a circuit breaker does",
		Long: `faultline stands on both sides of a system under test: it sends the client
traffic and it is the failing dependency. From what both sides saw it infers
what the circuit breaker did, and judges it. README.md has a first experiment,
experiments/README.md every key of one.`,
		Example: `  faultline run experiments/quickstart.yaml
  faultline inject --respond 503 --ratio 30%
  faultline target --upstream http://127.0.0.1:9901`,
		Version:       toolVersion(),
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,

		DisableSuggestions: true, // helpful makes them
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Without a command nothing was proved, so this is not success: a
			// script that lost its arguments must notice.
			cmd.SetOut(a.stderr)
			return errors.Join(cmd.Help(), exit(report.ExitDefinition, nil))
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		a.runCommand(), a.planCommand(), a.initCommand(), a.schemaCommand(), a.injectCommand(), a.targetCommand(),
		a.selftestCommand(), a.calibrateCommand(), a.importCommand(), a.lintCommand(), a.simulateCommand(), a.verifyCommand(), a.versionCommand(),
	)
	addCompletion(root)
	return root
}

// addCompletion adds cobra's completion command, with examples, and with an error
// for a shell that it does not know.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil || cmd == root {
		return // Cobra has none any more.
	}
	cmd.Example = "  faultline completion bash"
	cmd.RunE = func(*cobra.Command, []string) error {
		return errors.New("completion needs a shell, as in: faultline completion bash")
	}
	for _, shell := range cmd.Commands() {
		shell.Example = "  faultline completion " + shell.Name()
	}
}

// helpCommand is cobra's, but a topic that does not exist is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Help about a command",
		Example: "  faultline help run",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return fmt.Errorf("%s has no command %q; see %s --help", about.CommandPath(), strings.Join(rest, " "), about.CommandPath())
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// seed is the seed as a flag.
type seed uint64

// String implements pflag.Value.
func (s *seed) String() string { return strconv.FormatUint(uint64(*s), 10) }

// Type implements pflag.Value.
func (s *seed) Type() string { return "number" }

// Set implements pflag.Value.
func (s *seed) Set(text string) error {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return fmt.Errorf("write a whole number from 0 to %d, as 42", uint64(math.MaxUint64))
	}
	*s = seed(n)
	return nil
}

// choice is a flag with a few allowed words.
type choice struct {
	word    string
	allowed []string
}

// String implements pflag.Value.
func (c *choice) String() string { return c.word }

// Type implements pflag.Value; it is what help shows of the flag's value. A flag of many
// words names them in its text: help makes all flags as wide as the widest.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// Set implements pflag.Value.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		near := ""
		if meant := yamldoc.Nearest(word, c.allowed); meant != "" {
			near = "; did you mean " + meant + "?"
		}
		if len(c.allowed) > mostWords {
			return fmt.Errorf("it is none of the %d that --help lists%s", len(c.allowed), near)
		}
		return fmt.Errorf("allowed are %s%s", enumerated(c.allowed), near)
	}
	c.word = word
	return nil
}

// mostWords is how many words an error lists.
const mostWords = 30

// enumerated lists words as a person does.
func enumerated(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
