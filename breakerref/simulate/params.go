package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Param is one value of a model, by a name. Those of the breaker have the names that
// Resilience4j gives them.
type Param struct {
	Name string // as slidingWindowSize
	Kind string // of its values, in a word
	Help string
	// Section and Key are where it stands in a file: breaker, traffic, traffic.retry,
	// traffic.outage, or nothing for the top.
	Section, Key string

	set func(m *Model, text string) error
	get func(m *Model) string
}

// The sections of a file.
const (
	atTop     = ""
	inBreaker = "breaker"
	inTraffic = "traffic"
	inRetry   = "retry"
	inOutage  = "outage"
)

// Params returns all, in the order in which they have to be set.
func Params() []Param {
	return slices.Concat(breakerParams(), waitParams(), trafficParams(), dependencyParams(), retryParams(), outageParams())
}

// Set sets a value by its name. The error says what the value may be, and begins with
// the name.
func (m *Model) Set(name, text string) error {
	all := Params()
	i := slices.IndexFunc(all, func(p Param) bool { return strings.EqualFold(p.Name, strings.ReplaceAll(name, "-", "")) })
	if i < 0 {
		return fmt.Errorf("%s is not a value of a simulation%s", name, yamldoc.Hint(name, Names()))
	}
	return all[i].Set(m, text)
}

// Set sets the value in a model.
func (p Param) Set(m *Model, text string) error {
	if err := p.set(m, strings.TrimSpace(text)); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Get returns the value, as Set takes it.
func (p Param) Get(m *Model) string { return p.get(m) }

// Names returns the names of all.
func Names() []string {
	var names []string
	for _, p := range Params() {
		names = append(names, p.Name)
	}
	return names
}

// whole32 makes a parameter of a whole number.
func whole32(section, key, name, help string, least int, at func(*Model) *int) Param {
	return Param{
		Name: name, Kind: "number", Help: help, Section: section, Key: key,
		set: func(m *Model, text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < least || n > 1<<31-1 {
				return fmt.Errorf("%q must be a whole number of at least %d", text, least)
			}
			*at(m) = n
			return nil
		},
		get: func(m *Model) string { return strconv.Itoa(*at(m)) },
	}
}

// span makes a parameter of a duration.
func span(section, key, name, help string, least time.Duration, at func(*Model) *time.Duration) Param {
	return Param{
		Name: name, Kind: "duration", Help: help, Section: section, Key: key,
		set: func(m *Model, text string) error {
			d, err := yamldoc.ParseDuration(text)
			if err == nil && d < least {
				err = fmt.Errorf("%s must be at least %s", text, yamldoc.FormatDuration(least))
			}
			if err != nil {
				return err
			}
			*at(m) = d
			return nil
		},
		get: func(m *Model) string { return yamldoc.FormatDuration(*at(m)) },
	}
}

// truth makes a parameter that is true or false.
func truth(section, key, name, help string, at func(*Model) *bool) Param {
	return Param{
		Name: name, Kind: "true|false", Help: help, Section: section, Key: key,
		set: func(m *Model, text string) error {
			if text != "true" && text != "false" {
				return fmt.Errorf("%q must be true or false", text)
			}
			*at(m) = text == "true"
			return nil
		},
		get: func(m *Model) string { return strconv.FormatBool(*at(m)) },
	}
}

// word makes a parameter of one of some words, of which each stands for a number.
func word(section, key, name, help string, words []string, at func(*Model) (get int, set func(int))) Param {
	return Param{
		Name: name, Kind: strings.Join(words, "|"), Help: help, Section: section, Key: key,
		set: func(m *Model, text string) error {
			i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, strings.ReplaceAll(text, "-", "_")) })
			if i < 0 {
				return fmt.Errorf("%q must be one of %s", text, strings.Join(words, ", "))
			}
			_, set := at(m)
			set(i)
			return nil
		},
		get: func(m *Model) string { i, _ := at(m); return words[i] },
	}
}

// percentage makes a parameter of a threshold, which Resilience4j writes without a sign.
func percentage(key, help string, at func(*Model) *float32) Param {
	return Param{
		Name: key, Kind: "percent", Help: help, Section: inBreaker, Key: key,
		set: func(m *Model, text string) error {
			f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 32)
			if err != nil || !(f > 0 && f <= 100) {
				return fmt.Errorf("%q must be a number above 0 and at most 100 (percent)", text)
			}
			*at(m) = float32(f)
			return nil
		},
		get: func(m *Model) string { return strconv.FormatFloat(float64(*at(m)), 'f', -1, 32) },
	}
}

