package yamldoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Out is a mapping to be written, in the order in which its keys were put.
type Out struct{ node yaml.Node }

// Put adds a key. The value is an *Out, a list of them, a text, a list of texts or
// numbers, a mapping of texts or of values of JSON (written in the order of its
// keys), a number, a bool, nil for null or a duration; anything else is a mistake of the caller and panics.
func (o *Out) Put(key string, value any) {
	o.node.Kind = yaml.MappingNode
	o.node.Content = append(o.node.Content, text(key), encode(value))
}

// PutIf adds a key when the condition holds.
func (o *Out) PutIf(cond bool, key string, value any) {
	if cond {
		o.Put(key, value)
	}
}

// Marshal writes a document below a comment of one line, so that Parse reads the
// same values.
func Marshal(comment string, o *Out) ([]byte, error) {
	doc := yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{&o.node}}
	buf := bytes.NewBufferString("# " + strings.ReplaceAll(comment, "\n", " ") + "\n")
	enc := yaml.NewEncoder(buf)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return buf.Bytes(), nil
}

// FlowList writes a list in brackets, as it may stand in a document.
func FlowList(items []string) string {
	out, err := yaml.Marshal(flow(items, text))
	if err != nil {
		return fmt.Sprintf("%q", items) // The library fails on no list of texts.
	}
	return strings.TrimSpace(string(out))
}

func encode(value any) *yaml.Node {
	switch v := value.(type) {
	case *Out:
		v.node.Kind = yaml.MappingNode
		return &v.node
	case []*Out:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, o := range v {
			n.Content = append(n.Content, encode(o))
		}
		return n
	case string:
		return text(v)
	case []string:
		return flow(v, text)
	case []int:
		return flow(v, number)
	case map[string]string:
		o := &Out{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.Put(k, v[k])
		}
		return encode(o)
	case map[string]any:
		o := &Out{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.Put(k, v[k])
		}
		return encode(o)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	case float64:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: jsonNumber(v)}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(v)}
	case int:
		return number(v)
	case uint64:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatUint(v, 10)}
	case time.Duration:
		return text(FormatDuration(v))
	}
	panic(fmt.Sprintf("yamldoc: cannot write a %T", value))
}

// jsonNumber writes a finite number so that [Value.JSON] reads the same one.
func jsonNumber(f float64) string {
	out, err := json.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("yamldoc: cannot write %v: JSON has no such number", f))
	}
	return string(out)
}

func flow[T any](items []T, encode func(T) *yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, item := range items {
		n.Content = append(n.Content, encode(item))
	}
	return n
}

func number(n int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(n)}
}

// text escapes line breaks and what cannot be seen: the library's literal blocks
// lose leading line breaks. The library itself quotes where that is enough.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
