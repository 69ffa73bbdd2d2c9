package run

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/probe"
)

// envoyClusters is the page of Envoy's admin interface with what it ejected.
const envoyClusters = "/clusters?format=json"

// The actuator's pages of states and, below the second, of events.
const (
	actuatorStates = "/circuitbreakers"
	actuatorEvents = "/circuitbreakerevents/"
)

// startProbes asks the SUT what it thinks of itself, beside the phases. Each server is asked
// by itself, for one page at a time.
func (r *runner) startProbes(ctx context.Context) {
	var servers []*probe.Config
	for _, p := range r.plan.Probes {
		for _, want := range pagesOf(p) {
			servers = r.ask(servers, want, p)
		}
	}
	for _, a := range r.plan.Assertions {
		if rule, ok := a.Rule.(assert.MetricAgrees); ok {
			reading := probe.Reading{Form: probe.FormCounter, Subject: rule.Subject(), Name: rule.Name, Labels: rule.Labels}
			servers = r.ask(servers, wanted{rule.Prometheus, reading}, experiments.StateProbe{})
		}
	}
	for _, s := range servers {
		s.Every = cmp.Or(s.Every, probe.DefaultEvery)
		r.watch(ctx, func(ctx context.Context) { probe.Poll(ctx, *s) })
	}
}

// wanted is a reading and its page: a path of the SUT, or an address.
type wanted struct {
	page    string
	reading probe.Reading
}

// pagesOf are the pages that tell of a breaker's state. The actuator has another one with the
// instants of its changes.
func pagesOf(p experiments.StateProbe) []wanted {
	reading := func(f probe.Form) probe.Reading {
		return probe.Reading{Form: f, Subject: p.Breaker, Name: p.Name, Host: p.Host}
	}
	switch {
	case p.Envoy != "":
		return []wanted{{strings.TrimSuffix(p.Envoy, "/") + envoyClusters, reading(probe.FormEnvoy)}}
	case p.Prometheus != "":
		return []wanted{{p.Prometheus, reading(probe.FormPrometheus)}}
	}
	pages := []wanted{{p.Actuator, reading(probe.FormActuator)}}
	if base, ok := strings.CutSuffix(p.Actuator, actuatorStates); ok {
		pages = append(pages, wanted{base + actuatorEvents + url.PathEscape(p.Name) + "/STATE_TRANSITION", reading(probe.FormEvents)})
	}
	return pages
}

// ask adds a reading to what is asked of the servers that have its page.
func (r *runner) ask(servers []*probe.Config, want wanted, p experiments.StateProbe) []*probe.Config {
	for _, at := range r.serversOf(want.page) {
		i := slices.IndexFunc(servers, func(s *probe.Config) bool { return s.BaseURL == at.base && s.Instance == at.instance })
		if i < 0 {
			i = len(servers)
			servers = append(servers, &probe.Config{
				BaseURL: at.base, Instance: at.instance, InstanceHeader: r.plan.SUT.InstanceHeader, Recorder: r.rec, Dial: r.opt.Dial,
			})
		}
		s := servers[i]
		if s.Every == 0 || p.Every > 0 && p.Every < s.Every {
			s.Every = p.Every
		}
		k := slices.IndexFunc(s.Pages, func(page probe.Page) bool { return page.Path == at.path })
		if k < 0 {
			k = len(s.Pages)
			s.Pages = append(s.Pages, probe.Page{Path: at.path})
		}
		s.Pages[k].Add(want.reading)
	}
	return servers
}

// server is one that has a page.
type server struct{ base, path, instance string }

// serversOf are those that have a page: of a path, every replica; of an address, one, which
// may be a replica's.
func (r *runner) serversOf(page string) []server {
	if !strings.HasPrefix(page, "/") {
		u, err := url.Parse(page)
		if err != nil {
			return nil // The reader has refused it.
		}
		one := server{base: u.Scheme + "://" + u.Host, path: u.RequestURI()}
		for _, replica := range r.replicas {
			if strings.TrimSuffix(replica.BaseURL, "/") == one.base {
				one.instance = replica.Name
			}
		}
		return []server{one}
	}
	if len(r.replicas) == 0 {
		return []server{{base: r.baseURL, path: page}}
	}
	var all []server
	for _, replica := range r.replicas {
		all = append(all, server{replica.BaseURL, page, replica.Name})
	}
	return all
}

// asksActuator reports whether a page of the reference service's own actuator is asked for.
func asksActuator(plan *experiments.Plan) bool {
	pages := []string{}
	for _, p := range plan.Probes {
		pages = append(pages, p.Actuator, p.Prometheus)
	}
	for _, a := range plan.Assertions {
		if rule, ok := a.Rule.(assert.MetricAgrees); ok {
			pages = append(pages, rule.Prometheus)
		}
	}
	return slices.ContainsFunc(pages, func(page string) bool { return strings.HasPrefix(page, proxy.ActuatorPath+"/") })
}
