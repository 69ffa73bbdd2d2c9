package yamldoc

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Set puts values into the document before it is read, each written path=value. A
// path names keys, and items of lists by their name, their id or their index, as
// breakers.payments.wait, phases.outage.duration or tags.0; the value is YAML. A
// key that is not there is put there, so that its reader finds it or finds it
// unknown; an item must be there. The value null takes a key away. Everything else keeps its position, also behind
// anchors, whose other uses keep their values. Problems, both of a path and of
// what is read from a value, are of file "--set path=value", without a line.
func (d *Doc) Set(assignments ...string) {
	for _, text := range assignments {
		d.sets = append(d.sets, text)
		if d.root != nil {
			d.set(setter{doc: d, at: Pos{Line: -len(d.sets)}}, text)
		}
	}
}

func (d *Doc) set(s setter, text string) {
	path, value, ok := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		s.problem("", "is not path=value, such as breakers.payments.wait=2s")
		return
	}
	if strings.HasPrefix(path, ".") || strings.HasSuffix(path, ".") || strings.Contains(path, "..") {
		s.problem("", "%s has an empty part; it is keys with one dot between them, as breakers.payments.wait", path)
		return
	}
	node, ok := s.parse(value)
	if !ok {
		return
	}
	if root, ok := s.put(d.root, "", path, node); ok {
		d.root = root
	}
}

// setter puts one value into a document.
type setter struct {
	doc *Doc
	at  Pos
}

func (s setter) problem(path, format string, args ...any) {
	Value{doc: s.doc, at: s.at, path: path}.Problemf(format, args...)
}

// parse reads a value, which then stands at no line of the file.
func (s setter) parse(value string) (*yaml.Node, bool) {
	var parsed yaml.Node
	if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
		s.problem("", "the value is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil, false
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	if len(parsed.Content) > 0 {
		node = parsed.Content[0]
	}
	s.place(node)
	return node, walk{doc: s.doc, sizes: map[*yaml.Node]int{}}.fine(node)
}

// place gives a node and all below it the position of the assignment.
func (s setter) place(n *yaml.Node) {
	n.Line, n.Column = s.at.Line, s.at.Col
	for _, c := range n.Content {
		s.place(c)
	}
}

// put returns a copy of a node in which the path has the value. Only the nodes on
// the way are copied: whatever else refers to them keeps what it had.
func (s setter) put(n *yaml.Node, at, path string, value *yaml.Node) (*yaml.Node, bool) {
	if path == "" {
		return value, true
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	out := *n
	out.Anchor, out.Content = "", slices.Clone(n.Content)
	switch {
	case n.Kind == yaml.MappingNode:
		return s.putKey(&out, at, path, value)
	case n.Kind == yaml.SequenceNode:
		return s.putItem(&out, at, path, value)
	case isNull(n):
		made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: s.at.Line}
		return s.putKey(made, at, path, value)
	}
	s.problem(at, "is a single value, so there is no %s in it", path)
	return nil, false
}

// putKey goes on below the key that the path begins with. Keys may have dots in
// them: the longest one that is there is meant.
func (s setter) putKey(m *yaml.Node, at, path string, value *yaml.Node) (*yaml.Node, bool) {
	found, rest := -1, ""
	for i := 0; i+1 < len(m.Content); i += 2 {
		tail, ok := below(path, m.Content[i].Value)
		if ok && (found < 0 || len(tail) < len(rest)) {
			found, rest = i, tail
		}
	}
	gone := isNull(value) && value.Value != "" // written out, and not forgotten
	switch {
	case gone && found < 0:
		s.problem(join(at, path), "is not there, so it cannot be taken away")
		return nil, false
	case gone && rest == "":
		m.Content = slices.Delete(m.Content, found, found+2)
		return m, true
	case found < 0:
		return s.addKey(m, at, path, value)
	}
	child, ok := s.put(m.Content[found+1], join(at, m.Content[found].Value), rest, value)
	m.Content[found+1] = child
	return m, ok
}

// below takes a first part off a path.
func below(path, part string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, part)
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// addKey makes the keys of a path, as none of them is there. Where keys are names
// that the user chose, one that is only on the way is a mistake: see [Map.Entries].
func (s setter) addKey(m *yaml.Node, at, path string, value *yaml.Node) (*yaml.Node, bool) {
	part, rest, _ := strings.Cut(path, ".")
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part, Line: s.at.Line}
	if rest != "" {
		s.doc.onWay[key] = true
		made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: s.at.Line}
		child, ok := s.addKey(made, join(at, part), rest, value)
		if !ok {
			return nil, false
		}
		value = child
	}
	m.Content = append(m.Content, key, value)
	return m, true
}

// putItem goes on below the item that the path begins with.
func (s setter) putItem(list *yaml.Node, at, path string, value *yaml.Node) (*yaml.Node, bool) {
	for i, item := range list.Content {
		for _, part := range []string{nameOf(item), strconv.Itoa(i), "[" + strconv.Itoa(i) + "]"} {
			rest, ok := below(path, part)
			if part == "" || !ok {
				continue
			}
			child, ok := s.put(item, at+"["+strconv.Itoa(i)+"]", rest, value)
			list.Content[i] = child
			return list, ok
		}
	}
	part, _, _ := strings.Cut(path, ".")
	s.problem(at, "has no item %q%s", part, itemsAre(part, list.Content))
	return nil, false
}

// nameOf is what an item of a list is called.
func nameOf(item *yaml.Node) string {
	if item.Kind == yaml.AliasNode {
		item = item.Alias
	}
	if item.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		if key := item.Content[i].Value; key == "name" || key == "id" {
			return item.Content[i+1].Value
		}
	}
	return ""
}

// itemsAre continues a sentence about an item that is not in a list.
func itemsAre(part string, items []*yaml.Node) string {
	var names []string
	for _, item := range items {
		if name := nameOf(item); name != "" {
			names = append(names, name)
		}
	}
	switch {
	case len(items) == 0:
		return "; it is empty"
	case len(names) > 0:
		return Hint(part, names)
	case len(items) == 1:
		return "; it has one, 0"
	}
	return "; it has 0 to " + strconv.Itoa(len(items)-1)
}
