package probe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sample is one line of a page: the value of a series.
type Sample struct {
	Name   string
	Labels map[string]string // nil: none
	Value  float64
}

// Has reports whether the sample has a name and at least these labels.
func (s Sample) Has(name string, labels map[string]string) bool {
	if s.Name != name {
		return false
	}
	for k, v := range labels {
		if got, ok := s.Labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// ParseText reads a page in Prometheus' text format 0.0.4, as its documentation "Exposition
// formats" has it. It is strict, because a page that was cut off reads like a shorter one:
// the last line ends with a line feed, and the type of a name is said at most once. An error
// begins with the line, counted from 1. Timestamps are checked and left out.
func ParseText(page string) ([]Sample, error) {
	if page != "" && !strings.HasSuffix(page, "\n") {
		return nil, fmt.Errorf("line %d: it has no end; the page was cut off", strings.Count(page, "\n")+1)
	}
	var all []Sample
	types := map[string]bool{}
	n := 0
	for line := range strings.Lines(page) {
		n++
		line = strings.Trim(strings.TrimSuffix(line, "\n"), " \t")
		var err error
		switch {
		case line == "":
		case line[0] == '#':
			err = comment(line[1:], types)
		default:
			var s Sample
			s, err = sample(line)
			all = append(all, s)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return all, nil
}

// comment checks what follows a #: of TYPE a name and a type, of HELP a name; the rest is
// anybody's.
func comment(text string, types map[string]bool) error {
	word, rest := field(text)
	if word != "TYPE" && word != "HELP" {
		return nil
	}
	name, kind := field(rest)
	switch {
	case !isName(name, true):
		return fmt.Errorf("%s of %q, which is no name of a metric", word, name)
	case word == "HELP":
		return nil
	case types[name]:
		return fmt.Errorf("the type of %s is said twice", name)
	}
	types[name] = true
	switch strings.Trim(kind, " \t") {
	case "counter", "gauge", "histogram", "summary", "untyped":
		return nil
	}
	return fmt.Errorf("%q is no type of a metric", kind)
}

// field cuts the first word off a text.
func field(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// sample reads a name, its labels, a value and perhaps a timestamp.
func sample(line string) (Sample, error) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return Sample{}, fmt.Errorf("%.40q has no value", line)
	}
	s := Sample{Name: line[:end]}
	if !isName(s.Name, true) {
		return Sample{}, fmt.Errorf("%.40q is no name of a metric", s.Name)
	}
	rest := strings.TrimLeft(line[end:], " \t")
	if after, ok := strings.CutPrefix(rest, "{"); ok {
		var err error
		if s.Labels, rest, err = labels(after); err != nil {
			return Sample{}, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	value, rest := field(rest)
	stamp, more := field(rest)
	var err error
	if s.Value, err = number(value); err != nil {
		return Sample{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	if stamp != "" {
		if _, err := strconv.ParseInt(stamp, 10, 64); err != nil {
			return Sample{}, fmt.Errorf("%s: %.40q is no timestamp in milliseconds", s.Name, stamp)
		}
	}
	if strings.Trim(more, " \t") != "" {
		return Sample{}, fmt.Errorf("%s: %.40q follows the timestamp", s.Name, more)
	}
	return s, nil
}

// number reads a value as Go writes it, but not what Go alone knows.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	// An overflow is an infinity, which the format has too; hexadecimal and _ it has not.
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(text, "_pPxX") {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return v, nil
}

// labels reads what follows a brace, up to its end. A comma may stand after the last one.
func labels(text string) (all map[string]string, rest string, err error) {
	all = map[string]string{}
	for {
		text = strings.TrimLeft(text, " \t")
		if after, ok := strings.CutPrefix(text, "}"); ok {
			return all, after, nil
		}
		name, after, ok := strings.Cut(text, "=")
		name = strings.Trim(name, " \t")
		switch {
		case !ok:
			return nil, "", errors.New("the labels have no end")
		case !isName(name, false):
			return nil, "", fmt.Errorf("%.40q is no name of a label", name)
		}
		value, after, err := quoted(strings.TrimLeft(after, " \t"))
		if err != nil {
			return nil, "", fmt.Errorf("label %s: %w", name, err)
		}
		if _, twice := all[name]; twice {
			return nil, "", fmt.Errorf("label %s stands there twice", name)
		}
		all[name] = value
		text = strings.TrimLeft(after, " \t")
		if comma, ok := strings.CutPrefix(text, ","); ok {
			text = comma
		} else if !strings.HasPrefix(text, "}") {
			return nil, "", fmt.Errorf("label %s: a comma or a brace must follow its value", name)
		}
	}
}

// quoted reads a text in quotes with its escapes: \\, \" and \n.
func quoted(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errors.New("the value is not in quotes")
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], nil
		case '\\':
			i++
			meant, ok := "", false
			if i < len(text) {
				meant, ok = map[byte]string{'\\': `\`, '"': `"`, 'n': "\n"}[text[i]], strings.IndexByte(`\"n`, text[i]) >= 0
			}
			if !ok {
				return "", "", errors.New(`a backslash is followed by \, " or n`)
			}
			b.WriteString(meant)
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", errors.New("the value has no end")
}

// isName reports whether a text names a metric, or a label, which has no colons.
func isName(s string, colon bool) bool {
	for i, r := range s {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		case r == ':' && colon:
		case r >= '0' && r <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}
