package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// outageFromBin is the share of failures from which on a bin is part of an outage.
const outageFromBin = 0.25

// binOf is how finely a recorded dependency is looked at: by seconds, or by tenths if the
// run was short.
func binOf(duration time.Duration) time.Duration {
	if duration < 30*time.Second {
		return 100 * time.Millisecond
	}
	return time.Second
}

// TakeTrace gives a model the traffic of a recorded run: calls at the instants at which
// they were sent; a dependency that, in every second (or tenth of one, if the run was
// shorter than 30 s), fails as often as the injector did then and takes as long as one of
// its attempts did. Where no attempt arrived, as while a breaker was open, it is as it was
// just before. The outage reaches from the first to the last of these bins in which a
// quarter or more failed. What the model has of
// retries, replicas and time limits stays. Notes say what was done; an error says why the
// trace is of no use. The injector may be empty if there is one only.
func TakeTrace(m Model, t *trace.Trace, injector string) (Model, []string, error) {
	name, err := theInjector(t, injector)
	if err != nil {
		return m, nil, err
	}
	if len(t.Calls) == 0 {
		return m, nil, fmt.Errorf("the trace has no calls")
	}
	start := t.Calls[0].Send
	tr := &m.Traffic
	tr.Arrivals, tr.Rate, tr.Clients, tr.Phases = Recorded, 0, 0, nil
	tr.Sends = nil
	for i := range t.Calls {
		tr.Sends = append(tr.Sends, t.Calls[i].Send-start)
		m.Duration = max(m.Duration, t.Calls[i].End-start)
	}
	m.Duration = max(m.Duration, tr.Sends[len(tr.Sends)-1]+1)
	width := binOf(m.Duration)
	bins, guessed := recordedBins(t, name, start, m.Duration, width)
	notes := []string{fmt.Sprintf("%d calls over %v, and what %s did to them in each %s", len(tr.Sends), m.Duration.Round(time.Millisecond), name, yamldoc.FormatDuration(width))}
	if guessed > 0 {
		notes = append(notes, fmt.Sprintf("in %d of %d such times no attempt reached it: it is taken to have been as just before", guessed, len(bins)))
	}
	for i, b := range bins {
		from := time.Duration(i) * width
		share := b.share()
		tr.Phases = append(tr.Phases, Phase{Span: Span{from, min(from+width, m.Duration)}, Failures: [2]float64{share, share}, Latency: &Latency{Samples: b.took}})
	}
	var calm bin
	m.Outage, calm = outageOf(bins, width, m.Duration)
	tr.Background, tr.Latency = calm.share(), Latency{Samples: calm.took}
	if len(calm.took) == 0 {
		tr.Latency = Latency{Median: time.Millisecond}
		notes = append(notes, "there is no time without an outage: background failures are taken to be none, and latency 1ms")
	}
	return m, notes, nil
}

// outageOf finds the outage, and adds up what was seen outside of it.
func outageOf(bins []bin, width, duration time.Duration) (o Span, calm bin) {
	for i, b := range bins {
		if b.share() < outageFromBin {
			if !b.guessed {
				calm.add(b)
			}
			continue
		}
		if o.none() {
			o.From = time.Duration(i) * width
		}
		o.To = min(time.Duration(i+1)*width, duration)
	}
	return o, calm
}

// theInjector finds the one that is asked for.
func theInjector(t *trace.Trace, name string) (string, error) {
	names := map[string]bool{}
	for i := range t.Attempts {
		names[t.Attempts[i].Injector] = true
	}
	known := strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("no attempt reached a dependency, so the trace does not say how it behaves")
	case name == "" && len(names) == 1:
		return known, nil
	case name == "":
		return "", fmt.Errorf("the trace has several injectors; name one of %s", known)
	case !names[name]:
		return "", fmt.Errorf("the trace has no injector %q; there are %s", name, known)
	}
	return name, nil
}

// bin is what a dependency did in some time.
type bin struct {
	failed  int
	took    []time.Duration
	guessed bool
}

func (b *bin) add(o bin) {
	b.failed += o.failed
	b.took = append(b.took, o.took...)
}

func (b *bin) share() float64 {
	if len(b.took) == 0 {
		return 0
	}
	return float64(b.failed) / float64(len(b.took))
}

// recordedBins sorts the attempts by when they arrived. Those whose end is
// not known say nothing.
func recordedBins(t *trace.Trace, injector string, start, duration, width time.Duration) (bins []bin, guessed int) {
	bins = make([]bin, (duration+width-1)/width)
	rule := match.DefaultFailure()
	first := -1
	for i := range t.Attempts {
		a := &t.Attempts[i]
		at := a.Arr - start
		if a.Injector != injector || a.Done() == trace.None || at < 0 || at >= duration {
			continue
		}
		b := &bins[at/width]
		b.took = append(b.took, a.Done()-a.Arr)
		if attemptFailed(a, rule) {
			b.failed++
		}
		if first < 0 {
			first = int(at / width)
		}
	}
	for i := range bins {
		switch {
		case len(bins[i].took) > 0:
			slices.Sort(bins[i].took)
			continue
		case i > 0:
			bins[i] = bins[i-1]
		case first > 0:
			bins[i] = bins[first]
		}
		bins[i].guessed = true
		guessed++
	}
	return bins, guessed
}

// attemptFailed says whether a breaker that counts the usual failures counts an attempt.
func attemptFailed(a *trace.Attempt, rule match.Failure) bool {
	if a.Abandon != trace.None || a.Outcome != trace.OutcomeAnswered {
		return true
	}
	failed, _ := rule.Answer(a.Status, a.GRPC)
	return failed
}
