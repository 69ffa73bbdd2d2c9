package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// dependency checks who answers what no fault hits, and where.
func (f injectFlags) dependency() error {
	var errs []error
	errs = append(errs, f.phaseless())
	host, port, err := net.SplitHostPort(f.listen)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port) // It reads a file at most.
	}
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("--listen %s: write host:port, as 127.0.0.1:9901", f.listen))
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		errs = append(errs, fmt.Errorf("--listen %s: inject listens on loopback only, as 127.0.0.1:9901", f.listen))
	}
	if f.upstream != "" || f.given("upstream") {
		errs = append(errs, checkUpstream(f.upstream))
		for _, flag := range []string{"status", "body"} {
			if f.given(flag) {
				errs = append(errs, fmt.Errorf("--%s does not go with --upstream, which answers what no fault hits; leave out one of them", flag))
			}
		}
	}
	return errors.Join(errs...)
}

// checkUpstream checks the address of a real dependency.
func checkUpstream(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "h2c"}, u.Scheme):
		return fmt.Errorf("--upstream %s: write the dependency's URL, as http://127.0.0.1:9902, or h2c://127.0.0.1:9902 for gRPC without TLS", text)
	case u.Scheme == "h2c" && u.Port() == "":
		return fmt.Errorf("--upstream %s: it has no port; write it as h2c://127.0.0.1:50051", text)
	case u.Port() != "" && !isPort(u.Port()):
		return fmt.Errorf("--upstream %s: port %s is none; write one from 1 to 65535", text, u.Port())
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("--upstream %s: it has a user, query or fragment, which would be sent to nobody; write scheme, host, port and perhaps a path", u.Redacted())
	}
	return nil
}

// isPort reports whether a number is one that somebody can be called at.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// phaseless checks for what is of the phases of an experiment.
func (f injectFlags) phaseless() error {
	var errs []error
	if f.given("phase") {
		errs = append(errs, errors.New("--phase is a phase of an experiment; name its file, as in: faultline inject --phase outage experiments/quickstart.yaml"))
	}
	for _, flag := range []string{"play", "then"} {
		if f.given(flag) {
			errs = append(errs, fmt.Errorf("--%s is about the phases of an experiment; name its file, as in: faultline inject --play first --then loop experiments/quickstart.yaml", flag))
		}
	}
	return errors.Join(errs...)
}

// rule is the fault that the flags ask for; nil when they ask for none.
func (f injectFlags) rule() (*fault.Rule, error) {
	rule := fault.Rule{
		ID: nameOfInjection + "/0", Action: fault.ActionPass, Respond: fault.Respond{Status: int(f.respond)}, Latency: fault.Latency{Min: f.latency.min, Max: f.latency.max},
		Match: fault.Match{Method: strings.ToUpper(f.method), Path: f.path}, Select: fault.Select{Kind: fault.SelectAll},
	}
	var errs []error
	var actions []string
	act := func(given bool, flag string, action fault.Action) {
		if given {
			actions = append(actions, "--"+flag)
			rule.Action = action
		}
	}
	act(f.given("respond"), "respond", fault.ActionRespond)
	act(f.reset, "reset", fault.ActionReset)
	act(f.closing, "close", fault.ActionClose)
	act(f.hang, "hang", fault.ActionHang)
	act(f.refuse, "refuse", fault.ActionRefuse)
	act(f.unreachable, "unreachable", fault.ActionUnreachable)
	act(f.deaf, "deaf", fault.ActionDeaf)
	rule.Stealth, rule.Form.Malformed = f.stealth, fault.Malformed(f.malformed.word)
	if len(actions) > 1 {
		errs = append(errs, fmt.Errorf("%s: a request can suffer one of these; leave out the others", strings.Join(actions, " and ")))
	}
	if f.hang && f.latency.max > 0 {
		errs = append(errs, errors.New("--latency cannot be seen before --hang; leave out one of them"))
	}
	errs = append(errs, f.selection(&rule), f.match(), f.together(rule))
	faulty := len(actions) > 0 || f.latency.max > 0 || f.malformed.word != ""
	for _, flag := range []string{"ratio", "first", "path", "method"} {
		if f.given(flag) && !faulty {
			errs = append(errs, fmt.Errorf("--%s says whom a fault hits, and there is none; add --respond, --reset, --close, --hang, --malformed or --latency", flag))
		}
	}
	if err := errors.Join(errs...); err != nil || !faulty {
		return nil, err
	}
	return &rule, nil
}

