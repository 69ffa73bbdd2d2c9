package control_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// scraped reads the text format as its grammar has it: every sample belongs to the family
// whose HELP and TYPE came last, and no series comes twice.
func scraped(t *testing.T, text string) map[string]float64 {
	t.Helper()
	const label = `[a-z_]+="(?:[^"\\\n]|\\["\\n])*"`
	sample := regexp.MustCompile(`^([a-z_]+)((?:\{` + label + `(?:,` + label + `)*\})?) (\S+)$`)
	got, family, kind, seen := map[string]float64{}, "", "", map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			family, _, _ = strings.Cut(rest, " ")
			if seen[family] {
				t.Errorf("family %s comes twice", family)
			}
			seen[family], kind = true, ""
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "+family+" "); ok {
			kind = rest
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no sample: %q", line)
			continue
		}
		name := m[1]
		if kind == "histogram" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if _, twice := got[m[1]+m[2]]; err != nil || twice || name != family || kind == "" {
			t.Errorf("%q in family %s of type %s: %v, twice %v", line, family, kind, err, twice)
		}
		got[m[1]+m[2]] = value
	}
	return got
}

func TestMetrics(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{Limits: injector.Limits{Faulted: 4}}, "one", `t"w\o`)
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	for range 5 {
		a.call(0)
	}
	got := a.want(200, "", "GET", "/metrics", "")
	if kind := got.header.Get("Content-Type"); kind != "text/plain; version=0.0.4; charset=utf-8" {
		t.Error(kind)
	}
	// A caller has his answer a moment before the injector is through with him.
	check := func(want map[string]float64) {
		t.Helper()
		wrong := ""
		defer func() {
			if wrong != "" {
				t.Error(wrong)
			}
		}()
		until(t, "what the metrics say", func() bool {
			m := scraped(t, a.ask("GET", "/metrics", "").body)
			wrong = ""
			for series, value := range want {
				if v, ok := m[series]; !ok || v != value {
					wrong += fmt.Sprintf("%s is %v (%v), want %v\n", series, v, ok, value)
				}
			}
			return wrong == ""
		})
	}
	rule := `{injector="one",phase="out",rule="out/1",action="respond"}`
	check(map[string]float64{
		`faultline_requests_total{injector="one"}`:                 5,
		`faultline_requests_total{injector="t\"w\\o"}`:             0,
		`faultline_faults_total{injector="one",action="respond"}`:  3,
		`faultline_faults_total{injector="one",action="hang"}`:     0,
		`faultline_overflow_total{injector="one",limit="faulted"}`: 0,
		`faultline_active_faults{injector="one"}`:                  0,
		`faultline_held{injector="one"}`:                           0,
		`faultline_plan{injector="one"}`:                           1,
		`faultline_lease_lapsed{injector="one"}`:                   0,
		"faultline_rule_seen" + rule:                               5,
		"faultline_rule_hit" + rule:                                3,
		"faultline_rule_configured_ratio" + rule:                   0.5,
		"faultline_rule_delivered_ratio" + rule:                    0.6,
		`faultline_delay_error_seconds_count{injector="one"}`:      0,
	})
	a.want(200, "", "POST", "/v1/phase", `{"name":"slow"}`)
	a.call(0)
	a.call(0)
	check(map[string]float64{
		`faultline_delay_error_seconds_count{injector="one"}`:                                      1,
		`faultline_delay_error_seconds_bucket{injector="one",le="+Inf"}`:                           1,
		`faultline_overflow_total{injector="one",limit="faulted"}`:                                 1,
		`faultline_faults_total{injector="one",action="pass"}`:                                     1,
		`faultline_rule_configured_ratio{injector="one",phase="slow",rule="slow/1",action="pass"}`: 1,
		`faultline_rule_delivered_ratio{injector="one",phase="slow",rule="slow/1",action="pass"}`:  0.5,
	})
	// All come after the first nanosecond, and so at a quarter.
	a.want(201, "", "POST", "/v1/faults?injector=one", `{"ttl":"1m","rule":{"id":"r","action":"pass","select":{"kind":"ratio",
		"ramp":{"stairs":true,"points":[{"at":0,"num":1,"den":1},{"at":1,"num":1,"den":4}]}}}}`)
	for range 10 {
		a.call(0)
	}
	check(map[string]float64{
		`faultline_rule_seen{injector="one",phase="slow",rule="r",action="pass"}`:             10,
		`faultline_rule_configured_ratio{injector="one",phase="slow",rule="r",action="pass"}`: 0.25,
	})
	if sum := scraped(t, a.ask("GET", "/metrics", "").body)[`faultline_delay_error_seconds_sum{injector="one"}`]; sum <= 0 || sum > 10 {
		t.Errorf("the latency was %v s longer", sum)
	}
}
