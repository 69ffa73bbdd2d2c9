package resilience4j

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// reader lays blocks over a configuration.
type reader struct {
	file     string
	cfg      breakerref.Config
	problems []error
}

// property is how one key changes a configuration. The error says what it wants.
type property struct {
	name string
	set  func(c *breakerref.Config, value string) error
}

// properties are those with a meaning of their own; the wait has several together.
func properties() []property {
	return []property{
		{"slidingWindowType", func(c *breakerref.Config, v string) (err error) {
			c.WindowType, err = oneOf(v, breakerref.CountBased, breakerref.TimeBased)
			return err
		}},
		{"slidingWindowSize", func(c *breakerref.Config, v string) error { return count(v, &c.Window) }},
		{"minimumNumberOfCalls", func(c *breakerref.Config, v string) error { return count(v, &c.MinimumCalls) }},
		{"failureRateThreshold", func(c *breakerref.Config, v string) error { return percent(v, &c.FailureRate) }},
		{"slowCallRateThreshold", func(c *breakerref.Config, v string) error { return percent(v, &c.SlowRate) }},
		{"slowCallDurationThreshold", func(c *breakerref.Config, v string) error { return atLeast(v, 1, &c.SlowDuration) }},
		{"waitDurationInOpenState", func(c *breakerref.Config, v string) error { return atLeast(v, time.Millisecond, &c.Wait) }},
		{"automaticTransitionFromOpenToHalfOpenEnabled", func(c *breakerref.Config, v string) error { return truth(v, &c.AutoHalfOpen) }},
		{"permittedNumberOfCallsInHalfOpenState", func(c *breakerref.Config, v string) error { return count(v, &c.Permitted) }},
		{"maxWaitDurationInHalfOpenState", func(c *breakerref.Config, v string) error { return atLeast(v, 0, &c.HalfOpenMaxWait) }},
		{"transitionToStateAfterWaitDuration", func(c *breakerref.Config, v string) error {
			to, err := oneOf(v, breakerref.Open, breakerref.Closed)
			c.HalfOpenMaxWaitCloses = to == breakerref.Closed
			return err
		}},
		{"initialState", func(c *breakerref.Config, v string) (err error) {
			c.Initial, err = oneOf(v, breakerref.Closed, breakerref.Open, breakerref.HalfOpen, breakerref.Disabled, breakerref.MetricsOnly, breakerref.ForcedOpen)
			return err
		}},
	}
}

// overlay lays a block over the configuration.
func (r *reader) overlay(b block) {
	for _, p := range properties() {
		r.take(b, p.name, func(v string) error { return p.set(&r.cfg, v) })
	}
	r.wait(b)
}

// take reads a property if the block has it, and reports whether it has.
func (r *reader) take(b block, name string, set func(string) error) bool {
	p, has := b[plain(name)]
	if has {
		if err := set(strings.TrimSpace(p.Value)); err != nil {
			r.problem(p, name, err)
		}
	}
	return has
}

func (r *reader) problem(p yamldoc.Property, name string, err error) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d:%d: %s is %q, %w", r.file, p.At.Line, p.At.Col, name, p.Value, err))
}

// wait makes the interval function of a block. All of its values are checked, but
// without a wait of its own the block leaves the function as it is.
func (r *reader) wait(b block) {
	exponential, random, by, factor, most := false, false, 1.5, 0.5, time.Duration(0)
	r.take(b, "enableExponentialBackoff", func(v string) error { return truth(v, &exponential) })
	r.take(b, "enableRandomizedWait", func(v string) error { return truth(v, &random) })
	multiplied := r.take(b, "exponentialBackoffMultiplier", func(v string) error {
		return number(v, &by, "must be a number above 0", func(n float64) bool { return n > 0 })
	})
	r.take(b, "randomizedWaitFactor", func(v string) error {
		return number(v, &factor, "must be a number from 0 to below 1", func(n float64) bool { return n >= 0 && n < 1 })
	})
	r.take(b, "exponentialMaxWaitDurationInOpenState", func(v string) error { return atLeast(v, time.Millisecond, &most) })
	if _, own := b[plain("waitDurationInOpenState")]; !own {
		return
	}
	r.cfg.WaitMultiplier, r.cfg.WaitMax, r.cfg.WaitRandom = 0, 0, 0
	switch {
	case exponential && random:
		r.problem(b[plain("enableRandomizedWait")], "enableRandomizedWait", fmt.Errorf("and enableExponentialBackoff as well: a circuit breaker takes one of them"))
	case exponential && multiplied:
		r.cfg.WaitMultiplier, r.cfg.WaitMax = by, most
	case exponential:
		r.cfg.WaitMultiplier = by // And the limit is passed over.
	case random:
		r.cfg.WaitRandom = factor
	}
}

