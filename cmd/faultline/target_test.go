package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
	"github.com/faultline-go/faultline/target/match"
)

// targetConfig is what a command line makes of target, without running it.
func targetConfig(t *testing.T, args ...string) (proxy.Config, error) {
	t.Helper()
	f := newTargetFlags()
	flags := pflag.NewFlagSet("target", pflag.ContinueOnError)
	f.register(flags)
	if err := flags.Parse(append([]string{"--upstream", "http://127.0.0.1:1"}, args...)); err != nil {
		t.Fatal(err)
	}
	f.noteGiven(flags)
	return f.config()
}

// targetDefaults is what target is without a flag.
func targetDefaults() proxy.Config {
	b := breakerref.Default()
	b.Window, b.MinimumCalls, b.Permitted, b.Wait = 10, 10, 3, 2*time.Second
	return proxy.Config{Addr: "127.0.0.1:8080", Service: proxy.Service{
		Upstream: "http://127.0.0.1:1", Breaker: b, Failure: match.DefaultFailure(), Timeout: 2 * time.Second,
	}, Instances: 1}
}

// TestTargetFlagsWork sees to it that no flag is read and forgotten: each changes
// the configuration, and only what it speaks of.
func TestTargetFlagsWork(t *testing.T) {
	tried := map[string]bool{"help": true}
	const application = "resilience4j.circuitbreaker.instances:\n  a: {slidingWindowSize: 7, slidingWindowType: TIME_BASED}\n  b: {initialState: DISABLED}\n" +
		"---\nspring.config.activate.on-profile: ci\nresilience4j.circuitbreaker.instances.b.minimumNumberOfCalls: 3\n"
	file := filepath.Join(t.TempDir(), "application.yml")
	if err := os.WriteFile(file, []byte(application), 0o600); err != nil {
		t.Fatal(err)
	}
	changes := policyChanges()
	maps.Copy(changes, map[string]func(c *proxy.Config){
		"--listen 127.0.0.1:0":          func(c *proxy.Config) { c.Addr = "127.0.0.1:0" },
		"--upstream http://127.0.0.1:2": func(c *proxy.Config) { c.Upstream = "http://127.0.0.1:2" },
		"--window 20":                   func(c *proxy.Config) { c.Breaker.Window = 20 },
		"--window 5s":                   func(c *proxy.Config) { c.Breaker.WindowType, c.Breaker.Window = breakerref.TimeBased, 5 },
		"--minimum-calls 7":             func(c *proxy.Config) { c.Breaker.MinimumCalls = 7 },
		"--failure-rate 70%":            func(c *proxy.Config) { c.Breaker.FailureRate = 70 },
		"--wait 4s":                     func(c *proxy.Config) { c.Breaker.Wait = 4 * time.Second },
		"--permitted-calls 5":           func(c *proxy.Config) { c.Breaker.Permitted = 5 },
		"--slow-over 1s":                func(c *proxy.Config) { c.Breaker.SlowDuration = time.Second },
		"--slow-rate 50%":               func(c *proxy.Config) { c.Breaker.SlowRate = 50 },
		"--timeout 300ms":               func(c *proxy.Config) { c.Timeout = 300 * time.Millisecond },
		"--cancels":                     func(c *proxy.Config) { c.Cancels = true },
		"--fallback-status 203":         func(c *proxy.Config) { c.Fallback = &proxy.Answer{Status: 203} },
		"--fallback-body x":             func(c *proxy.Config) { c.Fallback = &proxy.Answer{Status: 200, Body: "x"} },
		"--pool 8":                      func(c *proxy.Config) { c.Pool = 8 },
		"--workers 200":                 func(c *proxy.Config) { c.Workers = 200 },
		"--defect leak":                 func(c *proxy.Config) { c.Defect = proxy.Leaks },
		"--respond /a=x=y":              func(c *proxy.Config) { c.Routes = []proxy.Route{{Path: "/a", Respond: &proxy.Answer{Body: "x=y"}}} },
		"--route /p*=http://127.0.0.1:3 --respond /q=": mixedRoutes,
		"--config " + file + " --instance a": func(c *proxy.Config) {
			c.Breaker = breakerref.Default()
			c.Breaker.Name, c.Breaker.Window, c.Breaker.WindowType = "a", 7, breakerref.TimeBased
		},
		"--config " + file + " --instance b --spring-profile ci": func(c *proxy.Config) {
			c.Breaker = breakerref.Default()
			c.Breaker.Name, c.Breaker.Initial, c.Breaker.MinimumCalls = "b", breakerref.Disabled, 3
		},
	})
	for args, change := range changes {
		want := targetDefaults()
		change(&want)
		got, err := targetConfig(t, strings.Fields(args)...)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", args, err, diff)
		}
		for word := range strings.FieldsSeq(args) {
			tried[strings.TrimPrefix(word, "--")] = true
		}
	}
	targetCmd(t).Flags().VisitAll(func(f *pflag.Flag) {
		if !tried[f.Name] {
			t.Errorf("--%s was not tried", f.Name)
		}
	})
}

