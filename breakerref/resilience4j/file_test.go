package resilience4j_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

const application = `
spring.application.name: shop
resilience4j:
  circuitbreaker:
    configs:
      default: {minimumNumberOfCalls: 7, failureRateThreshold: 30}
      shared:
        sliding-window-size: 20
        wait_duration_in_open_state: 4s
        enableExponentialBackoff: true
        exponentialBackoffMultiplier: 2
        exponentialMaxWaitDurationInOpenState: PT30S
      strict: {baseConfig: shared, slow-call-duration-threshold: 60}
      own: {permittedNumberOfCallsInHalfOpenState: 1}
    instances:
      plain: {registerHealthIndicator: true}
      based: {baseConfig: shared}
      chained: {baseConfig: strict, slidingWindowType: time_based}
      own: {slidingWindowSize: "${WINDOW:11}"}
      fixed: {baseConfig: shared, waitDurationInOpenState: 2000}
      factor: {baseConfig: shared, exponentialBackoffMultiplier: 3}
      nomax: {waitDurationInOpenState: 1s, enableExponentialBackoff: true, exponentialMaxWaitDurationInOpenState: 5s}
      random: {waitDurationInOpenState: 1s, enableRandomizedWait: true, transitionToStateAfterWaitDuration: CLOSED, maxWaitDurationInHalfOpenState: 1m}
      "[a.b#c]": {recordExceptions: [java.io.IOException]}
---
spring.config.activate.on-profile: test, ci
resilience4j.circuitbreaker.instances.plain.minimum-number-of-calls: 3
`

