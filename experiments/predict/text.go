package predict

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
)

// WriteJSON writes the forecast as one indented JSON object with a final newline.
func (f *Forecast) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("write forecast of %s: %w", f.Experiment, err)
	}
	return nil
}

// WriteText writes the forecast for a person; the verdict is the last line.
func (f *Forecast) WriteText(w io.Writer, opt report.TextOptions) error {
	sections := [][]string{f.header(opt), report.Draw(f.phases, f.Breakers, opt), f.phaseTable(opt), f.totals(opt)}
	sections = append(sections, f.warnings(opt), f.assertionTable(opt))
	sections = append(sections, f.explanations(opt)...)
	sections = append(sections, f.supposed(opt), f.verdict(opt))
	var parts []string
	for _, lines := range sections {
		if len(lines) > 0 {
			parts = append(parts, strings.Join(lines, "\n")+"\n")
		}
	}
	if _, err := io.WriteString(w, strings.Join(parts, "\n")); err != nil {
		return fmt.Errorf("write forecast of %s: %w", f.Experiment, err)
	}
	return nil
}

func (f *Forecast) header(opt report.TextOptions) []string {
	name := f.Experiment
	if f.File != "" {
		name += " (" + f.File + ")"
	}
	return report.Wrap(fmt.Sprintf("%s: seed %d, a forecast. Nothing was sent, opened or started.", name, f.Seed), opt)
}

// phaseTable says what will be sent in each phase, and what comes of it.
func (f *Forecast) phaseTable(opt report.TextOptions) []string {
	head := []string{"PHASE", "LASTS", "LOAD", "FAULTS", "CALLS", "ARRIVE", "BREAKER"}
	rows := make([][]string, 0, len(f.Phases))
	for _, p := range f.Phases {
		name := p.Name
		if !p.Measure {
			name = "(" + name + ")"
		}
		row := []string{name, p.Lasts.String(), p.Load, strings.Join(p.Faults, "; "), "", p.attempts(), strings.Join(p.States, "; ")}
		if p.Requests.Most > 0 {
			row[4] = p.Requests.String()
			if p.Unsent > 0 {
				row[4] += fmt.Sprintf(" (and %s not sent)", report.Thousands(p.Unsent))
			}
		}
		rows = append(rows, row)
	}
	return report.Table(head, rows, opt)
}

