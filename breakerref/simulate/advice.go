package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Advice is something that a breaker's owner should know.
type Advice struct {
	Kind AdviceKind `json:"kind"`
	Text string     `json:"text"`
}

// AdviceKind says how bad it is.
type AdviceKind string

// The kinds of advice.
const (
	Useless    AdviceKind = "useless"     // the breaker cannot do its work
	FalseAlarm AdviceKind = "false alarm" // it opens without need, often
	TakeCare   AdviceKind = "take care"   // it does its work, but not always
)

// outcomesPerSecond is how many outcomes a second one breaker is told of when everything
// fails.
func (m Model) outcomesPerSecond() float64 {
	r := m.perSecond() / float64(m.Traffic.Replicas)
	if !m.Traffic.Around {
		r *= float64(m.Traffic.Retry.MaxAttempts)
	}
	return r
}

// advice is made of the model, and of what was seen.
func (m Model) advice(r *Result) []Advice {
	if m.Breaker.Initial != breakerref.Closed {
		return nil
	}
	var a *Advice
	if m.Breaker.WindowType == breakerref.TimeBased {
		a = m.timeAdvice(r)
	} else {
		a = m.countAdvice(r)
	}
	var all []Advice
	if a != nil {
		all = append(all, *a)
	}
	if f := m.falseAdvice(r); f != nil {
		all = append(all, *f)
	}
	return all
}

// oftenFalse is from how many false openings a day on there is advice.
const oftenFalse = 1

// falseAdvice looks for the smallest sample that makes false openings seldom.
func (m Model) falseAdvice(r *Result) *Advice {
	if r.Quiet.Low < oftenFalse {
		return nil
	}
	b := m.Breaker
	a := &Advice{Kind: FalseAlarm, Text: fmt.Sprintf("%s of %d outcomes open it, and that happens by chance, where %s fail in the background, %s times a day.",
		plural(needed(m.least(), b.FailureRate), "failure"), m.least(), percentText(m.Traffic.Background), a3(r.Quiet.PerDay))}
	for n := m.least() + 1; n <= 5000; n += 1 + n/20 {
		q := m.quiet()
		q.Breaker.MinimumCalls = n
		if b.WindowType == breakerref.CountBased {
			q.Breaker.Window = max(b.Window, n)
		}
		if most, ok := q.mostFalse(); ok && most < oftenFalse {
			a.Text += fmt.Sprintf(" What would help: minimumNumberOfCalls of %d (and slidingWindowSize, where it counts calls).", n)
			break
		}
	}
	return a
}

// least is with how many outcomes a closed breaker decides.
func (m Model) least() int {
	if m.Breaker.WindowType == breakerref.TimeBased {
		return m.Breaker.MinimumCalls
	}
	return min(m.Breaker.MinimumCalls, m.Breaker.Window)
}

// sure is how likely a window has to hold enough calls to be relied on.
const sure = 0.99

// timeAdvice looks at how many outcomes come into a window of seconds, which reaches
// back between Window-1 and Window seconds.
func (m Model) timeAdvice(r *Result) *Advice {
	b, rate := m.Breaker, m.outcomesPerSecond()
	mean := rate * float64(b.Window)
	enough := 1 - poissonUpTo(rate*float64(b.Window-1), int64(b.MinimumCalls)-1)
	if enough >= sure {
		return nil
	}
	least := m.reachableMinimum()
	seconds := b.Window
	for 1-poissonUpTo(rate*float64(seconds-1), int64(b.MinimumCalls)-1) < sure && seconds < 1<<24 {
		seconds += 1 + seconds/20
	}
	text := fmt.Sprintf("With %s for each breaker about %s outcomes fall into its window of %d s, and below %d (minimumNumberOfCalls) it decides nothing. ",
		rateText(rate), number(mean), b.Window, b.MinimumCalls)
	help := fmt.Sprintf("minimumNumberOfCalls of %d, or slidingWindowSize of %d", least, seconds)
	if float64(b.MinimumCalls) > mean {
		return &Advice{Kind: Useless, Text: text + "It opens by chance at best" + m.seen(r) + ". What would help: " + help + "."}
	}
	return &Advice{Kind: TakeCare, Text: text + fmt.Sprintf("It often has too few%s. Surer would be: %s.", m.seen(r), help)}
}

// reachableMinimum is the largest minimum that the traffic reaches surely.
func (m Model) reachableMinimum() int {
	mean := m.outcomesPerSecond() * float64(m.Breaker.Window-1)
	n := int(mean)
	for n > 1 && 1-poissonUpTo(mean, int64(n)-1) < sure {
		n -= 1 + n/100
	}
	return max(n, 1)
}

// seen says in how many trials it opened, if there was an outage.
func (m Model) seen(r *Result) string {
	if m.outage().none() {
		return ""
	}
	return fmt.Sprintf(" (in the outages above: %d of %d)", r.Opened, r.Breakers)
}

// countAdvice looks at how long it takes to gather what a window of calls needs.
func (m Model) countAdvice(r *Result) *Advice {
	b, rate, o := m.Breaker, m.outcomesPerSecond(), m.outage()
	least := m.least()
	gather := time.Duration(min(float64(least)/rate, 1e9) * float64(second)).Round(time.Second / 10)
	lasts := o.To - o.From
	if o.none() || gather <= lasts/2 {
		return nil
	}
	fail := needed(b.Window, b.FailureRate)
	help := max(1, int(rate*lasts.Seconds()/3))
	text := fmt.Sprintf("With %s for each breaker the first %d outcomes, which it needs (minimumNumberOfCalls), take %s, the %s of %d that open a full window %s, and the outage lasts %s. ",
		rateText(rate), least, timeText(int64(gather)), plural(fail, "failure"), b.Window, timeText(int64(min(float64(fail)/rate, 1e9)*float64(second))), timeText(int64(lasts)))
	helps := fmt.Sprintf("What would help: slidingWindowSize and minimumNumberOfCalls of at most %d.", help)
	if r.Opened*10 < r.Breakers {
		return &Advice{Kind: Useless, Text: text + fmt.Sprintf("It opened in %d of %d. ", r.Opened, r.Breakers) + helps}
	}
	return &Advice{Kind: TakeCare, Text: text + "After a start it is of no use for so long. " + helps}
}

// plural counts things, of which one is not several.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// number writes a number as a person would.
func number(f float64) string {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < 1e15, math.Abs(f) >= 100:
		return fmt.Sprintf("%.0f", f)
	case math.Abs(f) >= 10:
		return fmt.Sprintf("%.3g", f)
	}
	return fmt.Sprintf("%.2g", f)
}
