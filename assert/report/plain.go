package report

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plain spells out what must not reach a terminal or a Markdown reader as it is:
// escape sequences, other control characters, invisible and invalid ones. Line
// ends stay; a tab becomes a space.
func plain(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])+0x100, 16)[1:])
		case r == utf8.RuneError:
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// oneLine is plain text without line ends.
func oneLine(s string) string {
	return strings.Join(strings.Fields(plain(s)), " ")
}

// wrap breaks text into lines of at most width runes, at spaces where it can,
// else after punctuation within a word, else anywhere. It returns at least one
// line.
func wrap(s string, width int) []string {
	var lines []string
	for para := range strings.SplitSeq(s, "\n") {
		lines = append(lines, wrapLine(para, width)...)
	}
	return lines
}

func wrapLine(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for utf8.RuneCountInString(word) > width {
			head := breakWord(word, width)
			lines = append(lines, head)
			word = word[len(head):]
		}
		line = word
	}
	return append(lines, line)
}

// breakWord returns the first piece of a word that is longer than width.
func breakWord(word string, width int) string {
	end, soft := 0, 0
	n := 0
	for i, r := range word {
		if n == width {
			end = i
			break
		}
		n++
		if strings.ContainsRune("-_/.,:;&?=", r) {
			soft = i + utf8.RuneLen(r)
		}
	}
	if soft > end/2 {
		return word[:soft]
	}
	return word[:end]
}

// pad fills text with spaces up to width runes.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// span prints a duration with three or four digits that mean something.
func span(d time.Duration) string {
	for unit := 10 * time.Second; unit >= 1000; unit /= 10 {
		if d >= unit || d <= -unit {
			return d.Round(unit / 1000).String()
		}
	}
	return d.String()
}

// thousands prints a number of things, such as 12,345.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