// factor makes a parameter of a number that is not negative.
func factor(section, key, name, help string, most float64, at func(*Model) *float64) Param {
	return Param{
		Name: name, Kind: "factor", Help: help, Section: section, Key: key,
		set: func(m *Model, text string) error {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || !(f >= 0 && f <= most) {
				return fmt.Errorf("%q must be a number from 0 to %g", text, most)
			}
			*at(m) = f
			return nil
		},
		get: func(m *Model) string { return strconv.FormatFloat(*at(m), 'f', -1, 64) },
	}
}

func breakerParams() []Param {
	b := inBreaker
	return []Param{
		word(b, "slidingWindowType", "slidingWindowType", "what the window counts", []string{"COUNT_BASED", "TIME_BASED"}, func(m *Model) (int, func(int)) {
			return int(m.Breaker.WindowType), func(i int) { m.Breaker.WindowType = breakerref.WindowType(i) }
		}),
		whole32(b, "slidingWindowSize", "slidingWindowSize", "calls, or seconds, that it remembers", 1, func(m *Model) *int { return &m.Breaker.Window }),
		whole32(b, "minimumNumberOfCalls", "minimumNumberOfCalls", "outcomes below which nothing is decided", 1, func(m *Model) *int { return &m.Breaker.MinimumCalls }),
		percentage("failureRateThreshold", "share of failures that opens it", func(m *Model) *float32 { return &m.Breaker.FailureRate }),
		percentage("slowCallRateThreshold", "share of slow calls that opens it", func(m *Model) *float32 { return &m.Breaker.SlowRate }),
		span(b, "slowCallDurationThreshold", "slowCallDurationThreshold", "calls that take longer are slow", 1, func(m *Model) *time.Duration { return &m.Breaker.SlowDuration }),
		whole32(b, "permittedNumberOfCallsInHalfOpenState", "permittedNumberOfCallsInHalfOpenState", "probes when half-open", 1, func(m *Model) *int { return &m.Breaker.Permitted }),
		word(b, "slidingWindowSynchronizationStrategy", "slidingWindowSynchronizationStrategy", "kind of window", []string{"SYNCHRONIZED", "LOCK_FREE"}, func(m *Model) (int, func(int)) {
			i := 0
			if m.Breaker.LockFree {
				i = 1
			}
			return i, func(i int) { m.Breaker.LockFree = i == 1 }
		}),
	}
}

func waitParams() []Param {
	b := inBreaker
	return []Param{
		span(b, "waitDurationInOpenState", "waitDurationInOpenState", "how long it stays open", time.Millisecond, func(m *Model) *time.Duration { return &m.Breaker.Wait }),
		factor(b, "exponentialBackoffMultiplier", "exponentialBackoffMultiplier", "growth of that with each opening in a row; 0 is none", 1000, func(m *Model) *float64 { return &m.Breaker.WaitMultiplier }),
		span(b, "exponentialMaxWaitDurationInOpenState", "exponentialMaxWaitDurationInOpenState", "where the growth ends; 0s is nowhere", 0, func(m *Model) *time.Duration { return &m.Breaker.WaitMax }),
		factor(b, "randomizedWaitFactor", "randomizedWaitFactor", "share by which the wait varies", 1, func(m *Model) *float64 { return &m.Breaker.WaitRandom }),
		truth(b, "automaticTransitionFromOpenToHalfOpenEnabled", "automaticTransitionFromOpenToHalfOpenEnabled", "half-open without a call", func(m *Model) *bool { return &m.Breaker.AutoHalfOpen }),
		span(b, "maxWaitDurationInHalfOpenState", "maxWaitDurationInHalfOpenState", "longest time half-open; 0s is without end", 0, func(m *Model) *time.Duration { return &m.Breaker.HalfOpenMaxWait }),
		word(b, "transitionToStateAfterWaitDuration", "transitionToStateAfterWaitDuration", "and what follows it", []string{"OPEN", "CLOSED"}, func(m *Model) (int, func(int)) {
			i := 0
			if m.Breaker.HalfOpenMaxWaitCloses {
				i = 1
			}
			return i, func(i int) { m.Breaker.HalfOpenMaxWaitCloses = i == 1 }
		}),
	}
}

