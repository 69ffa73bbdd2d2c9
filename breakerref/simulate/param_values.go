package simulate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

func setRate(m *Model, text string) error {
	r, err := yamldoc.ParseRate(text)
	if err == nil && r.Num == 0 {
		err = errors.New("without calls there is nothing to simulate; write it as 50/s")
	}
	if err != nil {
		return err
	}
	if m.Traffic.Arrivals == Recorded {
		m.Traffic.Arrivals, m.Traffic.Sends = Poisson, nil
	}
	m.Traffic.Rate, m.Traffic.Clients = float64(r.Num)/r.Per.Seconds(), 0
	return nil
}

func getRate(m *Model) string { return rateText(m.Traffic.Rate) }

// rateText writes calls a second so that it can be read back where it is whole by some
// unit.
func rateText(perSecond float64) string {
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"s", 1}, {"m", 60}, {"h", 3600}} {
		n := perSecond * u.seconds
		if whole := float64(int64(n + 0.5)); whole >= 1 && (n-whole)*(n-whole) < 1e-12*whole*whole {
			return fmt.Sprintf("%.0f/%s", whole, u.name)
		}
	}
	return number(perSecond) + "/s"
}

func setClients(m *Model, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxClients {
		return fmt.Errorf("%q must be a whole number from 0 (a rate takes their place) to %d", text, maxClients)
	}
	m.Traffic.Clients = n
	if n > 0 {
		m.Traffic.Rate = 0
		if m.Traffic.Think == 0 {
			m.Traffic.Think = time.Second
		}
	}
	return nil
}

func setShare(at *float64, text string) error {
	s, err := yamldoc.ParseShare(text)
	if err != nil {
		return err
	}
	*at = s.Float()
	return nil
}

func parseLatency(text string) (Latency, error) {
	from, to, two := strings.Cut(text, "..")
	median, err := yamldoc.ParseDuration(from)
	if err != nil || !two {
		return Latency{Median: median}, err
	}
	p99, err := yamldoc.ParseDuration(to)
	if err == nil && (p99 < median || median == 0) {
		err = fmt.Errorf("%s: after the median comes a p99 that is not below it, as 20ms..200ms", text)
	}
	return Latency{Median: median, P99: p99}, err
}

// String writes the latency as it is read.
func (l Latency) String() string {
	switch {
	case len(l.Samples) > 0:
		return fmt.Sprintf("one of %d recorded", len(l.Samples))
	case l.P99 > 0:
		return yamldoc.FormatDuration(l.Median) + ".." + yamldoc.FormatDuration(l.P99)
	}
	return yamldoc.FormatDuration(l.Median)
}

func parseSpan(text string) (Span, error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return Span{}, fmt.Errorf("%q is not a time from and to; write it as 1m..90s", text)
	}
	a, errA := yamldoc.ParseDuration(from)
	b, errB := yamldoc.ParseDuration(to)
	if err := errors.Join(errA, errB); err != nil {
		return Span{}, err
	}
	if b <= a {
		return Span{}, fmt.Errorf("%s ends before it begins", text)
	}
	return Span{a, b}, nil
}

func setOutage(m *Model, text string) error {
	if text == "none" {
		m.Traffic.Phases, m.Outage = nil, Span{}
		return nil
	}
	s, err := parseSpan(text)
	if err != nil {
		return err
	}
	if m.Traffic.Arrivals == Recorded {
		m.Outage = s // The phases are what was recorded.
		return nil
	}
	p := Phase{Span: s, Failures: [2]float64{1, 1}}
	if old := m.Traffic.Phases; len(old) > 0 {
		p.Failures, p.Latency = old[0].Failures, old[0].Latency
	}
	m.Traffic.Phases, m.Outage = []Phase{p}, Span{}
	return nil
}

func getOutage(m *Model) string {
	o := m.outage()
	if o.none() {
		return "none"
	}
	return yamldoc.FormatDuration(o.From) + ".." + yamldoc.FormatDuration(o.To)
}

// theOutage is the only phase.
func theOutage(m *Model) (*Phase, error) {
	if m.Traffic.Arrivals == Recorded || len(m.Traffic.Phases) != 1 {
		return nil, errors.New("there is no outage of its own that could have it")
	}
	return &m.Traffic.Phases[0], nil
}

func setOutageFailures(m *Model, text string) error {
	p, err := theOutage(m)
	if err != nil {
		return err
	}
	f, err := parseRamp(text)
	if err == nil {
		p.Failures = f
	}
	return err
}

// parseRamp reads a share, or one from which to which it goes.
func parseRamp(text string) (f [2]float64, err error) {
	from, to, two := strings.Cut(text, "..")
	if !two {
		to = from
	}
	if err := setShare(&f[0], from); err != nil {
		return f, err
	}
	return f, setShare(&f[1], to)
}

func getOutageFailures(m *Model) string {
	p, err := theOutage(m)
	if err != nil {
		return "100%"
	}
	return p.failures()
}

// failures writes the share of failures of a phase.
func (p Phase) failures() string {
	if p.Failures[0] == p.Failures[1] {
		return yamldoc.FormatShare(p.Failures[0])
	}
	return yamldoc.FormatShare(p.Failures[0]) + ".." + yamldoc.FormatShare(p.Failures[1])
}

func setOutageLatency(m *Model, text string) error {
	p, err := theOutage(m)
	if err != nil {
		return err
	}
	if text == "same" {
		p.Latency = nil
		return nil
	}
	l, err := parseLatency(text)
	if err == nil {
		p.Latency = &l
	}
	return err
}

func getOutageLatency(m *Model) string {
	p, err := theOutage(m)
	if err != nil || p.Latency == nil {
		return "same"
	}
	return p.Latency.String()
}
