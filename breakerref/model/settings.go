package model

import (
	"fmt"
	"strings"
	"time"
)

// Settings are what most breakers have in some form. A zero value leaves the preset as it
// is.
type Settings struct {
	Calls     int           // size of a window of calls
	Period    time.Duration // size of a window of time
	Minimum   int           // calls in the window before there is a rate
	Rate      float64       // share of failures that opens, 0..1
	Failures  int           // failures that open
	Wait      time.Duration // how long OPEN lasts; Envoy's base ejection, nginx's fail_timeout
	Permitted int           // probes; those whose successes close
}

// PresetWith returns a preset with other settings, each with all that the library or proxy
// makes of it. An error says which of them it does not have, or that there is no such
// preset.
func PresetWith(name string, s Settings) (Config, error) {
	c, ok := Preset(name)
	if !ok {
		return Config{}, fmt.Errorf("there is no breaker %q, only %s", name, strings.Join(Presets(), ", "))
	}
	if s == (Settings{}) {
		return c, nil
	}
	t := &taker{given: s}
	made := t.build(name, c)
	made.Name = name
	if t.given != (Settings{}) {
		return Config{}, fmt.Errorf("%s has no %s", name, strings.Join(t.given.names(), ", no "))
	}
	if t.wrong != "" {
		return Config{}, fmt.Errorf("%s: %s", name, t.wrong)
	}
	if err := made.Validate(); err != nil {
		return Config{}, fmt.Errorf("%s cannot be set so: %w", name, err)
	}
	return made, nil
}

// names are the settings that are not zero.
func (s Settings) names() (names []string) {
	for _, n := range []struct {
		name  string
		given bool
	}{
		{"window of calls", s.Calls != 0},
		{"window of time", s.Period != 0},
		{"minimum of calls", s.Minimum != 0},
		{"failure rate", s.Rate != 0},
		{"number of failures", s.Failures != 0},
		{"wait", s.Wait != 0},
		{"number of permitted calls", s.Permitted != 0},
	} {
		if n.given {
			names = append(names, n.name)
		}
	}
	return names
}

// taker hands out settings, each with what holds if it is not given. What nobody has taken
// is what a breaker does not have.
type taker struct {
	given Settings
	wrong string // what a breaker cannot do with a setting that it has; empty: nothing
}

// take takes one.
func take[T comparable](given *T, otherwise T) T {
	var none T
	value := *given
	*given = none
	if value == none {
		return otherwise
	}
	return value
}

func (t *taker) calls(n int) int                      { return take(&t.given.Calls, n) }
func (t *taker) period(d time.Duration) time.Duration { return take(&t.given.Period, d) }
func (t *taker) minimum(n int) int                    { return take(&t.given.Minimum, n) }
func (t *taker) rate(share float64) float64           { return take(&t.given.Rate, share) }
func (t *taker) failures(n int) int                   { return take(&t.given.Failures, n) }
func (t *taker) wait(d time.Duration) time.Duration   { return take(&t.given.Wait, d) }
func (t *taker) permitted(n int) int                  { return take(&t.given.Permitted, n) }

// build makes the preset anew. c is as it comes.
func (t *taker) build(name string, c Config) Config {
	family, _, _ := strings.Cut(name, "-")
	switch family {
	case "gobreaker":
		return t.gobreaker(name, c)
	case "failsafe":
		return t.failsafe(name, c)
	case "cockatiel":
		return t.cockatiel(name, c)
	case "smallrye":
		return SmallRye(t.calls(20), t.rate(0.5), t.wait(5*time.Second), t.permitted(1))
	case "pgmux":
		return Pgmux(t.rate(0.5), t.wait(10*time.Second), t.permitted(3), t.calls(10))
	case "nginx": // fail_timeout is both.
		c.Window.Period = t.wait(c.Window.Period)
		c.Open.Wait, c.Trip.Failures = c.Window.Period, t.failures(c.Trip.Failures)
		return c
	case "haproxy": // Its checks end OPEN.
		c.Trip.Failures = t.failures(c.Trip.Failures)
		return c
	}
	return t.plain(c)
}

// plain changes a preset in which no setting is made of another one.
func (t *taker) plain(c Config) Config {
	c.Open.Wait = t.wait(c.Open.Wait)
	if c.Trip.Rule != Rate {
		c.Trip.Failures = t.failures(c.Trip.Failures)
		return c
	}
	if c.Window.Complete { // Hystrix's buckets are its health snapshots, of a length of their own.
		length := c.Window.Period / time.Duration(c.Window.Buckets)
		c.Window.Period = t.period(c.Window.Period)
		c.Window.Buckets = int(c.Window.Period / length)
		if c.Window.Period%length != 0 {
			t.wrong = fmt.Sprintf("a window of %v is not of whole buckets of %v", c.Window.Period, length)
		}
	} else {
		c.Window.Period = t.period(c.Window.Period)
	}
	c.Trip.Min = t.minimum(c.Trip.Min)
	if c.Trip.Arithmetic == Percent {
		c.Trip.Rate = 100 * t.rate(c.Trip.Rate/100)
	} else {
		c.Trip.Rate = t.rate(c.Trip.Rate)
	}
	return c
}

func (t *taker) gobreaker(name string, c Config) Config {
	s := GobreakerSettings{MaxRequests: t.permitted(1), Timeout: t.wait(0), Trip: c.Trip}
	if name == "gobreaker" {
		s.Trip.Failures = t.failures(c.Trip.Failures)
		return Gobreaker(s)
	}
	s.Trip.Rate, s.Trip.Min = t.rate(c.Trip.Rate), t.minimum(c.Trip.Min)
	s.Interval = t.period(time.Minute)
	if name == "gobreaker-rolling" {
		s.BucketPeriod = 10 * time.Second
	}
	return Gobreaker(s)
}

func (t *taker) failsafe(name string, c Config) Config {
	s := FailsafeSettings{Delay: t.wait(0)}
	switch name {
	case "failsafe-count":
		s.FailureThreshold, s.FailureCapacity = t.failures(c.Trip.Failures), t.calls(c.Window.Size)
	case "failsafe-period":
		s.FailureThreshold, s.Period = t.failures(c.Trip.Failures), t.period(c.Window.Period)
	case "failsafe-rate":
		s.FailureRate, s.Executions, s.Period = t.rate(c.Trip.Rate), t.minimum(c.Trip.Min), t.period(c.Window.Period)
	default:
		n := t.failures(c.Trip.Failures)
		s.FailureThreshold, s.FailureCapacity = n, n
	}
	return Failsafe(s)
}

func (t *taker) cockatiel(name string, c Config) Config {
	switch name {
	case "cockatiel-count": // Its minimum is the size, if nobody says otherwise.
		c.Window.Size = t.calls(c.Window.Size)
		c.Trip.Rate, c.Trip.Min = t.rate(c.Trip.Rate), t.minimum(c.Window.Size)
	case "cockatiel-sampling":
		c = CockatielSampling(t.rate(c.Trip.Rate), t.period(30*time.Second), 0)
	default:
		c.Trip.Failures = t.failures(c.Trip.Failures)
	}
	c.Open.Wait = t.wait(c.Open.Wait)
	return c
}
