package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// targetFlags are the flags of target.
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
}

func (a app) targetCommand() *cobra.Command {
	def := breakerref.Default()
	f := targetFlags{
		window:   window{breakerref.CountBased, 10},
		failure:  percent(def.FailureRate),
		wait:     timespan(2 * time.Second),
		slowOver: timespan(def.SlowDuration),
		slowRate: percent(def.SlowRate),
		timeout:  timespan(2 * time.Second),
	}
	cmd := &cobra.Command{
		Use:   "target",
		Short: "Run the reference circuit breaker as a reverse proxy",
		Long: `target runs the reference breaker, which does what Resilience4j does, as a
reverse proxy in front of a dependency: a system under test that is known to be
right. 5xx answers, resets, answers cut short and its own timeout count as
failures. It answers 503 to what its breaker rejects and 502 or 504 to what
failed, or with the fallback where one is given. It listens on loopback only and
runs until Ctrl-C.`,
		Example: `  faultline target --upstream http://127.0.0.1:9901
  faultline target --listen 127.0.0.1:0 --upstream http://127.0.0.1:9901 --window 10s --minimum-calls 5 --fallback-body '{"source":"fallback"}'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.fallback = f.body != "" || cmd.Flags().Changed("fallback-status")
			return a.runTarget(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
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
	return cmd
}

// runTarget serves until a signal comes.
func (a app) runTarget(ctx context.Context, f targetFlags) error {
	cfg, err := f.config()
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	code := a.untilSignal(ctx, "stopping; once more to stop at once", func(ctx context.Context) int {
		p, err := proxy.Start(ctx, cfg)
		if err != nil {
			a.say("faultline: %v", occupied(f.listen, err))
			return report.ExitInconclusive
		}
		_, err = io.WriteString(a.stdout, f.describe(p.URL(), cfg))
		if err == nil {
			<-ctx.Done()
		}
		if err := errors.Join(err, p.Close()); err != nil {
			a.say("faultline: %v", err)
			return report.ExitInconclusive
		}
		return report.ExitPass
	})
	return exit(code, nil)
}

// occupied says what to do about an address that could not be listened at.
func occupied(listen string, err error) error {
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		return err
	}
	if _, port, splitErr := net.SplitHostPort(listen); splitErr == nil && errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--listen %s: port %s is taken by another program; end that one, or choose another with --listen, as --listen 127.0.0.1:0 for any that is free", listen, port)
	}
	return fmt.Errorf("--listen %s: %w; choose another address with --listen, as --listen 127.0.0.1:0 for any port that is free", listen, err)
}

// config checks the flags, all of them, and makes them a configuration.
func (f targetFlags) config() (proxy.Config, error) {
	b := breakerref.Default()
	b.WindowType, b.Window = f.window.kind, f.window.size
	b.MinimumCalls, b.Permitted = f.minimum, f.permitted
	b.FailureRate, b.SlowRate = float32(f.failure), float32(f.slowRate)
	b.Wait, b.SlowDuration = time.Duration(f.wait), time.Duration(f.slowOver)

	cfg := proxy.Config{Addr: f.listen, Service: proxy.Service{
		Upstream: f.upstream, Breaker: b, Failure: match.DefaultFailure(), Timeout: time.Duration(f.timeout),
	}}
	if f.fallback {
		cfg.Fallback = &proxy.Answer{Status: f.status, Body: f.body}
	}
	var status error
	if f.status < 200 || f.status > 599 {
		status = fmt.Errorf("--fallback-status %d: a status is from 200 to 599", f.status)
	}
	return cfg, errors.Join(loopback(f.listen), absolute(f.upstream), status, b.Validate())
}

// absolute refuses an upstream that is no URL of an HTTP server.
func absolute(upstream string) error {
	if upstream == "" {
		return errors.New("target needs the dependency that it stands in front of, as in: faultline target --upstream http://127.0.0.1:9901")
	}
	u, err := url.Parse(upstream)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--upstream %s: write the dependency's URL, as http://127.0.0.1:9901", upstream)
	}
	base := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if base.String() != u.String() {
		return fmt.Errorf("--upstream %s: every request brings its own query, and none a user or a fragment; write the base URL only, as %s", u.Redacted(), base)
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

// describe says where the target listens and what it is set to.
func (f targetFlags) describe(url string, cfg proxy.Config) string {
	fallback := "none"
	if cfg.Fallback != nil {
		fallback = fmt.Sprintf("%d %s", cfg.Fallback.Status, cfg.Fallback.Body)
	}
	timeout := f.timeout.String()
	if f.timeout == 0 {
		timeout = "none: waits for the dependency without end"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "listening on %s, in front of %s\n", url, cfg.Upstream)
	for _, line := range [][2]string{
		{"window", fmt.Sprintf("%s %s", cfg.Breaker.WindowType, f.window.String())},
		{"minimum calls", strconv.Itoa(cfg.Breaker.MinimumCalls)},
		{"failure rate", f.failure.String()},
		{"slow calls", fmt.Sprintf("%s over %s", f.slowRate.String(), f.slowOver.String())},
		{"wait", f.wait.String()},
		{"permitted calls", strconv.Itoa(cfg.Breaker.Permitted)},
		{"timeout", timeout},
		{"fallback", fallback},
	} {
		fmt.Fprintf(&b, "  %-16s %s\n", line[0], line[1])
	}
	return b.String()
}

// window is a sliding window as a flag: 10 is a number of calls, 10s of seconds.
type window struct {
	kind breakerref.WindowType
	size int
}

// String implements pflag.Value.
func (w *window) String() string {
	if w.kind == breakerref.TimeBased {
		return strconv.Itoa(w.size) + "s"
	}
	return strconv.Itoa(w.size)
}

// Type implements pflag.Value.
func (w *window) Type() string { return "calls|duration" }

// Set implements pflag.Value.
func (w *window) Set(s string) error {
	if n, err := strconv.Atoi(s); err == nil {
		*w = window{breakerref.CountBased, n}
		return nil
	}
	d, err := yamldoc.ParseDuration(s)
	if err != nil || d%time.Second != 0 {
		return errors.New("write a number of calls, as 10, or of whole seconds, as 10s")
	}
	*w = window{breakerref.TimeBased, int(d / time.Second)}
	return nil
}

// percent is a share as a flag, written with its unit.
type percent float32

// String implements pflag.Value.
func (p *percent) String() string { return strconv.FormatFloat(float64(*p), 'f', -1, 32) + "%" }

// Type implements pflag.Value.
func (p *percent) Type() string { return "percent" }

// Set implements pflag.Value.
func (p *percent) Set(s string) error {
	share, err := yamldoc.ParseShare(s)
	*p = percent(100 * share.Float())
	return err
}

// timespan is a duration as a flag, written with its unit.
type timespan time.Duration

// String implements pflag.Value.
func (t *timespan) String() string { return yamldoc.FormatDuration(time.Duration(*t)) }

// Type implements pflag.Value.
func (t *timespan) Type() string { return "duration" }

// Set implements pflag.Value.
func (t *timespan) Set(s string) error {
	d, err := yamldoc.ParseDuration(s)
	*t = timespan(d)
	return err
}
