package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Property is a scalar somewhere in a document, by the dotted key that Spring's
// property sources give it: mappings within mappings and dots within keys are the same,
// items of lists have their index in brackets, as in "a.b.names[0]". Of SpringProperties, so
// have keys that YAML 1.1 takes for a number or a truth.
type Property struct {
	Key   string
	Value string // as written; of SpringProperties as Java writes it: 8 for 010
	Type  Type   // of SpringProperties
	Again bool   // its key, or one above it, stands a second time in its mapping
	Tag   string // that is written, such as "!!str" or "!mine"
	At    Pos    // of the value
}

// Properties reads a file as lists of properties, one for each document in it, for
// those who cannot demand a strict file: the configuration of another program, of which
// only a part is theirs. Values and keys are as written, empty ones are left out, tags,
// merge keys and duplicate keys are not looked at. The error is [Problems]: the file is not
// YAML, or its aliases expand too far.
func Properties(file string, src []byte) ([][]Property, error) { return properties(file, src, false) }

// SpringProperties reads a file as Spring Boot does, in YAML 1.1: an empty value, and an
// empty list, has an empty text; an empty mapping has nothing. Merge keys (<<) are followed,
// tags are told but not obeyed. The error is that of [Properties].
func SpringProperties(file string, src []byte) ([][]Property, error) {
	return properties(file, src, true)
}

func properties(file string, src []byte, spring bool) ([][]Property, error) {
	d := &Doc{file: file}
	var docs [][]Property
	for dec := yaml.NewDecoder(bytes.NewReader(src)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		switch {
		case errors.Is(err, io.EOF):
			return docs, d.Err()
		case err != nil:
			d.syntax(src, err)
			return nil, d.Err()
		}
		w := flatten{left: maxValues, spring: spring}
		w.node("", n.Content[0])
		if w.left < 0 {
			d.add(Pos{n.Line, n.Column}, "", "aliases make this document expand to more than "+strconv.Itoa(maxValues)+" values")
			return nil, d.Err()
		}
		docs = append(docs, w.out)
	}
}

// flatten collects the scalars below a node.
type flatten struct {
	out    []Property
	left   int  // values that may still come
	again  bool // below a key that its mapping has for the second time
	spring bool // as Spring Boot reads it, else as written
}

// mapping collects what is below the keys of a mapping that are not among the given ones,
// and then what it merges.
func (w *flatten) mapping(key string, n *yaml.Node, seen map[string]bool) {
	own, before := map[string]bool{}, w.again
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		switch {
		case name.Kind == yaml.ScalarNode && name.Value == "<<" && name.Style == 0:
			merged = append(merged, n.Content[i+1])
		case !seen[keyText(name)]:
			w.again = before || own[keyText(name)]
			own[keyText(name)] = true
			w.node(dotted(key, keyText(name)), n.Content[i+1])
		}
	}
	w.again = before
	maps.Copy(seen, own)
	for _, m := range merged {
		w.merge(key, m, seen)
	}
}

// merge collects what a mapping, or a list of them, has beyond the keys that were seen.
func (w *flatten) merge(key string, n *yaml.Node, seen map[string]bool) {
	if w.left--; w.left < 0 {
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		w.merge(key, n.Alias, seen)
	case yaml.SequenceNode:
		for _, m := range n.Content {
			w.merge(key, m, seen)
		}
	case yaml.MappingNode:
		w.mapping(key, n, seen)
	case yaml.DocumentNode, yaml.ScalarNode:
	}
}

func (w *flatten) node(key string, n *yaml.Node) {
	if w.left--; w.left < 0 {
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		w.node(key, n.Alias)
	case yaml.MappingNode:
		if w.spring {
			w.mapping(key, n, map[string]bool{})
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			w.node(dotted(key, n.Content[i].Value), n.Content[i+1])
		}
	case yaml.SequenceNode:
		if len(n.Content) == 0 && w.spring {
			w.out = append(w.out, Property{Key: key, At: Pos{n.Line, n.Column}})
		}
		for i, item := range n.Content {
			w.node(key+"["+strconv.Itoa(i)+"]", item)
		}
	case yaml.ScalarNode:
		p := Property{Key: key, Value: n.Value, Again: w.again, At: Pos{n.Line, n.Column}}
		switch {
		case !w.spring && isNull(n):
			return
		case !w.spring:
		case n.Style&yaml.TaggedStyle != 0:
			p.Tag = n.Tag
			p.Value, p.Type = tagged(n)
		case n.Style == 0:
			p.Value, p.Type = resolve(n.Value)
		}
		w.out = append(w.out, p)
	case yaml.DocumentNode:
	}
}

// dotted joins a key to what it is below. One in brackets stands beside it without a dot.
func dotted(above, key string) string {
	if above == "" || strings.HasPrefix(key, "[") {
		return above + key
	}
	return above + "." + key
}

// keyText is a key in the words of Spring.
func keyText(n *yaml.Node) string {
	if n.Style == 0 {
		if text, t := resolve(n.Value); t != TypeText {
			return "[" + text + "]"
		}
	}
	return n.Value
}

// tagged is a scalar with a tag: of YAML's own, that of text makes text of everything.
func tagged(n *yaml.Node) (string, Type) {
	if n.Tag == "!!str" || n.Style&^yaml.TaggedStyle != 0 {
		return n.Value, TypeText
	}
	return resolve(n.Value)
}
