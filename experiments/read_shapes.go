package experiments

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// The keys of a phase's load that say what it is.
const (
	shapeRate     = "rate"
	shapeRamp     = "ramp"
	shapeSteps    = "steps"
	shapeBurst    = "burst"
	shapeClients  = "clients"
	shapeSessions = "sessions"
	shapeCalls    = "calls"
)

// shapes are the keys of a phase's load of which it has one.
func shapes() []string {
	return []string{shapeRate, shapeRamp, shapeSteps, shapeBurst, shapeClients, shapeSessions, shapeCalls}
}

// detail is a key of a phase's load that says more of some shapes.
type detail struct {
	key string
	of  []string
}

func details() []detail {
	timed, calls := []string{shapeRate, shapeRamp, shapeSteps}, []string{shapeCalls}
	return []detail{
		{"arrivals", timed},
		{"think", []string{shapeClients}},
		{"concurrency", calls},
		{"gap", calls},
		{"until", calls},
		{"until_arrivals", calls},
		{"breaker", calls},
	}
}

// phaseLoad reads what a phase sends, and for how long.
func (r *reader) phaseLoad(p *Phase, m *yamldoc.Map) {
	load, duration := m.Get("load").Map("{rate: 100/s}"), m.Get("duration")
	defer load.Done()
	shape := load.Choice(shapes()...)
	r.shape(p, m, load, shape)
	for _, d := range details() {
		if v := load.Get(d.key); v.Exists() && !slices.Contains(d.of, shape) {
			load.Lacks(v, d.of, "goes with %s%s", strings.Join(d.of, ", "), insteadOf(shape))
		}
	}
	switch {
	case load.Exists() && shape == "":
		load.Lacks(load.Value, shapes(), "says none of %s", strings.Join(shapes(), ", "))
		return
	case shape == "" && m.Exists() && !m.Has("load") && !r.rate.Exists() && !r.noRate:
		m.Lacks(m.Get("load"), []string{"load", "pause"},
			"is missing; write load: {rate: 100/s} or {calls: 20} here, or a rate for all phases in the file's section load")
		return
	}
	p.lasts(m, duration, shape)
}

func insteadOf(shape string) string {
	if shape == "" {
		return ""
	}
	return ", not with " + shape
}

// shape reads the key that a load has, or else the rate of all phases.
func (r *reader) shape(p *Phase, m, load *yamldoc.Map, shape string) {
	switch shape {
	case shapeRate:
		rate, _ := load.Get(shape).Rate()
		p.Rate = Rate(rate)
	case shapeRamp:
		p.Ramp = ramp(load.Get(shape))
	case shapeSteps:
		p.Steps = steps(load.Get(shape))
	case shapeBurst:
		p.Burst = burst(load.Get(shape))
	case shapeClients:
		p.Clients = &Clients{N: load.Get(shape).Count(1, 1)}
		p.Clients.ThinkMin, p.Clients.ThinkMax = think(load.Get("think"))
	case shapeSessions:
		p.Sessions = r.sessions(p, m, load.Get(shape))
	case shapeCalls:
		p.Calls = r.calls(p, load)
	default:
		rate, _ := r.rate.Rate()
		p.Rate = Rate(rate)
	}
	if arrivals := load.Get("arrivals"); arrivals.OneOf("even", "even", "poisson") == "poisson" {
		p.Poisson = true
		if p.pause() {
			arrivals.Problemf("0/s sends nothing, so nothing arrives")
		}
	}
}

// ramp reads a rate that changes evenly.
func ramp(v yamldoc.Value) *Ramp {
	m := v.Map("{from: 10/s, to: 200/s}")
	defer m.Done()
	from, ok := m.Need("from").Rate()
	to, both := m.Need("to").Rate()
	if ok && both && from.Num == 0 && to.Num == 0 {
		v.Problemf("from 0/s to 0/s sends nothing; write pause: 5s for a phase without calls")
	}
	return &Ramp{From: Rate(from), To: Rate(to)}
}

// steps reads rates one after the other. One of them may be a pause.
func steps(v yamldoc.Value) []Step {
	var list []Step
	items := v.Items()
	sends, known := false, len(items) > 0
	for _, item := range items {
		m := item.Map("{rate: 10/s, for: 5s}")
		rate, ok := m.Need("rate").Rate()
		list = append(list, Step{Rate: Rate(rate), For: m.Need("for").Duration(0)})
		m.Done()
		sends, known = sends || rate.Num > 0, known && ok
	}
	if known && !sends {
		v.Problemf("sends nothing, as all rates are 0/s; write pause: 5s for a phase without calls")
	}
	return list
}

// burst reads calls that are due at one instant.
func burst(v yamldoc.Value) *Burst {
	m := v.Map("{calls: 20, every: 1s}")
	defer m.Done()
	return &Burst{Calls: m.Need("calls").Count(1, 1), Every: m.Need("every").Duration(0)}
}

// think reads the time between a client's answer and its next call.
func think(v yamldoc.Value) (least, most time.Duration) {
	if !v.IsMap() {
		d := v.DurationOrZero(0)
		return d, d
	}
	m := v.Map("")
	defer m.Done()
	u := m.Get("uniform")
	if !u.Exists() {
		m.Lacks(m.Value, []string{"uniform"}, "says no time; write 200ms or {uniform: [100ms, 300ms]}")
	}
	return uniform(u)
}

