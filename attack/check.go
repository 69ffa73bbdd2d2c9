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
	switch {
	case p.Sessions != nil:
		return a.checkSessions(p)
	case p.Clients != 0 || p.ThinkMin != 0 || p.ThinkMax != 0:
		return checkClients(p)
	case p.Schedule == nil:
		return checkCalls(p)
	}
	return checkRate(p)
}

func (a *Attacker) checkSessions(p Phase) error {
	s := p.Sessions
	switch {
	case p.Schedule != nil || p.Calls != 0 || p.Concurrency != 0 || p.Gap != 0 || p.Until != nil || p.MaxInFlight != 0 ||
		p.Clients != 0 || p.ThinkMin != 0 || p.ThinkMax != 0 || p.Duration != 0:
		return errors.New("it has sessions and settings of another load, or a duration: choose one")
	case s.Users < 1 || s.Rounds < 1:
		return fmt.Errorf("its sessions need a user and a round at least, not %d and %d", s.Users, s.Rounds)
	case s.ThinkMin < 0 || s.ThinkMax < s.ThinkMin:
		return fmt.Errorf("its users cannot think for %v to %v", s.ThinkMin, s.ThinkMax)
	case len(s.Script.Steps) == 0:
		return errors.New("its sessions have no steps")
	case s.Script.Restarts < 0:
		return fmt.Errorf("its rounds cannot be begun anew %d times", s.Script.Restarts)
	}
	for i, step := range s.Script.Steps {
		if step.While != "" && step.Most < 1 {
			return fmt.Errorf("step %d is made again at most %d times", i+1, step.Most)
		}
	}
	r, err := a.routine(p)
	if err != nil {
		return err
	}
	if _, err := a.prepare(r.targets[0]); err != nil {
		return fmt.Errorf("step 1: %w", err)
	}
	return nil
}

func checkClients(p Phase) error {
	switch {
	case p.Schedule != nil || p.Calls != 0 || p.Concurrency != 0 || p.Gap != 0 || p.Until != nil || p.MaxInFlight != 0:
		return errors.New("it has clients and settings of a rate or of calls: choose one")
	case p.Clients < 1:
		return fmt.Errorf("its clients must be at least 1, not %d", p.Clients)
	case p.ThinkMin < 0 || p.ThinkMax < p.ThinkMin:
		return fmt.Errorf("its clients cannot think for %v to %v", p.ThinkMin, p.ThinkMax)
	case p.Duration <= 0:
		return fmt.Errorf("its duration must be positive, not %v", p.Duration)
	}
	return nil
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