func count(v string, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return fmt.Errorf("must be a whole number of at least 1")
	}
	*to = n
	return nil
}

// percent has the bounds of the Spring Boot properties, which are narrower than those of
// the library.
func percent(v string, to *float32) error {
	n, err := strconv.ParseFloat(v, 32)
	if err != nil || !(n >= 1 && n <= 100) {
		return fmt.Errorf("must be a number from 1 to 100, without a %% sign")
	}
	*to = float32(n)
	return nil
}

func number(v string, to *float64, want string, ok func(float64) bool) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !ok(n) {
		return fmt.Errorf("%s", want)
	}
	*to = n
	return nil
}

func truth(v string, to *bool) error {
	switch strings.ToLower(v) {
	case "true", "on", "yes", "1":
		*to = true
	case "false", "off", "no", "0":
		*to = false
	default:
		return fmt.Errorf("must be true or false")
	}
	return nil
}

// oneOf finds the constant that a value names, relaxed as Spring is.
func oneOf[T fmt.Stringer](v string, words ...T) (T, error) {
	all := make([]string, len(words))
	for i, w := range words {
		if all[i] = w.String(); plain(all[i]) == plain(v) {
			return w, nil
		}
	}
	return words[0], fmt.Errorf("must be one of %s", strings.Join(all, ", "))
}

func atLeast(v string, least time.Duration, to *time.Duration) error {
	d, err := ParseDuration(v)
	if err != nil {
		return err
	}
	if d < least {
		return fmt.Errorf("must be at least %v", least)
	}
	*to = d
	return nil
}

// The two forms in which Spring Boot takes a duration.
var (
	simple = regexp.MustCompile(`^([+-]?\d+)([a-zA-Z]{0,2})$`)
	iso    = regexp.MustCompile(`^([+-])?P(?:([+-]?\d+)D)?(?:T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:\.\d{1,9})?)S)?)?$`)
)

// ParseDuration reads a duration as Spring Boot does: a whole number and one unit (ns,
// us, ms, s, m, h, d), milliseconds without a unit, or ISO 8601 as in PT1.5S.
func ParseDuration(v string) (time.Duration, error) {
	if m := simple.FindStringSubmatch(v); m != nil {
		units := map[string]time.Duration{
			"": time.Millisecond, "ns": 1, "us": time.Microsecond, "ms": time.Millisecond,
			"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
		}
		unit, ok := units[strings.ToLower(m[2])]
		n, err := strconv.ParseInt(m[1], 10, 64)
		if ok && err == nil && n <= math.MaxInt64/int64(unit) && n >= math.MinInt64/int64(unit) {
			return time.Duration(n) * unit, nil
		}
	}
	if m := iso.FindStringSubmatch(strings.ToUpper(v)); m != nil && strings.TrimRight(strings.ToUpper(v), "PT+-") != "" {
		sum := 0.0
		for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
			if m[i+2] != "" {
				n, _ := strconv.ParseFloat(m[i+2], 64) // The pattern has checked it.
				sum += n * float64(unit)
			}
		}
		if m[1] == "-" {
			sum = -sum
		}
		if math.Abs(sum) < math.MaxInt64 {
			return time.Duration(math.Round(sum)), nil
		}
	}
	return 0, fmt.Errorf("must be a duration: a whole number with ns, us, ms, s, m, h or d, as 500ms, or ISO 8601, as PT1.5S")
}
