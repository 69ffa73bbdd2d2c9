package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
)

func (a app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files, for editors",
		Long: `schema prints the format of experiment files as a JSON Schema (2020-12). An
editor that knows YAML then completes keys, shows what they mean and marks what
is no experiment. Keep it in a file, and name that in the first line of each
experiment:

  # yaml-language-server: $schema=experiment.schema.json

What no run could decide (a fault that never fires, a name that is not there)
only run tells.`,
		Example: "  faultline schema",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			schema, err := experiments.Schema()
			if err == nil {
				_, err = a.stdout.Write(schema)
			}
			if err != nil {
				return exit(report.ExitInconclusive, fmt.Errorf("print the schema: %w", err))
			}
			return nil
		},
	}
}
