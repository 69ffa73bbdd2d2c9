package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// MaxLook is how much of a request's body is looked at for a call's token, in
// bytes. A token behind it is not seen, nor is one in a compressed body.
const MaxLook = 64 << 10

// uuidLen is the length of a token in the form of a UUID.
const uuidLen = 2*idBytes + 4

// Request is what may tell which call a request at the dependency belongs to.
type Request struct {
	Header map[string][]string // names spelt as in http.Header
	URI    string              // path and query, as they were sent
	// Body returns the first MaxLook bytes of the body, or what there is of them;
	// nil: there is none. It is asked only when a carrier has to look into it.
	Body func() []byte
}

// header returns the first value of a header, however its name is spelt.
func (r Request) header(name string) string {
	var room [64]byte
	canonical := append(room[:0], name...)
	start := true
	for i, b := range canonical {
		switch {
		case start && 'a' <= b && b <= 'z':
			canonical[i] = b - 'a' + 'A'
		case !start && 'A' <= b && b <= 'Z':
			canonical[i] = b - 'A' + 'a'
		}
		start = b == '-'
	}
	if values := r.Header[string(canonical)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// templateField reads the carrier template or template:NAME; the first has no name.
func templateField(by string) (name string, ok bool) {
	if by == CarrierTemplate {
		return "", true
	}
	return strings.CutPrefix(by, CarrierTemplate+":")
}

// search finds the one call whose token a request holds: anywhere, or only as the
// value of the query parameter, form field or JSON member of this name.
func (c Correlator) search(field string, r Request) (string, bool) {
	s := c.newSeeker()
	if field != "" {
		if _, query, ok := strings.Cut(r.URI, "?"); ok {
			formFields(query, field, s.see)
		}
		if r.Body != nil {
			bodyFields(r.Body(), field, s.see)
		}
		return s.only()
	}
	s.see(r.URI)
	for _, values := range r.Header {
		for _, v := range values {
			s.see(v)
		}
	}
	if r.Body != nil {
		s.see(string(r.Body()))
	}
	return s.only()
}

// seeker collects the calls whose tokens it is shown.
type seeker struct {
	Correlator
	marks [2]string // how a token of this run begins, in lower and in upper case
	id    string
	two   bool
}

func (c Correlator) newSeeker() *seeker {
	mark := fmt.Sprintf("%016x", c.Run)[:8]
	return &seeker{Correlator: c, marks: [2]string{mark, strings.ToUpper(mark)}}
}

// see looks for tokens in a text. What a token is glued to does not matter: it
// begins with the 16 digits of the run, which nothing else does by chance.
func (s *seeker) see(text string) {
	s.seeMark(text, s.marks[0])
	if s.marks[1] != s.marks[0] { // It has letters.
		s.seeMark(text, s.marks[1])
	}
}

func (s *seeker) seeMark(text, mark string) {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], mark)
		if i < 0 {
			return
		}
		at += i
		for _, n := range []int{2 * idBytes, uuidLen} {
			if at+n <= len(text) {
				s.found(text[at : at+n])
			}
		}
	}
}

// found takes what may be a token.
func (s *seeker) found(token string) {
	id, ok := s.parse(token)
	if !ok {
		return
	}
	s.two = s.two || s.id != "" && s.id != id
	s.id = id
}

// only is the one call, if it is one.
func (s *seeker) only() (string, bool) {
	if s.two || s.id == "" {
		return "", false
	}
	return s.id, true
}

// bodyFields visits the values of a name in a body: of JSON, of a form, of a form
// in parts. Which of them it is, its beginning tells.
func bodyFields(body []byte, name string, visit func(string)) {
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(text) == 0:
	case text[0] == '{' || text[0] == '[':
		jsonMembers(text, name, visit)
	case bytes.HasPrefix(text, []byte("--")) && bytes.Contains(text, []byte("\r\n")):
		formParts(string(text), name, visit)
	default:
		formFields(string(text), name, visit)
	}
}

// formFields visits the values of a name in a=1&b=2. A token has nothing that would
// be escaped, so only names are unescaped.
func formFields(text, name string, visit func(string)) {
	for pair := range strings.SplitSeq(text, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok && unescape(key) == name {
			visit(value)
		}
	}
}

// unescape undoes the escaping of a form; what is not escaped properly stays.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+3 <= len(s):
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b.WriteByte('%')
				continue
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// formParts visits the values of a name in a body of multipart/form-data, whose
// first line is what separates the parts.
func formParts(text, name string, visit func(string)) {
	boundary, _, ok := strings.Cut(text, "\r\n")
	if !ok {
		return
	}
	for part := range strings.SplitSeq(text, boundary) {
		head, value, ok := strings.Cut(part, "\r\n\r\n")
		if ok && strings.Contains(head, `; name="`+name+`"`) {
			visit(value)
		}
	}
}

// jsonMembers visits the strings that are, or lie in, the value of a member of this
// name, at any depth. Of a body that was cut off it sees what comes before the cut.
func jsonMembers(body []byte, name string, visit func(string)) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	w := members{name: name, visit: visit, levels: []level{{}}}
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		w.take(token)
	}
}

// members walks through the tokens of JSON.
type members struct {
	name   string
	visit  func(string)
	levels []level // of nesting, the innermost last
}

// level is an object or a list that is being read.
type level struct {
	object bool
	named  bool // all of it belongs to the member
	value  bool // of an object: a name has been read, and its value comes
	hit    bool // that name is the one
}

func (w *members) take(token json.Token) {
	in := &w.levels[len(w.levels)-1]
	text, isText := token.(string)
	if in.object && !in.value && isText {
		in.value, in.hit = true, text == w.name
		return
	}
	if token == json.Delim('}') || token == json.Delim(']') {
		w.levels = w.levels[:len(w.levels)-1]
		return
	}
	named := in.named || in.hit
	in.value = false
	switch {
	case isText && named:
		w.visit(text)
	case token == json.Delim('{'), token == json.Delim('['):
		w.levels = append(w.levels, level{object: token == json.Delim('{'), named: named})
	}
}
