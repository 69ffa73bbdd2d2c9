package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// experiment writes the experiment that follows from what is declared. Launched from dir.
func (t truth) experiment(dir, venv string) string {
	var b strings.Builder
	t.head(&b, dir, venv)
	if t.policy != nil {
		t.policy.phases(&b)
		return b.String()
	}
	t.breakerAndPhases(&b)
	t.assertions(&b)
	return b.String()
}

// plan loads the generated experiment, which no test may find to be wrong at a run only.
func (t truth) plan(dir, venv string) (*experiments.Plan, error) {
	return experiments.LoadPlan(t.name+".yaml", []byte(t.experiment(dir, venv)), 1)
}

// short is a duration as an experiment has it, for lists of phases.
func short(d time.Duration) string { return yamldoc.FormatDuration(d) }

// head writes all that comes before the breaker.
func (t truth) head(b *strings.Builder, dir, venv string) {
	fmt.Fprintf(b, "apiVersion: faultline/v1\nkind: Experiment\nmetadata: { name: zoo-%s, description: %q }\n", t.name, t.title+" "+t.version)
	quoted := func(s string) string { return fmt.Sprintf("%q", strings.ReplaceAll(s, "{{venv}}", venv)) }
	var command, env []string
	for _, c := range t.command {
		command = append(command, quoted(c))
	}
	for _, name := range slices.Sorted(maps.Keys(t.env)) {
		env = append(env, name+": "+quoted(t.env[name]))
	}
	fmt.Fprintf(b, "sut:\n  base_url: \"http://127.0.0.1:{{sut.port}}\"\n  launch: { command: [%s], dir: %q, env: { %s }, stop: 5s }\n",
		strings.Join(command, ", "), dir, strings.Join(env, ", "))
	fmt.Fprintf(b, "  ready: { get: %s, expect: 200, timeout: 90s }\n", t.ready)
	b.WriteString("injectors:\n")
	for _, name := range append([]string{"dependency"}, t.others...) {
		body := t.body
		if name == "backup" {
			body = `{"source":"fallback"}`
		}
		fmt.Fprintf(b, "  %s: { stub: { status: 200, headers: { Content-Type: application/json }, body: '%s', latency: 2ms } }\n", name, body)
	}
	fmt.Fprintf(b, "load:\n  rate: 100/s\n  timeout: 5s\n  targets: [ { name: quote, path: %q, depends_on: [dependency] } ]\n", t.path)
	fmt.Fprintf(b, "  classify:\n    primary: { status: 200, contains: '%s' }\n    fallback: { status: 200, contains: '%s' }\n", t.primary, t.fallback)
}

// failing is a fault that fails, after so long.
func failing(latency time.Duration) string {
	if latency == 0 {
		return "faults: [ { injector: dependency, respond: { status: 503 } } ]"
	}
	return fmt.Sprintf("faults: [ { injector: dependency, respond: { status: 503 }, latency: { fixed: %s } } ]", short(latency))
}

// breakerAndPhases writes what the breaker is declared to be, and what is done to it.
func (t truth) breakerAndPhases(b *strings.Builder) {
	d := t.breaker
	fmt.Fprintf(b, "breakers:\n  dependency:\n    injector: dependency\n    target: quote\n    unit: attempt\n    window: %s\n    minimum_calls: %d\n    failure_rate: %s\n    wait: %s\n    permitted_calls: %d\n    failure: [5xx, reset, eof, timeout]\n",
		d.window, d.minimum, d.rate, short(d.wait), d.permitted)
	if t.events == "actuator" {
		b.WriteString("    state_probe: { actuator: /actuator/circuitbreakers, name: primary }\n")
	}
	b.WriteString("phases:\n  - { name: baseline, load: { calls: 25, concurrency: 1, gap: 5ms } }\n")
	trip := fmt.Sprintf("load: { calls: %d, concurrency: 1, gap: 5ms, until: open }, %s", 2*d.minimum+100, failing(0))
	if d.warm {
		fmt.Fprintf(b, "  - { name: warm-trip, measure: false, %s }\n", trip)
		fmt.Fprintf(b, "  - { name: warm-rest, pause: %s }\n", short(t.longest()+200*time.Millisecond))
		fmt.Fprintf(b, "  - { name: warm-close, measure: false, load: { calls: 10, concurrency: 10 }, faults: [ { injector: dependency, latency: { fixed: 100ms } } ] }\n")
	}
	d.empty(b, "trip")
	fmt.Fprintf(b, "  - { name: trip, %s }\n", trip)
	const hold = 250 * time.Millisecond
	held := fmt.Sprintf("hold: { rejected: 10, max: %s }, ", short(hold))
	if t.columns["probes"].none != "" {
		held = "" // All come back at once: each that is held would be one more.
	}
	fmt.Fprintf(b, "  - { name: probes, duration: %s, load: { rate: 200/s }, faults: [ { injector: dependency, %srespond: { status: 503 } } ] }\n",
		short(2*t.longest()+d.wait/4+2*hold), held)
	one := ""
	if d.concurrent && held != "" {
		one = fmt.Sprintf(", faults: [ { injector: dependency, hold: { one_by_one: true, rejected: 10, max: %s } } ]", short(hold))
	}
	fmt.Fprintf(b, "  - { name: recovery, duration: %s, load: { rate: 200/s }%s }\n", short(t.longest()+800*time.Millisecond), one)
	b.WriteString("  - { name: settled, load: { calls: 40, concurrency: 1, gap: 2ms } }\n")
	if t.columns["late"].none == "" {
		t.latePhases(b, "failures", "respond: { status: 503 }, ")
		t.latePhases(b, "successes", "")
	}
}

