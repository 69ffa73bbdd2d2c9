package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// labelWidth is that of what stands before a line of time.
const labelWidth = 10

// timeline draws the typical trial.
func (r *Result) timeline(b *strings.Builder) {
	c := r.Typical
	what := "the median by the time to open"
	switch {
	case r.Model.outage().none():
		what = "the first minutes"
	case r.Opened == 0:
		what = "it does not open in any"
	}
	fmt.Fprintf(b, "A typical trial (number %d, %s), %s a column:\n", c.Trial, what, timeText(int64(c.Width)))
	most := int64(1)
	for _, s := range c.Slots {
		most = max(most, s.Attempts)
	}
	row := func(name string, letter func(s Slot) byte) {
		fmt.Fprintf(b, "%-*s", labelWidth, name)
		var line strings.Builder
		for _, s := range c.Slots {
			line.WriteByte(letter(s))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if o := r.Model.outage(); !o.none() {
		fmt.Fprintf(b, "%-*s", labelWidth, "outage")
		for i := range c.Slots {
			at := time.Duration(i)*c.Width + c.Width/2
			b.WriteByte(map[bool]byte{true: '#', false: '.'}[at >= o.From && at < o.To])
		}
		b.WriteByte('\n')
	}
	row("state", func(s Slot) byte { return stateLetter(s.State) })
	row("load", func(s Slot) byte { return tenth(s.Attempts, most) })
	row("failed", func(s Slot) byte { return tenth(s.Ends.Failed, s.Ends.Calls()) })
	row("rejected", func(s Slot) byte { return tenth(s.Ends.Rejected, s.Ends.Calls()) })
	axis(b, c)
	fmt.Fprintf(b, "%*s- closed, O open, h half-open; load: attempts at the dependency, # is %d a column;\n", labelWidth, "", most)
	fmt.Fprintf(b, "%*sfailed, rejected: of the calls that ended, . none, + below 10%%, 1 to 9 tenths, # all\n", labelWidth, "")
	if r.Model.Traffic.Replicas > 1 {
		fmt.Fprintf(b, "%*sThe state is that of the first of %d breakers.\n", labelWidth, "", r.Model.Traffic.Replicas)
	}
}

func stateLetter(s breakerref.State) byte {
	switch s {
	case breakerref.Closed:
		return '-'
	case breakerref.Open, breakerref.ForcedOpen:
		return 'O'
	case breakerref.HalfOpen:
		return 'h'
	case breakerref.Disabled, breakerref.MetricsOnly:
	}
	return '?'
}

// tenth is a share as a letter.
func tenth(part, of int64) byte {
	switch {
	case of == 0:
		return ' '
	case part == 0:
		return '.'
	case part == of:
		return '#'
	case 10*part < of:
		return '+'
	}
	return '0' + byte(10*part/of)
}

// axis writes the time below the columns.
func axis(b *strings.Builder, c *Course) {
	line := []byte(strings.Repeat(" ", len(c.Slots)))
	free := 0
	for i := 0; i < len(c.Slots); i += max(len(c.Slots)/6, 1) {
		at := time.Duration(i) * c.Width
		if at > 10*time.Second {
			at = at.Round(time.Second)
		}
		label := "|" + timeText(int64(at))
		if i < free || i+len(label) > len(line) {
			continue
		}
		copy(line[i:], label)
		free = i + len(label) + 1
	}
	fmt.Fprintf(b, "%-*s%s\n", labelWidth, "", strings.TrimRight(string(line), " "))
}
