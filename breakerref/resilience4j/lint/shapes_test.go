package lint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/breakerref/resilience4j/lint"
)

// Files in the forms in which public repositories have them give no error that is none.
// Those that have one name its rules in their first line.
func TestShapes(t *testing.T) {
	files, err := filepath.Glob("testdata/shapes/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v; at least 20 are wanted", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(src), "\n")
			want, _ := strings.CutPrefix(first, "# errors: ")
			if want == first {
				want = ""
			}
			res, err := lint.File(file, src, lint.Options{Rate: 50})
			if err != nil {
				t.Fatal(err)
			}
			var wrong []string
			for _, f := range res.Findings {
				if f.Severity == lint.Error && !strings.Contains(want, f.Rule) {
					t.Error(f)
				}
				if f.Severity == lint.Error {
					wrong = append(wrong, f.Rule)
				}
			}
			slices.Sort(wrong)
			if got := strings.Join(slices.Compact(wrong), " "); got != want {
				t.Errorf("rules of errors: %q, want %q", got, want)
			}
		})
	}
}

// Properties are held to the same rules.
func TestProperties(t *testing.T) {
	const at = "resilience4j.circuitbreaker.instances.payments."
	const base = at + "slidingWindowSize=20\n" + at + "minimumNumberOfCalls=10\n" +
		at + "permittedNumberOfCallsInHalfOpenState=3\n" + at + "maxWaitDurationInHalfOpenState=30s\n"
	for want, lines := range map[string]string{
		"":                          "",
		"unknown-key":               at + "failureRateTreshold=40",
		"removed-key":               at + "ringBufferSizeInClosedState: 20",
		"refused-value":             at + "failure-rate-threshold = 50%",
		"duration-without-unit":     "  " + at + "waitDurationInOpenState : 30",
		"exception-class-misspelt":  at + "ignoreExceptions[0]=java.io.IOExeption",
		"ignore-everything":         at + "ignoreExceptions=java.lang.Exception",
		"instance-name-characters":  strings.ReplaceAll(base, "payments", "pay#ments"),
		"instances-and-backends":    strings.ReplaceAll(base, "instances.payments", "backends.orders"),
		"lazy-half-open":            at + "registerHealthIndicator=true\nmanagement.health.circuit-breakers.enabled=true",
		"suppression-unused":        "# faultline:ignore minimum-above-window until May\n" + at + "failureRateThreshold=50",
		"base-config-missing":       at + "base-config=shraed",
		"target-state-without-wait": "",
	} {
		t.Run(want, func(t *testing.T) {
			src := base + lines + "\n"
			opt := lint.Options{}
			if want == "target-state-without-wait" {
				src = strings.Replace(src, "maxWaitDurationInHalfOpenState=30s", "maxWaitDurationInHalfOpenState=0\n"+at+"transitionToStateAfterWaitDuration=CLOSED", 1)
				opt.ClientTimeout = 1
			}
			rules, told := found(t, "application.properties", src, opt)
			if got := strings.Join(rules, " "); got != want {
				t.Errorf("got %q, want %q\n%s", got, want, strings.Join(told, "\n"))
			}
		})
	}
}

// A file for one profile is not blamed for what it leaves out.
func TestOneProfile(t *testing.T) {
	for _, r := range lint.Rules() {
		rules, _ := found(t, "src/main/resources/application-prod.yml", r.Bad(), flagsOf(t, r.Bad()))
		if r.Whole && slices.Contains(rules, r.ID) {
			t.Errorf("%s: told of a file for one profile", r.ID)
		}
		if !r.Whole && !slices.Contains(rules, r.ID) {
			t.Errorf("%s: not told of a file for one profile: %v", r.ID, rules)
		}
	}
}

