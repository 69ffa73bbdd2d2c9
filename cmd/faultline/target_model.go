package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// modelOf returns the breaker that --model names, with what the other flags say of it.
// Nil: there is no --model.
func (f *targetFlags) modelOf() (*model.Config, error) {
	if f.model.word == "" {
		if f.failures != 0 {
			return nil, errors.New("--failures: Resilience4j counts shares, not failures; write --failure-rate, or name a breaker that counts with --model")
		}
		return nil, nil //nolint:nilnil // There is neither a model nor a problem.
	}
	if f.file != "" {
		return nil, fmt.Errorf("--model %s: --config is for Resilience4j's breaker; leave one of them out", f.model.word)
	}
	settings := model.Settings{}
	for _, flag := range f.given {
		if err := f.setting(&settings, flag); err != nil {
			return nil, err
		}
	}
	c, err := model.PresetWith(f.model.word, settings)
	if err != nil {
		return nil, fmt.Errorf("--model %s with %s: %w", f.model.word, strings.Join(f.given, ", "), err)
	}
	return &c, nil
}

// setting notes what a flag says.
func (f *targetFlags) setting(s *model.Settings, flag string) error {
	switch flag {
	case "--window":
		if f.window.kind == breakerref.TimeBased {
			s.Period = time.Duration(f.window.size) * time.Second
		} else {
			s.Calls = f.window.size
		}
	case "--minimum-calls":
		s.Minimum = f.minimum
	case "--failure-rate":
		s.Rate = float64(f.failure) / 100
	case "--failures":
		s.Failures = f.failures
	case "--wait":
		s.Wait = time.Duration(f.wait)
	case "--permitted-calls":
		s.Permitted = f.permitted
	default:
		return fmt.Errorf("%s: slow calls are Resilience4j's; %s has none", flag, f.model.word)
	}
	return nil
}

// modelLines describe a model.
func modelLines(c model.Config) (lines [][2]string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
	}
	add("breaker", "%s", c.Name)
	switch w := c.Window; w.Kind {
	case model.CountSliding:
		add("window", "the last %d calls", w.Size)
	case model.CountTumbling:
		add("window", "%d calls, then anew", w.Size)
	case model.TimeSliding:
		add("window", "the last %v", w.Period)
	case model.TimeTumbling:
		add("window", "%v, then anew", w.Period)
	case model.Gap:
		add("window", "failures less than %v apart", w.Period)
	case model.Cumulative:
	}
	add("opens", "%s", opensWhen(c.Trip))
	switch {
	case c.Open.Exit == model.ExitChecks:
		add("wait", "%d checks that succeed, one every %v", c.Open.Rise, c.Open.Interval)
	case c.Open.Growth != model.Constant:
		add("wait", "%v, growing with every opening", c.Open.Wait)
	default:
		add("wait", "%v", c.Open.Wait)
	}
	add("half-open", "%s", admits(c.HalfOpen))
	if c.Count.Timeout > 0 {
		add("its own timeout", "%v", c.Count.Timeout)
	}
	return lines
}

// opensWhen says what opens a breaker.
func opensWhen(t model.Trip) string {
	share := 100 * t.Rate
	if t.Arithmetic == model.Percent {
		share = t.Rate
	}
	than := "at"
	if t.Over {
		than = "above"
	}
	switch {
	case t.Rule == model.Consecutive:
		return fmt.Sprintf("after %d failures in a row", t.Failures)
	case t.Rule == model.Failures:
		return fmt.Sprintf("at %d failures", t.Failures)
	case t.Min > 0:
		return fmt.Sprintf("%s %.4g%% failures of at least %d calls", than, share, t.Min)
	}
	return fmt.Sprintf("%s %.4g%% failures", than, share)
}

// admits says which calls pass after the wait.
func admits(h model.HalfOpen) string {
	switch h.Admit {
	case model.AdmitAll:
		return "none: it closes when the wait is over"
	case model.Total:
		return fmt.Sprintf("%d calls, until it is decided", h.Permits)
	case model.Concurrent:
		return fmt.Sprintf("%d calls at a time", h.Permits)
	case model.Unlimited:
		return "every call, until it is decided"
	case model.OnePerWait:
		return "none: one call passes each time the wait is over"
	case model.WaitForProbe:
		return "one call, the others wait for what comes of it"
	}
	return ""
}