// policyChanges are what the flags of policies, sources and models change.
func policyChanges() map[string]func(c *proxy.Config) {
	return map[string]func(c *proxy.Config){
		"--retry-attempts 3": func(c *proxy.Config) { c.Retry = &retry.Config{MaxAttempts: 3} },
		"--retry-attempts 2 --retry-wait 50ms --retry-multiplier 2 --retry-max-wait 1s --retry-random 50% --retry-budget 20%": func(c *proxy.Config) {
			c.Retry = &retry.Config{MaxAttempts: 2, Wait: 50 * time.Millisecond, Multiplier: 2, MaxWait: time.Second, RandomFactor: 0.5}
			b := retry.DefaultBudget()
			b.Ratio = 0.2
			c.RetryBudget = &b
		},
		"--bulkhead 20": func(c *proxy.Config) {
			c.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: 20, FairCallHandling: true}
		},
		"--bulkhead 20,wait=100ms --rejections-fail": func(c *proxy.Config) {
			c.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: 20, MaxWait: 100 * time.Millisecond, FairCallHandling: true}
			c.RejectionsFail = true
		},
		"--threads 4": func(c *proxy.Config) {
			c.ThreadPool = &bulkhead.ThreadPoolConfig{Core: 4, Max: 4, QueueCapacity: 100, KeepAlive: 20 * time.Millisecond}
		},
		"--threads 4,keep-alive=1s,queue=0,max=8": func(c *proxy.Config) {
			c.ThreadPool = &bulkhead.ThreadPoolConfig{Core: 4, Max: 8, KeepAlive: time.Second}
		},
		"--rate-limit resilience4j:50/1s,wait=100ms --rate-limit-key X-Tenant": func(c *proxy.Config) {
			c.RateLimiter = limit.AtomicRateLimiterConfig{LimitForPeriod: 50, LimitRefreshPeriod: time.Second, Timeout: 100 * time.Millisecond}
			c.RateLimitKey = "X-Tenant"
		},
		"--rate-limit token-bucket:50/2s,burst=9": func(c *proxy.Config) { c.RateLimiter = limit.TokenBucketConfig{Rate: 25, Burst: 9} },
		"--rate-limit gcra:50/1m":                 func(c *proxy.Config) { c.RateLimiter = limit.GCRAConfig{Limit: 50, Period: time.Minute, Burst: 50} },
		"--rate-limit fixed-window:50/1m":         func(c *proxy.Config) { c.RateLimiter = limit.FixedWindowConfig{Limit: 50, Window: time.Minute} },
		"--rate-limit fixed-window:50/1m,first-call": func(c *proxy.Config) {
			c.RateLimiter = limit.FixedWindowConfig{Limit: 50, Window: time.Minute, Align: limit.FirstCall}
		},
		"--rate-limit sliding-log:5/1s": func(c *proxy.Config) { c.RateLimiter = limit.SlidingLogConfig{Limit: 5, Window: time.Second} },
		"--rate-limit sliding-window:5/1s": func(c *proxy.Config) {
			c.RateLimiter = limit.SlidingWindowCounterConfig{Limit: 5, Window: time.Second}
		},
		"--time-limit 1s": func(c *proxy.Config) {
			c.TimeLimiter = &timelimit.Config{Timeout: time.Second, CancelRunningFuture: true}
		},
		"--time-limit 1s,runs-on": func(c *proxy.Config) {
			c.TimeLimiter = &timelimit.Config{Timeout: time.Second, CancelRunningFuture: true, Work: timelimit.Completable}
		},
		"--order circuitbreaker,retry": func(c *proxy.Config) { c.Order = []proxy.Policy{proxy.CircuitBreaker, proxy.Retry} },
		"--secondary http://127.0.0.1:3 --secondary-timeout 1s --cache 7": func(c *proxy.Config) {
			c.Secondary, c.SecondaryTimeout, c.CacheGood = "http://127.0.0.1:3", time.Second, 7
		},
		"--actuator --instances 3": func(c *proxy.Config) { c.Actuator, c.Instances = true, 3 },
		"--model opossum":          func(c *proxy.Config) { c.Model = preset("opossum") },
		"--model pgmux --window 20 --failure-rate 70%": func(c *proxy.Config) {
			c.Model = preset("pgmux")
			c.Model.Window.Size, c.Model.Trip.Rate = 20, 0.7
			c.Breaker.Window, c.Breaker.FailureRate = 20, 70
		},
		"--model smallrye --failure-rate 75% --window 20 --permitted-calls 2": func(c *proxy.Config) {
			c.Model = preset("smallrye")
			c.Model.Trip.Rate = 0.75
			c.Model.HalfOpen.Permits, c.Model.HalfOpen.Successes = 2, 2
			c.Breaker.Window, c.Breaker.FailureRate, c.Breaker.Permitted = 20, 75, 2
		},
		"--model gobreaker --failures 3 --wait 1s": func(c *proxy.Config) {
			c.Model = preset("gobreaker")
			c.Model.Trip.Failures, c.Model.Open.Wait, c.Breaker.Wait = 3, time.Second, time.Second
		},
		"--model polly --minimum-calls 4": func(c *proxy.Config) {
			c.Model = preset("polly")
			c.Model.Trip.Min, c.Breaker.MinimumCalls = 4, 4
		},
	}
}

