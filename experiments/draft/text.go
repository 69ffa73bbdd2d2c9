package draft

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// writer puts an experiment together.
type writer struct {
	out strings.Builder
	Service
	sizes

	left map[string]predict.Assertion
}

// source is the experiment, but for the assertions that its load cannot decide.
func (s Service) source(left map[string]predict.Assertion) string {
	w := &writer{Service: s, sizes: s.sizes(), left: left}
	w.head()
	w.service()
	w.load()
	w.breaker()
	w.phases()
	w.assertions()
	return w.out.String()
}

func (w *writer) line(format string, args ...any) { _, _ = fmt.Fprintf(&w.out, format+"\n", args...) }

// quoted is a text as YAML has it, whatever stands in it.
func quoted(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s) // It does not fail on texts.
	}
	return string(out)
}

func quotedList(items []string) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = quoted(item)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func quotedMap(m map[string]string) string {
	out := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, quoted(name)+": "+quoted(m[name]))
	}
	return "{ " + strings.Join(out, ", ") + " }"
}

func short(d time.Duration) string { return yamldoc.FormatDuration(d) }

func (w *writer) head() {
	w.line("# Written by faultline init, to be changed: what it says of your service is what you said.")
	w.line("#   faultline plan FILE   what will be sent, how long it takes, and whether that decides every assertion")
	w.line("#   faultline run FILE    carries it out")
	w.line("# Every key: experiments/README.md of faultline.")
	w.line("apiVersion: faultline/v1\nkind: Experiment")
	w.line("metadata:\n  name: %s", w.Name)
	w.line("  description: The breaker in front of %s opens, fails fast, probes and recovers.\n", w.Dependency)
}

func (w *writer) service() {
	w.line("sut:\n  base_url: %s", quoted(w.BaseURL))
	if len(w.Command) > 0 {
		w.line("  launch:                   # without launch, a service that runs already is used")
		w.line("    command: %s", quotedList(w.Command))
		if len(w.Env) > 0 {
			w.line("    env: %s", quotedMap(w.Env))
		}
		w.line("  ready: { get: %s, expect: 200, timeout: 90s }   # must not pass through the breaker", quoted(w.Ready))
	}
	w.line("\n# The dependency, played by faultline: your service has to call it at this address.")
	w.line("injectors:\n  %s:\n    listen: %s", w.Dependency, w.Listen)
	if w.Upstream != "" {
		w.line("    upstream: %s   # answers when no fault does\n", quoted(w.Upstream))
		return
	}
	w.line("    stub: { status: 200, headers: { Content-Type: application/json }, body: %s }   # when healthy; or upstream: URL of a real one\n", quoted(w.Stub))
}

func (w *writer) load() {
	w.line("load:\n  rate: %d/s               # of every phase that does not say otherwise", w.rate)
	w.line("  timeout: %s\n  targets:", short(w.timeout))
	w.out.WriteString("    - { name: call, method: " + w.Method + ", path: " + quoted(w.Path))
	if len(w.Headers) > 0 {
		w.out.WriteString(", headers: " + quotedMap(w.Headers))
	}
	if w.Body != "" {
		w.out.WriteString(", body: " + quoted(w.Body))
	}
	w.line(" }\n  classify:                 # the first class that matches an answer wins")
	if w.Fallback != "" {
		w.line("    fallback: { contains: %s }", quoted(w.Fallback))
	}
	if w.Primary != "" {
		w.line("    primary: { status: 200, contains: %s }", quoted(w.Primary))
	} else {
		w.line("    primary: { status: 200 }   # better: a text that only a good answer has, as contains: PAID")
	}
	w.line("    rejected: { status: 503 }\n")
}

func (w *writer) breaker() {
	c := w.Breaker
	w.line("# What the breaker is said to be; this is judged. %s", w.Declared)
	for _, note := range w.Notes {
		w.line("# %s", note)
	}
	w.line("breakers:\n  %s:\n    unit: attempt           # each retry asks the breaker, as in Resilience4j; or call", w.Dependency)
	window := strconv.Itoa(c.Window)
	if c.WindowType == breakerref.TimeBased {
		window += "s"
	}
	w.line("    window: %s\n    minimum_calls: %d\n    failure_rate: %s", window, c.MinimumCalls, percent(c.FailureRate))
	switch {
	case c.WaitRandom > 0:
		w.line("    wait: { first: %s, jitter: %s }", short(c.Wait), yamldoc.FormatShare(c.WaitRandom))
	case c.WaitMultiplier > 0 && c.WaitMax > 0:
		w.line("    wait: { first: %s, factor: %v, max: %s }", short(c.Wait), c.WaitMultiplier, short(c.WaitMax))
	case c.WaitMultiplier > 0:
		w.line("    wait: { first: %s, factor: %v }", short(c.Wait), c.WaitMultiplier)
	default:
		w.line("    wait: %s", short(c.Wait))
	}
	w.line("    permitted_calls: %d", c.Permitted)
	w.line("    slow_calls: { rate: %s, over: %s }\n", percent(c.SlowRate), short(c.SlowDuration))
}

