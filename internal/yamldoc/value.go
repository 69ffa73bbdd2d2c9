package yamldoc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Value is a value of a document, or the absence of one.
type Value struct {
	doc    *Doc
	node   *yaml.Node // aliases followed; nil: absent
	at     Pos        // of the value; when it is absent, of what should hold it
	path   string
	schema string // the path without indices and names, see Key
	in     *Map   // the mapping that has it as a key, or should have it
	key    string // that key
}

// here makes a value stand at its node.
func (v Value) here() Value {
	if v.node == nil {
		return v
	}
	if v.node.Kind == yaml.AliasNode {
		v.node = v.node.Alias
	}
	v.at = Pos{v.node.Line, v.node.Column}
	return v
}

// Exists reports whether the document has the value.
func (v Value) Exists() bool { return v.node != nil }

// IsMap reports whether the value is a mapping, for a key that may have one or
// something shorter.
func (v Value) IsMap() bool { return v.node != nil && v.node.Kind == yaml.MappingNode }

// Line is where the value stands, or, when it is absent, what should hold it; 0 for
// what [Doc.Set] put there.
func (v Value) Line() int { return max(0, v.at.Line) }

// Place says where the value stands, as in "line 3"; of what [Doc.Set] put there, by
// which assignment.
func (v Value) Place() string { return v.doc.place(v.at) }

// Problemf notes a problem with the value. A problem with the absence of a key is
// taken back if the key turns out to be misspelt, see [Map.Done].
func (v Value) Problemf(format string, args ...any) {
	i := v.doc.add(v.at, v.path, fmt.Sprintf(format, args...))
	if v.in != nil && !v.in.Has(v.key) {
		v.in.lack(i, v.key)
	}
}

// List returns the items of a list; none when the value is absent or not a list.
func (v Value) List() []Value {
	if v.node == nil {
		return nil
	}
	if v.node.Kind != yaml.SequenceNode {
		v.wants("a list")
		return nil
	}
	items := make([]Value, len(v.node.Content))
	for i, n := range v.node.Content {
		items[i] = Value{
			doc: v.doc, node: n,
			path:   v.path + "[" + strconv.Itoa(i) + "]",
			schema: v.schema + "[]",
		}.here()
	}
	return items
}

// Items is List for a list that must not be empty. A single scalar may stand
// without brackets.
func (v Value) Items() []Value {
	if v.node != nil && v.node.Kind == yaml.ScalarNode && !isNull(v.node) {
		return []Value{v}
	}
	items := v.List()
	if v.node != nil && v.node.Kind == yaml.SequenceNode && len(items) == 0 {
		v.Problemf("is an empty list; it needs at least one item")
	}
	return items
}

// Text returns a scalar as it is written, numbers and the like included.
func (v Value) Text(def string) string {
	s, ok := v.Scalar("text")
	if !ok {
		return def
	}
	return s
}

// NonEmpty returns a scalar as it is written. It is empty only when the value is
// absent or a problem was noted.
func (v Value) NonEmpty() string {
	s, ok := v.Scalar("text")
	if ok && s == "" {
		v.Problemf("is empty")
	}
	return s
}

// OneOf returns a text that must be one of the words.
func (v Value) OneOf(def string, words ...string) string {
	s, ok := v.Scalar("one of " + strings.Join(words, ", "))
	if !ok {
		return def
	}
	if !slices.Contains(words, s) {
		v.Problemf("%q is not known here%s", s, Hint(s, words))
		return def
	}
	return s
}

// Scalar returns the text of a scalar. Where it is absent or not a scalar there is
// none, and the latter is a problem, which says what is wanted.
func (v Value) Scalar(want string) (string, bool) {
	if v.node == nil {
		return "", false
	}
	if v.node.Kind != yaml.ScalarNode || isNull(v.node) {
		v.wants(want)
		return "", false
	}
	return v.node.Value, true
}

// wants notes that the value is of another type.
func (v Value) wants(want string) {
	if isNull(v.node) {
		v.Problemf("is empty; it wants %s", want)
		return
	}
	if want == "text" && v.node.Kind == yaml.MappingNode { // As {{sut.port}} or {"a": 1} without quotes.
		want = "text, in quotes"
	}
	v.Problemf("wants %s, not %s", want, describe(v.node))
}

// describe says what a node is to somebody who reads it.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.AliasNode, yaml.ScalarNode:
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return "quoted text"
	}
	return strconv.Quote(n.Value)
}

// Plain returns the value as JSON has it, for what does not read it key by key:
// map[string]any, []any, string, json.Number, bool or nil. What is no number of
// JSON is a string. Aliases are followed.
func (v Value) Plain() any { return plain(v.node) }

func plain(n *yaml.Node) any {
	switch {
	case n == nil || isNull(n):
		return nil
	case n.Kind == yaml.AliasNode:
		return plain(n.Alias)
	case n.Kind == yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = plain(item)
		}
		return list
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	}
	tag := n.ShortTag()
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case n.Value == "true" || n.Value == "false":
		return n.Value == "true"
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(n.Value)):
		return json.Number(n.Value)
	}
	return n.Value
}