// together checks what goes with some actions only.
func (f injectFlags) together(rule fault.Rule) error {
	var errs []error
	if f.stealth && rule.Action != fault.ActionReset && rule.Action != fault.ActionClose {
		errs = append(errs, errors.New("--stealth goes with --reset or --close, the faults of a connection"))
	}
	if f.malformed.word != "" && rule.Action != fault.ActionRespond && rule.Action != fault.ActionPass {
		errs = append(errs, fmt.Errorf("--malformed is how an answer is sent, and --%s gives none; leave out one of them", rule.Action))
	}
	for _, flag := range []string{"ratio", "first", "path", "method", "latency"} {
		if rule.Action.Door() && f.given(flag) {
			errs = append(errs, fmt.Errorf("--%s is of requests, and --%s is for all that connect; leave out one of them", flag, rule.Action))
		}
	}
	return errors.Join(errs...)
}

// selection says which of the requests that match are hit.
func (f injectFlags) selection(rule *fault.Rule) error {
	switch {
	case f.given("ratio") && f.given("first"):
		return errors.New("--ratio and --first: a fault hits a share of the requests or the first of them; leave out one of them")
	case f.given("ratio"):
		rule.Select = fault.Select{Kind: fault.SelectRatio, Num: f.ratio.Num, Den: f.ratio.Den}
	case f.given("first"):
		rule.Select = fault.Select{Kind: fault.SelectFirst, First: uint64(f.first)}
	}
	return nil
}

// match checks whom the fault hits.
func (f injectFlags) match() error {
	var errs []error
	if f.given("path") && (!strings.HasPrefix(f.path, "/") || strings.Contains(strings.TrimSuffix(f.path, "*"), "*")) {
		errs = append(errs, fmt.Errorf("--path %s: a path begins with /, and a * may stand at its end only, as '/charges*'", f.path))
	}
	letters := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' }
	if f.given("method") && (f.method == "" || strings.ContainsFunc(f.method, letters)) {
		errs = append(errs, fmt.Errorf("--method %s: write a method, as POST", f.method))
	}
	return errors.Join(errs...)
}

// httpStatus is the status of an answer as a flag; 0 is none.
type httpStatus int

// String implements pflag.Value.
func (s *httpStatus) String() string { return number(int(*s)) }

// Type implements pflag.Value.
func (s *httpStatus) Type() string { return "status" }

// Set implements pflag.Value.
func (s *httpStatus) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 200 || n > 599 {
		return errors.New("write a status from 200 to 599, as 503")
	}
	*s = httpStatus(n)
	return nil
}

// count is a number of requests as a flag; 0 is none.
type count int

// String implements pflag.Value.
func (c *count) String() string { return number(int(*c)) }

// Type implements pflag.Value.
func (c *count) Type() string { return "number" }

// Set implements pflag.Value.
func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("write a whole number from 1 on, as 10")
	}
	*c = count(n)
	return nil
}

// number writes a number, and nothing for none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// spread is a duration, or a range of them, as a flag.
type spread struct{ min, max time.Duration }

// String implements pflag.Value.
func (s *spread) String() string {
	switch {
	case s.max == 0:
		return ""
	case s.min == s.max:
		return yamldoc.FormatDuration(s.max)
	}
	return yamldoc.FormatDuration(s.min) + "-" + yamldoc.FormatDuration(s.max)
}

// Type implements pflag.Value.
func (s *spread) Type() string { return "duration[-duration]" }

// Set implements pflag.Value.
func (s *spread) Set(text string) error {
	least, most, isRange := strings.Cut(text, "-")
	if !isRange {
		most = least
	}
	var err error
	if s.min, err = yamldoc.ParseDuration(least); err == nil {
		s.max, err = yamldoc.ParseDuration(most)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; write a duration, as 200ms, or the least and the most, as 100ms-2s", err)
	case s.min < 0 || s.max == 0:
		return errors.New("a latency is longer than nothing, as 200ms")
	case s.min > s.max:
		return fmt.Errorf("%s is more than %s; write the least first, as 100ms-2s", least, most)
	}
	return nil
}

// share is an exact share as a flag, written in percent.
type share yamldoc.Share

// String implements pflag.Value.
func (s *share) String() string {
	if s.Den == 0 {
		return ""
	}
	return yamldoc.FormatShare(yamldoc.Share(*s).Float())
}

// Type implements pflag.Value.
func (s *share) Type() string { return "percent" }

// Set implements pflag.Value.
func (s *share) Set(text string) error {
	got, err := yamldoc.ParseShare(text)
	if err == nil && got.Num == 0 {
		err = errors.New("0% hits nothing, so this fault would never be seen; write more, as 40%")
	}
	*s = share(got)
	return err
}