// preset is a model as it comes.
func preset(name string) *model.Config {
	c, ok := model.Preset(name)
	if !ok {
		panic(name)
	}
	return &c
}

// mixedRoutes are a route with a dependency and one without, as they were given.
func mixedRoutes(c *proxy.Config) {
	other := c.Service
	other.Upstream = "http://127.0.0.1:3"
	c.Routes = []proxy.Route{{Path: "/p*", Service: &other}, {Path: "/q", Respond: &proxy.Answer{}}}
}

// A route has neither the fallback nor the defect of the rest.
func TestTargetRoutesAreRight(t *testing.T) {
	cfg, err := targetConfig(t, "--route", "/pay*=http://127.0.0.1:2", "--fallback-body", "[]", "--defect", "empty_200")
	if err != nil {
		t.Fatal(err)
	}
	if route := cfg.Routes[0].Service; route.Fallback != nil || route.Defect != "" || cfg.Fallback == nil || cfg.Defect != proxy.Empty200 {
		t.Errorf("the route is %+v, the rest %+v", route, cfg.Service)
	}
}

func targetCmd(t *testing.T) *cobra.Command {
	t.Helper()
	cmd, _, err := app{}.root().Find([]string{"target"})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A file is refused as clearly as a flag.
func TestTargetRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ text, args, want string }{
		{"", "--instance a", "--instance a: of which file? add --config application.yml"},
		{"", "--spring-profile ci", "--spring-profile ci: of which file?"},
		{"a: {slidingWindowSize: 7}", "--config FILE --window 5 --wait 2s", "says all of the breaker; leave out --window, --wait, or the file"},
		{"a: {}\n  b: {slidingWindowSize: 7}\n  c: {slidingWindowSize: 7}", "--config FILE", "which of its breakers? add --instance with one of b, c"},
		{"{}", "--config FILE", "there is no resilience4j.circuitbreaker.instances in it"},
		{"pay: {slidingWindowSize: 7}", "--config FILE --instance pya", `has no "pya"; did you mean "pay"?`},
		{"a: {slidingWindowSize: many}", "--config FILE", `:2:26: slidingWindowSize is "many", must be a whole number of at least 1`},
		{"a: {slidingWindowSize: 7}", "--config FILE --defect window_never_slides", "only a window of time forgets as time passes, and a has slidingWindowType COUNT_BASED"},
		{"", "--config nowhere.yml", "--config: open nowhere.yml: "},
	} {
		file := filepath.Join(dir, fmt.Sprint(i, ".yml"))
		if err := os.WriteFile(file, []byte("resilience4j.circuitbreaker.instances:\n  "+c.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields("target --upstream http://127.0.0.1:1 " + strings.ReplaceAll(c.args, "FILE", file))
		code, stdout, stderr := call(words...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s%s", c.args, code, c.want, stdout, stderr)
		}
	}
}

// TestTargetRefuses says what is wrong in the words of the command line.
func TestTargetRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--window 0":                               "--window 0: a window is of 1 to 2147483647 calls",
		"--window 0s":                              "--window 0s: a window is of 1 to",
		"--window -1":                              "--window -1: a window is of 1 to",
		"--window 2147483648":                      "--window 2147483648: ",
		"--minimum-calls 2147483648":               "--minimum-calls 2147483648: write a number from 1 to 2147483647",
		"--permitted-calls 0":                      "--permitted-calls 0: write a number from 1",
		"--retry-attempts 0":                       "--retry-attempts 0: write a number from 1 to 2147483647; 1 is no retry",
		"--pool -1":                                "--pool -1: write a number from 0 to 2147483647; 0 is no limit",
		"--bulkhead -1":                            `"-1" for "--bulkhead" flag: write a number from 0 to 2147483647; 0 is no limit`,
		"--bulkhead 5,wait=x":                      `wait=x: `,
		"--bulkhead 5,wiat=1s":                     "wiat=1s is no option of it",
		"--threads 0":                              "write a number from 1 to",
		"--threads 4,max=3":                        "max=3: write a number from 4 to",
		"--threads 4 --bulkhead 4":                 "--threads: there is a bulkhead already",
		"--time-limit 0s":                          "must be above 0s",
		"--time-limit 1500us":                      "1.5ms is not in whole milliseconds",
		"--rate-limit 50/1s":                       "write KIND:CALLS/TIME, as resilience4j:50/1s; KIND is one of resilience4j, token-bucket",
		"--rate-limit gcra:0/1s":                   "write KIND:CALLS/TIME",
		"--rate-limit gcra:5/0s":                   "write KIND:CALLS/TIME",
		"--rate-limit gcra:5/1s,burst=0":           "burst=0: write a number from 1",
		"--rate-limit sliding-log:5/1s,burst=3":    "burst=3 is no option of it",
		"--rate-limit-key X":                       "--rate-limit-key X: there is no rate limiter; add --rate-limit",
		"--rejections-fail":                        "--rejections-fail: there is nothing that rejects",
		"--retry-random 5%":                        "--retry-random: there is no retry",
		"--retry-attempts 2 --retry-wait 1500us":   "--retry-wait 1.5ms: must be in whole milliseconds",
		"--retry-attempts 2 --retry-multiplier 2":  "--retry-wait: there is no wait that could grow or vary",
		"--retry-attempts 2 --retry-multiplier -2": "--retry-multiplier -2: write a number above 0",
		"--retry-attempts 2 --retry-wait 1s --retry-max-wait 2s": "--retry-max-wait 2s: the wait does not grow",
		"--order retry,retry,circuitbreaker":                     "--order retry,retry,circuitbreaker: the order of policies has retry twice",
		"--order retry":                                          "leaves out circuitbreaker, which there is",
		"--order circuitbreaker --retry-attempts 2":              "leaves out retry, which there is",
		"--order circuitbreaker,cache":                           `has "cache", must be of retry, circuitbreaker, ratelimiter, timelimiter, bulkhead`,
		"--secondary x":                                          "--secondary x: write the dependency's URL",
		"--secondary-timeout 1s":                                 "--secondary-timeout 1s: there is no second source",
		"--instances 0":                                          "--instances 0: write a number from 1 to",
		"--cache -1":                                             "--cache -1: write a number from 0 to",
		"--model opposum":                                        "did you mean opossum?",
		"--model opossum --actuator":                             "--actuator: it is Resilience4j's and cannot tell of opossum",
		"--model opossum --slow-rate 50%":                        "--slow-rate: slow calls are Resilience4j's; opossum has none",
		"--model opossum --window 5":                             "--model opossum with --window: opossum has no window of calls",
		"--model opossum --failures 5":                           "--model opossum with --failures: opossum has no number of failures",
		"--model haproxy --wait 5s":                              "haproxy has no wait",
		"--failures 5":                                           "--failures: Resilience4j counts shares",
		"--model nginx --defect permits_all":                     "--defect permits_all: the defect permits_all needs a breaker with a half-open state, nginx has none",
		"--model pgmux --defect permits_all":                     "lets everybody through",
		"--workers -1":                                           "--workers -1: ",
		"--failure-rate 0%":                                      "--failure-rate 0%: the share that opens the breaker is above 0%",
		"--slow-rate 0%":                                         "--slow-rate 0%: ",
		"--slow-over 0s":                                         "--slow-over 0s: must be above 0s",
		"--wait 0s":                                              "--wait 0s: must be above 0s and in whole milliseconds",
		"--wait 1500us":                                          "--wait 1.5ms: ",
		"--retry-wait 1s":                                        "--retry-wait: there is no retry; add --retry-attempts 3",
		"--defect empty_200":                                     "--defect empty_200: there is no fallback for it; add --fallback-body",
		"--defect fallback_always":                               "--defect fallback_always: there is no fallback",
		"--defect leaky":                                         `that --help lists; did you mean leak?`,
		"--route /pay*":                                          "write a path, = and the URL, as /pay*=http://127.0.0.1:9902",
		"--respond /browse":                                      "write a path, = and the BODY, as /pay*=products",
		"--route pay=http://h:1":                                 "--route pay: a path begins with /",
		"--respond /a*b=x":                                       "--respond /a*b: a path begins with /, and a * may stand at its end only",
		"--route /pay=127.0.0.1:9902":                            "--route /pay=127.0.0.1:9902: write the dependency's URL",
		"--route /p=http://h:1/a?b=c":                            "write the base URL only, as http://h:1/a\n",
		"--respond /a*=x --route /a/b=http://h:1": "--route /a/b: is never served, since --respond /a* before it takes every such request; " +
			"change their order, or leave it out",
		"--respond /a=x --respond /a=y":      "--respond /a: is never served",
		"--defect window_never_slides":       "--defect window_never_slides: only a window of time forgets as time passes; add --window 10s",
		"--window 0 --minimum-calls 0":       "calls, or of as many seconds\n--minimum-calls 0: ",
		"--fallback-status 99":               "--fallback-status 99: a status is from 200 to 599",
		"--pool many":                        `"many" for "--pool" flag: write a whole number, as 0`,
		"--retry-wait 5":                     "5 has no unit",
		"--workers 200 --bulkhed 20":         "did you mean --bulkhead?",
		"--minimum_calls 3":                  "did you mean --minimum-calls?",
		"--permitted-calls 3 --slow-rate 1%": "faultline target --upstream http://127.0.0.1:9901", // for nothing is wrong but the upstream
	} {
		words := append([]string{"target"}, strings.Fields(args)...)
		if !strings.Contains(want, "--upstream") {
			words = append(words, "--upstream", "http://127.0.0.1:1")
		}
		code, stdout, stderr := call(words...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s%s", args, code, want, stdout, stderr)
		}
		if javaName(stderr) {
			t.Errorf("%s: this is no word of the command line:\n%s", args, stderr)
		}
	}
}

