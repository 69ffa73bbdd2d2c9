package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/theory/jsonpath"
)

// Script is what a virtual user does in each round of a session: steps in order,
// with values carried from one answer into the requests after it.
type Script struct {
	Steps     []Step   `json:"steps" yaml:"steps"`
	Cookies   bool     `json:"cookies,omitempty" yaml:"cookies,omitempty"`       // each user keeps the cookies that it is given
	RestartOn []string `json:"restart_on,omitempty" yaml:"restart_on,omitempty"` // classes of answers that send the user back to the first step
	Restarts  int      `json:"restarts,omitempty" yaml:"restarts,omitempty"`     // most of them in a round
	Record    []string `json:"record,omitempty" yaml:"record,omitempty"`         // captured values that the trace keeps
}

// Step is one request of a script, made once or again and again.
type Step struct {
	Target  string            `json:"target" yaml:"target"`
	Path    string            `json:"path,omitempty" yaml:"path,omitempty"`       // in place of the target's
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"` // beside the target's, or in place of them
	Body    string            `json:"body,omitempty" yaml:"body,omitempty"`       // in place of the target's
	Capture []Capture         `json:"capture,omitempty" yaml:"capture,omitempty"`
	While   string            `json:"while,omitempty" yaml:"while,omitempty"` // made again as long as its answer has this captured value
	Most    int               `json:"most,omitempty" yaml:"most,omitempty"`   // of times in a row
}

// Capture is a value that is taken out of an answer; one of JSONPath, Header and
// Cookie says from where.
type Capture struct {
	Name     string `json:"name" yaml:"name"`
	JSONPath string `json:"jsonpath,omitempty" yaml:"jsonpath,omitempty"` // RFC 9535
	Header   string `json:"header,omitempty" yaml:"header,omitempty"`
	Cookie   string `json:"cookie,omitempty" yaml:"cookie,omitempty"`
	List     bool   `json:"list,omitempty" yaml:"list,omitempty"` // all nodes of JSONPath, and maybe none
}

// Source says where a capture looks, for a person.
func (c Capture) Source() string {
	switch {
	case c.Header != "":
		return "header " + c.Header
	case c.Cookie != "":
		return "cookie " + c.Cookie
	}
	return c.JSONPath
}

// Captor takes values out of answers. It is made once, by [Compile], and may then
// be used from several goroutines.
type Captor struct {
	captures []Capture
	paths    []*jsonpath.Path
	needBody bool
}

// Compile prepares captures. Its error joins all that is wrong with them.
func Compile(captures []Capture) (Captor, error) {
	out := Captor{captures: captures, paths: make([]*jsonpath.Path, len(captures))}
	var errs []error
	for i, c := range captures {
		if c.JSONPath == "" {
			continue
		}
		out.needBody = true
		path, err := compileQuery(c.JSONPath)
		if err != nil {
			errs = append(errs, fmt.Errorf("capture %s: %w", c.Name, err))
		}
		out.paths[i] = path
	}
	return out, errors.Join(errs...)
}

// NeedBody reports whether any value comes from the body.
func (c Captor) NeedBody() bool { return c.needBody }

// Take takes the values out of an answer, by name. A value that is not there, or is
// null, an object, a list or an empty text, has no entry; a list always has one if
// the body is JSON, and its values are those of its nodes that are texts, numbers,
// true or false. Not ok is a body that is no JSON although a value is sought in it.
// header and cookie return the value of a header, and of a cookie that the answer
// sets, by its name, or nothing.
func (c Captor) Take(header, cookie func(name string) string, body []byte) (out map[string][]string, ok bool) {
	out, ok = map[string][]string{}, true
	text := document{body: body}
	for i, one := range c.captures {
		switch {
		case one.Header != "":
			put(out, one.Name, header(one.Header))
		case one.Cookie != "":
			put(out, one.Name, cookie(one.Cookie))
		default:
			nodes, isJSON := text.texts(c.paths[i])
			ok = ok && isJSON
			switch {
			case isJSON && one.List:
				out[one.Name] = nodes
			case len(nodes) > 0:
				put(out, one.Name, nodes[0])
			}
		}
	}
	return out, ok
}

// put sets a value that is not empty.
func put(out map[string][]string, name, value string) {
	if value != "" {
		out[name] = []string{value}
	}
}

// texts are the nodes that a query selects, as texts; not ok: the body is no JSON.
func (d *document) texts(path *jsonpath.Path) (list []string, ok bool) {
	if !d.decoded {
		d.decoded = true
		d.root, d.isJSON = decodeJSON(d.body)
	}
	if !d.isJSON {
		return nil, false
	}
	list = []string{}
	for _, node := range path.Select(d.root) {
		switch node.(type) {
		case nil, map[string]any, []any:
		default:
			list = append(list, fmt.Sprint(node)) // Numbers are as they were written.
		}
	}
	return list, true
}

// Words are the names of the values that stand in a text as {{.name}}, beside a
// call's identity.
func Words(text string) []string {
	var names []string
	for at := 0; ; {
		from, to, ok := nextTemplate(text, at)
		if !ok {
			return names
		}
		if name := word(text[from:to]); name != "" {
			names = append(names, name)
		}
		at = to
	}
}

// Fill puts values in the places of a text that have their names. What stands for a
// call's identity remains.
func Fill(text string, value func(name string) string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; {
		from, to, ok := nextTemplate(text, at)
		if !ok {
			return b.String() + text[done:]
		}
		if name := word(text[from:to]); name != "" {
			b.WriteString(text[done:from])
			b.WriteString(value(name))
			done = to
		}
		at = to
	}
}

// word is the name in a template, or nothing if it is a call's identity.
func word(template string) string {
	if template == TemplateID || template == TemplateUUID {
		return ""
	}
	return strings.Trim(template, "{}. ")
}
