package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"
)

// CheckRegex says what is wrong with a regular expression of a class, or nil. The
// syntax is RE2's, so that no expression can take more than linear time.
func CheckRegex(expr string) error {
	_, err := compileRegex(expr)
	return err
}

// CheckJSONPath says what is wrong with a query of a class, or nil. The syntax is
// that of RFC 9535.
func CheckJSONPath(query string) error {
	_, err := compileQuery(query)
	return err
}

func compileRegex(expr string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("%q is not a regular expression of RE2: %s", expr, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

func compileQuery(query string) (*jsonpath.Path, error) {
	path, err := jsonpath.Parse(query)
	if err != nil {
		return nil, fmt.Errorf("%q is not a path of JSON such as $.state (RFC 9535): %s", query, strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": "))
	}
	return path, nil
}

// Classifier names the classes of answers. It is made once, by [Classes.Compile],
// and may then be used from several goroutines. The zero value knows no class.
type Classifier struct {
	classes  []matcher
	needBody bool
}

// matcher is a class, ready to be compared with answers.
type matcher struct {
	Class
	regex []*regexp.Regexp
	nodes []node
}

// node is a query and what one of its nodes has to be.
type node struct {
	path *jsonpath.Path
	want any // string, float64, bool or nil
}

// Compile prepares the classes. Its error joins all that is wrong with them.
func (cs Classes) Compile() (Classifier, error) {
	var out Classifier
	var errs []error
	for _, c := range cs {
		m, err := c.compile()
		if err != nil {
			errs = append(errs, fmt.Errorf("class %s: %w", c.Name, err))
		}
		out.classes = append(out.classes, m)
		out.needBody = out.needBody || c.needBody()
	}
	if len(errs) > 0 {
		return Classifier{}, errors.Join(errs...)
	}
	return out, nil
}

func (c Class) compile() (matcher, error) {
	m := matcher{Class: c}
	var errs []error
	for _, expr := range c.Regex {
		re, err := compileRegex(expr)
		errs = append(errs, err)
		m.regex = append(m.regex, re)
	}
	for _, query := range slices.Sorted(maps.Keys(c.JSONPath)) {
		path, err := compileQuery(query)
		errs = append(errs, err)
		want, err := scalar(c.JSONPath[query])
		if err != nil {
			errs = append(errs, fmt.Errorf("jsonpath %s: %w", query, err))
		}
		m.nodes = append(m.nodes, node{path, want})
	}
	return m, errors.Join(errs...)
}

// scalar gives the value of a class the type in which values are compared.
func scalar(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool:
		return v, nil
	case int:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("JSON has no number %v", v)
		}
		return v, nil
	default:
		return nil, fmt.Errorf("%v is neither text nor a number nor true, false or null", v)
	}
}

// NeedBody reports whether any class looks into the body.
func (c Classifier) NeedBody() bool { return c.needBody }

// Classify names the class of an answer, or Unclassified. header returns the
// value of a header by its name, however that is spelt, or nothing, as
// http.Header.Get does. What a query of JSON is compared with is the body as one
// JSON text: a body that is none, or is followed by another, matches no query.
// Numbers are compared as IEEE 754 doubles, so 1 is 1.0.
func (c Classifier) Classify(status int, header func(string) string, body []byte) string {
	text := document{body: body}
	for _, m := range c.classes {
		if m.matches(status, header, &text) {
			return m.Name
		}
	}
	return Unclassified
}

// matches reports whether an answer is of this class. How names of headers are
// spelt is the business of header.
func (m matcher) matches(status int, header func(string) string, body *document) bool {
	if len(m.Status) > 0 && !slices.Contains(m.Status, status) {
		return false
	}
	for k, v := range m.Header {
		if !strings.EqualFold(header(k), v) {
			return false
		}
	}
	for _, s := range m.Contains {
		if !bytes.Contains(body.body, []byte(s)) {
			return false
		}
	}
	for _, re := range m.regex {
		if !re.Match(body.body) {
			return false
		}
	}
	return len(m.nodes) == 0 || body.holds(m.nodes)
}

// document is a body that is decoded at most once, and only if a class asks.
type document struct {
	body    []byte
	decoded bool
	isJSON  bool
	root    any
}

// holds reports whether every query has a node with its value.
func (d *document) holds(nodes []node) bool {
	if !d.decoded {
		d.decoded = true
		d.root, d.isJSON = decodeJSON(d.body)
	}
	return d.isJSON && !slices.ContainsFunc(nodes, func(n node) bool {
		return !slices.ContainsFunc(n.path.Select(d.root), n.is)
	})
}

// decodeJSON decodes one JSON text. Numbers stay text, as one that no double can
// hold would otherwise make the whole body unreadable.
func decodeJSON(body []byte) (root any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return root, errors.Is(err, io.EOF)
}

// is reports whether a node of a body is the value that is wanted.
func (n node) is(got any) bool {
	number, ok := got.(json.Number)
	if !ok {
		switch got.(type) {
		case nil, string, bool:
			return got == n.want
		default:
			return false // An object or a list is no value of a class.
		}
	}
	f, _ := strconv.ParseFloat(number.String(), 64) // Out of range it is an infinity, which no class wants.
	return n.want == f
}
