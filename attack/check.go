package attack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// parseBase reads the SUT's base URL.
func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("base URL of the system under test: %w", err)
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("base URL %q of the system under test: want http:// or https:// and a host", s)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("base URL %q of the system under test: put the query into the targets' paths", s)
	}
	return base, nil
}

// check refuses a phase that cannot be carried out.
func (a *Attacker) check(p Phase) error {
	phases := a.cfg.Correlator.Phases
	switch {
	case p.Index < 0 || p.Index >= len(phases) || phases[p.Index] != p.Name:
		return fmt.Errorf("it is not number %d of the correlator's phases %q", p.Index, phases)
	case len(p.Targets) == 0:
		return errors.New("it has no targets")
	}
	for _, t := range p.Targets {
		if t.Weight < 0 {
			return fmt.Errorf("target %q: its weight is %d, less than 0", t.Name, t.Weight)
		}
		if _, err := a.request(context.Background(), t); err != nil {
			return fmt.Errorf("target %q: %w", t.Name, err)
		}
	}
	if p.Schedule == nil {
		return checkCalls(p)
	}
	return checkRate(p)
}

func checkRate(p Phase) error {
	switch {
	case p.Calls != 0 || p.Concurrency != 0 || p.Gap != 0 || p.Until != nil:
		return errors.New("it has a rate and settings of calls mode: choose one")
	case p.Duration <= 0:
		return fmt.Errorf("its duration must be positive, not %v", p.Duration)
	case p.MaxInFlight < 1:
		return fmt.Errorf("its calls in flight must be at least 1, not %d", p.MaxInFlight)
	}
	return nil
}

func checkCalls(p Phase) error {
	switch {
	case p.Duration != 0 || p.MaxInFlight != 0:
		return errors.New("it has no rate, but a duration or a limit of calls in flight: choose one of rate and calls")
	case p.Calls < 1:
		return fmt.Errorf("its number of calls must be at least 1, not %d", p.Calls)
	case p.Concurrency < 1:
		return fmt.Errorf("its concurrency must be at least 1, not %d", p.Concurrency)
	case p.Gap < 0:
		return fmt.Errorf("its gap must not be negative: %v", p.Gap)
	}
	return nil
}