// attempts is how many are expected at each injector.
func (p Phase) attempts() string {
	parts := make([]string, 0, len(p.Attempts))
	for _, n := range p.Attempts {
		s := n.N.String()
		if len(p.Attempts) > 1 {
			s = n.Name + " " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// totals sums up the whole run.
func (f *Forecast) totals(opt report.TextOptions) []string {
	peak, once := 0.0, 0
	for _, p := range f.Phases {
		peak, once = max(peak, p.Rate), max(once, p.AtOnce)
	}
	s := fmt.Sprintf("In all: %s, %s calls", f.Duration, f.Requests)
	if len(f.Targets) > 1 {
		parts := make([]string, 0, len(f.Targets))
		for _, t := range f.Targets {
			parts = append(parts, fmt.Sprintf("%s %s", t.Name, t.N))
		}
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	if peak > 0 {
		s += fmt.Sprintf(", at most %s/s", strconv.FormatFloat(math.Round(peak*10)/10, 'f', -1, 64))
	}
	s = fmt.Sprintf("%s and %d under way at once.", s, once)
	if f.Probes > 0 {
		s += fmt.Sprintf(" Before that, %s to see what reaches the dependencies.", plural(f.Probes, "call"))
	}
	lines := report.Wrap(s, opt)
	for _, w := range f.Waits {
		lines = append(lines, report.Wrap("- "+w, opt)...)
	}
	return lines
}

func (f *Forecast) warnings(opt report.TextOptions) []string {
	var lines []string
	for _, w := range f.Warnings {
		lines = append(lines, report.Explain("WARNING", w.Phase, assert.Inconclusive, []report.Item{{Name: "what", Text: w.What}, {Name: "to do", Text: w.Remedy}}, opt)...)
	}
	return lines
}

// assertionTable lists every assertion in the order of the experiment's file.
func (f *Forecast) assertionTable(opt report.TextOptions) []string {
	head := []string{"ASSERTION", "FORECAST", "EXPECTED", "FAILS A SERVICE THAT"}
	rows := make([][]string, 0, len(f.Assertions))
	for _, a := range f.Assertions {
		can := string(a.Can)
		if a.Can != CanDecide {
			can = strings.ToUpper(can)
		}
		rows = append(rows, []string{a.ID, can, a.Expected, a.Notices})
	}
	return report.Table(head, rows, opt)
}

// explanations say of each assertion that cannot be decided why, and what to do.
func (f *Forecast) explanations(opt report.TextOptions) [][]string {
	var out [][]string
	for _, a := range f.Assertions {
		result := assert.Inconclusive
		switch a.Can {
		case CanDecide:
			continue
		case Contradicts:
			result = assert.Fail
		default:
		}
		rule := a.Kind
		if a.Phase != "" {
			rule += ", phase " + a.Phase
		}
		if a.Line > 0 && f.File != "" {
			rule += fmt.Sprintf(", %s:%d", f.File, a.Line)
		}
		title := a.ID
		if a.Misses != "" {
			title += ": a service that " + a.Misses
		}
		out = append(out, report.Explain(strings.ToUpper(string(a.Can)), title, result, []report.Item{
			{Name: "rule", Text: rule},
			{Name: "expected", Text: a.Expected},
			{Name: "would see", Text: a.Observed},
			{Name: "why", Text: a.Reason},
			{Name: "to do", Text: a.Remedy},
		}, opt))
	}
	return out
}

func (f *Forecast) supposed(opt report.TextOptions) []string {
	lines := report.Wrap("The forecast supposes a service that does what the file declares:", opt)
	for _, s := range f.Supposed {
		lines = append(lines, report.Wrap("- "+s, opt)...)
	}
	return lines
}

func (f *Forecast) verdict(opt report.TextOptions) []string {
	n := len(f.Assertions)
	s := fmt.Sprintf("%s: all %d assertions pass a right service and fail a wrong one", f.Experiment, n)
	if n == 1 {
		s = f.Experiment + ": the assertion passes a right service and fails a wrong one"
	}
	result, head, code := assert.Pass, "CAN BE DECIDED", report.ExitPass
	if bad := f.Undecided(); bad > 0 {
		result, head, code = assert.Inconclusive, "NOT ALL", report.ExitInconclusive
		s = fmt.Sprintf("%s: %d of %s can be decided", f.Experiment, n-bad, plural(n, "assertion"))
		counts := map[Can][]string{}
		for _, a := range f.Assertions {
			counts[a.Can] = append(counts[a.Can], a.ID)
		}
		for _, c := range []Can{CannotDecide, Contradicts, WouldNotNotice, NotPredicted} {
			if ids := counts[c]; len(ids) > 0 {
				s += fmt.Sprintf("; %s: %s", c, strings.Join(ids, ", "))
			}
		}
	}
	return report.Explain(head, fmt.Sprintf("%s (exit %d)", s, code), result, nil, opt)
}

// String prints the span, or one duration where both ends read alike.
func (s Span) String() string {
	if s.Least == s.Most {
		return s.Least.Round(time.Microsecond).String()
	}
	if lo, hi := brief(s.Least), brief(s.Most); lo != hi {
		return lo + " to " + hi
	}
	return brief(s.Least)
}

// String prints the count, or one number where both are alike.
func (c Count) String() string {
	if c.Least == c.Most {
		return report.Thousands(c.Least)
	}
	return report.Thousands(c.Least) + " to " + report.Thousands(c.Most)
}

// brief prints a duration with two digits, which is more than a guess is worth.
func brief(d time.Duration) string {
	for unit := 100 * time.Second; unit >= time.Millisecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return d.Round(time.Millisecond).String()
}
