package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
)

// targetFlags are the flags of target. Their names are those of the keys of
// sut.reference, as far as there is one.
type targetFlags struct {
	listen    string
	upstream  string
	window    window
	minimum   int
	failure   percent
	wait      timespan
	permitted int
	slowOver  timespan
	slowRate  percent
	timeout   timespan
	status    int
	body      string
	fallback  bool // there is one
	pool      int
	workers   int
	defect    choice
	model     choice // of other breakers than Resilience4j's
	failures  int    // that open one
	policy    policyFlags

	secondary        string
	secondaryTimeout timespan
	cache            int
	actuator         bool
	instances        int
	routes           routes
	file             string   // application.yml, in place of the breaker's flags
	instance         string   // in it
	profiles         []string // of Spring that are active
	unread           []string // what else the file has of the instance
	given            []string // the flags of the breaker that were given
}

// The flags of routes.
const (
	routeToURL  = "route"
	routeToBody = "respond"
)

// newTargetFlags returns the defaults of what is no plain number or text.
func newTargetFlags() *targetFlags {
	def := breakerref.Default()
	f := &targetFlags{
		window:   window{breakerref.CountBased, 10},
		failure:  percent(def.FailureRate),
		wait:     timespan(2 * time.Second),
		slowOver: timespan(def.SlowDuration),
		slowRate: percent(def.SlowRate),
		timeout:  timespan(2 * time.Second),
	}
	for _, d := range proxy.Defects() {
		f.defect.allowed = append(f.defect.allowed, string(d))
	}
	f.model.allowed = model.Presets()
	return f
}

// register declares the flags.
func (f *targetFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "loopback `ADDRESS` to listen on; port 0 is chosen by the system")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of the dependency (required)")
	f.registerBreaker(flags)
	flags.Var(&f.model, "model", "another breaker in place of Resilience4j's, with its own defaults, which the flags above change; `NAME` is "+strings.Join(f.model.allowed, ", "))
	flags.IntVar(&f.failures, "failures", 0, "failures that open a --model which counts them")
	flags.Var(&f.timeout, "timeout", "patience with the dependency, up to the end of its answer; 0s is without end")
	flags.IntVar(&f.status, "fallback-status", http.StatusOK, "status of the fallback")
	flags.StringVar(&f.body, "fallback-body", "", "answer of the fallback; without it and --fallback-status there is no fallback")
	flags.StringVar(&f.secondary, "secondary", "", "`URL` of a second source, asked before the fallback")
	flags.Var(&f.secondaryTimeout, "secondary-timeout", "patience with it; 0s is without end")
	flags.IntVar(&f.cache, "cache", 0, "most requests whose last good answer is kept, to be served before the fallback; 0 is none")
	flags.BoolVar(&f.actuator, "actuator", false, "serve /actuator/circuitbreakers, circuitbreakerevents, health and prometheus as Spring Boot with Resilience4j does")
	flags.IntVar(&f.instances, "instances", 1, "instances of the service that serve in turn, each with breakers of its own, named 1, 2 and so on in X-Faultline-Instance")
	flags.IntVar(&f.pool, "pool", 0, "most connections to a dependency at a time; 0 is no limit")
	f.policy.register(flags)
	flags.IntVar(&f.workers, "workers", 0, "most requests under way on all paths, further ones wait; 0 is no limit")
	f.registerFile(flags)
	flags.Var(&f.defect, "defect", "`DEFECT`, one of those above, on what no route serves, for a negative control")
	flags.Var(routeValue{&f.routes, routeToURL, "URL"}, routeToURL, "serve a path (a * at its end stands for any rest) from another dependency, with a breaker of its own, set as the first, but without fallback and defect; repeatable, the first match wins")
	flags.Var(routeValue{&f.routes, routeToBody, "BODY"}, routeToBody, "answer a path with 200 and this body, without any dependency; repeatable, the first match wins")
}

