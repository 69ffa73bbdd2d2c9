package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/trace"
)

// controlFlags are the flags of inject that say who may change faults, and how far they go.
type controlFlags struct {
	addr  string
	token string // the file
	hosts []string
	lease span

	faulted, active, held, rate count

	most share

	envoy bool
}

// add makes the flags.
func (f *controlFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "control", "", "let faults be changed over HTTP at this `ADDRESS`, such as 127.0.0.1:9900; GET /openapi.json there says how")
	flags.StringVar(&f.token, "control-token-file", "", "with --control: whoever calls it must bear the token in this `FILE`")
	flags.StringSliceVar(&f.hosts, "control-host", nil, "with --control: it may also be called by this `NAME`, or listen at this address, which is not of loopback")
	flags.Var(&f.lease, "lease", "with --control: all faults end when nobody has renewed them there for so long")
	flags.Var(&f.faulted, "max-faulted", "faults hit at most `N` requests of a dependency; what is beyond a limit passes without a fault, and is counted")
	flags.Var(&f.most, "max-share", "faults hit at most this share of all requests so far")
	flags.Var(&f.active, "max-active", "at most `N` requests that a fault hit are under way at a time")
	flags.Var(&f.held, "max-held", "at most `N` requests are held or hang at a time")
	flags.Var(&f.rate, "max-rate", "a fault hits at most `N` requests in any second")
	flags.BoolVar(&f.envoy, "envoy-headers", false, "requests ask for faults of their own by the headers x-envoy-fault-* of Envoy, before all other faults")
}

// limits are those of every dependency.
func (f controlFlags) limits() injector.Limits {
	return injector.Limits{
		Faulted: uint64(f.faulted), Share: injector.Ratio{Num: f.most.Num, Den: f.most.Den}, Active: int(f.active), Held: int(f.held), PerSecond: int(f.rate),
	}
}

// config is how the API is to be started; nil: it is not.
func (f controlFlags) config(given func(string) bool) (*control.Config, error) {
	if f.addr == "" {
		for _, flag := range []string{"control-token-file", "control-host", "lease"} {
			if given(flag) {
				return nil, fmt.Errorf("--%s belongs to the API by which faults are changed; add --control 127.0.0.1:9900", flag)
			}
		}
		if given("control") {
			return nil, errors.New("--control needs an address, as 127.0.0.1:9900")
		}
		return nil, nil //nolint:nilnil // None is not an error.
	}
	c := &control.Config{Addr: f.addr, Hosts: f.hosts}
	if given("control-host") && len(f.hosts) == 0 {
		c.Hosts = []string{""} // As an empty one is told among others.
	}
	if given("control-token-file") { // Also where it is empty: whoever gives one wants the API closed.
		var err error
		if c.Token, err = f.readToken(); err != nil {
			return nil, fmt.Errorf("--control-token-file%w", err)
		}
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("--control: %w%s", err, f.wayOut())
	}
	return c, nil
}

// readToken reads the token from its file.
func (f controlFlags) readToken() (string, error) {
	if f.token == "" {
		return "", errors.New(" names no file; write one, or leave the flag out")
	}
	text, err := os.ReadFile(f.token)
	if err != nil {
		return "", fmt.Errorf(": %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf(" %s: it is empty; write a long word that nobody can guess into it", f.token)
	}
	return token, nil
}

// wayOut says by which flags an address may be called from elsewhere.
func (f controlFlags) wayOut() string {
	host, _, err := net.SplitHostPort(f.addr)
	if ip := net.ParseIP(host); err != nil || host == "" || strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() {
		return ""
	}
	return "\nthe name is given by --control-host, the token by --control-token-file"
}

// jump is the wish for another phase.
type jump struct {
	phase string
	done  chan<- error
}

// startControl starts the API, if there is to be one.
func (a app) startControl(ctx context.Context, in injection, running []*injector.Injector, rec *trace.Recorder) (*control.Server, error) {
	if in.control == nil {
		return nil, nil //nolint:nilnil // None is not an error.
	}
	cfg := *in.control
	cfg.Injectors, cfg.Recorder = running, rec
	for _, p := range in.phases {
		cfg.Order = append(cfg.Order, p.Name)
	}
	cfg.Enter = func(ctx context.Context, phase string) error {
		done := make(chan error, 1)
		select {
		case in.jumps <- jump{phase, done}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return control.Start(context.WithoutCancel(ctx), cfg)
}

// describeControl says where the API is and what ends the faults.
func describeControl(in injection, s *control.Server) string {
	if s == nil {
		return ""
	}
	text := "control API at " + s.URL() + ", described by " + s.URL() + "/openapi.json\n"
	if lease := in.injectors[0].Lease; lease > 0 {
		text += "  all faults end when nobody has sent POST " + s.URL() + "/v1/lease for " + yamldoc.FormatDuration(lease) + "\n"
	}
	return text
}

// span is a duration above 0 as a flag.
type span time.Duration

// String implements pflag.Value.
func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return yamldoc.FormatDuration(time.Duration(*s))
}

// Type implements pflag.Value.
func (s *span) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	d, err := yamldoc.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w; write a duration, as 5s", err)
	case d <= 0:
		return errors.New("write a duration above 0, as 5s")
	}
	*s = span(d)
	return nil
}
