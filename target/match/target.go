package match

import "slices"

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
