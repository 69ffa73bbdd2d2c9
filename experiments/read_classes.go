package experiments

import (
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// classify reads the classes of answers, in the order of the file.
func (r *reader) classify(v yamldoc.Value) {
	for _, e := range v.Map("{NAME: {contains: PAID}}").Entries() {
		c := match.Class{Name: checkWord(e.Key, e.Name, "_-")}
		switch {
		case c.Name == match.Unclassified:
			e.Key.Problemf("is the name of what no class matches")
		case slices.Contains([]string{assert.SubjectAll, assert.SubjectShort, assert.SubjectError}, c.Name):
			e.Key.Problemf("has a meaning of its own in rules (%s.share, %s.latency); choose another name", c.Name, c.Name)
		}
		r.plan.Classes = append(r.plan.Classes, marks(e.Value, c))
	}
}

// marks reads by what an answer is known to be of a class.
func marks(v yamldoc.Value, c match.Class) match.Class {
	m := v.Map("{contains: PAID}")
	defer m.Done()
	c.Header = headers(m.Get("header"))
	for _, item := range m.Get("status").Items() {
		c.Status = append(c.Status, status(item, 200))
	}
	for _, item := range m.Get("contains").Items() {
		c.Contains = append(c.Contains, item.NonEmpty())
	}
	for _, item := range m.Get("regex").Items() {
		c.Regex = append(c.Regex, expression(item))
	}
	c.JSONPath = queries(m.Get("jsonpath"))
	if m.Exists() && len(c.Status) == 0 && c.StatusOnly() {
		keys := []string{"status", "header", "contains", "regex", "jsonpath"}
		m.Lacks(m.Value, keys, "matches every answer; give it status, header, contains, regex or jsonpath")
	}
	return c
}

// reasons reads by what an answer says why it was given without the dependency.
func (r *reader) reasons(v yamldoc.Value) {
	for _, e := range v.Map("{limited: {status: 429}}").Entries() {
		c := marks(e.Value, match.Class{Name: e.Name})
		if !slices.Contains(match.Reasons(), e.Name) {
			e.Key.Problemf("is not a reason; known are %s", strings.Join(match.Reasons(), ", "))
		}
		r.plan.Reasons = append(r.plan.Reasons, c)
	}
}

// expression reads a regular expression.
func expression(v yamldoc.Value) string {
	s := v.NonEmpty()
	if err := match.CheckRegex(s); err != nil {
		v.Problemf("%v", err)
	}
	return s
}

// queries reads what is looked for in a body of JSON.
func queries(v yamldoc.Value) map[string]any {
	m := v.Map(`{"$.state": PAID}`)
	var out map[string]any
	for _, e := range m.Entries() {
		if err := match.CheckJSONPath(e.Name); err != nil {
			e.Key.Problemf("%v", err)
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[e.Name] = e.Value.JSON()
	}
	if m.Exists() && len(m.Entries()) == 0 {
		m.Problemf(`looks for nothing; give it a path and a value, as {"$.state": PAID}`)
	}
	return out
}
