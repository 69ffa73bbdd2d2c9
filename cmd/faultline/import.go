package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/imports"
)

func (a app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Turn the faults of Toxiproxy or of a service mesh into faults of an experiment",
		Long: `import reads the faults of an Istio VirtualService or of Envoy's HTTP fault
filter, with whatever stands around them, and prints them as the faults of a
phase, to be pasted into an experiment. Of proxies of Toxiproxy (a file for its
-config and /populate, or what its API answers) it prints injectors that pass
connections on, too. What has no equivalent is told on standard error, line by
line; a condition that cannot be kept is refused, as other requests would be hit
without it.

Toxiproxy draws by chance whether a toxic hits a connection; here a toxicity of
0.2 is exactly one connection in five.

A mesh draws delay and abort by chance, each by itself; here the shares are
exact, and are hit as often together as chance would have it. A mesh injects on
the caller's side, before its retries; faultline is the dependency, so that the
caller's retries, timeouts and breakers see the faults.

Exit codes: 0 imported, 2 bad usage or file.`,
		Example: `  faultline import virtual-service.yaml
  faultline import envoy.json
  faultline import toxiproxy.json`,
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
	got, err := imports.File(file, src)
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	for _, n := range got.Notes {
		a.say("%s:%s", file, n)
	}
	out, err := marshalImported(file, got)
	if err == nil {
		_, err = a.stdout.Write(out)
	}
	if err != nil {
		return exit(report.ExitInconclusive, fmt.Errorf("import: %w", err))
	}
	return nil
}

// marshalImported writes the parts of an experiment that a file comes to.
func marshalImported(file string, got imports.Imported) ([]byte, error) {
	if len(got.Injectors) == 0 {
		return experiments.MarshalFaults("Faults of "+file, got.Rules)
	}
	all := make([]experiments.Injector, 0, len(got.Injectors))
	for _, d := range got.Injectors {
		all = append(all, experiments.Injector{
			Name: d.Name, Listen: d.Listen, TCP: &experiments.TCP{Upstream: d.Upstream, Undialled: d.Undialled},
			Script: fault.Script{Phases: map[string][]fault.Rule{d.Name: d.Rules}},
		})
	}
	return experiments.MarshalInjectors("Proxies of "+file+": injectors belong to an experiment, faults to one of its phases", all)
}
