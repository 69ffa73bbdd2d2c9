package run

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// startReference runs faultline's own service in this process.
func (r *runner) startReference(ctx context.Context, ref experiments.Reference) error {
	cfg, err := r.reference(ref)
	if err != nil {
		return &PreconditionError{What: "reference service: " + err.Error()}
	}
	p, err := proxy.Start(ctx, cfg)
	if err != nil {
		return &PreconditionError{What: "reference service: " + err.Error()}
	}
	r.proxy, r.baseURL = p, p.URL()
	r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkLaunch, Text: "reference service in this process"})
	return nil
}

// reference is what it is set to.
func (r *runner) reference(ref experiments.Reference) (proxy.Config, error) {
	main, err := r.service(ref)
	cfg := proxy.Config{
		Addr: "127.0.0.1:0", Listen: r.opt.Listen, Dial: r.opt.Dial, Logger: r.log,
		Service: main, Workers: ref.Workers, Actuator: asksActuator(r.plan),
	}
	for _, route := range ref.Routes {
		made := proxy.Route{Path: route.Path, Respond: answer(route.Respond)}
		if route.Service != nil {
			s, wrong := r.service(*route.Service)
			made.Service, err = &s, errors.Join(err, wrong)
		}
		cfg.Routes = append(cfg.Routes, made)
	}
	return cfg, err
}

// service is how the reference service calls one of its dependencies.
func (r *runner) service(ref experiments.Reference) (proxy.Service, error) {
	s := proxy.Service{
		Upstream: overHTTP(r.live.injectors[ref.Injector]), Breaker: ref.Breaker, Failure: ref.Failure, Timeout: ref.Timeout,
		Fallback: answer(ref.Fallback), Pool: ref.Pool, Policies: policies(ref, r.plan.Seed), Defect: proxy.Defect(ref.Defect), Paging: paging(ref.Paging),
	}
	s.Breaker.Seed = r.plan.Seed
	if c := ref.Cache; c != nil {
		s.CacheGood, s.CacheMaxAge = c.Answers, c.MaxAge
	}
	if ref.Model != nil {
		other, err := ref.Model.Config()
		if err != nil {
			return s, fmt.Errorf("its breaker: %w", err)
		}
		s.Model = &other
	}
	if ref.Ejection != nil {
		s.Model = ejecting(ref.Ejection)
	}
	return s, nil
}

// ejecting is the model of a proxy that ejects its only host, or none.
func ejecting(e *experiments.Eject) *model.Config {
	if e == nil {
		return nil
	}
	c, _ := model.Preset("envoy") // There is one of that name.
	c.Trip.Failures = e.After
	c.Open.Wait, c.Open.MaxWait, c.Open.Interval = e.Base, e.Max, e.Tick
	c.Hosts = model.Hosts{Count: 1, MaxEjected: int(math.Round(e.Share * 100))}
	return &c
}

// paging is a list in two sources, or none.
func paging(p *experiments.Paging) *proxy.Paging {
	if p == nil {
		return nil
	}
	return &proxy.Paging{Items: p.Items, Page: p.Page, Switch: proxy.Switch(p.OnSwitch)}
}

// answer is a canned answer, or none.
func answer(a *fault.Respond) *proxy.Answer {
	if a == nil {
		return nil
	}
	return &proxy.Answer{Status: a.Status, Headers: a.Headers, Body: a.Body}
}
