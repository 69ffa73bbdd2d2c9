package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments/predict"
)

// planFlags are the flags of plan.
type planFlags struct {
	seed      seed
	seedGiven bool
	sets      []string
	format    choice
	noColor   bool
}

func (a app) planCommand() *cobra.Command {
	f := planFlags{seed: defaultSeed, format: choice{formatText, []string{formatText, formatJSON}}}
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Say what an experiment will do, and whether it can decide its assertions",
		Long: `plan reads an experiment and says what a run of it would come to: the timeline,
the calls that will be sent, how long it will take, and of each assertion whether
this load can decide it. It touches nothing: it sends no call, opens no port,
starts no service and writes no file. It takes well under a second.

For that it plays the experiment in virtual time, first with a service that does
what the file declares, which every assertion should pass, then with services
that are wrong in just what an assertion is about, which it should fail. What it
says of an assertion:

  can be decided       it passes the right service and fails the wrong ones
  cannot be decided    the load shows too little even of the right service
  would not notice     it does not fail a wrong service, which is named
  contradicts          it fails a service that does what the file declares
  cannot be predicted  the file does not say what that depends on

Exit codes: 0 all assertions can be decided, 2 bad usage or definition, 3 some
cannot.`,
		Example: `  faultline plan experiments/quickstart.yaml
  faultline plan --set load.rate=20/s experiments/quickstart.yaml
  faultline plan --format json --seed 7 experiments/quickstart.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("plan needs one experiment file, as in: faultline plan experiments/quickstart.yaml")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			f.seedGiven = cmd.Flags().Changed("seed")
			return a.planFile(f, files[0])
		},
	}
	flags := cmd.Flags()
	flags.Var(&f.seed, "seed", "seed `N` of everything random; wins over the one in the experiment")
	flags.StringArrayVar(&f.sets, "set", nil, "change `PATH=VALUE` in the experiment before it is read, as breakers.payments.wait=2s; may be given again")
	flags.Var(&f.format, "format", "what goes to standard output")
	flags.BoolVar(&f.noColor, "no-color", false, "no colours, also on a terminal (as the variable NO_COLOR)")
	return cmd
}

// planFile predicts one experiment.
func (a app) planFile(f planFlags, file string) error {
	plan, err := loadFile(file, f.sets)
	if err != nil {
		a.say("%v", err)
		return exit(report.ExitDefinition, errors.New("the experiment is not usable"))
	}
	if f.seedGiven {
		plan.Seed = uint64(f.seed)
	}
	forecast, err := predict.Of(plan)
	if err != nil {
		return exit(report.ExitDefinition, fmt.Errorf("%s: %w", file, err))
	}
	if err := a.writeForecast(f, forecast); err != nil {
		return exit(report.ExitInconclusive, err)
	}
	if forecast.Undecided() > 0 {
		return exit(report.ExitInconclusive, nil)
	}
	return nil
}

// writeForecast writes a forecast as it was asked for.
func (a app) writeForecast(f planFlags, forecast *predict.Forecast) error {
	if f.format.word == formatJSON {
		return forecast.WriteJSON(a.stdout)
	}
	screen := a.screenOf(a.stdout, f.noColor)
	width := screen.width
	if !screen.terminal {
		width = planWidth
	}
	return forecast.WriteText(a.stdout, report.TextOptions{Width: width, Color: screen.color, ASCII: screen.ascii})
}

// planWidth is the width of a forecast that goes to no terminal.
const planWidth = 80
