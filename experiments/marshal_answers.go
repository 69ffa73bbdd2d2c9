package experiments

import (
	"fmt"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// putAnswerRule writes a rule about what clients and dependencies see.
func putAnswerRule(o *yamldoc.Out, rule assert.Rule) {
	switch r := rule.(type) {
	case assert.Share:
		o.Put(r.Kind(), sharesOut(r.Min, r.Max))
		o.PutIf(r.Breaker != "", "breaker", r.Breaker)
		o.PutIf(len(r.Targets) > 0, "targets", r.Targets)
	case assert.Latency:
		o.Put(r.Kind(), boundsOut(r.Bounds))
		o.PutIf(len(r.Targets) > 0, "targets", r.Targets)
	case assert.FallbackForbidden:
		m := &yamldoc.Out{}
		m.PutIf(len(r.Routes) > 0, "routes", r.Routes)
		m.PutIf(len(r.Methods) > 0, "methods", r.Methods)
		o.Put(r.Kind(), m)
	case assert.FallbackContinuity:
		m := &yamldoc.Out{}
		m.Put("items", r.Items)
		m.PutIf(r.Source != "", "source", r.Source)
		m.PutIf(len(r.Told) > 0, "told", r.Told)
		o.Put(r.Kind(), m)
		o.Put("breaker", r.Breaker)
	case assert.RecoveryTime:
		m := &yamldoc.Out{}
		m.Put("max", r.Max)
		m.Put("target", criterionOut(r.Target))
		m.Put("for", r.For)
		o.Put(r.Kind(), m)
		o.Put("breaker", r.Breaker)
	case assert.AbandonedAfter:
		m := &yamldoc.Out{}
		m.Put("injector", r.Injector)
		m.PutIf(r.Equals > 0, "equals", r.Equals)
		m.PutIf(r.Equals > 0, "tolerance", yamldoc.FormatShare(r.Tolerance))
		m.PutIf(r.Max > 0, "max", r.Max)
		o.Put(r.Kind(), m)
	case assert.DownstreamCalls:
		o.Put(r.Kind(), downstreamOut(r))
		o.PutIf(r.Breaker != "", "breaker", r.Breaker)
	default:
		putReport(o, rule)
	}
}

func downstreamOut(r assert.DownstreamCalls) *yamldoc.Out {
	m := &yamldoc.Out{}
	m.Put("injector", r.Injector)
	if r.Min != nil {
		m.Put("min", *r.Min)
	}
	if r.Max != nil {
		m.Put("max", *r.Max)
	}
	for word, state := range stateWords() {
		m.PutIf(state == r.When, "when", word)
	}
	m.PutIf(r.PerInstance, "per_instance", true)
	return m
}

func boundsOut(list []assert.QuantileBound) *yamldoc.Out {
	o := &yamldoc.Out{}
	for _, q := range quantiles() {
		for _, b := range list {
			o.PutIf(b.Quantile == q.value, q.key, b.Max)
		}
	}
	return o
}

func sharesOut(least, most *float64) *yamldoc.Out {
	o := &yamldoc.Out{}
	if least != nil {
		o.Put("min", yamldoc.FormatShare(*least))
	}
	if most != nil {
		o.Put("max", yamldoc.FormatShare(*most))
	}
	return o
}

func criteriaOut(list []assert.Criterion) []string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = criterionOut(c)
	}
	return texts
}

// criterionOut writes a criterion with all its digits, which it does not have where
// it is shown to a person.
func criterionOut(c assert.Criterion) string {
	op, limit := "<=", yamldoc.FormatShare(c.Share)
	if c.AtLeast {
		op = ">="
	}
	number := c.Subject + ofShare
	if c.Quantile > 0 {
		number, limit = assert.Latency{Subject: c.Subject}.Kind(), yamldoc.FormatDuration(c.Latency)
		for _, q := range quantiles() {
			if q.value == c.Quantile {
				number += "." + q.key
			}
		}
	}
	return fmt.Sprintf("%s %s %s", number, op, limit)
}
