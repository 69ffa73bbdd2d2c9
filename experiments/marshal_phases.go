package experiments

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

func phaseOut(p Phase) *yamldoc.Out {
	o, load := &yamldoc.Out{}, loadOut(p)
	o.Put("name", p.Name)
	// A phase of calls, sessions or steps ends by itself.
	o.PutIf(p.Calls == nil && p.Sessions == nil && len(p.Steps) == 0, "duration", p.Duration)
	o.PutIf(p.Align > 0, "align", p.Align)
	o.Put("load", load)
	o.Put("measure", p.Measure)
	o.PutIf(len(p.Targets) > 0 && p.Sessions == nil, "targets", p.Targets)
	if faults := faultsOut(p.Faults); len(faults) > 0 {
		o.Put("faults", faults)
	}
	return o
}

// loadOut writes what a phase sends.
func loadOut(p Phase) *yamldoc.Out {
	o := &yamldoc.Out{}
	switch {
	case p.Calls != nil:
		o.Put(shapeCalls, p.Calls.N)
		o.Put("concurrency", p.Calls.Concurrency)
		o.PutIf(p.Calls.Gap > 0, "gap", p.Calls.Gap)
		o.PutIf(p.Calls.Until != "", "until", p.Calls.Until)
		o.PutIf(p.Calls.Until != "", "breaker", p.Calls.Breaker)
		o.PutIf(p.Calls.UntilArrivals > 0, "until_arrivals", p.Calls.UntilArrivals)
	case p.Clients != nil:
		o.Put(shapeClients, p.Clients.N)
		o.Put("think", thinkOut(p.Clients.ThinkMin, p.Clients.ThinkMax))
	case p.Sessions != nil:
		o.Put(shapeSessions, sessionsOut(*p.Sessions))
	case p.Burst != nil:
		b := &yamldoc.Out{}
		b.Put("calls", p.Burst.Calls)
		b.Put("every", p.Burst.Every)
		o.Put(shapeBurst, b)
	case p.Ramp != nil:
		b := &yamldoc.Out{}
		b.Put("from", yamldoc.Rate(p.Ramp.From).String())
		b.Put("to", yamldoc.Rate(p.Ramp.To).String())
		o.Put(shapeRamp, b)
	case len(p.Steps) > 0:
		o.Put(shapeSteps, each(p.Steps, func(s Step) *yamldoc.Out {
			b := &yamldoc.Out{}
			b.Put("rate", yamldoc.Rate(s.Rate).String())
			b.Put("for", s.For)
			return b
		}))
	default:
		o.Put(shapeRate, yamldoc.Rate(p.Rate).String())
	}
	o.PutIf(p.Poisson, "arrivals", "poisson")
	return o
}

func thinkOut(least, most time.Duration) any {
	if least == most {
		return least
	}
	o := &yamldoc.Out{}
	o.Put("uniform", uniformOut(least, most))
	return o
}

func uniformOut(least, most time.Duration) []string {
	return []string{yamldoc.FormatDuration(least), yamldoc.FormatDuration(most)}
}

// faultsOut writes the faults of all injectors in the order of their numbers.
func faultsOut(byInjector map[string][]fault.Rule) []*yamldoc.Out {
	type numbered struct {
		number int
		out    *yamldoc.Out
	}
	var all []numbered
	for injector, rules := range byInjector {
		for _, rule := range rules {
			_, number, _ := strings.Cut(rule.ID, "/")
			n, _ := strconv.Atoi(number)
			o := &yamldoc.Out{}
			o.Put("injector", injector)
			putFault(o, rule)
			all = append(all, numbered{n, o})
		}
	}
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	return each(all, func(n numbered) *yamldoc.Out { return n.out })
}
