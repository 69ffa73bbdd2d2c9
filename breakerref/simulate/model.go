package simulate

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Model is a breaker and the traffic that it sees. It is plain data; the zero value is
// not valid, start from Default.
type Model struct {
	Breaker breakerref.Config
	Traffic Traffic
	// Duration is the virtual time of one trial; Complete has one where it is 0.
	Duration time.Duration
	// Outage is the time by which opening and recovery are measured. Where it is zero it
	// reaches from the beginning of the first phase to the end of the last one.
	Outage Span
}

// Span is a time within a trial: From is part of it, To is not.
type Span struct{ From, To time.Duration }

// none says that a span has no length.
func (s Span) none() bool { return s.To <= s.From }

// Arrivals says how calls come.
type Arrivals int

// The ways in which calls come.
const (
	Poisson  Arrivals = iota // by chance, each independent of the others
	Even                     // at equal distances
	Recorded                 // at the instants of Traffic.Sends
)

// String returns the word that a file has for it.
func (a Arrivals) String() string {
	switch a {
	case Poisson:
		return "poisson"
	case Even:
		return "even"
	case Recorded:
		return "recorded"
	}
	return fmt.Sprintf("Arrivals(%d)", int(a))
}

// Traffic says which calls come, and what the dependency makes of them.
type Traffic struct {
	Arrivals Arrivals
	Rate     float64         // calls a second, to all replicas together; 0 with Clients
	Sends    []time.Duration // of Recorded: when calls are sent, in order
	Replicas int             // instances of the service, each with a breaker of its own; calls are spread over them

	Clients int           // in place of a rate: so many clients, each with one call at a time
	Think   time.Duration // mean of the pause of a client between two calls, exponential

	Comeback time.Duration // a call that got no answer of the dependency is made again after this time; 0: it is not

	Timeout time.Duration // patience with one attempt, in whole ms; 0: without end. An attempt that is given up is a failure
	Retry   retry.Config  // MaxAttempts 1: none
	// Around says that the breaker stands around the retries: it sees a call once. Else
	// it stands inside, as in Resilience4j's default order, and every attempt asks it.
	Around bool
	// SparesRejected says that a rejection by the breaker is not retried. Resilience4j
	// retries it unless it is told to ignore it.
	SparesRejected bool

	Workers int // how many attempts the dependency works on at a time, further ones queue; 0: no limit

	Background float64 // share of attempts that fail, outside of the phases, 0..1
	Latency    Latency // of attempts, outside of the phases
	Phases     []Phase // in order, and apart
}

// Phase is a time in which the dependency behaves otherwise.
type Phase struct {
	Span
	Failures [2]float64 // share of attempts that fail at its beginning and at its end, 0..1; linear between
	Latency  *Latency   // nil: as outside
}

// Latency is the distribution of how long the dependency takes: exactly Median; with a
// P99 above it, lognormal; with Samples, one of those.
type Latency struct {
	Median, P99 time.Duration
	Samples     []time.Duration
}

// Default returns Resilience4j's default breaker with 50 calls a second, 1 % background
// failures and an outage of 30 seconds.
func Default() Model {
	return Model{
		Breaker: breakerref.Default(),
		Traffic: Traffic{
			Rate: 50, Replicas: 1, Retry: noRetry(), Background: 0.01, Latency: Latency{Median: 20 * time.Millisecond},
			Phases: []Phase{{Span: Span{time.Minute, 90 * time.Second}, Failures: [2]float64{1, 1}}},
		},
	}
}

// Complete returns the model with a duration, if it has none: up to the end of the outage
// and as long again as two and a half waits, but two minutes at least.
func (m Model) Complete() Model {
	if m.Duration == 0 {
		wait := m.Breaker.Wait
		for _, w := range append(m.Breaker.Waits, m.Breaker.WaitMax) {
			wait = max(wait, w)
		}
		m.Duration = m.outage().To + max(2*time.Minute, min(wait*5/2, 24*time.Hour))
	}
	return m
}

