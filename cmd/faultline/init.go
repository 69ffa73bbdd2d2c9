package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments/draft"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// initFile is where init writes if nobody says where.
const initFile = "faultline.yaml"

// initFlags are the flags of init.
type initFlags struct {
	url, method, body   string
	headers             []string
	command, env, ready string
	dependency          string
	injector, upstream  string
	stub                string
	primary, fallback   string
	breaker             targetFlags // only what says what a breaker is
	ask                 bool
	file                string
}

func (a app) initCommand() *cobra.Command {
	f := initFlags{breaker: *newTargetFlags()}
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a first experiment for your service",
		Long: `init writes an experiment, with comments, for a service that calls a dependency
through a circuit breaker: it opens the breaker, looks whether anything leaks, how
long it stays open, how many probes it lets through, and whether it recovers. The
numbers of the breaker are taken from a Resilience4j file or from flags. What is
written has passed "faultline plan": a right service passes every assertion, a wrong
one fails. What no load can decide of your breaker is left out, with the reason.

Without --url on a terminal, or with --ask, it asks. FILE is ` + initFile + ` if it is
not given, - is standard output; a file that is there is never changed.

Your service has to call the dependency at the address of --injector. With --command
it is started for the run, and --dependency-env names the variable by which it is
told that address.`,
		Example: `  faultline init
  faultline init --url http://127.0.0.1:8080/checkout --config application.yml --instance payments
  faultline init checkout.yaml --url http://127.0.0.1:8080/checkout --method POST --body '{"order":1}' --primary PAID --fallback QUEUED \
    --command 'java -jar app.jar' --dependency-env PAYMENTS_URL --ready /actuator/health --config src/main/resources/application.yml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file = initFile
			if len(args) == 1 {
				f.file = args[0]
			}
			f.breaker.noteGiven(cmd.Flags())
			return a.runInit(&f)
		},
	}
	f.register(cmd)
	return cmd
}

// register declares the flags.
func (f *initFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // Some tell of those above them.
	flags.StringVar(&f.url, "url", "", "`URL` of your service that a call of it needs the dependency for, with its path")
	flags.StringVar(&f.method, "method", "GET", "method of that call")
	flags.StringVar(&f.body, "body", "", "body of that call")
	flags.StringArrayVar(&f.headers, "header", nil, "header of that call, as `'Name: value'`; may be given again")
	flags.StringVar(&f.primary, "primary", "", "a `TEXT` that only good answers have")
	flags.StringVar(&f.fallback, "fallback", "", "a `TEXT` that only answers of the fallback have; without it there is none")
	flags.StringVar(&f.command, "command", "", "`COMMAND` that starts your service; no shell reads it, but quotes keep words together. Without it, one that runs already is used")
	flags.StringVar(&f.env, "dependency-env", "", "environment variable of --command that is to have the dependency's URL")
	flags.StringVar(&f.ready, "ready", "/actuator/health", "path by which a started service is seen to be ready, not through the breaker")
	flags.StringVar(&f.dependency, "dependency", "", "name of the dependency (default --instance, or dependency)")
	flags.StringVar(&f.injector, "injector", "127.0.0.1:9901", "loopback `ADDRESS` at which faultline plays the dependency")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of a real dependency that answers when no fault does")
	flags.StringVar(&f.stub, "stub", "{}", "body of a healthy dependency's answer, without --upstream")
	f.breaker.registerBreaker(flags)
	f.breaker.registerFile(flags)
	flags.BoolVar(&f.ask, "ask", false, "ask for what is not given, also where standard input is no terminal")
}

// runInit asks, if it may, and writes the file.
func (a app) runInit(f *initFlags) error {
	if f.url == "" {
		if !f.ask && !a.atTerminal() {
			return exit(report.ExitDefinition, errors.New("which service? add --url, the address of a call that needs the dependency, as in --url http://127.0.0.1:8080/checkout"))
		}
		if err := a.interview(f); err != nil {
			return exit(report.ExitDefinition, err)
		}
	}
	if _, err := os.Lstat(f.file); f.file != "-" && !errors.Is(err, fs.ErrNotExist) {
		return exit(report.ExitDefinition, fmt.Errorf("%s is there already and stays as it is; name another file, as in: faultline init other.yaml", f.file))
	}
	s, err := f.service()
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	made, err := draft.Write(s)
	if err != nil {
		return exit(report.ExitDefinition, fmt.Errorf("no experiment can be made of that: %w", err))
	}
	if f.file == "-" {
		if _, err := a.stdout.Write(made.Source); err != nil {
			return exit(report.ExitInconclusive, fmt.Errorf("write the experiment: %w", err))
		}
		return nil
	}
	if err := writeNew(f.file, made.Source); err != nil {
		return exit(report.ExitInconclusive, err)
	}
	a.tellDraft(f, made)
	return nil
}

// writeNew writes a file that is not there yet.
func writeNew(file string, data []byte) error {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // A file for people to read.
	if err != nil {
		return fmt.Errorf("write the experiment: %w", err)
	}
	_, err = out.Write(data)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write the experiment: %w", err)
	}
	return nil
}

// tellDraft says what was written, and what comes next.
func (a app) tellDraft(f *initFlags, made draft.Draft) {
	lasts := made.Forecast.Duration.Most.Round(100 * time.Millisecond)
	a.say("wrote %s: %d assertions, decided in about %s", f.file, len(made.Forecast.Assertions), yamldoc.FormatDuration(lasts))
	for _, l := range made.Left {
		a.say("  left out %s, as this load %s it: %s", l.ID, l.Can, strings.TrimSpace(l.Reason+" "+l.Misses))
	}
	a.say("next: let your service call its dependency at http://%s, then\n  faultline plan %s\n  faultline run %s", f.injector, f.file, f.file)
}

// service is what the flags say of a service.
func (f *initFlags) service() (draft.Service, error) {
	var s draft.Service
	at, err := url.Parse(f.url)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return s, fmt.Errorf("--url %s: is not an address such as http://127.0.0.1:8080/checkout", f.url)
	}
	c, err := f.breaker.breaker()
	if err != nil {
		return s, err
	}
	command, err := commandWords(f.command)
	if err != nil {
		return s, fmt.Errorf("--command: %w", err)
	}
	if f.env != "" && len(command) == 0 {
		return s, errors.New("--dependency-env: of which command? add --command, as in --command 'java -jar app.jar'")
	}
	headers, err := headersOf(f.headers)
	if err != nil {
		return s, err
	}
	name := firstOf(f.dependency, nameOf(f.breaker.instance), "dependency")
	s = draft.Service{
		Name: name + "-breaker", BaseURL: at.Scheme + "://" + at.Host, Command: command, Ready: f.ready,
		Method: strings.ToUpper(f.method), Path: firstOf(at.RequestURI(), "/"), Headers: headers, Body: f.body,
		Dependency: name, Listen: f.injector, Upstream: f.upstream, Stub: f.stub, Primary: f.primary, Fallback: f.fallback,
		Breaker: c, Declared: "The numbers are those of faultline init's flags.",
	}
	if f.env != "" {
		s.Env = map[string]string{f.env: "{{injectors." + name + ".url}}"}
	}
	if f.breaker.file != "" {
		s.Declared = fmt.Sprintf("The numbers are those of %s, instance %s.", f.breaker.file, f.breaker.instance)
	}
	s.Notes = notes(c, f.breaker.unread)
	return s, nil
}

// notes tell what an experiment does not say of a breaker.
func notes(c breakerref.Config, unread []string) []string {
	var out []string
	if c.AutoHalfOpen {
		out = append(out, "It goes half-open by itself when the wait is over; only reported_state_agrees can tell.")
	}
	if c.HalfOpenMaxWait >= time.Millisecond {
		out = append(out, fmt.Sprintf("It stays half-open for at most %s.", yamldoc.FormatDuration(c.HalfOpenMaxWait)))
	}
	if len(unread) > 0 {
		out = append(out, fmt.Sprintf("The file also has %s of this instance, of which nothing is asserted here.", strings.Join(unread, ", ")))
	}
	return out
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// nameOf makes a name of an experiment out of that of an instance.
func nameOf(instance string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, instance), "-_")
}

// headersOf reads headers as they are written on a command line.
func headersOf(lines []string) (map[string]string, error) {
	out := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("--header %s: is not written 'Name: value'", line)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

// commandWords splits a command at its blanks, but not in quotes.
func commandWords(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%s: a quote is not closed", line)
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}

// atTerminal reports whether somebody can be asked.
func (a app) atTerminal() bool {
	in, ok := a.stdin.(*os.File)
	if !ok {
		return false
	}
	_, terminal := terminalWidth(in)
	return terminal
}

// interview asks for what the flags do not say.
func (a app) interview(f *initFlags) error {
	in := bufio.NewScanner(a.stdin)
	ask := func(question string, into *string) {
		if *into != "" {
			return
		}
		_, _ = fmt.Fprint(a.stderr, question+" ")
		if in.Scan() {
			*into = strings.TrimSpace(in.Text())
		}
	}
	ask("Address of a call to your service that needs the dependency, such as http://127.0.0.1:8080/checkout:", &f.url)
	if f.url == "" {
		return errors.New("without an address there is no experiment; add --url, as in --url http://127.0.0.1:8080/checkout")
	}
	ask("A text that only good answers to it have (empty: every 200 is good):", &f.primary)
	ask("A text that only the fallback's answers have (empty: there is no fallback):", &f.fallback)
	if len(f.breaker.given) == 0 {
		ask("The application.yml with Resilience4j's configuration (empty: there is none):", &f.breaker.file)
	}
	if f.breaker.file != "" {
		ask("The breaker's name in it (empty: the only one):", &f.breaker.instance)
	}
	ask("The command that starts your service (empty: it runs already):", &f.command)
	if f.command != "" {
		ask("The environment variable that tells it the dependency's URL (empty: none, it calls http://"+f.injector+"):", &f.env)
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read the answers: %w", err)
	}
	return nil
}
