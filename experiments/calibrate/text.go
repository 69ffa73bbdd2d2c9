package calibrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	if err := out.Encode(r); err != nil {
		return fmt.Errorf("write the calibration: %w", err)
	}
	return nil
}

// WriteText writes the matrix of defects, what was wrong, and the sum as the last line.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	wide := len("defect")
	for _, d := range r.Mutants {
		wide = max(wide, len(d.Name))
	}
	part := ""
	for _, d := range r.Mutants {
		if d.Part != part {
			part = d.Part
			fmt.Fprintf(&b, "%-*s  %-6s  %s\n", wide, strings.ToUpper(part), "CAUGHT", "BY")
		}
		fmt.Fprintf(&b, "%-*s  %-6s  %s\n", wide, d.Name, fmt.Sprintf("%d/%d", len(d.CaughtBy), len(d.CaughtBy)+len(d.MissedBy)), d.line())
	}
	b.WriteString("\n")
	for _, d := range r.Mutants {
		switch {
		case d.Caught:
		case d.Inconclusive != "":
			fmt.Fprintf(&b, "INCONCLUSIVE  %s: it %s\n  %s\n", d.Name, d.Says, d.Inconclusive)
		default:
			fmt.Fprintf(&b, "MISSED  %s: it %s\n  looked at by %s\n", d.Name, d.Says, cmp.Or(strings.Join(d.MissedBy, ", "), "nothing"))
		}
	}
	passed := 0
	for _, g := range r.Good {
		switch g.Verdict {
		case VerdictPass:
			passed++
		case VerdictFail:
			fmt.Fprintf(&b, "FALSE ALARM  %s\n  %s\n", g.Name, g.Reason)
		default:
			fmt.Fprintf(&b, "INCONCLUSIVE  %s\n  %s\n", g.Name, g.Reason)
		}
	}
	if len(r.Unplayed) > 0 {
		fmt.Fprintf(&b, "left to --sockets, as virtual time cannot tell what comes of it: %s\n", strings.Join(r.Unplayed, ", "))
	}
	fmt.Fprintf(&b, "right services: %d of %d runs pass every assertion\n", passed, len(r.Good))
	fmt.Fprintf(&b, "%d of %d defects caught, %s, %d inconclusive\n", r.Caught, r.Total, alarms(r.FalseAlarms), r.Inconclusive)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the calibration: %w", err)
	}
	return nil
}

// alarms counts false alarms.
func alarms(n int) string {
	if n == 1 {
		return "1 false alarm"
	}
	return fmt.Sprintf("%d false alarms", n)
}

// shown is how many of those that caught a mutant are spelled out.
const shown = 3

// line says in a few words what caught the mutant.
func (d *Defect) line() string {
	switch n := len(d.CaughtBy); {
	case n > shown:
		return fmt.Sprintf("%s and %d more", strings.Join(d.CaughtBy[:shown], ", "), n-shown)
	case n > 0:
		return strings.Join(d.CaughtBy, ", ")
	case d.Inconclusive != "":
		return "inconclusive"
	}
	return "MISSED"
}
