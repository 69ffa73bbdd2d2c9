package experiments

import (
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// putLatency writes what is added to a request's time, if anything is.
func putLatency(o *yamldoc.Out, l fault.Latency) {
	if l.Ramp != nil {
		ramp := latencyRampOut(l.Ramp)
		putLate(ramp, l)
		o.Put("latency", ramp)
		return
	}
	putLaw(o, "latency", l)
}

// lawOut begins a law with its place.
func lawOut(l fault.Latency) *yamldoc.Out {
	o := &yamldoc.Out{}
	putLate(o, l)
	return o
}

// putLaw writes a latency that has a law below a key.
func putLaw(o *yamldoc.Out, key string, l fault.Latency) {
	law, below := lawOut(l), &yamldoc.Out{}
	put := func(name string, limit time.Duration) {
		below.PutIf(limit > 0, "cap", limit)
		law.Put(name, below)
	}
	switch {
	case l.Normal != nil:
		below.Put("mean", l.Normal.Mean)
		below.Put("sd", l.Normal.SD)
		put("normal", l.Normal.Cap)
	case l.Lognormal != nil:
		below.Put("median", l.Lognormal.Median)
		below.PutIf(l.Lognormal.P99 > 0, "p99", l.Lognormal.P99)
		below.PutIf(l.Lognormal.Sigma > 0, "sigma", l.Lognormal.Sigma)
		put("lognormal", l.Lognormal.Cap)
	case l.Exponential != nil:
		below.Put("mean", l.Exponential.Mean)
		put("exponential", l.Exponential.Cap)
	case l.Pareto != nil:
		below.Put("min", l.Pareto.Min)
		below.Put("alpha", l.Pareto.Alpha)
		put("pareto", l.Pareto.Cap)
	case l.Table != nil:
		points := &yamldoc.Out{}
		for _, p := range l.Table.Points {
			points.Put("p"+strings.TrimSuffix(yamldoc.FormatShare(p.Quantile), "%"), p.At)
		}
		below.Put("points", points)
		below.PutIf(l.Table.Log, "scale", "log")
		put("table", 0)
	case len(l.Trace) > 0:
		var values []string
		for _, d := range l.Trace {
			values = append(values, yamldoc.FormatDuration(d))
		}
		law.Put("trace", values)
	case l.Max > 0 && l.Min == l.Max:
		law.Put("fixed", l.Max)
	case l.Max > 0:
		law.Put("uniform", uniformOut(l.Min, l.Max))
	default:
		return
	}
	o.Put(key, law)
}
