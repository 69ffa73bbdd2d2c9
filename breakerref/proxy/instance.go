package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// instance is one of the service's: all that its requests share.
type instance struct {
	name    string // empty: there is no header
	main    *service
	routes  []route
	watched []*breaker    // by the actuator, sorted by name
	workers chan struct{} // one for each request under way; nil: no limit
}

// route is a Route that is served.
type route struct {
	path    string
	service *service
	respond *Answer
}

// newInstance makes the instance of a number, from 0, or says all that is wrong with it.
func newInstance(cfg Config, number int) (*instance, error) {
	at := &instance{name: instanceName(cfg, number)}
	if cfg.Instances > 1 {
		cfg.Logger = cfg.Logger.With(slog.String("instance", at.name))
	}
	if cfg.Workers > 0 {
		at.workers = make(chan struct{}, cfg.Workers)
	}
	main, err := newService(cfg, "primary", cfg.numbered(number))
	problems := []error{err}
	at.main = main
	for i, r := range cfg.Routes {
		made := route{path: r.Path, respond: r.Respond}
		switch {
		case !strings.HasPrefix(r.Path, "/"):
			err = fmt.Errorf("the path must begin with /, not %q", r.Path)
		case (r.Service == nil) == (r.Respond == nil):
			err = errors.New("it has either a service or an answer")
		case r.Service != nil:
			made.service, err = newService(cfg, fmt.Sprintf("route-%d", i+1), r.Service.numbered(number))
		default:
			err = checkAnswer("the answer", r.Respond)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("route %s: %w", r.Path, err))
		}
		at.routes = append(at.routes, made)
	}
	if err := errors.Join(problems...); err != nil || !cfg.Actuator {
		return at, err
	}
	return at, at.watch()
}

// instanceName names the instance of a number, from 0.
func instanceName(cfg Config, number int) string {
	switch {
	case cfg.Instances <= 1:
		return cfg.Instance
	case cfg.Instance == "":
		return strconv.Itoa(number + 1)
	}
	return fmt.Sprintf("%s-%d", cfg.Instance, number+1)
}

// numbered gives each instance a chance of its own: replicas draw their random waits
// apart.
func (s Service) numbered(number int) Service {
	s.Breaker.Seed += uint64(number)
	if s.Retry != nil {
		apart := *s.Retry
		apart.Seed += uint64(number)
		s.Retry = &apart
	}
	return s
}

// watch has the actuator know all breakers, unless it could not tell them apart or would
// hear too little of them.
func (at *instance) watch() error {
	for _, s := range at.services() {
		at.watched = append(at.watched, s.breaker)
	}
	slices.SortStableFunc(at.watched, func(a, b *breaker) int { return strings.Compare(a.name, b.name) })
	var problems []error
	for i, b := range at.watched {
		switch {
		case i > 0 && b.name == at.watched[i-1].name:
			problems = append(problems, fmt.Errorf("two circuit breakers are named %q, the actuator needs a name for each", b.name))
		case b.machine == nil:
			problems = append(problems, fmt.Errorf("the circuit breaker %q is %s, the actuator is Resilience4j's and knows none of its states", b.name, b.model))
		case b.cfg.TransitionsOnly:
			problems = append(problems, fmt.Errorf("the circuit breaker %q publishes its transitions only, the actuator needs all its events", b.name))
		}
	}
	return errors.Join(problems...)
}

// services are all of them.
func (at *instance) services() []*service {
	all := []*service{at.main}
	for _, r := range at.routes {
		if r.service != nil {
			all = append(all, r.service)
		}
	}
	return all
}

// find returns who serves a path: a service, or else a canned answer.
func (at *instance) find(path string) (*service, *Answer) {
	for _, r := range at.routes {
		prefix, open := strings.CutSuffix(r.path, "*")
		if r.path == path || open && strings.HasPrefix(path, prefix) {
			return r.service, r.respond
		}
	}
	return at.main, nil
}

// work waits for a worker and reports whether there was one before ctx ended.
func (at *instance) work(ctx context.Context) bool {
	if at.workers == nil {
		return true
	}
	select {
	case at.workers <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// rest gives the worker back.
func (at *instance) rest() {
	if at.workers != nil {
		<-at.workers
	}
}

// pick returns the instance that is to serve a request: the one that it names, or the
// next. Looking at an instance takes no request's turn.
func (p *Proxy) pick(r *http.Request) (*instance, error) {
	n := uint64(len(p.instances))
	if n == 1 {
		return p.instances[0], nil
	}
	if asked := r.Header.Get(Instance); asked != "" {
		for _, at := range p.instances {
			if at.name == asked {
				return at, nil
			}
		}
		return nil, fmt.Errorf("the header %s asks for the instance %q; there are %s to %s", Instance, asked, p.instances[0].name, p.instances[n-1].name)
	}
	turn := &p.turn
	if p.own(p.instances[0], r) != nil {
		turn = &p.looked
	}
	return p.instances[(turn.Add(1)-1)%n], nil
}