// javaName reports whether a text has a name as Java writes it.
func javaName(s string) bool {
	for i := range len(s) - 1 {
		if s[i] >= 'a' && s[i] <= 'z' && s[i+1] >= 'A' && s[i+1] <= 'Z' {
			return true
		}
	}
	return false
}

// What target's own checks let pass, the breaker takes: its own words are those of
// Resilience4j.
func TestTargetChecksAllThatTheBreakerDoes(t *testing.T) {
	number := rapid.OneOf(rapid.IntRange(-2, 12), rapid.SampledFrom([]int{math.MaxInt32, math.MaxInt32 + 1, math.MinInt}))
	share := rapid.SampledFrom([]percent{0, 1e-7, 0.5, 50, 100})
	span := rapid.SampledFrom([]timespan{0, 1, timespan(time.Millisecond) - 1, timespan(time.Millisecond), timespan(time.Second) + 1, math.MaxInt64})
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		f := newTargetFlags()
		f.register(pflag.NewFlagSet("target", pflag.ContinueOnError))
		f.upstream = "http://127.0.0.1:1"
		f.window.kind = rapid.SampledFrom([]breakerref.WindowType{breakerref.CountBased, breakerref.TimeBased}).Draw(t, "kind")
		for name, p := range map[string]*int{"window": &f.window.size, "minimum": &f.minimum, "permitted": &f.permitted} {
			if rapid.Bool().Draw(t, "other "+name) {
				*p = number.Draw(t, name)
			}
		}
		if rapid.Bool().Draw(t, "other shares") {
			f.failure, f.slowRate = share.Draw(t, "failure"), share.Draw(t, "slow rate")
		}
		if rapid.Bool().Draw(t, "other times") {
			f.wait, f.slowOver = span.Draw(t, "wait"), span.Draw(t, "slow over")
		}
		cfg, err := f.config()
		if err != nil {
			return
		}
		passed++
		if err := cfg.Breaker.Validate(); err != nil {
			t.Fatalf("passed, and is refused by the breaker: %v", err)
		}
	})
	if passed == 0 {
		t.Error("nothing passed")
	}
}

