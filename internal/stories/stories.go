// Package stories plays the data-driven stories of a package's tests.
package stories

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Commands are the first words of stanzas, with what each does to the state of a file's
// story, and answers.
type Commands[S any] map[string]func(*S, *testing.T, *datadriven.TestData) string

// Play plays every file testdata/*.txt, each from a new state, as a subtest of its own.
// There has to be one. A stanza that no command is for fails.
func Play[S any](t *testing.T, commands Commands[S]) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there are no stories")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var state S
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				run, known := commands[d.Cmd]
				if !known {
					d.Fatalf(t, "unknown command %q, it must be one of %s", d.Cmd, strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
				}
				return run(&state, t, d)
			})
		})
	}
}
