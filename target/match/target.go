package match

import (
	"math/bits"
	"slices"
)

// Target is one kind of request that the load sends to the SUT.
type Target struct {
	Name      string            `json:"name" yaml:"name"`
	Method    string            `json:"method" yaml:"method"`
	Path      string            `json:"path" yaml:"path"` // path and query, joined to the SUT's base URL
	Headers   map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	Body      string            `json:"body,omitempty" yaml:"body,omitempty"`
	Weight    int               `json:"weight" yaml:"weight"`
	DependsOn []string          `json:"depends_on" yaml:"depends_on"` // names of injectors
}

// Depends reports whether the target's calls reach the injector.
func (t Target) Depends(injector string) bool { return slices.Contains(t.DependsOn, injector) }

// Pick chooses one of the targets by weight; none at all means equal ones. It
// depends on nothing but 64 random bits, so a run can be repeated and foretold.
func Pick(targets []Target, random uint64) Target {
	total := uint64(0)
	for _, t := range targets {
		total += uint64(t.Weight)
	}
	if total == 0 {
		at, _ := bits.Mul64(random, uint64(len(targets)))
		return targets[at]
	}
	at, _ := bits.Mul64(random, total)
	i := slices.IndexFunc(targets, func(t Target) bool {
		if at < uint64(t.Weight) {
			return true
		}
		at -= uint64(t.Weight)
		return false
	})
	return targets[i]
}
