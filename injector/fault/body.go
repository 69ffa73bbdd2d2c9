package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"
)

// node is a query of a body of JSON, and what one of its nodes has to be.
type node struct {
	path *jsonpath.Path
	want any // a string, float64, bool or nil
}

// compileNodes prepares the queries of a match.
func compileNodes(ps *problems, queries map[string]any) []node {
	var nodes []node
	for _, query := range slices.Sorted(maps.Keys(queries)) {
		path, err := jsonpath.Parse(query)
		if err != nil {
			ps.add("match.jsonpath", "%q is not a path of JSON such as $.state (RFC 9535): %s",
				query, strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": "))
			continue
		}
		want, ok := scalar(queries[query])
		if !ok {
			ps.add("match.jsonpath", "%s: %v is neither text nor a number of JSON nor true, false or null", query, queries[query])
			continue
		}
		nodes = append(nodes, node{path, want})
	}
	return nodes
}

// scalar gives a value the type in which values are compared.
func scalar(v any) (any, bool) {
	switch v := v.(type) {
	case nil, string, bool:
		return v, true
	case int:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return nil, false
}

// sameScalar reports whether two values are compared as the same.
func sameScalar(a, b any) bool {
	x, ok := scalar(a)
	y, known := scalar(b)
	return ok && known && x == y
}

// holds reports whether a body is one text of JSON in which each query has a node
// with its value. Numbers are compared as float64, so 1 is 1.0.
func holds(nodes []node, body []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // One that no float64 can hold must not make the body unreadable.
	var root any
	if dec.Decode(&root) != nil {
		return false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return false
	}
	for _, n := range nodes {
		if !slices.ContainsFunc(n.path.Select(root), n.is) {
			return false
		}
	}
	return true
}

// is reports whether a node is the value that is wanted.
func (n node) is(got any) bool {
	switch got := got.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(got.String(), 64) // Out of range it is an infinity, which nobody wants.
		return n.want == f
	case nil, string, bool:
		return got == n.want
	}
	return false // An object or a list has no such value.
}

// jsonText writes a value as a body has it.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?" // It is none of JSON, and so refused.
	}
	return string(text)
}
