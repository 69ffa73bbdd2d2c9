package match

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/theory/jsonpath"
)

// AgeFrom says where in an answer it stands how old what it holds is: a header as "header:Age",
// or a query of JSON as "$.as_of".
type AgeFrom string

const ageHeader = "header:"

// Header is the name of the header, or nothing.
func (f AgeFrom) Header() string {
	name, ok := strings.CutPrefix(string(f), ageHeader)
	if !ok {
		return ""
	}
	return name
}

// NeedBody reports whether it stands in the body.
func (f AgeFrom) NeedBody() bool { return f.Header() == "" }

// Check says what is wrong with it, or nil.
func (f AgeFrom) Check() error {
	if name, ok := strings.CutPrefix(string(f), ageHeader); ok {
		if name == "" || strings.ContainsAny(name, " \t:()<>@,;\\\"/[]?={}") {
			return errors.New("header: is followed by the name of a header, as header:Age")
		}
		return nil
	}
	return CheckJSONPath(string(f))
}

// AgeReader reads what answers say of their age. The zero value reads nothing.
type AgeReader struct {
	from     []AgeFrom
	paths    []*jsonpath.Path // nil: a header
	needBody bool
}

// NewAgeReader prepares the places. Its error joins all that is wrong with them.
func NewAgeReader(from []AgeFrom) (AgeReader, error) {
	out := AgeReader{from: from}
	var errs []error
	for _, f := range from {
		var path *jsonpath.Path
		if err := f.Check(); err != nil {
			errs = append(errs, err)
		} else if f.NeedBody() {
			path, _ = compileQuery(string(f)) // It was checked.
			out.needBody = true
		}
		out.paths = append(out.paths, path)
	}
	return out, errors.Join(errs...)
}

// NeedBody reports whether any of them stands in the body.
func (r AgeReader) NeedBody() bool { return r.needBody }

// Read returns the text of each place that has one, by the place; nil if none has.
func (r AgeReader) Read(header func(string) string, body []byte) map[string]string {
	var out map[string]string
	text := document{body: body}
	for i, f := range r.from {
		value := ""
		if r.paths[i] == nil {
			value = header(f.Header())
		} else if nodes, ok := text.texts(r.paths[i]); ok && len(nodes) > 0 {
			value = nodes[0]
		}
		if value == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[string(f)] = value
	}
	return out
}

// Age is what an answer says of how old what it holds is: either for how long it has been
// kept, or since when it is so; Fine is how exact that is.
type Age struct {
	For  time.Duration
	At   time.Time // zero: For says it
	Fine time.Duration
}

// The numbers from which on a number is not a number of seconds that something was kept, but
// seconds, or milliseconds, since 1970: as an age they would be over 30 years.
const (
	unixSeconds = 1e9
	unixMillis  = 1e12
)

// ParseAge reads the text of an age: seconds as in the header Age ("12", "0.5"), a date of RFC
// 3339 ("2026-01-02T15:04:05Z") or of HTTP ("Fri, 02 Jan 2026 15:04:05 GMT"), or seconds or
// milliseconds since 1970. Not ok: it is none of these.
func ParseAge(text string) (Age, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return numericAge(n, text)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return Age{At: at, Fine: fineness(text, time.Second)}, true
		}
	}
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} { // RFC 9110, 5.6.7
		if at, err := time.Parse(layout, text); err == nil {
			return Age{At: at, Fine: time.Second}, true
		}
	}
	return Age{}, false
}

func numericAge(n float64, text string) (Age, bool) {
	switch {
	case math.IsNaN(n) || n < 0 || n >= 1e15:
		return Age{}, false
	case n >= unixMillis:
		return Age{At: time.UnixMilli(int64(n)), Fine: time.Millisecond}, true
	case n >= unixSeconds:
		whole, part := math.Modf(n)
		return Age{At: time.Unix(int64(whole), int64(part*1e9)), Fine: fineness(text, time.Second)}, true
	}
	return Age{For: time.Duration(n * float64(time.Second)), Fine: fineness(text, time.Second)}, true
}

// fineness is the unit of the last digit after the point of a number of seconds, or whole.
func fineness(text string, whole time.Duration) time.Duration {
	_, part, ok := strings.Cut(text, ".")
	if !ok {
		return whole
	}
	for _, r := range part {
		if r < '0' || r > '9' {
			break
		}
		whole /= 10
	}
	return max(whole, 1)
}
