package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"faultline": main, "service": service, "bare": bare})
}

// The scripts run the built program, because exit codes and signals are those of
// a process.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"good.yaml", "bad.yaml", "undecided.yaml", "deaf.yaml"} {
				data, err := os.ReadFile("testdata/" + name)
				if err != nil {
					return err
				}
				if err := os.WriteFile(env.WorkDir+"/"+name, data, 0o644); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits CODE PROGRAM ARGS... runs a program that must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// call runs a command line in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestUsage(t *testing.T) {
	folder := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		code int
		say  string // on standard error, or on standard output when the code is 0
	}{
		{"nothing", nil, 2, "faultline run experiments/quickstart.yaml"},
		{"help", []string{"--help"}, 0, "Available Commands:"},
		{"help of a command", []string{"help", "run"}, 0, "faultline run FILE..."},
		{"help of what is none", []string{"help", "runn"}, 2, `faultline has no command "runn"; did you mean faultline run?`},
		{"unknown command", []string{"rnu", "x.yaml"}, 2, `faultline has no command "rnu"; did you mean faultline run?`},
		{"unknown flag", []string{"run", "--sed", "3", "x.yaml"}, 2, "did you mean --seed?\nSee faultline run --help"},
		{"unknown flag far from all", []string{"run", "--xyzzy"}, 2, "See faultline run --help"},
		{"unknown letter", []string{"run", "-x"}, 2, "See faultline run --help"},
		{"no file", []string{"run"}, 2, "run needs an experiment file, as in: faultline run experiments/quickstart.yaml"},
		{"no such file", []string{"run", "no/such.yaml"}, 2, "no/such.yaml: no such file; check the name"},
		{"a folder", []string{"run", folder}, 2, folder + ": is a folder; name the experiment files in it"},
		{"format", []string{"run", "--format", "github", "x.yaml"}, 2, "allowed are text and json"},
		{"policy", []string{"run", "--inconclusive", "pass", "x.yaml"}, 2, "allowed are fail and skip"},
		{"seed", []string{"run", "--seed", "-1", "x.yaml"}, 2, `invalid argument "-1" for "--seed" flag: write a whole number from 0 to 18446744073709551615, as 42`},
		{"seed in words", []string{"run", "--seed", "abc", "x.yaml"}, 2, `"abc" for "--seed" flag: write a whole number from 0 to`},
		{"seed too large", []string{"run", "--seed", "18446744073709551616", "x.yaml"}, 2, "write a whole number from 0 to 18446744073709551615"},
		{"junit that cannot be written", []string{"run", "--junit", folder + "/" + strings.Repeat("x", 300), "testdata/good.yaml"}, 2, "name a file that can be written"},
		{"junit below a file", []string{"run", "--junit", "testdata/good.yaml/junit.xml", "testdata/good.yaml"}, 2, "--junit testdata/good.yaml/junit.xml: "},
		{"version", []string{"version"}, 0, "go        go1."},
		{"version takes nothing", []string{"version", "x"}, 2, "takes no arguments"},
		{"version as a flag", []string{"--version"}, 0, "faultline version "},
		{"completion", []string{"completion", "bash"}, 0, "bash completion"},
		{"target without upstream", []string{"target"}, 2, "faultline target --upstream http://127.0.0.1:9901"},
		{"target on all interfaces", []string{"target", "--listen", ":0", "--upstream", "http://127.0.0.1:1"}, 2, "loopback only"},
		{"target on another interface", []string{"target", "--listen", "192.0.2.1:80", "--upstream", "http://127.0.0.1:1"}, 2, "loopback only"},
		{"target nowhere", []string{"target", "--listen", "here", "--upstream", "http://127.0.0.1:1"}, 2, "write host:port"},
		{"target with an address for a URL", []string{"target", "--upstream", "127.0.0.1:1"}, 2, "write the dependency's URL"},
		{"target with a query", []string{"target", "--upstream", "http://127.0.0.1:1/a?b=c"}, 2, "write the base URL only, as http://127.0.0.1:1/a\n"},
		{"target with an empty query", []string{"target", "--upstream", "http://127.0.0.1:1?"}, 2, "write the base URL only, as http://127.0.0.1:1\n"},
		{"target with a fragment", []string{"target", "--upstream", "http://127.0.0.1:1/a#b"}, 2, "write the base URL only"},
		{"target with a user", []string{"target", "--upstream", "http://me:secret@127.0.0.1:1"}, 2, "--upstream http://me:xxxxx@127.0.0.1:1: "},
		{"target with a number in words", []string{"target", "--minimum-calls", "ten"}, 2, `invalid argument "ten" for "--minimum-calls" flag: write a whole number, as 10`},
		{"target without units", []string{"target", "--wait", "5"}, 2, "5 has no unit"},
		{"target with a bad share", []string{"target", "--failure-rate", "0.5"}, 2, "percent"},
		{"target with a bad window", []string{"target", "--window", "1500ms"}, 2, "of whole seconds, as 10s"},
		{"target with a bad status", []string{"target", "--fallback-status", "99", "--upstream", "http://127.0.0.1:1"}, 2, "from 200 to 599"},
		{"all that is wrong at once", []string{"target", "--listen", ":1", "--upstream", "x", "--minimum-calls", "0"}, 2, "--minimum-calls 0: write a number from 1 to 2147483647"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := call(tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, stdout, stderr)
			}
			said, silent := stderr, stdout
			if tt.code == 0 {
				said, silent = stdout, stderr
			}
			if !strings.Contains(said, tt.say) {
				t.Errorf("%q is missing in:\n%s", tt.say, said)
			}
			if silent != "" {
				t.Errorf("the other stream is not silent:\n%s", silent)
			}
			if strings.Contains(stderr, "strconv") || strings.Contains(stderr, "secret") {
				t.Errorf("this is not for people:\n%s", stderr)
			}
		})
	}
}

// A port that is taken is named, with a way out; it is no bad usage.
func TestTargetOnATakenPort(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call("target", "--listen", l.Addr().String(), "--upstream", "http://127.0.0.1:1")
	if code != 3 || stdout != "" {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	for _, want := range []string{"port " + port + " is taken", "choose another with --listen"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing in:\n%s", want, stderr)
		}
	}
}

// No timeout is said in words, since 0s could be taken for none at all.
func TestTargetWithoutTimeout(t *testing.T) {
	for timeout, want := range map[timespan]string{0: "none: waits for the dependency without end", timespan(2e9): "2s"} {
		f := targetFlags{timeout: timeout}
		if got := f.describe("http://127.0.0.1:1", proxy.Config{}); !strings.Contains(got, "  timeout          "+want+"\n") {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// Every command shows how it is used, and what it shows are command lines that it
// takes.
func TestExamples(t *testing.T) {
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "faultline" {
				t.Errorf("%s: not a command line: %q", cmd.CommandPath(), line)
				continue
			}
			found, rest, err := app{}.root().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %q: %v", cmd.CommandPath(), line, err)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(app{}.root())
}

// What help says of flags stands beside them, also on a narrow screen.
func TestHelpOfFlagsIsNarrow(t *testing.T) {
	for _, cmd := range (app{}).root().Commands() {
		_, help, _ := call(cmd.Name(), "--help")
		_, flags, _ := strings.Cut(help, "\nFlags:\n")
		for line := range strings.Lines(flags) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 105 {
				t.Errorf("faultline %s --help: a line of %d characters: %s", cmd.Name(), n, line)
			}
		}
	}
}
