package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// anySummary draws a summary with whatever a trace and a service can put into it.
func anySummary(t *rapid.T) Summary {
	anything := rapid.OneOf(rapid.StringMatching(`[a-z0-9 -]{0,60}`), rapid.String())
	instant := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "instant"))
	})
	s := Summary{Experiment: anything.Draw(t, "name"), File: anything.Draw(t, "file"), Verdict: OutcomeFail}
	from := instant.Draw(t, "start")
	for range rapid.IntRange(0, 6).Draw(t, "phases") {
		to := from + instant.Draw(t, "length")
		s.Phases = append(s.Phases, trace.Phase{Name: anything.Draw(t, "phase"), From: from, To: to, Measure: rapid.Bool().Draw(t, "measure")})
		from = to
	}
	states := []assert.State{assert.StateClosed, assert.StateOpen, assert.StateHalfOpen, "ODD"}
	interval := rapid.Custom(func(t *rapid.T) assert.Interval {
		return assert.Interval{Lo: instant.Draw(t, "lo"), Hi: instant.Draw(t, "hi")}
	})
	for range rapid.IntRange(0, 3).Draw(t, "breakers") {
		b := assert.Timeline{Name: anything.Draw(t, "breaker"), Instance: anything.Draw(t, "instance")}
		for range rapid.IntRange(0, 20).Draw(t, "segments") {
			b.Segments = append(b.Segments, assert.Segment{
				State: rapid.SampledFrom(states).Draw(t, "state"), From: interval.Draw(t, "from"), To: interval.Draw(t, "to"),
			})
		}
		s.Breakers = append(s.Breakers, b)
	}
	results := []assert.Result{assert.Pass, assert.Fail, assert.Inconclusive, assert.Skipped, "odd"}
	for range rapid.IntRange(0, 5).Draw(t, "verdicts") {
		s.Assertions = append(s.Assertions, assert.Verdict{
			ID: anything.Draw(t, "id"), Kind: anything.Draw(t, "kind"), Phase: anything.Draw(t, "in"), Line: rapid.IntRange(0, 9).Draw(t, "line"),
			Result: rapid.SampledFrom(results).Draw(t, "result"), Expected: anything.Draw(t, "expected"), Observed: anything.Draw(t, "observed"),
			Margin: anything.Draw(t, "margin"), Reason: anything.Draw(t, "reason"), Evidence: []string{anything.Draw(t, "call")},
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "checks") {
		s.Integrity = append(s.Integrity, assert.Check{
			Name: anything.Draw(t, "check"), Phase: anything.Draw(t, "in"), Expected: anything.Draw(t, "expected"),
			Observed: anything.Draw(t, "observed"), Affects: rapid.SliceOfN(anything, 0, 3).Draw(t, "affects"),
		})
	}
	return s
}

// Whatever is to be reported, it is reported, within the width.
func TestAnySummaryIsLaidOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySummary(t)
		width := rapid.IntRange(60, 160).Draw(t, "width")
		var b bytes.Buffer
		if err := WriteText(&b, s, TextOptions{Width: width, ASCII: rapid.Bool().Draw(t, "ascii")}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
		if err := WriteMarkdown(&b, s); err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&b, s); err != nil {
			t.Fatal(err)
		}
	})
}

// Wrapping loses nothing but blanks.
func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-z ,./_-]{0,80}`).Draw(t, "text")
		width := rapid.IntRange(1, 30).Draw(t, "width")
		lines := wrap(s, width)
		for _, l := range lines {
			if len(l) > width {
				t.Errorf("%q is wider than %d", l, width)
			}
		}
		squeeze := strings.NewReplacer(" ", "")
		if got, want := squeeze.Replace(strings.Join(lines, "")), squeeze.Replace(s); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}

// However short a half-open visit is, the drawing has it.
func TestHalfOpenIsAlwaysDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := time.Hour
		at := time.Duration(rapid.Int64Range(0, int64(end)).Draw(t, "at"))
		cut := assert.Interval{Lo: at, Hi: at}
		b := assert.Timeline{Name: "b", Segments: []assert.Segment{
			{State: assert.StateOpen, To: cut},
			{State: assert.StateHalfOpen, From: cut, To: cut},
			{State: assert.StateOpen, From: cut, To: assert.Interval{Lo: end, Hi: end}, Last: true},
		}}
		drawing := timeline{phases: []trace.Phase{{Name: "p", To: end}}, breakers: []assert.Timeline{b}, glyphs: glyphsFor(true)}
		lane := drawing.lines(80, func(_ assert.State, piece string) string { return piece })[2]
		if strings.Count(lane, "h") != 1 {
			t.Errorf("%q", lane)
		}
	})
}

// A breaker that was not seen for a while, behind a shut door, was not at the end of the run then.
func TestStateThatIsLostIsNotSaidToLast(t *testing.T) {
	s := func(from, to int) assert.Segment {
		at := func(n int) assert.Interval {
			return assert.Interval{Lo: time.Duration(n) * time.Second, Hi: time.Duration(n) * time.Second}
		}
		return assert.Segment{State: assert.StateClosed, From: at(from), To: at(to), Last: true}
	}
	seen := timeline{breakers: []assert.Timeline{{Name: "payments", Segments: []assert.Segment{s(0, 1), s(3, 4)}}}, glyphs: glyphsFor(true)}
	got := strings.Join(seen.stays(100), " ")
	if want := "payments: closed 1s until nothing could be seen of it, closed 1s to the end"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
