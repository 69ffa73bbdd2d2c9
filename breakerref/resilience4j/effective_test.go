package resilience4j_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/breakerref/retry"
)

func parse(t *testing.T, name, src string, profiles ...string) *resilience4j.File {
	t.Helper()
	f, err := resilience4j.Read(name, []byte(src), resilience4j.Options{Profiles: profiles})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// settings returns the settings that are not the library's, and those that are asked for.
func settings(t *testing.T, f *resilience4j.File, m resilience4j.Module, instance string, also ...string) string {
	t.Helper()
	all, err := f.Effective(m, instance)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range all {
		if s.Origin.Source != resilience4j.FromLibrary || slices.Contains(also, s.Key) {
			lines = append(lines, fmt.Sprintf("%s = %s (%v)", s.Key, s.Value, s.Origin))
		}
	}
	return strings.Join(lines, "\n")
}

// Every value says where it came from, for each module's own inheritance.
func TestOrigins(t *testing.T) {
	f := parse(t, "a.yml", `resilience4j:
  retry:
    configs:
      default: {waitDuration: 100, enableExponentialBackoff: true, exponentialBackoffMultiplier: 2, randomizedWaitFactor: 0.1}
      shared: {max-attempts: 4, ignoreExceptions: [java.io.IOException, a.B]}
    instances:
      pay: {baseConfig: shared, waitDuration: 1m}
      plain: {exponentialMaxWaitDuration: 9s}
  circuitbreaker:
    configs:
      default: {minimumNumberOfCalls: 7, eventConsumerBufferSize: 5}
      grows: {waitDurationInOpenState: 4s, enableExponentialBackoff: true, exponentialMaxWaitDurationInOpenState: 1h}
    instances:
      pay: {baseConfig: grows, slidingWindowSize: 010}
      fixed: {baseConfig: grows, WAIT_DURATION_IN_OPEN_STATE: PT5S}
  ratelimiter.limiters.pay.limitRefreshPeriod: 1s
`)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	const interval = "enableExponentialBackoff exponentialBackoffMultiplier exponentialMaxWaitDuration exponentialMaxWaitDurationInOpenState randomizedWaitFactor"
	for _, tc := range []struct {
		module         resilience4j.Module
		instance, want string
	}{
		{resilience4j.Retry, "pay", `maxAttempts = 4 (config shared, a.yml:5:30)
waitDuration = 1m (a.yml:7:47)
enableExponentialBackoff = true (config default, a.yml:4:62)
exponentialBackoffMultiplier = 2 (config default, a.yml:4:98)
exponentialMaxWaitDuration =  (library default)
enableRandomizedWait = false (a.yml:7:47)
randomizedWaitFactor =  (library default)
ignoreExceptions = [java.io.IOException, a.B] (config shared, a.yml:5:52)
baseConfig = shared (a.yml:7:25)`},
		{resilience4j.Retry, "plain", `waitDuration = 100ms (config default, a.yml:4:31)
enableExponentialBackoff = true (config default, a.yml:4:62)
exponentialBackoffMultiplier = 2 (config default, a.yml:4:98)
exponentialMaxWaitDuration =  (library default)
enableRandomizedWait = false (config default, a.yml:4:31)
randomizedWaitFactor =  (library default)`},
		{resilience4j.CircuitBreaker, "pay", `slidingWindowSize = 8 (a.yml:14:51)
waitDurationInOpenState = 4s (config grows, a.yml:12:40)
enableExponentialBackoff = true (config grows, a.yml:12:70)
exponentialBackoffMultiplier = 1.5 (library default)
exponentialMaxWaitDurationInOpenState =  (library default)
enableRandomizedWait = false (config grows, a.yml:12:40)
randomizedWaitFactor =  (library default)
eventConsumerBufferSize = 5 (config default, a.yml:11:67)
baseConfig = grows (a.yml:14:25)`},
		{resilience4j.CircuitBreaker, "fixed", `waitDurationInOpenState = 5s (a.yml:15:63)
enableExponentialBackoff = false (a.yml:15:63)
exponentialBackoffMultiplier =  (library default)
exponentialMaxWaitDurationInOpenState =  (library default)
enableRandomizedWait = false (a.yml:15:63)
randomizedWaitFactor =  (library default)
eventConsumerBufferSize = 5 (config default, a.yml:11:67)
baseConfig = grows (a.yml:15:27)`},
		{resilience4j.RateLimiter, "pay", "limitRefreshPeriod = 1s (a.yml:16:48)"},
	} {
		got := settings(t, f, tc.module, tc.instance, strings.Fields(interval)...)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%v %s, wanted (-) and got (+):\n%s", tc.module, tc.instance, diff)
		}
	}
}