func percent(p float32) string { return strconv.FormatFloat(float64(p), 'f', -1, 32) + "%" }

const failing = "respond: { status: 503 }"

func (w *writer) phases() {
	until := func(calls int) string {
		return fmt.Sprintf("load: { calls: %d, gap: 5ms, until: open }, faults: [{ %s }]", calls, failing)
	}
	w.line("phases:\n  - { name: baseline, load: { calls: %d, gap: 5ms } }\n", baselineCalls)
	w.line("  # What the window holds decides when it opens. So open it once, unmeasured, wait until it is")
	w.line("  # willing to probe, and let it close: a breaker that has just closed has an empty window.")
	if w.empties > 0 {
		w.line("  - { name: warm-empty, pause: %s }", short(w.empties))
	}
	w.line("  - { name: warm-trip, measure: false, %s }", until(w.first))
	w.line("  - { name: warm-rest, pause: %s }", short(late(longest(w.Breaker, 1))+50*time.Millisecond))
	w.line("  - { name: warm-close, measure: false, load: { calls: %d, concurrency: %d }, faults: [{ latency: { fixed: %s } }] }\n",
		w.together, w.together, short(min(100*time.Millisecond, w.hold)))
	if w.settle > 0 {
		w.line("  # It closes before all probes are answered; that it has shows by calls that are let through.")
		w.line("  - { name: warm-settle, measure: false, load: { calls: %d, gap: 5ms } }\n", w.settle)
	}
	w.line("  # One failing call at a time, until it opens.\n  - { name: trip, %s }\n", until(w.trip+spare))
	w.line("  # Still failing, under load: nothing may get through before the wait is over.")
	w.line("  - { name: outage, duration: %s, faults: [{ %s }] }\n", short(w.outage), failing)
	w.line("  # Probes are held until later calls were refused: only then is it sure that no further one was on its way.")
	w.line("  - { name: probes, duration: %s, load: { rate: %d/s }, faults: [{ hold: { max: %s }, %s }] }\n",
		short(w.probes), w.burst, short(w.hold), failing)
	w.line("  # Healthy again.\n  - { name: recovery, duration: %s }\n", short(late(w.last)+2*time.Second))
}

func (w *writer) assertions() {
	d := w.Dependency
	w.line("assert:")
	w.assert("healthy", "error.share: { max: 0%% }, phase: baseline", "nothing fails before anything is done to it")
	if w.Fallback != "" {
		w.assert("honest", "fallback.share: { max: 0%% }, phase: baseline", "and no fallback is served")
	}
	w.assert("trips", "breaker.opens: %s, phase: trip, at_call: %d", "not one failing call sooner, not one later", d, w.trip)
	w.assert("no-leak", "breaker.leak: %s, phase: outage, max: 0", "while it is open nothing reaches the dependency", d)
	if len(w.sequence) == 1 {
		w.assert("waits", "breaker.open_duration: %s, phase: outage, equals: %s, tolerance: %d%%", "", d, short(w.sequence[0]), w.tolerance)
	} else {
		w.assert("waits", "breaker.open_duration: %s, phase: outage, sequence: [%s, %s], tolerance: %d%%", "", d, short(w.sequence[0]), short(w.sequence[1]), w.tolerance)
	}
	w.assert("reopens", "breaker.reopens_on_failed_probe: %s, phase: probes", "", d)
	w.assert("fail-fast", "short.latency: { p99: 100ms }, phase: outage", "a refusal is quick")
	if w.Fallback != "" {
		w.assert("fallback", "fallback.share: { min: 100%% }, of: [short, failed], phase: outage", "")
	}
	w.assert("probes", "breaker.half_open_probes: %s, phase: probes, exactly: %d", "", d, w.Breaker.Permitted)
	w.assert("closes", "breaker.closes: %s, phase: recovery, within: %s", "", d, short(late(w.last)+time.Second))
}

// assert writes an assertion, as a comment if the load cannot decide it.
func (w *writer) assert(id, rule, why string, args ...any) {
	line := fmt.Sprintf("- { id: %s, %s }", id, fmt.Sprintf(rule, args...))
	if why != "" {
		line += "   # " + why
	}
	a, left := w.left[id]
	if !left {
		w.line("  %s", line)
		return
	}
	w.line("  # %s", line)
	w.line("  #   left out, as this load %s it: %s", a.Can, strings.Join(slices.DeleteFunc([]string{a.Reason, a.Remedy, a.Misses}, func(s string) bool { return s == "" }), "; "))
}