// registerBreaker declares the flags that say what Resilience4j's breaker is.
func (f *targetFlags) registerBreaker(flags *pflag.FlagSet) {
	flags.Var(&f.window, "window", "sliding window: a number of calls (10) or of whole seconds (10s)")
	flags.IntVar(&f.minimum, "minimum-calls", 10, "outcomes in the window before there is a rate")
	flags.Var(&f.failure, "failure-rate", "share of failures that opens the breaker")
	flags.Var(&f.wait, "wait", "how long it stays open")
	flags.IntVar(&f.permitted, "permitted-calls", 3, "probes when half-open")
	flags.Var(&f.slowOver, "slow-over", "calls that take longer are slow")
	flags.Var(&f.slowRate, "slow-rate", "share of slow calls that opens the breaker")
}

// registerFile declares the flags of a file that says it instead.
func (f *targetFlags) registerFile(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "config", "", "take the breaker from the `FILE`, an application.yml of Spring Boot with resilience4j.circuitbreaker, in place of its flags")
	flags.StringVar(&f.instance, "instance", "", "`NAME` of the breaker in --config; not needed if there is only one")
	flags.StringSliceVar(&f.profiles, "spring-profile", nil, "`PROFILE` of Spring whose documents in --config count; repeatable")
}

// config checks the flags, all of them, and makes them a configuration.
func (f *targetFlags) config() (proxy.Config, error) {
	b, fileErr := f.breaker()
	other, modelErr := f.modelOf()
	main := proxy.Service{
		Upstream: f.upstream, Breaker: b, Model: other, Failure: match.DefaultFailure(), Timeout: time.Duration(f.timeout),
		Pool: f.pool, Policies: f.policy.policies(),
	}
	cfg := proxy.Config{Addr: f.listen, Service: main, Workers: f.workers, Actuator: f.actuator, Instances: f.instances}
	cfg.Secondary, cfg.SecondaryTimeout, cfg.CacheGood = f.secondary, time.Duration(f.secondaryTimeout), f.cache
	cfg.Defect = proxy.Defect(f.defect.word)
	if f.fallback {
		cfg.Fallback = &proxy.Answer{Status: f.status, Body: f.body}
	}
	for _, r := range f.routes {
		made := proxy.Route{Path: r.path}
		if r.flag == routeToBody {
			made.Respond = &proxy.Answer{Body: r.to}
		} else {
			other := main
			other.Upstream = r.to
			made.Service = &other
		}
		cfg.Routes = append(cfg.Routes, made)
	}
	return cfg, errors.Join(fileErr, modelErr, loopback(f.listen), upstream(f.upstream), f.checkNumbers(), f.policy.check(), f.checkSources(), f.checkDefect(b, other), f.checkRoutes())
}

// checkNumbers says what is wrong with numbers, shares and times, in the words of
// the command line. Nothing is left that the breaker would refuse.
func (f *targetFlags) checkNumbers() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	require(f.window.size >= 1 && f.window.size <= math.MaxInt32,
		"--window %s: a window is of 1 to %d calls, or of as many seconds", f.window.String(), math.MaxInt32)
	for _, n := range []struct {
		name        string
		value, from int
		hint        string
	}{
		{"minimum-calls", f.minimum, 1, ""},
		{"permitted-calls", f.permitted, 1, ""},
		{"retry-attempts", f.policy.attempts, 1, "; 1 is no retry"},
		{"pool", f.pool, 0, "; 0 is no limit"},
		{"cache", f.cache, 0, "; 0 is none"},
		{"instances", f.instances, 1, ""},
		{"failures", f.failures, 0, ""},
		{"workers", f.workers, 0, "; 0 is no limit"},
	} {
		require(n.value >= n.from && n.value <= math.MaxInt32,
			"--%s %d: write a number from %d to %d%s", n.name, n.value, n.from, math.MaxInt32, n.hint)
	}
	require(f.failure > 0, "--failure-rate %s: the share that opens the breaker is above 0%%", f.failure.String())
	require(f.slowRate > 0, "--slow-rate %s: the share that opens the breaker is above 0%%", f.slowRate.String())
	require(f.slowOver > 0, "--slow-over %s: must be above 0s", f.slowOver.String())
	wait := time.Duration(f.wait)
	require(wait > 0 && wait%time.Millisecond == 0, "--wait %s: must be above 0s and in whole milliseconds", f.wait.String())
	require(f.status >= 200 && f.status <= 599, "--fallback-status %d: a status is from 200 to 599", f.status)
	return errors.Join(problems...)
}