// The configurations that the references run on.
func TestTyped(t *testing.T) {
	f := parse(t, "a.properties", `resilience4j.retry.instances.a.waitDuration=10
resilience4j.retry.instances.a.enableExponentialBackoff=yes
resilience4j.retry.instances.a.enableRandomizedWait=on
resilience4j.retry.instances.a.randomizedWaitFactor=0.1
resilience4j.retry.instances.a.retryExceptions[]=java.io.IOException, a.B
resilience4j.retry.instances.a.resultPredicate=a.Full
resilience4j.bulkhead.instances.a.maxConcurrentCalls=0x10
resilience4j.thread-pool-bulkhead.instances.a.coreThreadPoolSize=-1
resilience4j.thread-pool-bulkhead.instances.a.queueCapacity=0
resilience4j.ratelimiter.instances.a.limitForPeriod = \
    3
resilience4j.timelimiter.instances.a.timeoutDuration: PT2\u0053
`)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	r, err := f.Retry("a")
	if err != nil {
		t.Fatal(err)
	}
	// Without a multiplier, the factor is passed over.
	want := retry.Config{Name: "a", MaxAttempts: 3, Wait: 10 * time.Millisecond, Multiplier: 1.5, RandomFactor: 0.5}
	if diff := cmp.Diff(want, r.Config); diff != "" || len(r.Retried) != 2 || r.Custom[0].Value != "a.Full" {
		t.Errorf("retry %+v:\n%s", r, diff)
	}
	b, err := f.Bulkhead("a")
	if err != nil || b.MaxConcurrentCalls != 16 {
		t.Errorf("bulkhead %+v %v", b, err)
	}
	p, err := f.ThreadPoolBulkhead("a", 4)
	if err != nil || p.Core != 3 || p.Max != 4 || p.QueueCapacity != 0 {
		t.Errorf("pool %+v %v", p, err)
	}
	l, err := f.RateLimiter("a")
	if diff := cmp.Diff(limit.AtomicRateLimiterConfig{LimitForPeriod: 3, LimitRefreshPeriod: 500, Timeout: 5 * time.Second}, l); diff != "" || err != nil {
		t.Errorf("limiter %v:\n%s", err, diff)
	}
	tl, err := f.TimeLimiter("a")
	if err != nil || tl.Timeout != 2*time.Second || !tl.CancelRunningFuture {
		t.Errorf("time limiter %+v %v", tl, err)
	}
}

// A chain of three, whose middle is filled in or not by the time that it is asked.
func TestUndecided(t *testing.T) {
	const text = `resilience4j.retry:
  configs:
    default: {enableExponentialBackoff: true}
    %s: {baseConfig: %s}
    %s: {maxAttempts: 4}
  instances:
    pay: {baseConfig: %s, waitDuration: 10}
`
	seen := map[bool]int{}
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}, {"strict", "shared"}, {"shared", "strict"}} {
		f := parse(t, "a.yml", fmt.Sprintf(text, names[0], names[1], names[1], names[0]))
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		c, err := f.Retry("pay")
		if err != nil {
			t.Fatal(err)
		}
		seen[c.Multiplier != 0]++
		all := f.Problems()
		if len(all) != 1 || all[0].Kind != resilience4j.Undecided || all[0].Pos.Line != 7 || !strings.Contains(all[0].Text, "enableExponentialBackoff") {
			t.Errorf("%v: problems %v", names, all)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("the order makes no difference: %v", seen)
	}
}

