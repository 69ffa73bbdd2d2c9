package breakerref

import "time"

// Metrics is what a breaker knows of its calls.
type Metrics struct {
	FailureRate  float32 // percent; -1 below the minimum number of calls
	SlowRate     float32 // percent; -1 below the minimum number of calls
	Buffered     int     // outcomes in the window
	Failed       int
	Slow         int // failed or not
	SlowFailed   int
	NotPermitted int // calls refused since the window began
}

// tally is a window with what it is judged by. OPEN goes on using that of the
// state before it.
type tally struct {
	window       window // nil: outcomes do not count
	minimum      int
	notPermitted int
}

// record counts an outcome. It has a rate if enough were counted.
func (t *tally) record(now time.Time, o outcome) (c counts, rated bool) {
	if t.window == nil {
		return counts{}, false
	}
	c = t.window.record(now, o)
	return c, c.calls >= t.minimum
}

func (t *tally) read(now time.Time) Metrics {
	if t.window == nil {
		return t.metrics(counts{})
	}
	return t.metrics(t.window.read(now))
}

func (t *tally) metrics(c counts) Metrics {
	m := Metrics{
		FailureRate:  -1,
		SlowRate:     -1,
		Buffered:     c.calls,
		Failed:       c.failed,
		Slow:         c.slow,
		SlowFailed:   c.slowFailed,
		NotPermitted: t.notPermitted,
	}
	if c.calls > 0 && c.calls >= t.minimum {
		m.FailureRate = rate(c.failed, c.calls)
		m.SlowRate = rate(c.slow, c.calls)
	}
	return m
}

func (t *tally) clone() *tally {
	c := *t
	if t.window != nil {
		c.window = t.window.clone()
	}
	return &c
}

// rate returns part of all in percent. It is computed in 32 bits, because the
// threshold is compared with exactly that number: 1 of 3 reaches 33.333332 and
// not 33.333336.
func rate(part, all int) float32 { return float32(part) * 100 / float32(all) }