// TestTargetHelpNamesEveryDefect sees to it that help says what each does.
func TestTargetHelpNamesEveryDefect(t *testing.T) {
	code, help, _ := call("target", "--help")
	for _, d := range proxy.Defects() {
		if line := string(d) + " "; !strings.Contains(help, "  "+line) || !strings.Contains(help, d.Describe()) || d.Describe() == proxy.Defect("").Describe() {
			t.Errorf("%s is not explained in:\n%s", d, help)
		}
	}
	targetCmd(t).Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(help, "--"+f.Name) {
			t.Errorf("--%s is missing in help", f.Name)
		}
	})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestTargetServesAsItWasTold runs the command with what it has beside the breaker.
func TestTargetServesAsItWasTold(t *testing.T) {
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer failing.Close()
	healthy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "paid") }))
	defer healthy.Close()

	f := newFake(nil)
	said, stdout := io.Pipe()
	signals := make(chan chan<- os.Signal, 1)
	f.stdout = stdout
	f.notify = func(s chan<- os.Signal) func() { signals <- s; return func() {} }
	ended := make(chan int, 1)
	go func() {
		ended <- f.main([]string{
			"target", "--listen", "127.0.0.1:0", "--upstream", failing.URL, "--fallback-body", "cached", "--defect", "empty_200",
			"--retry-attempts", "2", "--pool", "3", "--bulkhead", "4", "--workers", "5",
			"--route", "/pay*=" + healthy.URL, "--respond", "/browse*=products",
		})
		_ = stdout.Close()
	}()
	var lines []string
	scanner := bufio.NewScanner(said)
	for scanner.Scan() && !strings.HasPrefix(scanner.Text(), "  route            /browse*") {
		lines = append(lines, scanner.Text())
	}
	base, _, _ := strings.Cut(strings.TrimPrefix(strings.Join(lines, "\n"), "listening on "), ",")
	want := []string{
		"  retry            2 attempts, 0s apart", "  bulkhead         4 calls under way to a dependency",
		"  pool             3 connections to a dependency", "  workers          5 requests under way",
		"  defect           empty_200: " + proxy.Empty200.Describe(), "  route            /pay* to " + healthy.URL,
	}
	if diff := cmp.Diff(want, lines[max(0, len(lines)-len(want)):]); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	for path, answer := range map[string]string{"/search": "200 fallback []", "/pay/1": "200 primary paid", "/browse/7": "200 primary products"} {
		if got := answered(t, base+path); got != answer {
			t.Errorf("%s: %q, want %q", path, got, answer)
		}
	}
	(<-signals) <- os.Interrupt
	if code := <-ended; code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, f.err.String())
	}
}

// answered is status, source and body of an answer.
func answered(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get(proxy.Source), body)
}
