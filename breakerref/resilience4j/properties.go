package resilience4j

import (
	"fmt"
	"strconv"
	"strings"
)

// propertiesReader reads the documents of a .properties file as Spring Boot does: the
// bytes are ISO 8859-1, a line of #--- or !--- begins a document, and name[] is a list.
type propertiesReader struct {
	file      string
	src       []rune
	at        int // of the next character
	line, col int // of it, from 1

	docs    [][]prop
	doc     []prop
	comment rune // that began the line before, if it was a comment
	err     error
}

// readProperties returns the properties of each document. The error is an escape that
// is none.
func readProperties(file string, src []byte) ([][]prop, error) {
	r := propertiesReader{file: file, line: 1, col: 1}
	for _, b := range src {
		r.src = append(r.src, rune(b))
	}
	for r.at < len(r.src) && r.err == nil {
		r.logicalLine()
	}
	if len(r.doc) > 0 || len(r.docs) == 0 {
		r.docs = append(r.docs, r.doc)
	}
	return r.docs, r.err
}

// peek returns the next character, or 0 at the end.
func (r *propertiesReader) peek() rune {
	if r.at >= len(r.src) {
		return 0
	}
	return r.src[r.at]
}

// next takes a character. The ends of lines of all systems are one newline.
func (r *propertiesReader) next() rune {
	c := r.peek()
	r.at++
	r.col++
	if c == '\r' {
		if r.peek() == '\n' {
			r.at++
		}
		c = '\n'
	}
	if c == '\n' {
		r.line++
		r.col = 1
	}
	return c
}

func (r *propertiesReader) ended() bool {
	return r.at >= len(r.src) || r.peek() == '\n' || r.peek() == '\r'
}

func (r *propertiesReader) blanks() {
	for strings.ContainsRune(" \t\f", r.peek()) && r.at < len(r.src) {
		r.next()
	}
}

// rest takes what is left of a line as it stands, and its end.
func (r *propertiesReader) rest() string {
	from := r.at
	for !r.ended() {
		r.next()
	}
	text := string(r.src[from:min(r.at, len(r.src))])
	r.next()
	return text
}

func (r *propertiesReader) logicalLine() {
	first := r.col
	r.blanks()
	first, c := r.col-first, r.peek()
	switch {
	case r.ended():
		r.comment = 0
		r.next()
	case c == '#' || c == '!':
		r.commentLine(c, first == 0)
	default:
		r.comment = 0
		r.property()
		r.next()
	}
}

// commentLine reads a comment, which may begin a document. A comment that is the first
// thing in a document makes it part of the one before, which surprises.
func (r *propertiesReader) commentLine(sign rune, first bool) {
	text := r.rest()[1:]
	if first && r.comment != sign && strings.HasPrefix(text, "---") && strings.Trim(text[3:], " \t\f") == "" {
		if len(r.doc) > 0 {
			r.docs = append(r.docs, r.doc)
		}
		r.doc, r.comment = nil, 0
		return
	}
	if n := len(r.docs); len(r.doc) == 0 && n > 0 {
		r.doc, r.docs = r.docs[n-1], r.docs[:n-1]
	}
	r.comment = sign
}

func (r *propertiesReader) property() {
	key := r.word(func(c rune) bool { return strings.ContainsRune("=: \t\f", c) })
	r.blanks()
	if c := r.peek(); !r.ended() && (c == '=' || c == ':') {
		r.next()
		r.blanks()
	}
	list, isList := strings.CutSuffix(key, "[]")
	if !isList {
		r.put(key, func(rune) bool { return false })
		return
	}
	for i := 0; ; i++ {
		r.put(list+"["+strconv.Itoa(i)+"]", func(c rune) bool { return c == ',' })
		if r.ended() || r.err != nil {
			return
		}
		r.next()
	}
}

// put reads a value up to the end of the line, or what ends it before.
func (r *propertiesReader) put(key string, ends func(rune) bool) {
	p := prop{key: key, path: elements(key), pos: Pos{r.file, r.line, r.col}}
	p.raw.text = r.word(ends)
	if len(p.path) > 0 {
		r.doc = append(r.doc, p)
	}
}

// word reads escaped text over the ends of lines that are escaped.
func (r *propertiesReader) word(ends func(rune) bool) string {
	var out strings.Builder
	for !r.ended() && !ends(r.peek()) && r.err == nil {
		c := r.next()
		if c != '\\' {
			out.WriteRune(c)
			continue
		}
		switch c = r.next(); c {
		case '\n':
			r.blanks()
		case 't':
			out.WriteRune('\t')
		case 'n':
			out.WriteRune('\n')
		case 'r':
			out.WriteRune('\r')
		case 'f':
			out.WriteRune('\f')
		case 'u':
			out.WriteRune(r.unicode())
		case 0:
		default:
			out.WriteRune(c)
		}
	}
	return out.String()
}

// unicode reads the four digits of an escape.
func (r *propertiesReader) unicode() rune {
	at := Pos{r.file, r.line, r.col}
	from := r.at
	for range 4 {
		if !r.ended() {
			r.next()
		}
	}
	digits := string(r.src[from:r.at])
	n, err := strconv.ParseUint(digits, 16, 16)
	if err != nil || len(digits) < 4 {
		r.err = fmt.Errorf("%v: \\u%s is no escape; it wants four hexadecimal digits", at, digits)
	}
	return rune(n)
}
