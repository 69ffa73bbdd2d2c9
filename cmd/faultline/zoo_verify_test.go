package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments/verify"
)

// settings are keys of resilience4j and their values.
type settings map[string]string

// with is a copy with some changed.
func (s settings) with(others ...string) settings {
	out := maps.Clone(s)
	for i := 0; i < len(others); i += 2 {
		out[others[i]] = others[i+1]
	}
	return out
}

// searchBreaker is a breaker of few and quick calls.
func searchBreaker(others ...string) settings {
	return settings{
		"slidingWindowType": "COUNT_BASED", "slidingWindowSize": "10", "minimumNumberOfCalls": "5", "failureRateThreshold": "50",
		"slowCallDurationThreshold": "300ms", "slowCallRateThreshold": "60", "waitDurationInOpenState": "800ms",
		"permittedNumberOfCallsInHalfOpenState": "3",
	}.with(others...)
}

// yaml writes them; those of a retry begin with "retry.".
func (s settings) yaml() string {
	parts := map[string]*strings.Builder{"circuitbreaker": {}, "retry": {}}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		module, name := "circuitbreaker", key
		if rest, ok := strings.CutPrefix(key, "retry."); ok {
			module, name = "retry", rest
		}
		fmt.Fprintf(parts[module], "        %s: %s\n", name, s[key])
	}
	out := "resilience4j:\n"
	for _, module := range []string{"circuitbreaker", "retry"} {
		if parts[module].Len() > 0 {
			out += fmt.Sprintf("  %s:\n    instances:\n      primary:\n%s", module, parts[module])
		}
	}
	return out
}

// verifiedConfigurations are those that the real service is verified with.
func verifiedConfigurations() []settings {
	return []settings{
		searchBreaker(),
		searchBreaker("slidingWindowSize", "20", "minimumNumberOfCalls", "10", "failureRateThreshold", "33"),
		searchBreaker("minimumNumberOfCalls", "2", "permittedNumberOfCallsInHalfOpenState", "5"),
		searchBreaker("slidingWindowSize", "4", "minimumNumberOfCalls", "4", "failureRateThreshold", "75", "permittedNumberOfCallsInHalfOpenState", "1"),
		searchBreaker("enableExponentialBackoff", "true", "exponentialBackoffMultiplier", "2"),
		searchBreaker("enableExponentialBackoff", "true", "exponentialBackoffMultiplier", "1.5", "exponentialMaxWaitDurationInOpenState", "1500ms"),
		searchBreaker("slidingWindowType", "TIME_BASED", "slidingWindowSize", "3"),
		searchBreaker("slidingWindowType", "TIME_BASED", "slidingWindowSize", "2", "minimumNumberOfCalls", "2", "failureRateThreshold", "60"),
		searchBreaker("maxWaitDurationInHalfOpenState", "600ms", "slowCallRateThreshold", "100"),
		searchBreaker("retry.maxAttempts", "3", "retry.waitDuration", "30ms", "slidingWindowSize", "20", "minimumNumberOfCalls", "8"),
	}
}

// lies are parameters of the running service that are not as declared, each of one of the
// configurations.
func lies() []struct {
	at         int
	key, value string
	param      verify.Param
} {
	return []struct {
		at         int
		key, value string
		param      verify.Param
	}{
		{0, "slidingWindowSize", "12", verify.Window},
		{0, "minimumNumberOfCalls", "6", verify.Minimum},
		{0, "failureRateThreshold", "60", verify.FailureRate},
		{0, "slowCallDurationThreshold", "500ms", verify.SlowDuration},
		{0, "slowCallRateThreshold", "80", verify.SlowRate},
		{0, "waitDurationInOpenState", "1s", verify.Wait},
		{0, "permittedNumberOfCallsInHalfOpenState", "4", verify.Permitted},
		{2, "permittedNumberOfCallsInHalfOpenState", "6", verify.Permitted},
		{4, "exponentialBackoffMultiplier", "1.5", verify.Multiplier},
		{6, "slidingWindowSize", "4", verify.Window},
		{8, "maxWaitDurationInHalfOpenState", "900ms", verify.HalfOpenWait},
		{9, "retry.maxAttempts", "2", verify.Attempts},
	}
}

// springVerifier verifies the real service.
type springVerifier struct{ jar string }

