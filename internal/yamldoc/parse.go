package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxValues is how many values a document may have when its aliases are followed.
const maxValues = 100_000

// lookAhead is how many lines a list in brackets, or a quoted text, may have to be
// told from one that is never closed.
const lookAhead = 50

// Doc is a document that is being read.
type Doc struct {
	file     string
	root     *yaml.Node // nil: there is nothing to read
	problems Problems   // one that was taken back has no message
	keys     map[string]Key
	sets     []string            // see Set; what the n-th one put stands at line -n
	onWay    map[*yaml.Node]bool // keys that Set made to have something below them
}

// Key is a key that a reader asked for. Path is schematic: phases[].faults[].hold
// stands for that key of all phases, injectors.*.listen for that of all injectors.
type Key struct {
	Path string
	At   []Pos // where the document has it; none: it has not
}

// Pos is a place in a document, counted from 1.
type Pos struct{ Line, Col int }

// Parse parses one document. It never fails: what is wrong is told by [Doc.Err],
// and the root is then absent if it could not be made out. The file's name is for
// messages.
func Parse(file string, src []byte) *Doc {
	d := &Doc{file: file, keys: map[string]Key{}, onWay: map[*yaml.Node]bool{}}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var first, second yaml.Node
	err := dec.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && isNull(first.Content[0]) {
		d.add(Pos{1, 1}, "", "the file is empty")
		return d
	}
	if err == nil {
		if w := (walk{doc: d, sizes: map[*yaml.Node]int{}}); w.fine(first.Content[0]) {
			d.root = first.Content[0]
		}
		if err = dec.Decode(&second); err == nil {
			d.add(Pos{second.Line, second.Column}, "", "a second document begins here; a file holds one")
			return d
		}
	}
	if !errors.Is(err, io.EOF) {
		d.syntax(src, err)
	}
	return d
}

// Root returns the document's value.
func (d *Doc) Root() Value {
	return Value{doc: d, node: d.root, at: Pos{1, 1}}.here()
}

// Err returns nil, or the [Problems] found so far.
func (d *Doc) Err() error {
	if len(d.problems) == 0 {
		return nil
	}
	return d.problems.sorted()
}

// Keys returns the keys that were asked for so far, sorted by path.
func (d *Doc) Keys() []Key {
	keys := make([]Key, 0, len(d.keys))
	for _, k := range d.keys {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Path, b.Path) })
	return keys
}

// Noted is how many problems were noted so far. What a reader concludes from a part
// of the document in which it noted some may itself be wrong, and is not to be told.
func (d *Doc) Noted() int { return len(d.problems) }

// add notes a problem and returns its index.
func (d *Doc) add(at Pos, path, message string) int {
	p := Problem{File: d.file, Line: at.Line, Col: at.Col, Path: path, Message: message}
	if at.Line < 0 {
		p.File, p.Line, p.Col = d.place(at), 0, 0
	}
	d.problems = append(d.problems, p)
	return len(d.problems) - 1
}

// place says where in the file, or by which assignment, something was said.
func (d *Doc) place(at Pos) string {
	if at.Line < 0 {
		return "--set " + d.sets[-at.Line-1]
	}
	return "line " + strconv.Itoa(at.Line)
}

// syntax notes why the source is not YAML.
func (d *Doc) syntax(src []byte, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		_, message, _ = strings.Cut(rest, ": ")
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	n := firstBad(lines)
	line := string(lines[n])
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	at := Pos{n + 1, len(indent) + 1}
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		at.Col = tab + 1
		message = "a tab indents this line; YAML wants spaces"
	} else {
		message = "this is not YAML: " + message
	}
	d.add(at, "", message)
}

// firstBad returns the index of the line after the longest beginning that is good
// YAML. Bisection finds a line where good turns to bad, but that is also where a
// list in brackets begins that is good again some lines later: then it goes on
// from there.
func firstBad(lines [][]byte) int {
	begins := func(n int) bool { return good(bytes.Join(lines[:n], nil)) }
	for from := 0; ; {
		n := from + sort.Search(len(lines)-from-1, func(i int) bool { return !begins(from + i + 1) })
		from = n + 1
		for from < min(n+lookAhead, len(lines)) && !begins(from) {
			from++
		}
		if from >= min(n+lookAhead, len(lines)) {
			return n
		}
	}
}

// good reports whether the source is a stream of YAML documents.
func good(src []byte) bool {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// walk looks at a tree before it is read, for what no reader could report.
type walk struct {
	doc   *Doc
	sizes map[*yaml.Node]int // values below a node, aliases followed; under way: 0
}

// fine notes what is wrong with the tree and reports whether it can be read.
func (w walk) fine(root *yaml.Node) bool {
	size, ok := w.size(root)
	if ok && size > maxValues {
		w.doc.add(Pos{root.Line, root.Column}, "", "holds more than 100000 values, each use of an alias counted")
	}
	return ok && size <= maxValues
}

// size counts the values of a tree, up to just above maxValues, and fails on an
// anchor that contains itself.
func (w walk) size(n *yaml.Node) (int, bool) {
	if size, seen := w.sizes[n]; seen {
		if size == 0 {
			w.doc.add(Pos{n.Line, n.Column}, "", "anchor &"+n.Anchor+" contains itself")
		}
		return size, size > 0
	}
	w.sizes[n] = 0
	if n.Style&yaml.TaggedStyle != 0 {
		w.doc.add(Pos{n.Line, n.Column}, "", "tags such as "+n.Tag+" are not used here; leave it out")
	}
	below := n.Content
	if n.Kind == yaml.AliasNode {
		below = []*yaml.Node{n.Alias}
	}
	total := 1
	for _, c := range below {
		size, ok := w.size(c)
		if !ok {
			return 0, false
		}
		total = min(total+size, maxValues+1)
	}
	w.sizes[n] = total
	return total, true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
