package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// noteGiven keeps which flags were given, where that they were matters.
func (f *targetFlags) noteGiven(flags *pflag.FlagSet) {
	f.fallback = f.body != "" || flags.Changed("fallback-status")
	for _, name := range []string{"window", "minimum-calls", "failure-rate", "wait", "permitted-calls", "slow-over", "slow-rate", "failures"} {
		if flags.Changed(name) {
			f.given = append(f.given, "--"+name)
		}
	}
}

// breaker is the breaker of the flags, or of the file that they name.
func (f *targetFlags) breaker() (breakerref.Config, error) {
	b := breakerref.Default()
	b.WindowType, b.Window = f.window.kind, f.window.size
	b.MinimumCalls, b.Permitted = f.minimum, f.permitted
	b.FailureRate, b.SlowRate = float32(f.failure), float32(f.slowRate)
	b.Wait, b.SlowDuration = time.Duration(f.wait), time.Duration(f.slowOver)
	switch {
	case f.file == "" && f.instance != "":
		return b, fmt.Errorf("--instance %s: of which file? add --config application.yml", f.instance)
	case f.file == "" && len(f.profiles) > 0:
		return b, fmt.Errorf("--spring-profile %s: of which file? add --config application.yml", strings.Join(f.profiles, ","))
	case f.file == "":
		return b, nil
	case len(f.given) > 0:
		return b, fmt.Errorf("--config %s says all of the breaker; leave out %s, or the file", f.file, strings.Join(f.given, ", "))
	}
	src, err := os.ReadFile(f.file)
	if err != nil {
		return b, fmt.Errorf("--config: %w", err)
	}
	file, err := resilience4j.Read(f.file, src, resilience4j.Options{Profiles: f.profiles, Env: os.LookupEnv})
	if err == nil {
		err = file.Err()
	}
	if err != nil {
		return b, err
	}
	switch all := file.Instances(resilience4j.CircuitBreaker); {
	case len(all) == 0:
		return b, fmt.Errorf("--config %s: there is no resilience4j.circuitbreaker.instances in it", f.file)
	case f.instance == "" && len(all) > 1:
		return b, fmt.Errorf("--config %s: which of its breakers? add --instance with one of %s", f.file, strings.Join(all, ", "))
	case f.instance == "":
		f.instance = all[0]
	}
	f.unread = file.Unread(f.instance)
	return file.CircuitBreaker(f.instance)
}

// breakerLines describe a breaker.
func breakerLines(b breakerref.Config) [][2]string {
	size := fmt.Sprintf("%d calls", b.Window)
	if b.WindowType == breakerref.TimeBased {
		size = fmt.Sprintf("%ds", b.Window)
	}
	wait := b.Wait.String()
	switch {
	case b.WaitMultiplier != 0 && b.WaitMax != 0:
		wait += fmt.Sprintf(", times %v for every opening in a row, at most %v", b.WaitMultiplier, b.WaitMax)
	case b.WaitMultiplier != 0:
		wait += fmt.Sprintf(", times %v for every opening in a row", b.WaitMultiplier)
	case b.WaitRandom != 0:
		wait += fmt.Sprintf(", up to %v%% more or less by chance", 100*b.WaitRandom)
	}
	lines := [][2]string{
		{"window", fmt.Sprintf("%s %s", b.WindowType, size)},
		{"minimum calls", fmt.Sprint(b.MinimumCalls)},
		{"failure rate", fmt.Sprintf("%v%%", b.FailureRate)},
		{"slow calls", fmt.Sprintf("%v%% over %v", b.SlowRate, b.SlowDuration)},
		{"wait", wait},
		{"permitted calls", fmt.Sprint(b.Permitted)},
	}
	if b.AutoHalfOpen {
		lines = append(lines, [2]string{"half-open", "by itself when the wait is over"})
	}
	if b.HalfOpenMaxWait > 0 {
		to := breakerref.Open
		if b.HalfOpenMaxWaitCloses {
			to = breakerref.Closed
		}
		lines = append(lines, [2]string{"half-open for", fmt.Sprintf("at most %v, then %v", b.HalfOpenMaxWait, to)})
	}
	if b.Initial != breakerref.Closed {
		lines = append(lines, [2]string{"begins", b.Initial.String()})
	}
	return lines
}
