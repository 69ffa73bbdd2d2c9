package simulate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// breakerWords describes a breaker.
func (m *Model) breakerWords() []string {
	b := m.Breaker
	unit := "calls"
	if b.WindowType == breakerref.TimeBased {
		unit = "seconds"
	}
	opens := fmt.Sprintf("%v of %d %s, decides from %d calls on, opens at %s failures", b.WindowType, b.Window, unit, b.MinimumCalls, percentText(float64(b.FailureRate)/100))
	if b.SlowRate < 100 || b.SlowDuration < time.Minute {
		opens += fmt.Sprintf(" or %s slower than %s", percentText(float64(b.SlowRate)/100), yamldoc.FormatDuration(b.SlowDuration))
	}
	wait := yamldoc.FormatDuration(b.Wait)
	if b.WaitMultiplier > 0 {
		wait += fmt.Sprintf(", times %g with every opening in a row", b.WaitMultiplier)
		if b.WaitMax > 0 {
			wait += " up to " + yamldoc.FormatDuration(b.WaitMax)
		}
	}
	if b.WaitRandom > 0 {
		wait += fmt.Sprintf(" ± %s", percentText(b.WaitRandom))
	}
	lines := []string{opens, fmt.Sprintf("for %s, then %d probes decide", wait, b.Permitted)}
	if b.Initial != breakerref.Closed {
		lines = append(lines, "begins "+b.Initial.String())
	}
	return lines
}

// trafficWords describes the traffic.
func (m *Model) trafficWords() []string {
	t := m.Traffic
	var how string
	switch {
	case t.Clients > 0:
		how = fmt.Sprintf("%d clients that pause %s", t.Clients, yamldoc.FormatDuration(t.Think))
	case t.Arrivals == Recorded:
		how = fmt.Sprintf("%d recorded calls", len(t.Sends))
	default:
		how = fmt.Sprintf("%s (%v)", rateText(t.Rate), t.Arrivals)
	}
	if t.Replicas > 1 {
		how += fmt.Sprintf(" over %d replicas", t.Replicas)
	}
	first := fmt.Sprintf("%s; %s fail while all is well; latency %v", how, percentText(t.Background), t.Latency)
	lines := []string{first}
	if more := m.policyWords(); more != "" {
		lines = append(lines, more)
	}
	return append(lines, m.outageWords())
}

func (m *Model) policyWords() string {
	t := m.Traffic
	var more []string
	if t.Timeout > 0 {
		more = append(more, "timeout "+yamldoc.FormatDuration(t.Timeout))
	}
	if t.Retry.MaxAttempts > 1 {
		where := "each asks the breaker"
		if t.Around {
			where = "inside the breaker"
		}
		if t.SparesRejected && !t.Around {
			where += ", rejections are not retried"
		}
		more = append(more, fmt.Sprintf("%d attempts %s apart, %s", t.Retry.MaxAttempts, yamldoc.FormatDuration(t.Retry.Wait), where))
	}
	if t.Workers > 0 {
		more = append(more, fmt.Sprintf("the dependency works on %d at a time", t.Workers))
	}
	if t.Comeback > 0 {
		more = append(more, "who gets no answer asks again after "+yamldoc.FormatDuration(t.Comeback))
	}
	return strings.Join(more, "; ")
}

func (m *Model) outageWords() string {
	o, t := m.outage(), m.Traffic
	if o.none() {
		return "no outage"
	}
	s := "outage " + spanText(o)
	if t.Arrivals == Recorded {
		return s + ", as recorded"
	}
	if len(t.Phases) > 1 {
		return fmt.Sprintf("%s, in %d phases", s, len(t.Phases))
	}
	s += ": " + t.Phases[0].failures() + " fail"
	if l := t.Phases[0].Latency; l != nil {
		s += ", latency " + l.String()
	}
	return s
}

func spanText(s Span) string {
	return yamldoc.FormatDuration(s.From) + ".." + yamldoc.FormatDuration(s.To)
}

// percentText writes a share with three digits, and never 0% for what is above it, nor
// 100% for what is below.
func percentText(share float64) string {
	p := share * 100
	switch {
	case p <= 0:
		return "0%"
	case p < 0.001:
		return "<0.001%"
	case p > 99.9 && p < 100:
		return ">99.9%"
	case p >= 99.95:
		return "100%"
	case p >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", p), ".0") + "%"
	}
	return fmt.Sprintf("%.3g%%", p)
}

// timeText writes nanoseconds as precisely as a glance is.
func timeText(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 10*time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < 100*time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return yamldoc.FormatDuration(d)
}

// longText writes a long time in the unit that suits it.
func longText(d time.Duration) string {
	switch days := d.Hours() / 24; {
	case days >= 730:
		return fmt.Sprintf("%.1f years", days/365.25)
	case days >= 1.5:
		return fmt.Sprintf("%.1f days", days)
	}
	return fmt.Sprintf("%.1f hours", d.Hours())
}

// countText writes a large number so that it can be read.
func countText(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0f million", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f million", float64(n)/1e6)
	}
	s := fmt.Sprint(n)
	if n >= 10_000 {
		s = s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return s
}

// a3 writes a number that is above 0 with two or three digits.
func a3(f float64) string {
	switch {
	case f >= 100 && f < 1e6:
		return fmt.Sprintf("%.0f", f)
	case f >= 0.01 && f < 100:
		return fmt.Sprintf("%.3g", f)
	}
	return fmt.Sprintf("%.1g", f)
}

// quietWords says how often a breaker opens without need, and never 0 as if that were
// known.
func (q Quiet) words() string {
	if q.Openings > 0 {
		return fmt.Sprintf("%s a day (95%% between %s and %s; %s in %s)", a3(q.PerDay), a3(q.Low), a3(q.High), countText(q.Openings), longText(q.Time))
	}
	s := fmt.Sprintf("none in %s, so below %s a day (95%%)", longText(q.Time), a3(q.High))
	if q.Computed == nil || *q.Computed >= q.High {
		return s
	}
	if *q.Computed == 0 {
		return s + "; never, where nothing fails"
	}
	return s + fmt.Sprintf("; by calculation below %s", a3(*q.Computed))
}

// short is words in a cell of a table.
func (q Quiet) short() string {
	switch {
	case q.Openings > 0:
		return a3(q.PerDay)
	case q.Bound() == 0:
		return "never"
	}
	return "<" + a3(q.Bound())
}

// times writes how many times more one is than another.
func times(part, of float64) string {
	if of <= 0 || math.IsNaN(part/of) {
		return "-"
	}
	return a2(part/of) + "x"
}

func a2(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f >= 10:
		return fmt.Sprintf("%.0f", f)
	case f >= 1:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2g", f)
}