// What is said twice, or of nobody, and where it is told.
func TestKinds(t *testing.T) {
	const cb = "resilience4j.circuitbreaker."
	for src, want := range map[string]string{
		cb + "instances.a.slidingWindowSise: 5":                                             "unknown a.yml:1:60",
		cb + "instances.a.ringBufferSizeInClosedState: 5":                                   "removed a.yml:1:70",
		cb + "configs.unused.failureRateThreshold: 0.5":                                     "refused a.yml:1:66",
		cb + "configs.unused.failureRateThreshold: ${X}":                                    "unresolved a.yml:1:66",
		cb + "configs.unused.baseConfig: nowhere":                                           "missing a.yml:1:56",
		"resilience4j.retry.configs: {default: {baseConfig: x}, x: {maxAttempts: 1}}":       "cycle a.yml:1:52",
		cb + "instances: {a: }":                                                             "refused a.yml:1:44",
		cb + "instances: {a: {baseConfig: a}}\n" + cb + "configs.a.minimumNumberOfCalls: 1": "cycle a.yml:1:57",
		"resilience4j.timelimiter.backends.a.timeoutDuration: 1s":                           "unknown a.yml:1:54",
		"resilience4j.circuitbraker.instances.a.x: 1":                                       "unknown a.yml:1:43",
		"a: {b: 1, b: 2}": "refused a.yml:1:14",
		"a: !b c":         "refused a.yml:1:4",
		"resilience4j.thread-pool-bulkhead.instances.a: {coreThreadPoolSize: 4, maxThreadPoolSize: 3}": "refused a.yml:1:91",
		"resilience4j.retry.instances.a: {waitDuration: 0, enableRandomizedWait: true}":                "refused a.yml:1:48",
		cb + "instances.a.minimumNumberOfCalls: x\n---\n" + cb + "instances.a.minimumNumberOfCalls: 3": "",
	} {
		f := parse(t, "a.yml", src)
		var got []string
		for _, p := range f.Problems() {
			got = append(got, p.Kind.String()+" "+p.Pos.String())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s:\nproblems %q, want %q: %v", src, got, want, f.Err())
		}
	}
}

func TestProfileExpressions(t *testing.T) {
	for expression, want := range map[string]bool{
		"a": true, "c": false, "!c": true, "a & b": true, "a & c": false, "a | c": true, "(a & c) | b": true, "!(a & b)": false,
		"c, a": true, "a & !c": true, "!!a": true, "a |": true, "default": false, "": true,
	} {
		f := parse(t, "a.yml", fmt.Sprintf("spring.config.activate.on-profile: %q\nresilience4j.retry.instances.x.maxAttempts: 1\n", expression), "a", "b")
		if got := len(f.Instances(resilience4j.Retry)) == 1; got != want || f.Err() != nil {
			t.Errorf("%q is %v, want %v; %v", expression, got, want, f.Err())
		}
	}
}

func TestAspectOrder(t *testing.T) {
	f := parse(t, "a.yml", "resilience4j.retry.retry-aspect-order: 3\nresilience4j.bulkhead.bulkheadAspectOrder: 2\n")
	var got []string
	for _, a := range f.AspectOrder() {
		got = append(got, fmt.Sprintf("%v %d %v", a.Module, a.Order, a.Origin))
	}
	want := []string{
		"bulkhead 2 a.yml:2:44", "retry 3 a.yml:1:40", "circuitbreaker 2147483643 library default",
		"ratelimiter 2147483644 library default", "timelimiter 2147483645 library default",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
}

// What is written of each block, for those who look at it as it stands.
func TestBlocks(t *testing.T) {
	f := parse(t, "a.yml", "resilience4j.retry:\n  configs: {x: {maxAttempts: ' 4', waitDuration: 1000}}\n  instances: {a: {retryExceptions: 'a.B , c.D', maxAttempts: many}}\n")
	var got []string
	for _, b := range f.Blocks() {
		got = append(got, fmt.Sprintf("%v config=%v %s %v", b.Module, b.Config, b.Name, b.At))
		for _, s := range b.Settings {
			got = append(got, fmt.Sprintf("  %s=%s %v", s.Key, s.Value, s.Origin.Pos))
		}
	}
	want := []string{
		"retry config=true x a.yml:2:30", "  maxAttempts=4 a.yml:2:30", "  waitDuration=1s a.yml:2:50",
		"retry config=false a a.yml:3:36", "  retryExceptions=[a.B, c.D] a.yml:3:36", "  maxAttempts=many a.yml:3:62",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
}