// What the phases of late results last: calls of lateFor are answered lateBy after the
// wait, while the probes are under way for lateProbe.
const (
	lateFor   = 100 * time.Millisecond
	lateBy    = 350 * time.Millisecond
	lateProbe = 500 * time.Millisecond
)

// latePhases writes phases in which calls from before the trip end in half-open.
func (t truth) latePhases(b *strings.Builder, kind, respond string) {
	d := t.breaker
	phase := func(name, rest string) { fmt.Fprintf(b, "  - { name: late-%s-%s, %s }\n", kind, name, rest) }
	d.empty(b, "late-"+kind)
	phase("calls", fmt.Sprintf("duration: %s, load: { rate: %d/s }, faults: [ { injector: dependency, %slatency: { fixed: %s } } ]",
		short(lateFor), d.permitted*int(time.Second/lateFor), respond, short(d.wait+lateBy)))
	phase("trip", fmt.Sprintf("load: { calls: %d, concurrency: 1, gap: 5ms, until: open }, %s", 2*d.minimum+100, failing(0)))
	phase("rest", "pause: "+short(d.wait-100*time.Millisecond))
	phase("probes", fmt.Sprintf("duration: %s, faults: [ { injector: dependency, latency: { fixed: %s } } ]", short(lateProbe+400*time.Millisecond), short(lateProbe)))
	phase("settle", fmt.Sprintf("duration: %s", short(d.wait+300*time.Millisecond)))
	phase("settled", "load: { calls: 40, concurrency: 1, gap: 2ms }")
}

// openTime is a duration and its tolerance, also of one that lies between two.
func (d declared) openTime() (is time.Duration, tolerance string) {
	if d.is > 0 {
		return d.is, d.tolerance
	}
	middle := (d.min + d.most) / 2
	return middle, fmt.Sprintf("%d%%", 100*(d.most-middle)/middle)
}

// longest is how long it may be open.
func (t truth) longest() time.Duration { return max(t.breaker.wait, t.columns["open_time"].most) }

// empty lets a window of time empty itself.
func (d declaredBreaker) empty(b *strings.Builder, before string) {
	if d.empties > 0 {
		fmt.Fprintf(b, "  - { name: empty-before-%s, pause: %s }\n", before, short(d.empties))
	}
}

// assertions writes what is asserted of the columns that the judge decides.
func (t truth) assertions(b *strings.Builder) {
	b.WriteString("assert:\n")
	line := func(id, phase, rule string) { fmt.Fprintf(b, "  - { id: %s, phase: %s, %s }\n", id, phase, rule) }
	line("honest", "baseline", "fallback.share: { max: 0% }")
	for _, column := range zooColumns() {
		d := t.columns[column]
		if d.none != "" {
			continue
		}
		switch column {
		case "trip":
			at := fmt.Sprintf("at_call: %d", d.atCall)
			if d.atCall == 0 {
				at = "within: " + short(d.within)
			}
			line("trip", "trip", "breaker.opens: dependency, "+at)
		case "leak":
			line("leak", "probes", fmt.Sprintf("breaker.leak: dependency, max: %d", d.max))
		case "open_time":
			is, tolerance := d.openTime()
			line("open-time", "probes", fmt.Sprintf("breaker.open_duration: dependency, equals: %s, tolerance: %s", short(is), tolerance))
		case "probes":
			if !d.waiting {
				line("probes", "probes", fmt.Sprintf("breaker.half_open_probes: dependency, exactly: %d", d.exactly))
			}
		case "close":
			after := fmt.Sprintf("after_successes: %d", d.successes)
			if d.successes == 0 {
				after = "within: " + short(d.within)
			}
			line("close", "recovery", "breaker.closes: dependency, "+after)
		case "reopen":
			line("reopen", "probes", "breaker.reopens_on_failed_probe: dependency")
		}
	}
}
