package run

import (
	"context"
	"math"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// startReference runs faultline's own service in this process.
func (r *runner) startReference(ctx context.Context, ref experiments.Reference) error {
	cfg := proxy.Config{
		Addr: "127.0.0.1:0", Listen: r.opt.Listen, Dial: r.opt.Dial, Logger: r.log,
		Service: r.service(ref), Workers: ref.Workers, Actuator: asksActuator(r.plan),
	}
	for _, route := range ref.Routes {
		made := proxy.Route{Path: route.Path, Respond: answer(route.Respond)}
		if route.Service != nil {
			s := r.service(*route.Service)
			made.Service = &s
		}
		cfg.Routes = append(cfg.Routes, made)
	}
	p, err := proxy.Start(ctx, cfg)
	if err != nil {
		return &PreconditionError{What: "reference service: " + err.Error()}
	}
	r.proxy, r.baseURL = p, p.URL()
	r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkLaunch, Text: "reference service in this process"})
	return nil
}

// service is how the reference service calls one of its dependencies.
func (r *runner) service(ref experiments.Reference) proxy.Service {
	return proxy.Service{
		Upstream: overHTTP(r.live.injectors[ref.Injector]), Breaker: ref.Breaker, Model: ejecting(ref.Ejection), Failure: ref.Failure, Timeout: ref.Timeout,
		Fallback: answer(ref.Fallback), Pool: ref.Pool, Policies: policies(ref), Defect: proxy.Defect(ref.Defect), Paging: paging(ref.Paging),
	}
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

// policies are what the reference service has around its breaker.
func policies(ref experiments.Reference) (p proxy.Policies) {
	if ref.Attempts > 1 {
		p.Retry = &retry.Config{MaxAttempts: ref.Attempts, Wait: ref.RetryWait}
	}
	if ref.Bulkhead > 0 {
		p.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: ref.Bulkhead}
	}
	return p
}

// answer is a canned answer, or none.
func answer(a *fault.Respond) *proxy.Answer {
	if a == nil {
		return nil
	}
	return &proxy.Answer{Status: a.Status, Headers: a.Headers, Body: a.Body}
}
