package match

import (
	"bytes"
	"slices"
	"strings"
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
func (c Class) StatusOnly() bool { return len(c.Header) == 0 && len(c.Contains) == 0 }

// matches reports whether an answer is of this class. How names of headers are
// spelt is the business of header.
func (c Class) matches(status int, header func(string) string, body []byte) bool {
	if len(c.Status) > 0 && !slices.Contains(c.Status, status) {
		return false
	}
	for k, v := range c.Header {
		if !strings.EqualFold(header(k), v) {
			return false
		}
	}
	for _, s := range c.Contains {
		if !bytes.Contains(body, []byte(s)) {
			return false
		}
	}
	return true
}

// Classes are tried in order; the first that matches wins.
type Classes []Class

// Classify names the class of an answer, or Unclassified. header returns the
// value of a header by its name, however that is spelt, or nothing, as
// http.Header.Get does.
func (cs Classes) Classify(status int, header func(string) string, body []byte) string {
	for _, c := range cs {
		if c.matches(status, header, body) {
			return c.Name
		}
	}
	return Unclassified
}

// NeedBody reports whether any class looks into the body.
func (cs Classes) NeedBody() bool {
	return slices.ContainsFunc(cs, func(c Class) bool { return len(c.Contains) > 0 })
}

// Find returns the class with this name.
func (cs Classes) Find(name string) (Class, bool) {
	i := slices.IndexFunc(cs, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return Class{}, false
	}
	return cs[i], true
}
