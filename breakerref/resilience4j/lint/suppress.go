package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// suppressionRules are about the comments that take findings back. They have no check of
// their own: suppress finds them.
func suppressionRules() []Rule {
	return []Rule{
		{
			ID: "suppression-without-reason", Severity: Warning,
			Title:  "A suppression without a reason",
			Why:    "Whoever reads it in a year must know whether it still holds. Without a reason it takes nothing back.",
			Source: "faultline",
			Fix:    "write why after the rule, as # faultline:ignore RULE the window grows in May",
		},
		{
			ID: "suppression-of-unknown-rule", Severity: Warning,
			Title:  "A suppression of a rule that does not exist",
			Why:    "It takes nothing back, though someone thinks it does.",
			Source: "faultline",
			Fix:    "correct the rule's id; --explain lists all",
		},
		{
			ID: "suppression-unused", Severity: Warning,
			Title:  "A suppression with nothing to take back",
			Why:    "The rule finds nothing on this line, nor on the one after the comment: what was wrong has been mended, or the comment stands at the wrong place. It would hide what comes later.",
			Source: "faultline",
			Fix:    "remove the comment, or put it on the line that the finding names",
		},
	}
}

// directive is a comment that takes findings back.
type directive struct {
	at     resilience4j.Pos
	lines  [2]int // the lines for whose findings it is
	rule   string
	reason string
	used   bool
}

// mark is what such a comment begins with.
var mark = regexp.MustCompile(`^[#!]+\s*faultline:ignore\b\s*(\S*)\s*(.*?)\s*$`)

// suppress marks findings that comments take back, and adds what is wrong with those
// comments. Nothing of the latter can be taken back.
func suppress(name string, src []byte, findings []Finding) []Finding {
	all := directives(name, src)
	for i := range findings {
		for j := range all {
			d := &all[j]
			if d.reason != "" && d.rule == findings[i].Rule && slices.Contains(d.lines[:], findings[i].At.Line) {
				d.used = true
				findings[i].Suppressed = d.reason
			}
		}
	}
	for _, d := range all {
		if f, wrong := d.wrong(); wrong {
			findings = append(findings, f)
		}
	}
	return findings
}

// wrong returns what is wrong with a comment.
func (d directive) wrong() (Finding, bool) {
	var id, what string
	_, known := Find(d.rule)
	switch {
	case d.rule == "":
		id, what = "suppression-of-unknown-rule", "it names no rule"
	case !known:
		id, what = "suppression-of-unknown-rule", fmt.Sprintf("there is no rule %q", d.rule)
		if near := yamldoc.Nearest(d.rule, IDs()); near != "" {
			what += fmt.Sprintf("; did you mean %q?", near)
		}
	case d.reason == "":
		id, what = "suppression-without-reason", d.rule+" is ignored without a reason"
	case !d.used:
		id, what = "suppression-unused", d.rule+" finds nothing here"
	default:
		return Finding{}, false
	}
	r, _ := Find(id)
	return Finding{Rule: id, Severity: r.Severity, At: d.at, What: what, Why: r.Why, Fix: r.Fix}, true
}

// directives finds the comments. One that stands alone is for the next line that is no
// comment; one at a line's end, which properties do not have, for its own line.
func directives(name string, src []byte) []directive {
	var out []directive
	var waiting []int // those that stand alone, and wait for their line
	comments := yamlComments
	if isProperties(name) {
		comments = propertiesComments
	}
	for i, l := range comments(string(src)) {
		m := mark.FindStringSubmatch(l.comment)
		if m != nil {
			out = append(out, directive{
				at:   resilience4j.Pos{File: name, Line: i + 1, Col: l.col},
				rule: m[1], reason: m[2], lines: [2]int{i + 1, 0},
			})
		}
		switch {
		case l.alone && m != nil:
			waiting = append(waiting, len(out)-1)
		case !l.alone && !l.blank:
			for _, j := range waiting {
				out[j].lines[1] = i + 1
			}
			waiting = nil
		}
	}
	return out
}

// line is what a line has of comments.
type line struct {
	comment string // from the # on
	col     int    // where it begins, from 1, in characters
	alone   bool   // there is nothing before it
	blank   bool   // there is nothing at all
}

// propertiesComments finds the comments of a properties file, whose lines are comments
// or not, unless the line before goes on.
func propertiesComments(src string) []line {
	var out []line
	on := false
	for text := range strings.SplitSeq(src, "\n") {
		text = strings.TrimRight(text, "\r")
		bare := strings.TrimLeft(text, " \t\f")
		l := line{blank: bare == ""}
		if !on && (strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "!")) {
			l = line{comment: bare, col: len([]rune(text)) - len([]rune(bare)) + 1, alone: true}
		}
		on = !l.alone && (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
		out = append(out, l)
	}
	return out
}

// block is the end of a line after which a text follows, as deep as it likes.
var block = regexp.MustCompile(`(^|[\s:-])[|>][+-]?[1-9]?[+-]?\s*$`)

// yamlComments finds the comments of YAML: a # at the beginning or after a blank, which
// is in no quotes, and in no text that goes over several lines.
func yamlComments(src string) []line {
	var out []line
	quote, deep := rune(0), -1
	for text := range strings.SplitSeq(src, "\n") {
		text = strings.TrimRight(text, "\r")
		bare := strings.TrimLeft(text, " \t")
		indent := len(text) - len(bare)
		if deep >= 0 && (bare == "" || indent > deep) {
			out = append(out, line{blank: bare == ""})
			continue
		}
		deep = -1
		at, open := commentIn(text, quote)
		quote = open
		l := line{blank: bare == ""}
		before := text
		if at >= 0 {
			before = text[:at]
			l.comment, l.col = text[at:], len([]rune(before))+1
			l.alone = strings.TrimSpace(before) == ""
		}
		if quote == 0 && block.MatchString(before) && strings.TrimSpace(before) != "" {
			deep = indent
		}
		out = append(out, l)
	}
	return out
}

// commentIn returns where a comment begins in a line, or -1, and the quote in which the
// line ends. A quote begins a text only where a value may begin.
func commentIn(text string, quote rune) (int, rune) {
	before, escaped := ' ', false
	for i, r := range text {
		switch {
		case escaped:
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '"' || r == '\'') && strings.ContainsRune(" \t[{,:-'", before):
			quote = r
		case r == '#' && (before == ' ' || before == '\t'):
			return i, 0
		}
		before = r
	}
	return -1, quote
}
