package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// knownCases are the files of testdata/effective.txt.
func knownCases() []effectiveCase {
	src, err := os.ReadFile(filepath.Join("testdata", "effective.txt"))
	if err != nil {
		panic(err)
	}
	var out []effectiveCase
	marks := regexp.MustCompile(`(?m)^-- (\S+) --\n`).FindAllSubmatchIndex(src, -1)
	for i, m := range marks {
		end := len(src)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		out = append(out, effectiveCase{
			name: string(src[m[2]:m[3]]), text: string(src[m[1]:end]),
			profiles: []string{"p"}, env: map[string]string{"MY_ENV": "9"},
		})
	}
	return out
}

// generatedCases are files with a bit of everything, always the same ones.
func generatedCases(n int) []effectiveCase {
	out := make([]effectiveCase, n)
	for i := range out {
		g := effectiveGenerator{Rand: rand.New(rand.NewPCG(2026, uint64(i)))}
		out[i] = g.file(i)
	}
	return out
}

// effectiveGenerator draws a file.
type effectiveGenerator struct {
	*rand.Rand
	bad  bool // some values are ones that Spring refuses
	yaml bool
	env  map[string]string
	app  []string // properties that placeholders name

	configs map[resilience4j.Module][]string // those that each module has, in any document
}

func pick[T any](g *effectiveGenerator, of ...T) T { return of[g.IntN(len(of))] }

func (g *effectiveGenerator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *effectiveGenerator) file(i int) effectiveCase {
	g.bad, g.yaml, g.env = g.chance(22), g.chance(70), map[string]string{}
	modules := resilience4j.Modules()
	g.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
	modules = modules[:1+g.IntN(3)]
	g.configs = map[resilience4j.Module][]string{}
	for _, m := range modules {
		for _, name := range []string{"default", "shared", "strict", "pay"} {
			if g.chance(60) {
				g.configs[m] = append(g.configs[m], name)
			}
		}
	}
	var docs []string
	for d := range 1 + g.IntN(3) {
		var lines []line
		if d > 0 && g.chance(60) {
			lines = append(lines, line{"spring.config.activate.on-profile", pick(g, "a", "b", "!a", "a & b", "a | b", "(a & b) | !c", "a, c", "!(a | b)"), `"`})
		}
		for _, m := range modules {
			lines = append(lines, g.module(m)...)
		}
		docs = append(docs, g.write(lines))
	}
	for i, v := range g.app {
		separator := "="
		if g.yaml {
			separator = ": "
		}
		docs[0] = fmt.Sprintf("app.value-%d%s%s\n", i, separator, v) + docs[0]
	}
	c := effectiveCase{name: fmt.Sprintf("generated-%d.yml", i), text: strings.Join(docs, "---\n"), env: g.env}
	if !g.yaml {
		c.name, c.text = fmt.Sprintf("generated-%d.properties", i), strings.Join(docs, "#---\n")
	}
	for _, p := range []string{"a", "b", "c"} {
		if g.chance(40) {
			c.profiles = append(c.profiles, p)
		}
	}
	return c
}

// line is a property: its key up to the module's block, the value, and whether quotes
// stand around it in YAML.
type line struct{ key, value, quote string }

// module draws configs, instances and an order of a module.
func (g *effectiveGenerator) module(m resilience4j.Module) []line {
	prefix := "resilience4j." + m.String()
	configs := g.configs[m]
	var out []line
	if order := strings.NewReplacer("-", "", "threadpool", "").Replace(m.String()); m != resilience4j.ThreadPoolBulkhead && g.chance(25) {
		name := map[string]string{"circuitbreaker": "circuitBreaker", "ratelimiter": "rateLimiter", "timelimiter": "timeLimiter"}[order]
		if name == "" {
			name = order
		}
		out = append(out, line{prefix + "." + g.style(name+"AspectOrder"), fmt.Sprint(g.IntN(9)), ""})
	}
	for _, name := range configs {
		out = append(out, g.block(m, prefix+".configs."+name, configs)...)
	}
	for _, name := range []string{"pay", "order", "default", "myInst", "a-b", "[x.y#z]"} {
		if g.chance(45) {
			out = append(out, g.block(m, prefix+"."+g.section(m)+"."+name, configs)...)
		}
	}
	return out
}

func (g *effectiveGenerator) section(m resilience4j.Module) string {
	switch {
	case !g.chance(12):
		return "instances"
	case m == resilience4j.RateLimiter:
		return "limiters"
	case m == resilience4j.TimeLimiter:
		return "instances"
	}
	return "backends"
}

