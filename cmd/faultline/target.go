package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

func (a app) targetCommand() *cobra.Command {
	f := newTargetFlags()
	cmd := &cobra.Command{
		Use:   "target",
		Short: "Run the reference circuit breaker as a reverse proxy",
		Long: `target runs the reference breaker, which does what Resilience4j does, as a
reverse proxy in front of a dependency: a system under test that is known to be
right. 5xx answers, resets, answers cut short and its own timeout count as
failures. It answers 503 to what its breaker or its bulkhead rejects and 502 to
what had no answer, or with the fallback where one is given. It listens on
loopback only and runs until Ctrl-C.

With --defect it is wrong in one way:
` + defects(),
		Example: `  faultline target --upstream http://127.0.0.1:9901
  faultline target --listen 127.0.0.1:0 --upstream http://127.0.0.1:9901 --window 10s --minimum-calls 5 --fallback-body '{"source":"fallback"}'
  faultline target --upstream http://127.0.0.1:9901 --timeout 1s --retry-attempts 3 --retry-wait 50ms --pool 20
  faultline target --upstream http://127.0.0.1:9901 --slow-over 1s --slow-rate 50% --bulkhead 20 --workers 200 --respond '/browse*=products'
  faultline target --upstream http://127.0.0.1:9901 --fallback-body '[]' --route '/pay*=http://127.0.0.1:9902'
  faultline target --upstream http://127.0.0.1:9901 --config application.yml --instance payments
  faultline target --upstream http://127.0.0.1:9901 --model opossum --wait 2s
  faultline target --upstream http://127.0.0.1:9901 --rate-limit resilience4j:50/1s --time-limit 1s --instances 3 --actuator
  faultline target --upstream http://127.0.0.1:9901 --secondary http://127.0.0.1:9902 --cache 100 --order circuitbreaker,retry --retry-attempts 3
  faultline target --upstream http://127.0.0.1:9901 --defect leak`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.noteGiven(cmd.Flags())
			return a.runTarget(cmd.Context(), f)
		},
	}
	cmd.Flags().SortFlags = false // Some tell of those above them.
	f.register(cmd.Flags())
	return cmd
}

// defects is a table of what can be wrong.
func defects() string {
	var b strings.Builder
	for _, d := range proxy.Defects() {
		fmt.Fprintf(&b, "  %-23s  %s\n", d, d.Describe())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// runTarget serves until a signal comes.
func (a app) runTarget(ctx context.Context, f *targetFlags) error {
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

// describe says where the target listens and what it is set to.
func (f *targetFlags) describe(url string, cfg proxy.Config) string {
	fallback := "none"
	if cfg.Fallback != nil {
		fallback = fmt.Sprintf("%d %s", cfg.Fallback.Status, cfg.Fallback.Body)
	}
	timeout := f.timeout.String()
	if f.timeout == 0 {
		timeout = "none: waits for the dependency without end"
	}
	var lines [][2]string
	if f.file != "" {
		lines = append(lines, [2]string{"breaker", f.instance + " of " + f.file})
	}
	if len(f.unread) > 0 {
		lines = append(lines, [2]string{"not read", strings.Join(f.unread, ", ") + " of " + f.instance + "; say it with flags"})
	}
	if cfg.Model != nil {
		lines = append(lines, modelLines(*cfg.Model)...)
	} else {
		lines = append(lines, breakerLines(cfg.Breaker)...)
	}
	lines = append(lines, [2]string{"timeout", timeout}, [2]string{"fallback", fallback})
	var b strings.Builder
	fmt.Fprintf(&b, "listening on %s, in front of %s\n", url, cfg.Upstream)
	for _, line := range append(lines, f.extras()...) {
		fmt.Fprintf(&b, "  %-16s %s\n", line[0], line[1])
	}
	return b.String()
}

// extras describes what a plain target has none of.
func (f *targetFlags) extras() (lines [][2]string) {
	lines = f.policy.lines()
	add := func(there bool, name, format string, args ...any) {
		if there {
			lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
		}
	}
	patience := ", waited for without end"
	if f.secondaryTimeout > 0 {
		patience = ", for " + f.secondaryTimeout.String()
	}
	add(f.secondary != "", "secondary", "%s%s", f.secondary, patience)
	add(f.cache > 0, "cache", "the last good answer to %d requests", f.cache)
	add(f.pool > 0, "pool", "%d connections to a dependency", f.pool)
	add(f.workers > 0, "workers", "%d requests under way", f.workers)
	add(f.instances > 1, "instances", "%d, in turn", f.instances)
	add(f.actuator, "actuator", "%s", proxy.ActuatorPath)
	if f.defect.word != "" {
		d := proxy.Defect(f.defect.word)
		lines = append(lines, [2]string{"defect", fmt.Sprintf("%s: %s", d, d.Describe())})
	}
	for _, r := range f.routes {
		to := r.to
		if r.flag == routeToBody {
			to = "200 " + r.to
		}
		lines = append(lines, [2]string{"route", r.path + " to " + to})
	}
	return lines
}