func trafficParams() []Param {
	t := inTraffic
	return []Param{
		{Name: "rate", Kind: "rate", Help: "calls to all replicas together, as 50/s, 30/m or 5/h", Section: t, Key: "rate", set: setRate, get: getRate},
		word(t, "arrivals", "arrivals", "how calls come: by chance, or at equal distances", []string{"poisson", "even"}, func(m *Model) (int, func(int)) {
			return min(int(m.Traffic.Arrivals), int(Even)), func(i int) { m.Traffic.Arrivals = Arrivals(i) }
		}),
		whole32(t, "replicas", "replicas", "instances of the service, each with its own breaker", 1, func(m *Model) *int { return &m.Traffic.Replicas }),
		{Name: "clients", Kind: "number", Help: "in place of a rate, clients that call, wait for the answer, pause and call again", Section: t, Key: "clients", set: setClients, get: func(m *Model) string { return strconv.Itoa(m.Traffic.Clients) }},
		span(t, "think", "think", "mean pause of a client", time.Millisecond, func(m *Model) *time.Duration { return &m.Traffic.Think }),
		span(t, "comeback", "comeback", "who got no answer of the dependency asks again after this time; 0s is never", 0, func(m *Model) *time.Duration { return &m.Traffic.Comeback }),
		span(t, "timeout", "timeout", "the service's patience with the dependency; 0s is without end", 0, func(m *Model) *time.Duration { return &m.Traffic.Timeout }),
		span(atTop, "duration", "duration", "virtual time of one trial", time.Millisecond, func(m *Model) *time.Duration { return &m.Duration }),
	}
}

func dependencyParams() []Param {
	t := inTraffic
	return []Param{
		{
			Name: "background", Kind: "share", Help: "of attempts that fail while all is well", Section: t, Key: "background",
			set: func(m *Model, text string) error { return setShare(&m.Traffic.Background, text) },
			get: func(m *Model) string { return yamldoc.FormatShare(m.Traffic.Background) },
		},
		{
			Name: "latency", Kind: "latency", Help: "of the dependency: 20ms, or its median and p99 as 20ms..200ms (lognormal)", Section: t, Key: "latency",
			set: func(m *Model, text string) (err error) { m.Traffic.Latency, err = parseLatency(text); return err },
			get: func(m *Model) string { return m.Traffic.Latency.String() },
		},
		whole32(t, "workers", "workers", "attempts that the dependency works on at a time, others queue; 0 is no limit", 0, func(m *Model) *int { return &m.Traffic.Workers }),
	}
}

func retryParams() []Param {
	r := inRetry
	return []Param{
		whole32(r, "maxAttempts", "retryMaxAttempts", "attempts of a call; 1 is no retry", 1, func(m *Model) *int { return &m.Traffic.Retry.MaxAttempts }),
		span(r, "waitDuration", "retryWaitDuration", "wait between two attempts", 0, func(m *Model) *time.Duration { return &m.Traffic.Retry.Wait }),
		factor(r, "exponentialBackoffMultiplier", "retryExponentialBackoffMultiplier", "growth of that; 0 is none", 1000, func(m *Model) *float64 { return &m.Traffic.Retry.Multiplier }),
		span(r, "exponentialMaxWaitDuration", "retryExponentialMaxWaitDuration", "where the growth ends; 0s is nowhere", 0, func(m *Model) *time.Duration { return &m.Traffic.Retry.MaxWait }),
		factor(r, "randomizedWaitFactor", "retryRandomizedWaitFactor", "share by which the wait varies", 1, func(m *Model) *float64 { return &m.Traffic.Retry.RandomFactor }),
		truth(r, "insideBreaker", "retryInsideBreaker", "the breaker sees a call once, not each attempt", func(m *Model) *bool { return &m.Traffic.Around }),
		truth(r, "sparesRejected", "retrySparesRejected", "what the breaker rejects is not retried", func(m *Model) *bool { return &m.Traffic.SparesRejected }),
	}
}

func outageParams() []Param {
	o := inOutage
	return []Param{
		{Name: "outage", Kind: "span", Help: "when it is, as 1m..90s, or none", set: setOutage, get: getOutage},
		{Name: "outageFailures", Kind: "share", Help: "of attempts that fail in it: 100%, or from its beginning to its end as 5%..60%", Section: o, Key: "failures", set: setOutageFailures, get: getOutageFailures},
		{Name: "outageLatency", Kind: "latency", Help: "in it, as 2s or 20ms..5s; same is as outside", Section: o, Key: "latency", set: setOutageLatency, get: getOutageLatency},
	}
}
