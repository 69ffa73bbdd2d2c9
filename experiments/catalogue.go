package experiments

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// catalogue is the folder's experiments; a binary has them with it.
//
//go:embed *.yaml
var catalogue embed.FS

// Source is an experiment that is not a plan yet.
type Source struct {
	Name string // as its metadata says
	Text []byte
}

// Catalogue are the experiments that lie beside this package, by name.
func Catalogue() ([]Source, error) { return Sources(catalogue) }

// Sources are the experiments at the root of an embedded folder, by name. A file is named as
// its experiment is.
func Sources(fs embed.FS) ([]Source, error) {
	entries, err := fs.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the experiments: %w", err)
	}
	var all []Source
	for _, e := range entries {
		text, err := fs.ReadFile(e.Name())
		if err != nil {
			return nil, fmt.Errorf("read an experiment: %w", err)
		}
		all = append(all, Source{strings.TrimSuffix(e.Name(), ".yaml"), text})
	}
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
