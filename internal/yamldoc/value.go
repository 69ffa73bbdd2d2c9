package yamldoc

import (
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

// Line is where the value stands, or, when it is absent, what should hold it.
func (v Value) Line() int { return v.at.Line }

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
