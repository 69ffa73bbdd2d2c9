package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/simulate"
	"github.com/faultline-go/faultline/internal/stories"
)

// story is a model that is built up line by line.
type story struct {
	m    simulate.Model
	vary []simulate.Vary
}

// TestStories plays what is in testdata. The commands are
//
//	model   begins with the defaults and sets a value for each line
//	vary    has values to try out
//	trial   plays one trial
//	report  prints the whole report; arguments: trials, calls (of the quiet time)
func TestStories(t *testing.T) {
	stories.Play(t, stories.Commands[story]{"model": (*story).model, "vary": (*story).tries, "trial": (*story).trial, "report": (*story).report})
}

func (s *story) model(_ *testing.T, d *datadriven.TestData) string {
	s.m, s.vary = simulate.Default(), nil
	for line := range strings.Lines(d.Input) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := s.m.Set(name, value); err != nil {
			return err.Error()
		}
	}
	s.m = s.m.Complete()
	if err := s.m.Validate(); err != nil {
		return err.Error()
	}
	return "ok"
}

func (s *story) tries(_ *testing.T, d *datadriven.TestData) string {
	for line := range strings.Lines(d.Input) {
		v, err := simulate.ParseVary(strings.TrimSpace(line))
		if err != nil {
			return err.Error()
		}
		s.vary = append(s.vary, v)
	}
	return "ok"
}

func (s *story) trial(_ *testing.T, _ *datadriven.TestData) string {
	t := simulate.Play(&s.m, 1, 0)
	var b strings.Builder
	for i, stage := range []string{"before", "during", "after"} {
		e := t.Ends[i]
		fmt.Fprintf(&b, "%-6s %d answered, %d failed, %d rejected; %d attempts\n", stage, e.Answered, e.Failed, e.Rejected, t.Attempts[i])
	}
	for _, w := range t.Breakers {
		opened := "not opened"
		if w.Opened != nil {
			opened = fmt.Sprintf("opened %v after the beginning, at outcome %d", w.Opened.After.Round(time.Millisecond), w.Opened.Outcomes)
		}
		fmt.Fprintf(&b, "%s; first closed %s, for good %s after the end; %d false, %d late; open %v, half-open %v\n", opened, when(w.Recovered), when(w.Settled), w.False, w.Late,
			w.States[breakerref.Open].Round(time.Millisecond), w.States[breakerref.HalfOpen].Round(time.Millisecond))
	}
	return b.String()
}

func when(d *time.Duration) string {
	if d == nil {
		return "never"
	}
	return d.Round(time.Millisecond).String()
}

func (s *story) report(t *testing.T, d *datadriven.TestData) string {
	o := simulate.Options{Seed: 1, Trials: 20, QuietCalls: 100_000}
	d.MaybeScanArgs(t, "trials", &o.Trials)
	rows, err := simulate.Rows(s.m, s.vary)
	if err != nil {
		return err.Error()
	}
	table := simulate.Table{Rows: rows}
	var models []simulate.Model
	for _, r := range rows {
		models = append(models, r.Model)
	}
	if table.Out, err = simulate.RunAll(models, o); err != nil {
		return err.Error()
	}
	var b strings.Builder
	if err := table.WriteText(&b, 100); err != nil {
		t.Fatal(err)
	}
	// datadriven takes an empty line for the end of the output.
	return strings.ReplaceAll(b.String(), "\n\n", "\n.\n")
}
