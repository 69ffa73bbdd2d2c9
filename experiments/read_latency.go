package experiments

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// laws are the keys of a latency, of which it has one.
func laws() []string { return append(steadyLaws(), rampFrom, rampSteps) }

// steadyLaws are those of one that does not change with the time.
func steadyLaws() []string {
	return []string{"fixed", "uniform", "normal", "lognormal", "exponential", "pareto", "table", "trace"}
}

// latency reads what is added to a request's time.
func (r *reader) latency(v yamldoc.Value) fault.Latency {
	m := v.Map("{fixed: 5ms}")
	defer m.Done()
	return r.lawIn(m)
}

// lawIn reads the one law among the keys of a latency.
func (r *reader) lawIn(m *yamldoc.Map) fault.Latency {
	key := m.Choice(laws()...)
	if key == rampFrom || key == rampSteps {
		return r.latencyRamp(m, key)
	}
	straight(m, key)
	return r.oneOf(laws(), m, key)
}

// steady reads a latency that does not change with the time.
func (r *reader) steady(v yamldoc.Value) fault.Latency {
	m := v.Map("{fixed: 5ms}")
	defer m.Done()
	return r.oneOf(steadyLaws(), m, m.Choice(steadyLaws()...))
}

// oneOf reads the law of a key, which is one of those, or none.
func (r *reader) oneOf(laws []string, m *yamldoc.Map, key string) fault.Latency {
	if key == "" {
		if m.Exists() {
			m.Lacks(m.Value, laws, "says none of %s, as {fixed: 60ms} or {uniform: [10ms, 50ms]}", strings.Join(laws, ", "))
		}
		return fault.Latency{}
	}
	flawed := r.flawed()
	l := r.law(key, m.Get(key))
	if flawed() {
		return fault.Latency{}
	}
	for _, p := range l.Problems() {
		field := strings.TrimPrefix(p.Field, "latency.")
		m.Get(key).Problemf("%s", strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(field, key), ".")+" "+p.Text))
	}
	return l
}

// law reads the law that a key is for.
func (r *reader) law(key string, v yamldoc.Value) (l fault.Latency) {
	switch key {
	case "fixed":
		d := v.Duration(0)
		return fault.Latency{Min: d, Max: d}
	case "uniform":
		l.Min, l.Max = uniform(v)
		return l
	case "table":
		return fault.Latency{Table: table(v)}
	case "trace":
		return fault.Latency{Trace: r.trace(v)}
	}
	m := v.Map(map[string]string{
		"normal": "{mean: 100ms, sd: 20ms}", "lognormal": "{median: 100ms, p99: 400ms}",
		"exponential": "{mean: 50ms}", "pareto": "{min: 10ms, alpha: 1.5, cap: 2s}",
	}[key])
	defer m.Done()
	switch key {
	case "normal":
		l.Normal = &fault.Normal{Mean: m.Need("mean").Duration(0), SD: m.Need("sd").Duration(0), Cap: m.Get("cap").Duration(0)}
	case "lognormal":
		l.Lognormal = &fault.Lognormal{Median: m.Need("median").Duration(0), Cap: m.Get("cap").Duration(0)}
		switch by := m.Choice("p99", "sigma"); by {
		case "p99":
			l.Lognormal.P99 = m.Get(by).Duration(0)
		case "sigma":
			l.Lognormal.Sigma = decimal(m.Get(by))
		default:
			if m.Exists() {
				m.Lacks(m.Value, []string{"p99", "sigma"}, "says neither p99 nor sigma, beside the median, how far it is spread")
			}
		}
	case "exponential":
		l.Exponential = &fault.Exponential{Mean: m.Need("mean").Duration(0), Cap: m.Get("cap").Duration(0)}
	case "pareto":
		l.Pareto = &fault.Pareto{Min: m.Need("min").Duration(0), Alpha: decimal(m.Need("alpha")), Cap: m.Need("cap").Duration(0)}
	}
	return l
}

// decimal reads a number without a unit, from 0.01 to 100 with at most four digits
// behind the point; more would only pretend to be known.
func decimal(v yamldoc.Value) float64 {
	s, ok := v.Scalar("a number such as 1.5")
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	whole, frac, _ := strings.Cut(s, ".")
	switch {
	case err != nil || strings.Trim(whole+frac, "0123456789") != "" || whole == "" || len(whole) > 1 && whole[0] == '0' || len(frac) > 4:
		v.Problemf("%q is not a number such as 1.5, with at most four digits behind the point", s)
		return 0
	case f < .01 || f > 100:
		v.Problemf("%s is not from 0.01 to 100", s)
		return 0
	}
	return f
}

// table reads quantiles with their latencies.
func table(v yamldoc.Value) *fault.Table {
	m := v.Map("{points: {p0: 1ms, p50: 10ms, p99: 200ms, p100: 1s}}")
	defer m.Done()
	t := &fault.Table{Log: m.Get("scale").OneOf("linear", "linear", "log") == "log"}
	for _, e := range m.Need("points").Map("{p0: 1ms, p50: 10ms, p99: 200ms, p100: 1s}").Entries() {
		text, ok := strings.CutPrefix(e.Name, "p")
		share, err := yamldoc.ParseShare(text + "%")
		if !ok || err != nil {
			e.Key.Problemf("%q is not a quantile; write p0, p50, p99.9 and so on up to p100", e.Name)
			continue
		}
		t.Points = append(t.Points, fault.Point{Quantile: share.Float(), At: e.Value.DurationOrZero(0)})
	}
	slices.SortFunc(t.Points, func(a, b fault.Point) int { return cmp.Compare(a.Quantile, b.Quantile) })
	return t
}

// The largest file of a trace.
const (
	longestTrace = 10_000
	largestTrace = 1 << 20
)

// trace reads latencies in their order: a list, or one that stands in a file beside
// the experiment. The plan has the values, so that it can be run without the file.
func (r *reader) trace(v yamldoc.Value) []time.Duration {
	var all []time.Duration
	if !v.IsMap() {
		for _, item := range v.Items() {
			all = append(all, item.DurationOrZero(0))
		}
	} else {
		m := v.Map("")
		defer m.Done()
		file := m.Need("file")
		if name := file.NonEmpty(); name != "" {
			var err error
			if all, err = readTrace(filepath.Dir(r.path), name); err != nil {
				file.Problemf("%v", err)
				return nil
			}
		}
	}
	if len(all) > longestTrace {
		v.Problemf("has %d values; a trace has at most %d, as they all stand in the plan", len(all), longestTrace)
		return nil
	}
	return all
}

// readTrace reads a file of durations, one a line; empty lines and those that begin
// with # say nothing.
func readTrace(dir, name string) ([]time.Duration, error) {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%q is not below the experiment's folder", name)
	}
	f, err := os.OpenInRoot(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %q in the experiment's folder", name)
	} else if err != nil {
		return nil, fmt.Errorf("open a trace in the experiment's folder: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > largestTrace {
		return nil, fmt.Errorf("%q is not a file of at most %d bytes", name, largestTrace)
	}
	var all []time.Duration
	lines := bufio.NewScanner(io.LimitReader(f, largestTrace))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		d, err := yamldoc.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("line %d of %q: %w", n, name, err)
		}
		all = append(all, d)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%q has no durations", name)
	}
	return all, nil
}
