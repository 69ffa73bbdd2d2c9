package ci

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// Run is one experiment that was run and judged.
type Run struct {
	Experiment string
	File       string   // the experiment's file as it was given on the command line
	Sets       []string // what was set otherwise than in the file, each path=value
	Tool       string   // faultline's version
	Seed       uint64
	Rung       string // how attempts were joined with calls
	Started    time.Time
	Duration   time.Duration
	Phases     []trace.Phase
	Report     assert.Report
	Trouble    *Trouble // nil: the run was carried out
}

// Trouble says why a run was not carried out to its end. It becomes a case of
// its own, so that it is seen whatever the assertions say.
type Trouble struct {
	Type   string // precondition, interrupted, aborted
	Reason string
	Remedy string
}

// Options says how verdicts are spelled.
type Options struct {
	// SkipInconclusive reports an assertion that could not be decided as skipped
	// instead of as an error.
	SkipInconclusive bool
}

// WriteJUnit writes runs as JUnit XML, one suite each. It returns an error only
// when w does. What XML cannot hold (control characters, bytes that are no text)
// is written as U+FFFD.
func WriteJUnit(w io.Writer, runs []Run, opt Options) error {
	doc := suites{Name: "faultline"}
	var total time.Duration
	for _, r := range runs {
		s := r.suite(opt)
		doc.Suites = append(doc.Suites, s)
		doc.add(s.counts)
		total += r.Duration
	}
	doc.Time = seconds(total)

	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("encode JUnit XML: %w", err)
	}
	b.WriteByte('\n')
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

// suite is a run as a suite of cases.
func (r Run) suite(opt Options) suite {
	s := suite{
		Name:       "faultline." + r.Experiment,
		Time:       seconds(r.Duration),
		Properties: r.properties(),
	}
	if !r.Started.IsZero() {
		// The schema's type has no zone; readers take it as UTC.
		s.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
	}
	if r.Trouble != nil {
		s.Cases = append(s.Cases, r.trouble())
	}
	for _, v := range r.Report.Verdicts {
		s.Cases = append(s.Cases, r.testcase(v, opt))
	}
	for _, c := range s.Cases {
		s.add(c.counts())
	}
	return s
}

func (r Run) properties() *properties {
	p := properties{Properties: []property{
		{"faultline.version", r.Tool},
		{"faultline.seed", strconv.FormatUint(r.Seed, 10)},
	}}
	for _, set := range r.Sets {
		p.Properties = append(p.Properties, property{"faultline.set", set})
	}
	if r.Rung != "" {
		p.Properties = append(p.Properties, property{"faultline.joined_by", r.Rung})
	}
	for _, c := range r.Report.Integrity {
		if c.OK {
			continue
		}
		name := "faultline.not_intact." + c.Name
		if c.Phase != "" {
			name += "." + c.Phase
		}
		p.Properties = append(p.Properties, property{name, fmt.Sprintf("expected %s, observed %s", c.Expected, c.Observed)})
	}
	return &p
}

// trouble is the case that says why the run was not carried out to its end.
func (r Run) trouble() testcase {
	t := r.Trouble
	body := details{{"why", t.Reason}, {"to do", t.Remedy}}.String()
	return testcase{
		ClassName: "faultline." + r.Experiment,
		Name:      "run",
		File:      r.File,
		Time:      seconds(r.Duration),
		Error:     &problem{Message: firstOf(t.Reason, t.Type), Type: t.Type, Text: body},
	}
}

// testcase is one verdict as a case. The details are the text of what is wrong,
// or else system-out; readers that show both would show them twice.
func (r Run) testcase(v assert.Verdict, opt Options) testcase {
	c := testcase{
		ClassName: "faultline." + r.Experiment,
		Name:      v.ID,
		File:      r.File,
		Line:      v.Line,
		Time:      seconds(r.phaseTime(v.Phase)),
	}
	if v.Phase != "" {
		c.ClassName += "." + v.Phase
	}
	switch v.Result {
	case assert.Pass:
		c.SystemOut = &text{detailsOf(v)}
	case assert.Fail:
		c.Failure = &problem{Message: message(v), Type: "faultline." + v.Kind, Text: detailsOf(v)}
	case assert.Skipped:
		c.Skipped = &skipped{Message: "blocked by " + firstOf(v.BlockedBy, v.Reason, "another assertion")}
		c.SystemOut = &text{detailsOf(v)}
	case assert.Inconclusive:
		if opt.SkipInconclusive {
			c.Skipped = &skipped{Message: "inconclusive: " + firstOf(v.Reason, message(v))}
			c.SystemOut = &text{detailsOf(v)}
			break
		}
		c.Error = &problem{Message: firstOf(v.Reason, message(v)), Type: "inconclusive", Text: detailsOf(v)}
	default:
		// A case without any of these reads as passed, which nobody has said.
		c.Error = &problem{Message: fmt.Sprintf("unknown verdict %q", v.Result), Type: "inconclusive", Text: detailsOf(v)}
	}
	return c
}

// phaseTime is how long the phase lasted, or the run where a phase is not named.
func (r Run) phaseTime(phase string) time.Duration {
	for _, p := range r.Phases {
		if p.Name == phase {
			return p.To - p.From
		}
	}
	if phase != "" {
		return 0
	}
	return r.Duration
}

func message(v assert.Verdict) string {
	return fmt.Sprintf("expected %s, observed %s", v.Expected, v.Observed)
}

// details are the facts of a verdict, one a line.
type details [][2]string

func detailsOf(v assert.Verdict) string {
	return details{
		{"rule", v.Kind},
		{"phase", v.Phase},
		{"verdict", string(v.Result)},
		{"blocked by", v.BlockedBy},
		{"expected", v.Expected},
		{"observed", v.Observed},
		{"margin", v.Margin},
		{"resolution", v.Resolution},
		{"why", v.Reason},
		{"calls", strings.Join(v.Evidence, " ")},
		{"to do", v.Remedy},
	}.String()
}

// String writes the facts that are known.
func (d details) String() string {
	var b strings.Builder
	b.WriteByte('\n')
	for _, f := range d {
		if f[1] != "" {
			fmt.Fprintf(&b, "%-11s %s\n", f[0], f[1])
		}
	}
	return legible(b.String())
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// seconds writes a duration as JUnit does.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}