// What depends on a value that is not known is not judged: each of the values of a bad
// example is in turn a placeholder without one, and no rule speaks that did not before.
func TestPlaceholders(t *testing.T) {
	for _, r := range lint.Rules() {
		lines := strings.Split(r.Bad(), "\n")
		for i, line := range lines {
			key, value, _ := strings.Cut(line, ": ")
			if value == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			changed := slices.Clone(lines)
			changed[i] = key + ": ${SOMETHING}"
			if strings.Contains(line, "faultline:ignore") {
				continue
			}
			rules, told := found(t, "application.yml", strings.Join(changed, "\n"), flagsOf(t, r.Bad()))
			for _, id := range rules {
				if id != r.ID && id != "unresolved-placeholder" && id != "suppression-unused" {
					t.Errorf("%s with a placeholder for %s:\n%s", r.ID, strings.TrimSpace(line), strings.Join(told, "\n"))
				}
			}
		}
	}
}

// Findings of instances that have one thing to mend are one, and all of it is in order.
func TestTogetherAndInOrder(t *testing.T) {
	const src = `resilience4j.circuitbreaker:
  configs: {default: {slidingWindowSize: 200}}
  instances:
    a: {failureRateThreshold: 0, slidingWindowType: COUNT_BASED}
    b: {baseConfig: default}
    c: {baseConfig: default}
    d: {baseConfig: default}
    e: {baseConfig: default}
    f: {baseConfig: default}
`
	res, err := lint.File("x.yml", []byte(src), lint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range res.Findings {
		got = append(got, strings.Fields(f.String())[0]+" "+f.Rule+" "+f.About)
	}
	want := []string{
		"x.yml:2:42: half-open-wait-unset circuitbreaker a, b, c, d and 2 more",
		"x.yml:2:42: minimum-calls-unset circuitbreaker a, b, c, d and 2 more",
		"x.yml:2:42: permitted-calls-unset circuitbreaker a, b, c, d and 2 more",
		"x.yml:4:31: refused-value circuitbreaker a",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A retry that is to back off does so only with a wait of its own, wherever that stands.
func TestRetryBacksOff(t *testing.T) {
	const rule = "backoff-without-wait"
	for src, want := range map[string]bool{
		"instances: {a: {enableExponentialBackoff: true, maxAttempts: 3}}":                                                        true,
		"instances: {a: {enableRandomizedWait: true, maxAttempts: 3}}":                                                            true,
		"instances: {a: {enableExponentialBackoff: true, waitDuration: 1s}}":                                                      false,
		"instances: {a: {enableExponentialBackoff: false, maxAttempts: 3}}":                                                       false,
		"instances: {a: {enableExponentialBackoff: '${GROW}', maxAttempts: 3}}":                                                   false,
		"configs: {default: {enableExponentialBackoff: true}}, instances: {a: {waitDuration: 1s}}":                                false,
		"configs: {default: {enableExponentialBackoff: true, waitDuration: 1s}}, instances: {a: {maxAttempts: 5}}":                false,
		"configs: {default: {enableExponentialBackoff: true}}, instances: {a: {maxAttempts: 5}}":                                  true,
		"configs: {default: {enableExponentialBackoff: true}}, instances: {a: {maxAttempts: 5, enableExponentialBackoff: false}}": false,
		"configs: {default: {waitDuration: 1s}}, instances: {a: {enableExponentialBackoff: true}}":                                false,
	} {
		if rules, told := found(t, "application.yml", "resilience4j.retry: {"+src+"}", lint.Options{}); slices.Contains(rules, rule) != want {
			t.Errorf("%s: want it told %v, got\n%s", src, want, strings.Join(told, "\n"))
		}
	}
}

// A config of a breaker's own name is what it is based on, and the end of it.
func TestConfigOfOwnNameIsTheEnd(t *testing.T) {
	const src = `resilience4j.circuitbreaker:
  configs: {a: {baseConfig: b, slidingWindowSize: 20}, b: {ignoreExceptions: [com.shop.NotFound]}}
  instances: {a: {ignoreExceptions: [com.shop.Refused]}}
`
	if rules, told := found(t, "application.yml", src, lint.Options{}); slices.Contains(rules, "list-replaced") {
		t.Errorf("b is no base of a:\n%s", strings.Join(told, "\n"))
	}
}
