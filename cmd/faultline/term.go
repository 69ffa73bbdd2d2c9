package main

import (
	"io"
	"os"
	"strings"

	"github.com/faultline-go/faultline/assert/report"
)

// The widths that text is laid out for: a terminal's own, within reason.
const (
	leastWidth = 60
	mostWidth  = 120
)

// screen is what is known of the place that text goes to.
type screen struct {
	terminal bool
	width    int
	color    bool
	ascii    bool
}

// screenOf looks at where w leads. Colours are for terminals, unless they are
// unwanted: by flag, by NO_COLOR (any value), or by a terminal that says it is
// dumb. Whether more than ASCII can be shown is the locale's to say.
func (a app) screenOf(w io.Writer, noColor bool) screen {
	s := screen{width: report.DefaultWidth, ascii: !a.utf8()}
	f, ok := w.(*os.File)
	if !ok || a.getenv("TERM") == "dumb" {
		return s
	}
	width, ok := terminalWidth(f)
	if !ok {
		return s
	}
	s.terminal = true
	if width > 0 {
		s.width = min(max(width, leastWidth), mostWidth)
	}
	s.color = !noColor && a.getenv("NO_COLOR") == ""
	return s
}

// utf8 reads the locale as C programs do: the first variable that is set decides.
func (a app) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(a.getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
