package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments/calibrate"
)

// calibrateFlags are the flags of calibrate.
type calibrateFlags struct {
	sockets bool
	format  choice
}

func (a app) calibrateCommand() *cobra.Command {
	f := calibrateFlags{format: choice{formatText, []string{formatText, formatJSON}}}
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Prove that right services pass and that every known defect is named",
		Long: `calibrate judges services whose truth is known, in virtual time: every experiment
of the catalogue with a service that is right, several times, which has to pass;
and services with one named defect each, which a rule that names the defect has
to fail. It prints which experiments caught which defect, how many of those that
could have, and what was missed. It takes some seconds and opens no port.

With --sockets the same is done over loopback, with a dozen of the defects and
the reference service in this process. That takes minutes. What a busy machine
leaves undecided is counted, and is neither missed nor a false alarm.

Exit codes: 0 every defect is caught without a false alarm, 1 one was missed or
an alarm was false, 2 bad usage, 3 something could not be decided, or stopped
before the end.`,
		Example: `  faultline calibrate
  faultline calibrate --format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit(a.untilSignal(cmd.Context(), "stopping; once more to stop at once", func(ctx context.Context) int {
				return a.runCalibrate(ctx, f)
			}), nil)
		},
	}
	cmd.Flags().BoolVar(&f.sockets, "sockets", false, "a dozen defects over real sockets, in place of all in virtual time")
	cmd.Flags().Var(&f.format, "format", "what goes to standard output")
	return cmd
}

// runCalibrate returns the exit code.
func (a app) runCalibrate(ctx context.Context, f calibrateFlags) int {
	meter := a.meter()
	opt := calibrate.Options{Tool: toolVersion(), Progress: meter.show}
	carry := calibrate.Run
	if f.sockets {
		carry = calibrate.RunSockets
	}
	r, err := carry(ctx, opt)
	meter.done()
	if err != nil {
		a.say("faultline: %v", err)
		return report.ExitInconclusive
	}
	write := r.WriteText
	if f.format.word == formatJSON {
		write = r.WriteJSON
	}
	if err := write(a.stdout); err != nil {
		a.say("faultline: %v", err)
		return report.ExitInconclusive
	}
	switch {
	case len(r.Missed()) > 0 || r.FalseAlarms > 0:
		return report.ExitFail
	case r.Inconclusive > 0:
		return report.ExitInconclusive
	}
	return report.ExitPass
}

// meter tells a person how much of something is done: on a terminal by one line that is
// written anew, elsewhere by a line for each tenth.
type meter struct {
	w      io.Writer
	screen screen
	from   time.Time
	tenth  int
	drawn  time.Time
}

// meter returns one that has begun.
func (a app) meter() *meter {
	return &meter{w: a.stderr, screen: a.screenOf(a.stderr, true), from: time.Now()}
}

// show is told after each step.
func (m *meter) show(done, of int) {
	now := time.Now()
	line := fmt.Sprintf("  %d of %d runs, %s", done, of, now.Sub(m.from).Round(time.Second))
	switch tenth := 10 * done / of; {
	case m.screen.terminal && now.Sub(m.drawn) > 100*time.Millisecond:
		_, _ = io.WriteString(m.w, eraseLine+line) // Standard error may lead nowhere.
		m.drawn = now
	case !m.screen.terminal && tenth > m.tenth:
		_, _ = io.WriteString(m.w, line+"\n")
		m.tenth = tenth
	}
}

// done removes the line.
func (m *meter) done() {
	if !m.drawn.IsZero() {
		_, _ = io.WriteString(m.w, eraseLine)
	}
}
