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
	attempts  int
	retryWait timespan
	bulkhead  int
	workers   int
	defect    choice
	routes    routes
	file      string   // application.yml, in place of the breaker's flags
	instance  string   // in it
	profiles  []string // of Spring that are active
	given     []string // the flags of the breaker that were given
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
	return f
}

// register declares the flags.
func (f *targetFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "loopback `ADDRESS` to listen on; port 0 is chosen by the system")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of the dependency (required)")
	flags.Var(&f.window, "window", "sliding window: a number of calls (10) or of whole seconds (10s)")
	flags.IntVar(&f.minimum, "minimum-calls", 10, "outcomes in the window before there is a rate")
	flags.Var(&f.failure, "failure-rate", "share of failures that opens the breaker")
	flags.Var(&f.wait, "wait", "how long it stays open")
	flags.IntVar(&f.permitted, "permitted-calls", 3, "probes when half-open")
	flags.Var(&f.slowOver, "slow-over", "calls that take longer are slow")
	flags.Var(&f.slowRate, "slow-rate", "share of slow calls that opens the breaker")
	flags.Var(&f.timeout, "timeout", "patience with the dependency, up to the end of its answer; 0s is without end")
	flags.IntVar(&f.status, "fallback-status", http.StatusOK, "status of the fallback")
	flags.StringVar(&f.body, "fallback-body", "", "answer of the fallback; without it and --fallback-status there is no fallback")
	flags.IntVar(&f.pool, "pool", 0, "most connections to a dependency at a time; 0 is no limit")
	flags.IntVar(&f.attempts, "retry-attempts", 1, "most attempts of a call, each of which asks the breaker; 1 is no retry")
	flags.Var(&f.retryWait, "retry-wait", "between two attempts of a call")
	flags.IntVar(&f.bulkhead, "bulkhead", 0, "most calls under way to a dependency, further ones are rejected; 0 is no limit")
	flags.IntVar(&f.workers, "workers", 0, "most requests under way on all paths, further ones wait; 0 is no limit")
	flags.StringVar(&f.file, "config", "", "take the breaker from the `FILE`, an application.yml of Spring Boot with resilience4j.circuitbreaker, in place of its flags")
	flags.StringVar(&f.instance, "instance", "", "`NAME` of the breaker in --config; not needed if there is only one")
	flags.StringSliceVar(&f.profiles, "spring-profile", nil, "`PROFILE` of Spring whose documents in --config count; repeatable")
	flags.Var(&f.defect, "defect", "`DEFECT`, one of those above, on what no route serves, for a negative control")
	flags.Var(routeValue{&f.routes, routeToURL, "URL"}, routeToURL, "serve a path (a * at its end stands for any rest) from another dependency, with a breaker of its own, set as the first, but without fallback and defect; repeatable, the first match wins")
	flags.Var(routeValue{&f.routes, routeToBody, "BODY"}, routeToBody, "answer a path with 200 and this body, without any dependency; repeatable, the first match wins")
}

// config checks the flags, all of them, and makes them a configuration.
func (f *targetFlags) config() (proxy.Config, error) {
	b, fileErr := f.breaker()
	main := proxy.Service{
		Upstream: f.upstream, Breaker: b, Failure: match.DefaultFailure(), Timeout: time.Duration(f.timeout),
		Pool: f.pool, Retry: f.attempts, RetryWait: time.Duration(f.retryWait), Bulkhead: f.bulkhead,
	}
	cfg := proxy.Config{Addr: f.listen, Service: main, Workers: f.workers}
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
	return cfg, errors.Join(fileErr, loopback(f.listen), upstream(f.upstream), f.checkNumbers(), f.checkDefect(b), f.checkRoutes())
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
		{"retry-attempts", f.attempts, 1, "; 1 is no retry"},
		{"pool", f.pool, 0, "; 0 is no limit"},
		{"bulkhead", f.bulkhead, 0, "; 0 is no limit"},
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
	require(f.retryWait == 0 || f.attempts != 1,
		"--retry-wait %s: there is no retry to wait for; add --retry-attempts 3", f.retryWait.String())
	require(f.status >= 200 && f.status <= 599, "--fallback-status %d: a status is from 200 to 599", f.status)
	return errors.Join(problems...)
}

// checkDefect refuses a defect that the rest of the flags leave no room for.
func (f *targetFlags) checkDefect(b breakerref.Config) error {
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