// noRetry is Resilience4j's retry with a single attempt.
func noRetry() retry.Config {
	c := retry.Default()
	c.MaxAttempts = 1
	return c
}

// outage is the time that is measured by.
func (m Model) outage() Span {
	if p := m.Traffic.Phases; m.Outage.none() && len(p) > 0 {
		return Span{p[0].From, p[len(p)-1].To}
	}
	return m.Outage
}

// Validate returns all that is wrong with the model, joined, or nil.
func (m Model) Validate() error {
	p := problems{m.Breaker.Validate(), m.Traffic.Retry.Validate()}
	t := m.Traffic
	p.require(m.Duration > 0 && m.Duration <= maxDuration, "duration", m.Duration, "above 0s and at most "+maxDuration.String())
	p.require(t.Replicas >= 1 && t.Replicas <= maxReplicas, "replicas", t.Replicas, fmt.Sprintf("from 1 to %d", maxReplicas))
	p.require(t.Background >= 0 && t.Background <= 1, "background", t.Background, "from 0% to 100%")
	p.require(t.Timeout == 0 || t.Timeout >= time.Millisecond, "timeout", t.Timeout, "at least 1ms, or 0s for no limit")
	p.require(t.Comeback == 0 || t.Comeback >= time.Millisecond, "comeback", t.Comeback, "at least 1ms, or 0s for none")
	p.require(t.Workers >= 0 && t.Workers <= math.MaxInt32, "workers", t.Workers, "at least 0 (no limit)")
	p.require(t.Retry.MaxAttempts <= maxAttempts, "maxAttempts", t.Retry.MaxAttempts, fmt.Sprintf("at most %d", maxAttempts))
	p.latency("latency", t.Latency)
	p.arrivals(m)
	p.phases(m)
	return errors.Join(p...)
}

// The limits of a model: what a trial has room for.
const (
	maxDuration = 1000 * 24 * time.Hour
	maxReplicas = 1000
	maxAttempts = 1000
	maxRate     = 1e6
	maxClients  = 1_000_000
)

// problems collects what is wrong with a model.
type problems []error

func (p *problems) require(ok bool, name string, value any, allowed string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s is %v, must be %s", name, value, allowed))
	}
}

func (p *problems) latency(name string, l Latency) {
	p.require(l.Median >= 0, name, l.Median, "at least 0s")
	p.require(l.P99 == 0 || l.P99 >= l.Median && l.Median > 0, name, l.P99, "a p99 that is not below its median, which is above 0s")
}

func (p *problems) arrivals(m Model) {
	t := m.Traffic
	switch {
	case t.Clients > 0:
		p.require(t.Clients <= maxClients, "clients", t.Clients, fmt.Sprintf("at most %d", maxClients))
		p.require(t.Think >= time.Millisecond, "think", t.Think, "at least 1ms: a client that is rejected at once would call without end")
		p.require(t.Rate == 0, "rate", t.Rate, "left out where there are clients, whose pauses make the rate")
	case t.Arrivals == Recorded:
		p.require(len(t.Sends) > 0, "calls", 0, "at least 1: the recorded traffic has none")
	default:
		p.require(t.Rate > 0 && t.Rate <= maxRate, "rate", t.Rate, fmt.Sprintf("above 0 and at most %g calls a second", maxRate))
	}
}

func (p *problems) phases(m Model) {
	last := time.Duration(0)
	for _, ph := range m.Traffic.Phases {
		p.require(!ph.none() && ph.From >= last, "phase", spanText(ph.Span), "of some length, and begin when the one before it has ended")
		p.require(ph.To <= m.Duration, "phase", spanText(ph.Span), "over within the duration of a trial, which is "+yamldoc.FormatDuration(m.Duration))
		for _, share := range ph.Failures {
			p.require(share >= 0 && share <= 1, "failures", share, "from 0% to 100%")
		}
		if ph.Latency != nil {
			p.latency("latency of a phase", *ph.Latency)
		}
		last = ph.To
	}
	o := m.Outage
	p.require(o.From >= 0 && o.To <= m.Duration, "outage", spanText(o), "within the duration of a trial")
}