// checkSources refuses a second source that is none, and an actuator that has nothing to
// tell.
func (f *targetFlags) checkSources() error {
	var problems []error
	switch {
	case f.secondary != "":
		problems = append(problems, absolute("--secondary ", f.secondary))
	case f.secondaryTimeout > 0:
		problems = append(problems, fmt.Errorf("--secondary-timeout %s: there is no second source; add --secondary http://127.0.0.1:9902", f.secondaryTimeout.String()))
	}
	if f.actuator && f.model.word != "" {
		problems = append(problems, fmt.Errorf("--actuator: it is Resilience4j's and cannot tell of %s; leave one of them out", f.model.word))
	}
	return errors.Join(problems...)
}

// checkDefect refuses a defect that the rest of the flags leave no room for.
func (f *targetFlags) checkDefect(b breakerref.Config, other *model.Config) error {
	if other != nil {
		if err := proxy.CheckModel(other, proxy.Defect(f.defect.word)); err != nil {
			return fmt.Errorf("--defect %s: %w", f.defect.word, err)
		}
	}
	switch d := proxy.Defect(f.defect.word); {
	case d.NeedsFallback() && !f.fallback:
		return fmt.Errorf("--defect %s: there is no fallback for it; add --fallback-body", d)
	case d.NeedsTimeWindow() && f.file != "" && b.WindowType != breakerref.TimeBased:
		return fmt.Errorf("--defect %s: only a window of time forgets as time passes, and %s has slidingWindowType %v", d, f.instance, b.WindowType)
	case d.NeedsTimeWindow() && b.WindowType != breakerref.TimeBased:
		return fmt.Errorf("--defect %s: only a window of time forgets as time passes; add --window 10s", d)
	}
	return nil
}

// checkRoutes refuses routes that cannot be served.
func (f *targetFlags) checkRoutes() error {
	var problems []error
	for i, r := range f.routes {
		given := fmt.Sprintf("--%s %s", r.flag, r.path)
		if !strings.HasPrefix(r.path, "/") || strings.Contains(strings.TrimSuffix(r.path, "*"), "*") {
			problems = append(problems, fmt.Errorf("%s: a path begins with /, and a * may stand at its end only", given))
			continue
		}
		for _, earlier := range f.routes[:i] {
			rest, open := strings.CutSuffix(earlier.path, "*")
			if earlier.path == r.path || open && strings.HasPrefix(r.path, rest) {
				problems = append(problems, fmt.Errorf("%s: is never served, since --%s %s before it takes every such request; change their order, or leave it out", given, earlier.flag, earlier.path))
				break
			}
		}
		if r.flag == routeToURL {
			problems = append(problems, absolute(given+"=", r.to))
		}
	}
	return errors.Join(problems...)
}

// upstream refuses an upstream that is missing, or no URL of an HTTP server.
func upstream(base string) error {
	if base == "" {
		return errors.New("target needs the dependency that it stands in front of, as in: faultline target --upstream http://127.0.0.1:9901")
	}
	return absolute("--upstream ", base)
}

// absolute refuses what is no base URL of an HTTP server; given is how it was
// written up to there.
func absolute(given, base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s%s: write the dependency's URL, as http://127.0.0.1:9901", given, base)
	}
	plain := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if plain.String() != u.String() {
		return fmt.Errorf("%s%s: every request brings its own query, and none a user or a fragment; write the base URL only, as %s", given, u.Redacted(), plain)
	}
	return nil
}

// loopback refuses an address that others than this machine can reach: a breaker
// under test is nobody's gateway.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--listen %s: %w; write host:port, as 127.0.0.1:8080", addr, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s: target listens on loopback only, as 127.0.0.1:8080", addr)
}
