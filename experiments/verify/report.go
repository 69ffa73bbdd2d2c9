package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// Count is how many rows have a verdict.
func (r Report) Count(v Verdict) int {
	n := 0
	for _, row := range r.Rows {
		if row.Verdict == v {
			n++
		}
	}
	return n
}

// Failed reports whether the service is not what was declared.
func (r Report) Failed() bool { return r.Difference != nil }

// Decided reports whether all was decided that a run can decide.
func (r Report) Decided() bool { return r.Reason == "" && r.Count(Undecided) == 0 }

// WriteJSON writes the report for machines.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	table(&b, r.Rows)
	if d := r.Difference; d != nil {
		fmt.Fprintf(&b, "\nDIFFERENCE  at call %s\n  calls     %s\n  shows     %s\n", d.Call, d.Sequence, d.Says)
		switch len(d.Explained) {
		case 0:
			b.WriteString("  explained by no configuration near the declared one\n")
		default:
			const most = 6
			all := d.Explained
			if len(all) > most {
				all = append(all[:most:most], fmt.Sprintf("and %d more", len(d.Explained)-most))
			}
			fmt.Fprintf(&b, "  explained all that was seen would be so with %s\n", strings.Join(all, "; or "))
		}
	}
	if r.Reason != "" {
		fmt.Fprintf(&b, "\nCOULD NOT TELL  %s\n", r.Reason)
	}
	fmt.Fprintf(&b, "\n%s  %d parameters proved, %d not as declared, %d undecided, %d that cannot be told from outside; %d calls in %v, %v of them waits that cannot be avoided\n",
		r.headline(), r.Count(Pass), r.Count(Fail), r.Count(Undecided), r.Count(Untold), r.Calls, r.Took.Round(time.Millisecond), r.Unavoidable.Round(time.Millisecond))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r Report) headline() string {
	switch {
	case r.Failed():
		return "FAIL"
	case !r.Decided():
		return "INCONCLUSIVE"
	}
	return "PASS"
}

// table writes rows, and below them why some are not decided.
func table(b *strings.Builder, rows []Row) {
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "PARAMETER\tDECLARED\tPREDICTED\tOBSERVED\tVERDICT\tFROM") // A builder takes all.
	for _, row := range rows {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Param, short(row.Declared), short(row.Predicted), short(row.Observed), row.Verdict, row.Origin)
	}
	_ = tw.Flush() // Likewise.
	for _, row := range rows {
		if row.Reason != "" {
			fmt.Fprintf(b, "\n%s  %s\n  %s\n", strings.ToUpper(string(row.Verdict)), row.Param, row.Reason)
		}
	}
}

// short is what fits a column.
func short(s string) string {
	const most = 44
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most-3]) + "..."
	}
	if s == "" {
		return "-"
	}
	return s
}

// Outline is a program, for people and machines.
type Outline struct {
	Steps       []Step        `json:"steps"`
	Unavoidable time.Duration `json:"unavoidable"`
	Left        []string      `json:"left_out"`
	Rows        []Row         `json:"rows"` // of a service that is right
}

// Outline is what a program would do.
func (p *Program) Outline() Outline {
	return Outline{Steps: p.Steps, Unavoidable: p.Unavoidable, Left: p.Left, Rows: p.Foreseen()}
}

// WriteJSON writes the outline for machines.
func (o Outline) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(o); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

// WriteText writes the outline for people.
func (o Outline) WriteText(w io.Writer) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "STEP\tCALLS\tWAIT\tWHAT IT SHOWS")
	for _, s := range o.Steps {
		wait := "-"
		if s.Wait > 0 {
			wait = s.Wait.Round(time.Millisecond).String()
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", s.Name, s.Calls, wait, s.About)
	}
	_ = tw.Flush() // A builder takes all.
	b.WriteString("\nS a good answer, F a failure, L a slow good answer, Q one just below the threshold.\n")
	for _, left := range o.Left {
		fmt.Fprintf(&b, "\nLEFT OUT  %s\n", left)
	}
	b.WriteString("\nOf a service that is as declared, this run would show:\n\n")
	table(&b, o.Rows)
	fmt.Fprintf(&b, "\nWAITS  %v that cannot be avoided; a run takes little more\n", o.Unavoidable.Round(time.Millisecond))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}
