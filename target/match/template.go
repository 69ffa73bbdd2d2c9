package match

import (
	"errors"
	"fmt"
	"strings"
)

// The templates that a target's path, query, headers and body may hold.
const (
	TemplateID   = "{{.ID}}"   // the call's trace-id: 32 lower-case hex digits
	TemplateUUID = "{{.UUID}}" // the same digits in the form of a UUID: 8-4-4-4-12
)

// Template is a text in which a call's identity may stand. It is made once, by
// [ParseTemplate]; the zero value is the empty text.
type Template struct {
	text  []string // what stands around the tokens: one more than there are tokens
	dress []bool   // of each token: whether it has dashes
}

// ParseTemplate finds the templates in a text. Only what looks like {{.Word}} counts
// as one, as a body of JSON may well contain {{; an error names those that are
// unknown, and what is known.
func ParseTemplate(text string) (Template, error) {
	var t Template
	var errs []error
	done := 0
	for at := 0; ; {
		from, to, ok := nextTemplate(text, at)
		if !ok {
			t.text = append(t.text, text[done:])
			return t, errors.Join(errs...)
		}
		at = to
		switch text[from:to] {
		case TemplateID, TemplateUUID:
			t.text = append(t.text, text[done:from])
			t.dress = append(t.dress, text[from:to] == TemplateUUID)
			done = to
		default:
			errs = append(errs, fmt.Errorf("%s is not a template; known are %s and %s", text[from:to], TemplateID, TemplateUUID))
		}
	}
}

// nextTemplate finds the next {{.Word}} of a text, blanks around .Word included:
// they are no template, but whoever wrote them meant one.
func nextTemplate(text string, at int) (from, to int, ok bool) {
	for {
		i := strings.Index(text[at:], "{{")
		if i < 0 {
			return 0, 0, false
		}
		from = at + i
		rest := strings.TrimLeft(text[from+2:], " ")
		if word, isWord := strings.CutPrefix(rest, "."); isWord {
			tail := strings.TrimLeft(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
			after, closed := strings.CutPrefix(strings.TrimLeft(tail, " "), "}}")
			if closed && len(tail) < len(word) {
				return from, len(text) - len(after), true
			}
		}
		at = from + 1 // Of {{{.ID}} the second brace begins the template.
	}
}

// Templated reports whether a call's identity stands in the text.
func (t Template) Templated() bool { return len(t.dress) > 0 }

// Expand puts a call's trace-id, 32 hex digits, in the place of each template.
func (t Template) Expand(traceID string) string {
	switch {
	case len(t.text) == 0:
		return ""
	case len(t.dress) == 0:
		return t.text[0]
	}
	var b strings.Builder
	for i, s := range t.text {
		b.WriteString(s)
		switch {
		case i == len(t.dress):
		case t.dress[i]:
			b.WriteString(UUID(traceID))
		default:
			b.WriteString(traceID)
		}
	}
	return b.String()
}

// UUID writes the 32 hex digits of a trace-id in the form of a UUID. It is one by
// its form only: a version (RFC 9562) is not among the digits.
func UUID(traceID string) string {
	if len(traceID) != 2*idBytes {
		return traceID
	}
	return traceID[:8] + "-" + traceID[8:12] + "-" + traceID[12:16] + "-" + traceID[16:20] + "-" + traceID[20:]
}
