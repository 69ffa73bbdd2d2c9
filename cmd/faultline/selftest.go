package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/injector/selftest"
)

// selftestFlags are the flags of selftest.
type selftestFlags struct {
	seed   seed
	format choice
}

func (a app) selftestCommand() *cobra.Command {
	f := selftestFlags{seed: defaultSeed, format: choice{formatText, []string{formatText, formatJSON}}}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove on this host that each fault is on the wire what it says",
		Long: `selftest plays every fault in turn, on loopback, to an observer that reads the
socket itself, and prints what the fault promises (bytes, RST, FIN or nothing,
and not before when) and what the observer saw. It believes neither the sender
nor a client library. What this system cannot do is named; an experiment that
asks for it is refused. It takes about half a minute. In JSON, each contract has ok,
fault, protocol, expected and observed.

Exit codes: 0 every contract holds, 1 one is broken, 2 bad usage, 3 stopped
before the end.`,
		Example: `  faultline selftest
  faultline selftest --format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit(a.untilSignal(cmd.Context(), "stopping; once more to stop at once", func(ctx context.Context) int {
				return a.runSelftest(ctx, f)
			}), nil)
		},
	}
	cmd.Flags().Var(&f.seed, "seed", "seed `N` of everything random")
	cmd.Flags().Var(&f.format, "format", "what goes to standard output")
	return cmd
}

// runSelftest returns the exit code.
func (a app) runSelftest(ctx context.Context, f selftestFlags) int {
	code := report.ExitPass
	results := []selftest.Result{}
	tally := struct{ held, broken, unsupported int }{}
	err := selftest.Run(ctx, uint64(f.seed), func(r selftest.Result) {
		results = append(results, r)
		switch {
		case r.OK:
			tally.held++
		case r.Unsupported != "":
			tally.unsupported++
		default:
			tally.broken++
			code = report.ExitFail
		}
		if f.format.word == formatText {
			_, _ = io.WriteString(a.stdout, contractLines(r)) // The verdict is the exit code's, too.
		}
	})
	if f.format.word == formatJSON {
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		if writeErr := out.Encode(map[string]any{"contracts": results}); err == nil {
			err = writeErr
		}
	} else {
		_, _ = fmt.Fprintf(a.stdout, "\n%d contracts hold, %d are broken, %d are of what this system cannot do\n", tally.held, tally.broken, tally.unsupported)
	}
	if err != nil {
		a.say("faultline: %v", err)
		return report.ExitInconclusive
	}
	return code
}

// contractLines tell of a contract.
func contractLines(r selftest.Result) string {
	switch {
	case r.OK:
		return fmt.Sprintf("ok      %-9s %s\n        expected  %s\n        observed  %s\n", r.Protocol, r.Fault, r.Expected, r.Observed)
	case r.Unsupported != "":
		return fmt.Sprintf("cannot  %-9s %s\n        %s\n", r.Protocol, r.Fault, r.Unsupported)
	}
	return fmt.Sprintf("BROKEN  %-9s %s\n        expected  %s\n        observed  %s\n", r.Protocol, r.Fault, r.Expected, r.Observed)
}
