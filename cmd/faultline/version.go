package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
)

// buildInfo is what the linker knows of this program.
type buildInfo struct {
	version  string // of the module, such as v0.1.0
	commit   string
	modified bool // built from a tree with changes that are not committed
}

func readBuild() buildInfo {
	b := buildInfo{version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

// toolVersion is what reports and traces name as the tool that made them.
func toolVersion() string { return readBuild().version }

func (a app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print faultline's version, its commit and the Go version it was built with",
		Example: "  faultline version",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			commit := b.commit
			if commit == "" {
				commit = "unknown (built without version control information)"
			}
			if b.modified {
				commit += " (modified)"
			}
			_, err := fmt.Fprintf(a.stdout, "faultline %s\ncommit    %s\ngo        %s %s/%s\n",
				b.version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err != nil {
				return exit(report.ExitInconclusive, fmt.Errorf("print the version: %w", err))
			}
			return nil
		},
	}
}

// noArguments refuses arguments to a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, got %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}
