package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// timeline draws what each breaker was inferred to do over the run's phases:
//
//	        (warmup)  baseline        outage
//	        |---------|---------------|-------------------------|
//	search  ──────────────────────────▓▓▓▓▓▓▓▓▓▓▓▓░▓▓▓▓▓▓▓▓▓▓▓▓░─
//	        0s                                              12.4s
//
// Time is to scale. A state that is shorter than a column still gets one, and
// half-open wins over open over closed where they share it, because the rarest is
// what the reader looks for. Columns that lie wholly inside the interval of a
// change of state show ?: the trace does not say which state it was.
type timeline struct {
	phases   []trace.Phase
	breakers []assert.Timeline
	glyphs   glyphs
}

// glyphs are the marks of the states.
type glyphs struct {
	closed, open, half rune
	plusMinus, micro   string
}

func glyphsFor(ascii bool) glyphs {
	if ascii {
		return glyphs{closed: '-', open: 'O', half: 'h', plusMinus: "+-", micro: "u"}
	}
	return glyphs{closed: '─', open: '▓', half: '░', plusMinus: "±", micro: "µ"}
}

const unsure = '?'

// widestLabel is how much of a lane its name may take before it gets a line of
// its own.
const widestLabel = 20

// narrowestAxis is the least number of columns that still shows something.
const narrowestAxis = 20

// axis maps instants to columns.
type axis struct {
	from, to time.Duration
	cols     int
}

func (a axis) col(t time.Duration) int {
	c := int(float64(t-a.from) / float64(a.to-a.from) * float64(a.cols))
	return min(max(c, 0), a.cols-1)
}

// lines draws the timeline, at most width runes wide. It is empty where there is
// nothing to draw. paint colours a piece of a lane that is in one state.
func (t timeline) lines(width int, paint func(assert.State, string) string) []string {
	a := t.axis()
	if len(t.breakers) == 0 || a.to <= a.from {
		return nil
	}
	label := 0
	for _, b := range t.breakers {
		if n := utf8.RuneCountInString(lane(b)); n <= widestLabel {
			label = max(label, n)
		}
	}
	a.cols = max(width-label-len(gap), narrowestAxis)
	margin := strings.Repeat(" ", label) + gap

	var out []string
	for _, l := range append(t.labels(a), t.ruler(a)) {
		out = append(out, margin+l)
	}
	for _, b := range t.breakers {
		name := lane(b)
		if utf8.RuneCountInString(name) > label {
			out = append(out, wrap(name, width)...)
			name = ""
		}
		row := pad(name, label) + gap + t.draw(a, b, paint)
		out = append(out, strings.TrimRight(row, " "))
	}
	from, to := t.span(a.from), t.span(a.to)
	out = append(out,
		margin+pad(from, a.cols-utf8.RuneCountInString(to))+to)
	legend := t.legend()
	if len(margin)+utf8.RuneCountInString(legend) <= width {
		legend = margin + legend
	}
	out = append(out, legend)
	return append(append(out, t.stays(width)...), t.shorts(width)...)
}

// lane names a breaker, of an instance where there are several.
func lane(b assert.Timeline) string {
	if b.Instance == "" {
		return oneLine(b.Name)
	}
	return oneLine(b.Name + "/" + b.Instance)
}

// axis spans the phases, and the segments where they reach further. What went
// before the first phase, such as the start of a service, is left out.
func (t timeline) axis() axis {
	var a axis
	if len(t.phases) > 0 {
		a.from = t.phases[0].From
	}
	for _, p := range t.phases {
		a.to = max(a.to, p.To)
	}
	for _, b := range t.breakers {
		for _, s := range b.Segments {
			a.to = max(a.to, s.To.Lo)
		}
	}
	return a
}

// labels returns the rows of phase names that stand over the ruler. A name that
// has no room before the next one moves up a row and gets a stem.
func (t timeline) labels(a axis) []string {
	level := make([]int, len(t.phases))
	top := 0
	for i := len(t.phases) - 1; i >= 0; i-- {
		from, name := t.label(a, i)
		for j := i + 1; j < len(t.phases); j++ {
			if next, _ := t.label(a, j); next <= from+len(name) {
				level[i] = max(level[i], level[j]+1)
			}
		}
		top = max(top, level[i])
	}
	out := make([]string, 0, top+1)
	for n := top; n >= 0; n-- {
		var row []rune
		for i, p := range t.phases {
			switch from, name := t.label(a, i); {
			case level[i] == n:
				row = put(row, from, name)
			case level[i] > n:
				row = put(row, a.col(p.From), []rune{'|'})
			}
		}
		out = append(out, string(row))
	}
	return out
}

