package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// seriesPrefix is what the names of all series begin with.
const seriesPrefix = "resilience4j_circuitbreaker_"

// servePrometheus answers with the series that micrometer makes of Resilience4j's
// circuit breakers, in its order: by name, then by the labels' values.
func (p *Proxy) servePrometheus(at *instance, w http.ResponseWriter, _ *http.Request, _ []string) {
	x := &series{looks: at.looks(), open: w.Header().Get("Content-Type") == openMetrics}
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, x.exposition())
}

// exposition writes the series of breakers that are sorted by name.
func (x *series) exposition() string {
	x.begin("buffered_calls", "gauge", "Calls in the window, by what came of them.")
	x.kind("failed", func(l look) float64 { return float64(l.metrics.Failed) })
	x.kind("successful", func(l look) float64 { return float64(l.metrics.Buffered - l.metrics.Failed) })

	x.begin("calls_seconds", "summary", "Ended calls and how long they took.")
	x.timers(func(labels string, _ look, t timer) {
		x.line("_count", labels, strconv.Itoa(t.count))
		x.line("_sum", labels, seconds(t.sum))
	})
	x.begin("calls_seconds_max", "gauge", "The longest call of the last minutes.")
	x.timers(func(labels string, l look, t timer) { x.line("", labels, seconds(t.max.read(l.at))) })

	x.begin("failure_rate", "gauge", "Share of failed calls in the window in percent, -1 below the minimum number of calls.")
	x.plain(func(l look) float64 { return float64(l.metrics.FailureRate) })
	x.begin("not_permitted_calls_total", "counter", "Calls that the breaker refused.")
	x.kind("not_permitted", func(l look) float64 { return float64(l.refused()) })
	x.begin("slow_call_rate", "gauge", "Share of slow calls in the window in percent, -1 below the minimum number of calls.")
	x.plain(func(l look) float64 { return float64(l.metrics.SlowRate) })
	x.begin("slow_calls", "gauge", "Slow calls in the window, by what came of them.")
	x.kind("failed", func(l look) float64 { return float64(l.metrics.SlowFailed) })
	x.kind("successful", func(l look) float64 { return float64(l.metrics.Slow - l.metrics.SlowFailed) })
	x.begin("state", "gauge", "1 for the state that the breaker is in, 0 for the others.")
	x.states()
	if x.open {
		x.text.WriteString("# EOF\n")
	}
	return x.text.String()
}

// seconds writes a duration as Java writes a number of seconds.
func seconds(d time.Duration) string { return javaNumber(float64(d)/float64(time.Second), 64) }

// series is text under construction.
type series struct {
	looks []look
	open  bool   // in OpenMetrics, not in Prometheus' own text format
	name  string // of the series that lines are written of
	text  strings.Builder
}

// begin starts a series, whose name is given without its prefix. OpenMetrics names a
// counter without its suffix.
func (x *series) begin(name, kind, help string) {
	x.name = seriesPrefix + name
	if x.open {
		family := strings.TrimSuffix(x.name, "_total")
		fmt.Fprintf(&x.text, "# TYPE %s %s\n# HELP %s %s\n", family, kind, family, help)
		return
	}
	fmt.Fprintf(&x.text, "# HELP %s %s\n# TYPE %s %s\n", x.name, help, x.name, kind)
}

// line writes a value.
func (x *series) line(suffix, labels, value string) {
	fmt.Fprintf(&x.text, "%s%s{%s} %s\n", x.name, suffix, labels, value)
}

// plain writes one value for each breaker.
func (x *series) plain(value func(look) float64) {
	for _, l := range x.looks {
		x.line("", label("name", l.name), javaNumber(value(l), 64))
	}
}

// kind writes one value of a kind for each breaker.
func (x *series) kind(kind string, value func(look) float64) {
	for _, l := range x.looks {
		x.line("", label("kind", kind)+","+label("name", l.name), javaNumber(value(l), 64))
	}
}

// timers has the lines of each timer written.
func (x *series) timers(write func(labels string, l look, t timer)) {
	for _, of := range []struct {
		kind  string
		timer func(journal) timer
	}{
		{"failed", func(j journal) timer { return j.failed }},
		{"ignored", func(j journal) timer { return j.ignored }},
		{"successful", func(j journal) timer { return j.successful }},
	} {
		for _, l := range x.looks {
			write(label("kind", of.kind)+","+label("name", l.name), l, of.timer(l.journal))
		}
	}
}

// states writes one value for each breaker and state.
func (x *series) states() {
	for _, l := range x.looks {
		for _, s := range []breakerref.State{
			breakerref.Closed, breakerref.Disabled, breakerref.ForcedOpen,
			breakerref.HalfOpen, breakerref.MetricsOnly, breakerref.Open,
		} {
			value := "0.0"
			if s == l.state {
				value = "1.0"
			}
			x.line("", label("name", l.name)+","+label("state", strings.ToLower(s.String())), value)
		}
	}
}

// label writes a label, its value escaped as the text format wants it.
func label(name, value string) string {
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}
