package breakerref_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
)

// model is a breaker that remembers every outcome of a stay and counts anew
// whenever it is asked. It knows CLOSED, OPEN and HALF_OPEN, and a clock that does
// not step back.
type model struct {
	cfg     breakerref.Config
	state   breakerref.State
	all     []ended
	byCount bool // the window of all: the last size outcomes, or seconds
	size    int
	minimum int
	refused int
	opened  time.Time
	taken   int // permits of HALF_OPEN, less those given back
}

type ended struct {
	at           time.Time
	failed, slow bool
}

func newModel(cfg breakerref.Config) *model {
	m := &model{cfg: cfg}
	m.close()
	return m
}

func (m *model) close() {
	*m = model{
		cfg: m.cfg, state: breakerref.Closed,
		byCount: m.cfg.WindowType == breakerref.CountBased,
		size:    m.cfg.Window,
		minimum: m.cfg.MinimumCalls,
	}
	if m.byCount && m.minimum > m.size {
		m.minimum = m.size
	}
}

func (m *model) open(now time.Time) {
	m.state = breakerref.Open
	m.opened = now
}

func (m *model) halfOpen() {
	*m = model{
		cfg: m.cfg, state: breakerref.HalfOpen,
		byCount: true, size: m.cfg.Permitted, minimum: m.cfg.MinimumCalls,
	}
	if m.minimum > m.size {
		m.minimum = m.size
	}
}

func (m *model) acquire(now time.Time) bool {
	if m.state == breakerref.Open && now.Sub(m.opened) > m.cfg.Wait {
		m.halfOpen()
	}
	switch {
	case m.state == breakerref.Closed:
		return true
	case m.state == breakerref.HalfOpen && m.taken < m.cfg.Permitted:
		m.taken++
		return true
	}
	m.refused++
	return false
}

func (m *model) record(now time.Time, failed bool, d time.Duration) {
	m.all = append(m.all, ended{now, failed, d > m.cfg.SlowDuration})
	got := m.metrics(now)
	if got.Buffered < m.minimum || m.state == breakerref.Open {
		return
	}
	switch {
	case got.FailureRate >= m.cfg.FailureRate || got.SlowRate >= m.cfg.SlowRate:
		m.open(now)
	case m.state == breakerref.HalfOpen:
		m.close()
	}
}

func (m *model) release() {
	if m.state == breakerref.HalfOpen {
		m.taken--
	}
}

func (m *model) metrics(now time.Time) breakerref.Metrics {
	got := breakerref.Metrics{FailureRate: -1, SlowRate: -1, NotPermitted: m.refused}
	for i, e := range m.all {
		if m.byCount && i < len(m.all)-m.size {
			continue
		}
		if !m.byCount && now.Unix()-e.at.Unix() >= int64(m.size) {
			continue
		}
		got.Buffered++
		if e.failed {
			got.Failed++
		}
		if e.slow {
			got.Slow++
		}
		if e.failed && e.slow {
			got.SlowFailed++
		}
	}
	if got.Buffered > 0 && got.Buffered >= m.minimum {
		// A quotient of small integers, rounded once to 32 bits.
		got.FailureRate = float32(float64(100*got.Failed) / float64(got.Buffered))
		got.SlowRate = float32(float64(100*got.Slow) / float64(got.Buffered))
	}
	return got
}

func (m *model) openUntil() time.Time {
	if m.state == breakerref.Open {
		return m.opened.Add(m.cfg.Wait)
	}
	return time.Time{}
}

// TestAgainstModel drives a machine and the model with the same calls. Now and
// then it goes on with a clone and spoils the original, which must not show.
func TestAgainstModel(t *testing.T) {
	visited := map[breakerref.State]int{}
	rapid.Check(t, againstModel(visited))
	for _, s := range []breakerref.State{breakerref.Closed, breakerref.Open, breakerref.HalfOpen} {
		if visited[s] == 0 {
			t.Errorf("no run has seen %v", s)
		}
	}
}

func FuzzAgainstModel(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(againstModel(map[breakerref.State]int{})))
}

func againstModel(visited map[breakerref.State]int) func(*rapid.T) {
	return func(t *rapid.T) {
		cfg := drawConfig(t)
		now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(rapid.SampledFrom([]time.Duration{0, 1, 999_999_999}).Draw(t, "start"))
		actual, err := breakerref.New(cfg, now)
		if err != nil {
			t.Fatal(err)
		}
		naive := newModel(cfg)
		steps := []time.Duration{
			1, time.Millisecond, 333 * time.Millisecond, time.Second - 1, time.Second,
			cfg.Wait - 1, cfg.Wait, cfg.Wait + 1, time.Duration(cfg.Window) * time.Second, time.Hour,
		}
		took := []time.Duration{-1, 0, cfg.SlowDuration, cfg.SlowDuration + 1}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				if got, want := actual.Acquire(now), naive.acquire(now); got != want {
					t.Fatalf("acquire: got %v, the model says %v", got, want)
				}
			},
			"record": func(t *rapid.T) {
				failed, d := rapid.Bool().Draw(t, "failed"), rapid.SampledFrom(took).Draw(t, "took")
				actual.Record(now, failed, d)
				naive.record(now, failed, d)
			},
			"release": func(*rapid.T) { actual.Release(now); naive.release() },
			"ignore":  func(*rapid.T) { actual.Ignore(now); naive.release() },
			"wait": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom(steps).Draw(t, "for"))
			},
			"clone": func(*rapid.T) {
				spoiled := actual
				actual = actual.Clone()
				for range 3 {
					spoiled.Record(now.Add(time.Hour), true, time.Hour)
					spoiled.Acquire(now.Add(2 * time.Hour))
				}
				spoiled.Reset(now)
			},
			"": func(t *rapid.T) {
				visited[actual.State()]++
				type view struct {
					State   breakerref.State
					Until   time.Time
					Metrics breakerref.Metrics
				}
				got := view{actual.State(), actual.OpenUntil(), actual.Metrics(now)}
				want := view{naive.state, naive.openUntil(), naive.metrics(now)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("model (-) and machine (+):\n%s", diff)
				}
			},
		})
	}
}

// drawConfig draws small numbers, so that windows fill and thresholds are met
// exactly.
func drawConfig(t *rapid.T) breakerref.Config {
	thresholds := rapid.SampledFrom([]float32{1, 20, 33.333332, 33.333336, 50, 66.666664, 75, 100})
	return breakerref.Config{
		WindowType:   rapid.SampledFrom([]breakerref.WindowType{breakerref.CountBased, breakerref.TimeBased}).Draw(t, "type"),
		Window:       rapid.IntRange(1, 6).Draw(t, "window"),
		MinimumCalls: rapid.IntRange(1, 8).Draw(t, "minimum"),
		FailureRate:  thresholds.Draw(t, "failure rate"),
		SlowRate:     thresholds.Draw(t, "slow rate"),
		SlowDuration: 100 * time.Millisecond,
		Wait:         rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 2500 * time.Millisecond}).Draw(t, "wait"),
		Permitted:    rapid.IntRange(1, 5).Draw(t, "permitted"),
	}
}
