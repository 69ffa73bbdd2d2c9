package ci

import (
	"fmt"
	"io"
	"strings"
)

// Level says how much a finding weighs, in SARIF's words.
type Level string

// The levels, the lightest first.
const (
	LevelNote    Level = "note"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Finding is one thing that was found in a file without running anything.
type Finding struct {
	Rule    string // the id of its [Check]
	Level   Level
	File    string // as it was given on the command line, with slashes
	Line    int    // from 1; 0: the whole file
	Column  int    // from 1, in characters; 0: the whole line
	Message string // may have several lines
	// Suppressed is the reason for which a comment in the file takes the finding
	// back; empty if none does.
	Suppressed string
}

// WriteGitHub writes findings as workflow commands, one line each, which GitHub shows
// as annotations beside the lines of a pull request. Those that are suppressed are
// left out: GitHub has no word for them. It shows ten of each level and step, so the
// heaviest should come first. It returns an error only when w does.
//
// Source: GitHub's documentation of workflow commands; the escapes are those of its
// toolkit.
func WriteGitHub(w io.Writer, findings []Finding) error {
	var b strings.Builder
	for _, f := range findings {
		if f.Suppressed != "" {
			continue
		}
		fmt.Fprintf(&b, "::%s file=%s", f.Level.annotation(), inProperty(f.File))
		if f.Line > 0 {
			fmt.Fprintf(&b, ",line=%d", f.Line)
		}
		if f.Line > 0 && f.Column > 0 {
			fmt.Fprintf(&b, ",col=%d", f.Column)
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", inProperty(f.Rule), inMessage(f.Message))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	return nil
}

// annotation is the workflow command of a level.
func (l Level) annotation() string {
	if l == LevelNote {
		return "notice"
	}
	return string(l)
}

// inMessage keeps a message on the one line that a command is.
func inMessage(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// inProperty also escapes what ends a property.
func inProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(inMessage(s))
}