// label returns the name of phase i and the column where it begins: that of the
// phase, or further left where the axis ends too soon. The name of a phase that
// is not measured is in brackets, one that is wider than the axis is cut.
func (t timeline) label(a axis, i int) (int, []rune) {
	p := t.phases[i]
	name := oneLine(p.Name)
	if !p.Measure {
		name = "(" + name + ")"
	}
	runes := []rune(name)
	if len(runes) > a.cols {
		runes = append(runes[:a.cols-2], '.', '.')
	}
	return min(a.col(p.From), a.cols-len(runes)), runes
}

// put writes text into a row at a column.
func put(row []rune, col int, text []rune) []rune {
	for len(row) < col+len(text) {
		row = append(row, ' ')
	}
	copy(row[col:], text)
	return row
}

// ruler marks where phases begin.
func (t timeline) ruler(a axis) string {
	row := []rune(strings.Repeat("-", a.cols))
	for _, p := range t.phases {
		row[a.col(p.From)] = '|'
	}
	row[a.cols-1] = '|'
	return string(row)
}

// draw draws one breaker's lane.
func (t timeline) draw(a axis, b assert.Timeline, paint func(assert.State, string) string) string {
	if len(b.Segments) == 0 {
		return "no state could be inferred"
	}
	cells := make([]assert.State, a.cols)
	for _, state := range []assert.State{assert.StateClosed, assert.StateOpen, assert.StateEjected, assert.StateHalfOpen} {
		for _, s := range b.Segments {
			if s.State != state || s.To.Hi < a.from {
				continue
			}
			first := a.col(s.From.Hi)
			for c := first; c <= max(first, a.col(s.To.Lo)); c++ {
				cells[c] = state
			}
		}
	}
	var out strings.Builder
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && cells[to] == cells[from] {
			to++
		}
		piece := strings.Repeat(string(t.glyph(cells[from])), to-from)
		out.WriteString(paint(cells[from], piece))
		from = to
	}
	return out.String()
}

func (t timeline) glyph(s assert.State) rune {
	switch s {
	case assert.StateClosed:
		return t.glyphs.closed
	case assert.StateOpen, assert.StateEjected:
		return t.glyphs.open
	case assert.StateHalfOpen:
		return t.glyphs.half
	}
	return unsure
}

// span prints a duration in what can be drawn.
func (t timeline) span(d time.Duration) string {
	return strings.ReplaceAll(span(d), "µ", t.glyphs.micro)
}

func (t timeline) legend() string {
	return fmt.Sprintf("%c closed  %c open  %c half-open  %c not known",
		t.glyphs.closed, t.glyphs.open, t.glyphs.half, unsure)
}

// mostStays is how many states of a breaker are spelled out.
const mostStays = 12

// stays says in words how long each state lasted, which the scale of the drawing
// hides.
func (t timeline) stays(width int) []string {
	var out []string
	for _, b := range t.breakers {
		if len(b.Segments) == 0 {
			continue
		}
		words := make([]string, 0, mostStays+1)
		for i, s := range b.Segments {
			if i == mostStays {
				words = append(words, fmt.Sprintf("and %d more", len(b.Segments)-i))
				break
			}
			words = append(words, t.stay(s, i == len(b.Segments)-1))
		}
		for i, l := range wrap(lane(b)+": "+strings.Join(words, ", "), width-len(gap)) {
			if i > 0 {
				l = gap + l
			}
			out = append(out, l)
		}
	}
	return out
}

// stay words one segment; its duration is an interval, printed as its middle and
// half its width. What breaks off before the last of them does so because a door was shut and
// nothing could be seen of the breaker.
func (t timeline) stay(s assert.Segment, last bool) string {
	lo, hi := max(0, s.To.Lo-s.From.Hi), max(0, s.To.Hi-s.From.Lo)
	name := strings.ReplaceAll(strings.ToLower(string(s.State)), "_", "-")
	text := name + " " + t.span((lo+hi)/2)
	if half := (hi - lo) / 2; half > 0 {
		text += t.glyphs.plusMinus + t.span(half)
	}
	switch {
	case s.Last && last:
		text += " to the end"
	case s.Last:
		text += " until nothing could be seen of it"
	}
	return text
}