func newSpringVerifier(t *testing.T) springVerifier {
	t.Helper()
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real systems are verified with FAULTLINE_ZOO=1")
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "target", "zoo", "spring-resilience4j"))
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, "mvn", "-q", "-B", "-DskipTests", "package")
	return springVerifier{filepath.Join(dir, "target", "search.jar")}
}

// run verifies a service that is configured in one way and said to be in another.
func (v springVerifier) run(t *testing.T, is, said settings) (verify.Report, int) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]settings{"is.yml": is, "said.yml": said}
	for name, s := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s.yaml()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	profile := "generated"
	if _, ok := said["retry.maxAttempts"]; ok {
		profile = "retry-breaker"
	}
	var out, course bytes.Buffer
	code := Main([]string{
		"verify", filepath.Join(dir, "said.yml"), "--instance", "primary", "--format", "json", "--out", filepath.Join(dir, "out"),
		"--url", "http://127.0.0.1:{{sut.port}}/search?q=go", "--ready", "/actuator/health/readiness",
		"--command", "java -XX:TieredStopAtLevel=1 -Xshare:auto -jar " + v.jar, "--answer", `{"results":["alpha"]}`,
		"--env", "PORT={{sut.port}}", "--env", "PRIMARY_URL={{injectors.dependency.url}}", "--env", "SPRING_PROFILES_ACTIVE=" + profile,
		"--env", "SPRING_CONFIG_ADDITIONAL_LOCATION=" + filepath.Join(dir, "is.yml"),
	}, nil, &out, &course)
	var r verify.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, course.String())
	}
	return r, code
}

// patience is how often the real service is looked at that a busy machine kept from being seen.
const verifyPatience = 3

// TestZooVerify verifies the real service: every third configuration and lie, all of them
// with FAULTLINE_DEEP=1. What a machine that is too slow leaves undecided, however often it is
// asked, says nothing of the code; but most has to be decided.
func TestZooVerify(t *testing.T) {
	v := newSpringVerifier(t)
	looked, undecided := 0, 0
	for i, s := range verifiedConfigurations() {
		if left(i) {
			continue
		}
		looked++
		t.Run(fmt.Sprintf("right/%d", i), func(t *testing.T) {
			var r verify.Report
			code := 0
			for range verifyPatience {
				if r, code = v.run(t, s, s); code != 3 {
					break
				}
				t.Logf("could not tell, again: %s %+v", r.Reason, undecidedRows(r))
			}
			if code == 3 {
				undecided++
			} else if code != 0 {
				t.Errorf("exit %d: %+v %s\n%+v", code, r.Difference, r.Reason, undecidedRows(r))
			}
			t.Logf("%d calls in %v, %v of them waits: %.3f", r.Calls, r.Took, r.Unavoidable, float64(r.Took)/float64(r.Unavoidable))
		})
	}
	for i, lie := range lies() {
		if left(i) {
			continue
		}
		looked++
		t.Run(fmt.Sprintf("lie/%s is %s", lie.key, lie.value), func(t *testing.T) {
			said := verifiedConfigurations()[lie.at]
			var r verify.Report
			code := 0
			for range verifyPatience {
				if r, code = v.run(t, said.with(lie.key, lie.value), said); code != 3 {
					break
				}
				t.Logf("could not tell, again: %s %+v", r.Reason, undecidedRows(r))
			}
			if code == 3 {
				undecided++
				return
			}
			if code != 1 || r.Difference == nil {
				t.Fatalf("exit %d: %s", code, r.Reason)
			}
			t.Logf("%s: %s; %v", r.Difference.Sequence, r.Difference.Says, r.Difference.Explained)
			for _, row := range r.Rows {
				if (row.Verdict == verify.Fail) != (row.Param == string(lie.param)) {
					t.Errorf("%s: %s, %s, %s", row.Param, row.Verdict, row.Observed, row.Reason)
				}
			}
		})
	}
	if 2*undecided > looked {
		t.Errorf("%d of %d could not be told", undecided, looked)
	}
}

// left reports whether the i-th of a list is left to deep runs.
func left(i int) bool { return i%3 != 0 && os.Getenv("FAULTLINE_DEEP") == "" }

func undecidedRows(r verify.Report) []verify.Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row verify.Row) bool { return row.Verdict != verify.Undecided })
}