// block draws some properties of a block.
func (g *effectiveGenerator) block(m resilience4j.Module, prefix string, configs []string) []line {
	var out []line
	if len(configs) > 0 && g.chance(45) {
		// Each config is based on one before it, so that most chains end.
		at := slices.Index(configs, strings.TrimPrefix(prefix, "resilience4j."+m.String()+".configs."))
		base := pick(g, configs[:max(1, at)]...)
		switch {
		case g.bad && g.chance(5):
			base = pick(g, "nowhere", "pay", "strict")
		case at < 0:
			base = pick(g, configs...)
		}
		if at != 0 && (m != resilience4j.CircuitBreaker || !strings.HasSuffix(prefix, "."+base)) {
			out = append(out, line{prefix + "." + g.style("baseConfig"), base, ""})
		}
	}
	for _, p := range effectiveProperties(m) {
		if g.chance(28) {
			out = append(out, g.property(prefix, p)...)
		}
	}
	if g.chance(5) {
		out = append(out, line{prefix + "." + g.style("notAProperty"), "5", ""})
	}
	return out
}

func (g *effectiveGenerator) property(prefix string, p effectiveProperty) []line {
	value := pick(g, p.good...)
	if g.bad && g.chance(8) {
		value = pick(g, p.wrong...)
	}
	key := prefix + "." + g.style(p.key)
	if p.class && g.chance(50) {
		var out []line
		for i, name := range strings.Split(value, ",") {
			out = append(out, line{fmt.Sprintf("%s[%d]", key, i), strings.TrimSpace(name), ""})
		}
		return out
	}
	switch {
	case g.chance(6):
		name := fmt.Sprintf("VALUE_%d", len(g.env))
		g.env[name] = value
		value = "${" + name + ":7}"
	case g.chance(6):
		g.app = append(g.app, value)
		value = fmt.Sprintf("${app.value-%d}", len(g.app)-1)
	case g.chance(6) && value != "":
		value = "${NOT_SET:${app.not-set:" + value + "}}"
	}
	return []line{{key, value, pick(g, "", "", "'", `"`)}}
}

// style spells a name in one of the ways that Spring takes.
func (g *effectiveGenerator) style(name string) string {
	words := regexp.MustCompile(`[A-Z]?[a-z]+`).FindAllString(name, -1)
	lower := strings.ToLower(strings.Join(words, " "))
	switch g.IntN(8) {
	case 0, 1:
		return strings.ReplaceAll(lower, " ", "-")
	case 2:
		return strings.ReplaceAll(lower, " ", "_")
	case 3:
		return strings.ToUpper(strings.ReplaceAll(lower, " ", "_"))
	case 4:
		return strings.ReplaceAll(lower, " ", "")
	}
	return name
}

// write writes the lines of a document, each key once.
func (g *effectiveGenerator) write(lines []line) string {
	seen := map[string]bool{}
	lines = slices.DeleteFunc(lines, func(l line) bool {
		again := seen[l.key]
		seen[l.key] = true
		return again
	})
	var out strings.Builder
	if g.yaml && g.chance(50) {
		lines = nest(&out, lines)
	}
	for _, l := range lines {
		key := strings.ReplaceAll(l.key, ".[", "[")
		if g.yaml {
			fmt.Fprintf(&out, "%q: %s%s%s\n", key, l.quote, l.value, l.quote)
			continue
		}
		escaped := strings.NewReplacer("#", `\#`, "A", `\u0041`).Replace(key)
		fmt.Fprintf(&out, "%s%s%s\n", escaped, pick(g, "=", ": ", " = ", " "), strings.ReplaceAll(l.value, "0", pick(g, "0", "\\\n   0")))
	}
	return out.String()
}

// nest writes blocks as mappings within mappings, and returns the lines of no block.
func nest(out *strings.Builder, lines []line) []line {
	block := regexp.MustCompile(`^resilience4j\.([a-z-]+)\.([a-z]+)\.(\[[^]]*\]|[^.]+)\.(.+)$`)
	slices.SortStableFunc(lines, func(a, b line) int {
		x, y := block.FindStringSubmatch(a.key), block.FindStringSubmatch(b.key)
		if x == nil || y == nil {
			return len(x) - len(y)
		}
		return slices.Compare(x[1:4], y[1:4])
	})
	var rest []line
	above := []string{"", "", "", ""}
	for _, l := range lines {
		path := block.FindStringSubmatch(l.key)
		if path == nil {
			rest = append(rest, l)
			continue
		}
		if above[1] == "" {
			out.WriteString("resilience4j:\n")
		}
		for depth := 1; depth <= 3; depth++ {
			if !slices.Equal(above[1:depth+1], path[1:depth+1]) {
				fmt.Fprintf(out, "%s%q:\n", strings.Repeat("  ", depth), path[depth])
			}
		}
		fmt.Fprintf(out, "        %q: %s%s%s\n", path[4], l.quote, l.value, l.quote)
		above = path
	}
	return rest
}

// effectiveProperty is a key with values that Spring takes, and values that it refuses.
type effectiveProperty struct {
	key         string
	good, wrong []string
	class       bool
}