// uniform reads the least and the most of a time that lies evenly between them.
func uniform(v yamldoc.Value) (least, most time.Duration) {
	if !v.Exists() {
		return 0, 0
	}
	ends := v.List()
	if len(ends) != 2 {
		v.Problemf("is a list of the least and the most, such as [10ms, 50ms]")
		return 0, 0
	}
	least, most = ends[0].DurationOrZero(0), ends[1].Duration(0)
	if most > 0 && least > most {
		v.Problemf("runs backwards: %s is above %s", yamldoc.FormatDuration(least), yamldoc.FormatDuration(most))
	}
	return least, most
}

// calls reads a number of calls.
func (r *reader) calls(p *Phase, load *yamldoc.Map) *Calls {
	until, breaker := load.Get("until"), load.Get("breaker")
	c := &Calls{
		N:           load.Get(shapeCalls).Count(1, 1),
		Concurrency: load.Get("concurrency").Count(1, 1),
		Gap:         load.Get("gap").DurationOrZero(0),
		Until:       until.OneOf("", "open", "closed"),

		UntilArrivals: load.Get("until_arrivals").Count(0, 1),
	}
	if !until.Exists() {
		if breaker.Exists() {
			load.Lacks(breaker, []string{"until"}, "goes with until, whose state it is")
		}
		return c
	}
	c.Breaker = r.breakers.referOr(breaker)
	if c.Breaker != "" && !r.asks(*p, c.Breaker) {
		until.Problemf("no target of this phase asks breaker %s, so nothing could change its state", c.Breaker)
	}
	return c
}

// lasts reads how long a phase takes, where its load does not say so.
func (p *Phase) lasts(m *yamldoc.Map, duration yamldoc.Value, shape string) {
	switch shape {
	case shapeCalls, shapeSessions:
		if duration.Exists() {
			duration.Problemf("is not for a phase of %s, which ends with its last call", shape)
		}
		return
	case shapeSteps:
		if duration.Exists() {
			duration.Problemf("is not for a phase of steps, which lasts for their sum")
		}
		for _, s := range p.Steps {
			if s.For > math.MaxInt64-p.Duration {
				m.Key("load").Problemf("the steps last for more than can be counted")
				return
			}
			p.Duration += s.For
		}
		p.refuseNone(m.Key("load"))
		return
	}
	p.Duration = duration.Duration(0)
	if m.Exists() && !duration.Exists() {
		kind := shape
		if kind == "" {
			kind = shapeRate
		}
		m.Lacks(duration, []string{"duration", "load", "pause"}, "is missing; a phase with %s lasts for a time", kind)
	}
	p.refuseNone(duration)
}

// refuseNone notes that a phase is too short for its rate.
func (p *Phase) refuseNone(v yamldoc.Value) {
	planned := units(p.Rate, p.Duration)
	word := yamldoc.Rate(p.Rate).String()
	switch {
	case p.Ramp != nil:
		planned = units(p.Ramp.From, p.Duration)/2 + units(p.Ramp.To, p.Duration)/2
		word = yamldoc.Rate(p.Ramp.From).String() + " to " + yamldoc.Rate(p.Ramp.To).String()
	case len(p.Steps) > 0:
		planned, word = 0, "these steps"
		for _, s := range p.Steps {
			planned += units(s.Rate, s.For)
		}
	}
	if p.Duration > 0 && planned > 0 && planned < 1 {
		v.Problemf("%s at %s is not even one call", yamldoc.FormatDuration(p.Duration), word)
	}
}

// units is how many calls a rate makes in a time.
func units(r Rate, d time.Duration) float64 {
	if r.Per == 0 {
		return 0
	}
	return float64(r.Num) * float64(d) / float64(r.Per)
}

// inFlight is how many calls of a phase may be under way when none is answered
// before the timeout, and how many of them are sent at one instant.
func (p *Phase) inFlight(timeout time.Duration) (most float64, atOnce int) {
	switch {
	case p.Calls != nil:
		return float64(p.Calls.Concurrency), p.Calls.Concurrency
	case p.Clients != nil:
		return float64(p.Clients.N), p.Clients.N
	case p.Sessions != nil:
		return float64(p.Sessions.Users), p.Sessions.Users
	case p.Burst != nil:
		volleys := 1.0
		if p.Burst.Every > 0 {
			volleys = max(1, math.Ceil(float64(timeout)/float64(p.Burst.Every)))
		}
		return float64(p.Burst.Calls) * volleys, p.Burst.Calls
	}
	most = units(p.Rate, timeout)
	if p.Ramp != nil {
		most = max(units(p.Ramp.From, timeout), units(p.Ramp.To, timeout))
	}
	for _, s := range p.Steps {
		most = max(most, units(s.Rate, timeout))
	}
	if p.Poisson {
		most += 4 * math.Sqrt(most) // Four deviations: about one stretch in 30,000 has more.
	}
	return math.Ceil(most), 0
}
