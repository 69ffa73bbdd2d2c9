package match

import (
	"slices"
)

// Unclassified is the class of an answer that no class matched.
const Unclassified = "unclassified"

// The classes that rules give a meaning to. Others may be declared freely.
const (
	ClassPrimary  = "primary"
	ClassFallback = "fallback"
	ClassRejected = "rejected"
)

// Class describes one kind of answer; every part that is given must hold.
type Class struct {
	Name     string            `json:"name" yaml:"name"`
	Status   []int             `json:"status,omitempty" yaml:"status,omitempty"`     // any of these
	Header   map[string]string `json:"header,omitempty" yaml:"header,omitempty"`     // all of these values, but for upper and lower case; an empty one means none
	Contains []string          `json:"contains,omitempty" yaml:"contains,omitempty"` // all of these substrings in the body
	Regex    []string          `json:"regex,omitempty" yaml:"regex,omitempty"`       // all of these RE2 expressions match somewhere in the body
	JSONPath map[string]any    `json:"jsonpath,omitempty" yaml:"jsonpath,omitempty"` // RFC 9535 queries: some node of each is the value: string, float64, bool or nil
}

// StatusOnly reports whether nothing but the status tells this class.
func (c Class) StatusOnly() bool { return len(c.Header) == 0 && !c.needBody() }

// needBody reports whether the class looks into the body.
func (c Class) needBody() bool {
	return len(c.Contains) > 0 || len(c.Regex) > 0 || len(c.JSONPath) > 0
}

// Classes are tried in order; the first that matches wins.
type Classes []Class

// Find returns the class with this name.
func (cs Classes) Find(name string) (Class, bool) {
	i := slices.IndexFunc(cs, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return Class{}, false
	}
	return cs[i], true
}