// effectiveProperties are all keys of a module.
func effectiveProperties(m resilience4j.Module) []effectiveProperty {
	count := func(key string) effectiveProperty {
		return effectiveProperty{key: key, good: []string{"1", "2", "5", "20", "017", "0x10", "+3"}, wrong: []string{"0", "-1", "x", "5%", "3000000000", "1,5"}}
	}
	span := func(key string, wrong ...string) effectiveProperty {
		return effectiveProperty{key: key, good: []string{"1", "50", "100ms", "2s", "1m", "PT4S", "PT1.5S", "2000000us", "3000000NS", "1h", "P1D"}, wrong: append(wrong, "-1", "4 s", "1m30s", "x", "1.5s")}
	}
	flag := func(key string) effectiveProperty {
		return effectiveProperty{key: key, good: []string{"true", "false", "TRUE", "on", "no"}, wrong: []string{"x", "truee"}}
	}
	classes := func(key string) effectiveProperty {
		return effectiveProperty{key: key, class: true, good: []string{"java.io.IOException", "java.util.concurrent.TimeoutException,java.lang.IllegalStateException", "java.lang.RuntimeException , java.io.FileNotFoundException", "java.lang.Exception"}, wrong: []string{"", "java.io.IOException,,java.lang.Exception"}}
	}
	percent := func(key string) effectiveProperty {
		return effectiveProperty{key: key, good: []string{"1", "100", "33.3", "50.5", "2e1", "75f"}, wrong: []string{"0", "0.99", "100.1", "50%", "-1"}}
	}
	multiplier := effectiveProperty{key: "exponentialBackoffMultiplier", good: []string{"1.1", "2", "3.5", "1"}, wrong: []string{"0", "-1", "x"}}
	factor := effectiveProperty{key: "randomizedWaitFactor", good: []string{"0.1", "0.5", "0", "0.99"}, wrong: []string{"1", "-0.1", "x"}}
	exponential, random, buffer := flag("enableExponentialBackoff"), flag("enableRandomizedWait"), count("eventConsumerBufferSize")
	writable, health, fails := flag("writableStackTraceEnabled"), flag("registerHealthIndicator"), flag("allowHealthIndicatorToFail")
	switch m {
	case resilience4j.CircuitBreaker:
		// One of the two switches, or most files would be refused for having both.
		random.good = []string{"false", "false", "no", "off", "true"}
		return []effectiveProperty{
			count("slidingWindowSize"), count("minimumNumberOfCalls"), count("permittedNumberOfCallsInHalfOpenState"),
			{key: "slidingWindowType", good: []string{"COUNT_BASED", "time_based", "time-based", "TimeBased"}, wrong: []string{"x", "COUNT"}},
			percent("failureRateThreshold"), percent("slowCallRateThreshold"),
			span("slowCallDurationThreshold", "0"), span("waitDurationInOpenState", "0", "999us"), exponential, multiplier,
			span("exponentialMaxWaitDurationInOpenState", "0"), random, factor, span("maxWaitDurationInHalfOpenState"),
			{key: "transitionToStateAfterWaitDuration", good: []string{"OPEN", "closed"}, wrong: []string{"HALF_OPEN", "x"}},
			{key: "initialState", good: []string{"OPEN", "closed", "half-open", "METRICS_ONLY", "Disabled", "forcedOpen"}, wrong: []string{"x"}},
			flag("automaticTransitionFromOpenToHalfOpenEnabled"), classes("recordExceptions"), classes("ignoreExceptions"),
			writable, health, fails, flag("ignoreClassBindingExceptions"), buffer,
		}
	case resilience4j.Retry:
		return []effectiveProperty{
			count("maxAttempts"), span("waitDuration"), exponential, multiplier, span("exponentialMaxWaitDuration"), random, factor,
			classes("retryExceptions"), classes("ignoreExceptions"), flag("failAfterMaxAttempts"), buffer,
		}
	case resilience4j.Bulkhead:
		return []effectiveProperty{count("maxConcurrentCalls"), span("maxWaitDuration"), writable, buffer}
	case resilience4j.ThreadPoolBulkhead:
		size := func(key string, good ...string) effectiveProperty {
			return effectiveProperty{key: key, good: good, wrong: []string{"", "x", "3000000000"}}
		}
		return []effectiveProperty{
			size("coreThreadPoolSize", "1", "2", "0", "-4"), size("maxThreadPoolSize", "5", "8", "0", "-1"), size("queueCapacity", "0", "7", "-3", "100"),
			span("keepAliveDuration"), writable, buffer,
		}
	case resilience4j.RateLimiter:
		return []effectiveProperty{count("limitForPeriod"), span("limitRefreshPeriod", "0"), span("timeoutDuration"), writable, flag("subscribeForEvents"), health, fails, buffer}
	case resilience4j.TimeLimiter:
		return []effectiveProperty{span("timeoutDuration"), flag("cancelRunningFuture"), buffer}
	}
	return nil
}