// Each case says what differs from the library's defaults.
func TestCircuitBreaker(t *testing.T) {
	for name, want := range map[string]func(c *breakerref.Config){
		"plain": func(c *breakerref.Config) { c.MinimumCalls, c.FailureRate = 7, 30 },
		"based": func(c *breakerref.Config) {
			c.Window, c.Wait, c.WaitMultiplier, c.WaitMax = 20, 4*time.Second, 2, 30*time.Second
		},
		"own":   func(c *breakerref.Config) { c.Permitted, c.Window = 1, 11 },
		"a.b#c": func(c *breakerref.Config) { c.MinimumCalls, c.FailureRate = 7, 30 },
		"fixed": func(c *breakerref.Config) { c.Window, c.Wait = 20, 2*time.Second },
		"factor": func(c *breakerref.Config) {
			c.Window, c.Wait, c.WaitMultiplier, c.WaitMax = 20, 4*time.Second, 2, 30*time.Second
		},
		"nomax": func(c *breakerref.Config) {
			c.MinimumCalls, c.FailureRate, c.Wait, c.WaitMultiplier = 7, 30, time.Second, 1.5
		},
		"random": func(c *breakerref.Config) {
			c.MinimumCalls, c.FailureRate, c.Wait, c.WaitRandom, c.HalfOpenMaxWait, c.HalfOpenMaxWaitCloses = 7, 30, time.Second, 0.5, time.Minute, true
		},
		"chained": func(c *breakerref.Config) {
			c.WindowType, c.Window, c.Wait, c.WaitMultiplier, c.WaitMax, c.SlowDuration = breakerref.TimeBased, 20, 4*time.Second, 2, 30*time.Second, 60*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, resilience4j.Options{})
			got, err := f.CircuitBreaker(name)
			if err != nil {
				t.Fatal(err)
			}
			cfg := breakerref.Default()
			cfg.Name = name
			want(&cfg)
			if diff := cmp.Diff(cfg, got); diff != "" {
				t.Errorf("wanted (-) and got (+):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, opt resilience4j.Options) *resilience4j.File {
	t.Helper()
	f, err := resilience4j.Read("application.yml", []byte(application), opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestProfilesAndEnvironment(t *testing.T) {
	f := read(t, resilience4j.Options{
		Profiles: []string{"ci"},
		Env:      func(name string) (string, bool) { return "5", name == "WINDOW" },
	})
	own, err := f.CircuitBreaker("own")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := f.CircuitBreaker("plain")
	if err != nil {
		t.Fatal(err)
	}
	if own.Window != 5 || plain.MinimumCalls != 3 {
		t.Errorf("window %d and minimum %d, want 5 and 3", own.Window, plain.MinimumCalls)
	}
}

// What is wrong is told with its place.
// What is not read is told of.
func TestUnread(t *testing.T) {
	const text = "resilience4j:\n  circuitbreaker.instances.pay: {}\n  retry: {instances: {pay: {maxAttempts: 3, waitDuration: 1s}, other: {maxAttempts: 3}}}\n" +
		"  thread-pool-bulkhead.backends.pay.coreThreadPoolSize: 3\n  bulkhead.configs.pay.maxConcurrentCalls: 3\n"
	file, err := resilience4j.Read("application.yml", []byte(text), resilience4j.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"resilience4j.retry", "resilience4j.thread-pool-bulkhead"}, file.Unread("pay")); diff != "" {
		t.Errorf("unread of pay (-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	const at = "resilience4j.circuitbreaker."
	for src, want := range map[string]string{
		at + "instances.a.slidingWindowSise: 5":                                                                       `application.yml:1:60: resilience4j.circuitbreaker.instances.a.slidingWindowSise: slidingWindowSise is not a property of a circuit breaker; did you mean "slidingWindowSize"?`,
		at + "instances.a.failureRateThreshold: 0.5":                                                                  `application.yml:1:63: failureRateThreshold is "0.5", must be a number from 1 to 100, without a % sign`,
		at + "instances.a.waitDurationInOpenState: 4 s":                                                               `application.yml:1:66: waitDurationInOpenState is "4 s", must be a duration`,
		at + "instances.a.waitDurationInOpenState.seconds: 4":                                                         "waitDurationInOpenState is one value, and has nothing below it",
		at + "instances.a.ringBufferSizeInClosedState: 5":                                                             "use slidingWindowSize and minimumNumberOfCalls",
		at + "instances.a.baseConfig: shraed\n" + at + "configs.shared.minimumNumberOfCalls: 1":                       `application.yml:1:53: there is no config "shraed"; did you mean "shared"?`,
		at + "instances.a.baseConfig: b\n" + at + "configs.b.baseConfig: b":                                           `application.yml:2:51: the config "b" is based on itself`,
		at + "instances.b.minimumNumberOfCalls: 1":                                                                    `has no "a"`,
		at + "instances.a.minimumNumberOfCalls: ${N}":                                                                 "N is not set and has no default; set it, or write ${N:VALUE}",
		at + "instances.a.initialState: half":                                                                         "must be one of CLOSED, OPEN, HALF_OPEN, DISABLED, METRICS_ONLY, FORCED_OPEN",
		at + "instances.a: 5":                                                                                         "instances has names below it",
		at + "instance.a.minimumNumberOfCalls: 5":                                                                     `did you mean "instances"?`,
		"spring.config.activate.on-profile: a & b | c":                                                                `application.yml:1:36: "a & b | c" is no expression of profiles; put & and | in parentheses`,
		at + "instances.a: {waitDurationInOpenState: 1s, enableRandomizedWait: true, enableExponentialBackoff: true}": "a circuit breaker takes one of them",
	} {
		f, err := resilience4j.Read("application.yml", []byte(src), resilience4j.Options{})
		if err == nil {
			err = f.Err()
		}
		if err == nil {
			_, err = f.CircuitBreaker("a")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\nerror %v\nwant  %s", src, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"5": 5 * time.Millisecond, "4s": 4 * time.Second, "4S": 4 * time.Second, "+2m": 2 * time.Minute, "10us": 10 * time.Microsecond,
		"1d": 24 * time.Hour, "-3ms": -3 * time.Millisecond, "PT4S": 4 * time.Second, "PT1.5S": 1500 * time.Millisecond,
		"P1DT2H3M": 26*time.Hour + 3*time.Minute, "-PT1M": -time.Minute, "pt1h": time.Hour,
	} {
		if got, err := resilience4j.ParseDuration(in); err != nil || got != want {
			t.Errorf("%s: %v and error %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "4 s", "1m30s", "1.5s", "4sec", "P", "PT", "abc", "9999999999999999999d"} {
		if got, err := resilience4j.ParseDuration(in); err == nil {
			t.Errorf("%q is taken as %v", in, got)
		}
	}
}

// The real service of the zoo says what the real library is told.
func TestRealApplication(t *testing.T) {
	path := filepath.Join("..", "..", "target", "zoo", "spring-resilience4j", "src", "main", "resources", "application.yml")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := resilience4j.Read(path, src, resilience4j.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Instances(resilience4j.CircuitBreaker), []string{"primary"}) {
		t.Fatalf("instances %v", f.Instances(resilience4j.CircuitBreaker))
	}
	got, err := f.CircuitBreaker("primary")
	if err != nil {
		t.Fatal(err)
	}
	if got.Wait != 2*time.Second || got.SlowRate != 80 || got.SlowDuration != 500*time.Millisecond {
		t.Errorf("got %+v", got)
	}
}
