package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a document. Line and Col count from 1,
// Col in characters. Path names the place as a reader would, such as
// phases[1].load.rate; it is empty for the whole document. Where [Doc.Set] put what
// is wrong, File is that assignment, and Line and Col are 0.
type Problem struct {
	File    string
	Line    int
	Col     int
	Path    string
	Message string
}

// String returns file:line:col: path: message, without line and column if there
// are none.
func (p Problem) String() string {
	at := p.File + ": "
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Col)
	}
	if p.Path != "" {
		at += p.Path + ": "
	}
	return at + p.Message
}

// Problems are all that is wrong with a document, sorted by position.
type Problems []Problem

// Error returns one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems by position, without those that were taken back. The
// same problem may have been found twice when a value is read through two aliases;
// it is told once.
func (ps Problems) sorted() Problems {
	out := slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Message == "" })
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}
