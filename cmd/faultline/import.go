package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/imports"
)

func (a app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Turn the faults of a service mesh into faults of an experiment",
		Long: `import reads the faults of an Istio VirtualService or of Envoy's HTTP fault
filter, with whatever stands around them, and prints them as the faults of a
phase, to be pasted into an experiment. What has no equivalent is told on
standard error, line by line; a condition that cannot be kept is refused, as
other requests would be hit without it.

A mesh draws delay and abort by chance, each by itself; here the shares are
exact, and are hit as often together as chance would have it. A mesh injects on
the caller's side, before its retries; faultline is the dependency, so that the
caller's retries, timeouts and breakers see the faults.

Exit codes: 0 imported, 2 bad usage or file.`,
		Example: `  faultline import virtual-service.yaml
  faultline import envoy.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("import needs one file, as in: faultline import virtual-service.yaml")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.importFile(args[0]) },
	}
}

// importFile prints the faults of a file.
func (a app) importFile(file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return exit(report.ExitDefinition, fmt.Errorf("import: %w", err))
	}
	got, err := imports.Mesh(file, src)
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	for _, n := range got.Notes {
		a.say("%s:%s", file, n)
	}
	out, err := experiments.MarshalFaults("Faults of "+file, got.Rules)
	if err == nil {
		_, err = a.stdout.Write(out)
	}
	if err != nil {
		return exit(report.ExitInconclusive, fmt.Errorf("import: %w", err))
	}
	return nil
}
