package predict

import (
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// load fills in what will be sent.
func (f *Forecast) load(plan *experiments.Plan, ideal run, sluggish *trace.Trace) {
	calls, late := countCalls(ideal.trace), countCalls(sluggish)
	for _, t := range plan.Targets {
		f.Probes += calls[[2]string{probePhase, t.Name}]
	}
	f.Targets = make([]Tally, len(plan.Targets))
	for i, t := range plan.Targets {
		f.Targets[i].Name = t.Name
	}
	for i, p := range plan.Phases {
		a, b := ideal.trace.Phases[i], sluggish.Phases[i]
		ph := Phase{
			Name: p.Name, Measure: p.Measure, Load: loadWords(p), Faults: faultWords(plan, p),
			Lasts: spanOf(a.To-a.From, b.To-b.From), AtOnce: ideal.phases[i].peak, Requests: countOf(a.Sent, b.Sent),
			Unsent: a.Saturated, Rate: peakRate(p), States: stateWords(plan, ideal.phases, i), Targets: []Tally{},
		}
		for _, t := range plan.Targets {
			if n := countOf(calls[[2]string{p.Name, t.Name}], late[[2]string{p.Name, t.Name}]); n.Most > 0 {
				ph.Targets = append(ph.Targets, Tally{t.Name, n})
			}
		}
		ph.Attempts = arrived(plan, ideal.phases[i])
		ph.bound(plan, i)
		f.add(ph.Targets)
		f.Phases = append(f.Phases, ph)
		f.Duration = Span{f.Duration.Least + ph.Lasts.Least, f.Duration.Most + ph.Lasts.Most}
		f.Requests = f.Requests.plus(ph.Requests)
	}
}

// add adds the requests of a phase to those of all.
func (f *Forecast) add(requests []Tally) {
	for k, t := range f.Targets {
		for _, of := range requests {
			if of.Name == t.Name {
				f.Targets[k].N = t.N.plus(of.N)
			}
		}
	}
}

// arrived counts the attempts of a phase.
func arrived(plan *experiments.Plan, ran played) []Tally {
	out := []Tally{}
	for _, in := range plan.Injectors {
		if n := ran.arrivals[in.Name]; n > 0 && in.TCP == nil { // How many connections those take is not known.
			out = append(out, Tally{in.Name, Count{n, n}})
		}
	}
	return out
}

// plus adds two counts.
func (c Count) plus(d Count) Count { return Count{c.Least + d.Least, c.Most + d.Most} }

// countCalls counts calls by phase and target.
func countCalls(t *trace.Trace) map[[2]string]int {
	n := map[[2]string]int{}
	for i := range t.Calls {
		n[[2]string{t.Calls[i].Phase, t.Calls[i].Target}]++
	}
	return n
}

func spanOf(a, b time.Duration) Span { return Span{min(a, b), max(a, b)} }

func countOf(a, b int) Count { return Count{min(a, b), max(a, b)} }

// peakRate is how many calls are due within a second, where the clock decides.
func peakRate(p experiments.Phase) float64 {
	if p.Duration <= 0 {
		return 0
	}
	return float64(p.Peak(time.Second))
}

// about is how many calls a plan sends at the most, where that is known.
func about(plan *experiments.Plan) int {
	n := 0
	for _, p := range plan.Phases {
		switch {
		case p.Calls != nil:
			n += p.Calls.N
		case p.Clients != nil:
			n += p.Clients.N
		case p.Sessions != nil:
			n += p.Sessions.Users * p.Sessions.Rounds
		default:
			n += p.Schedule(plan.Seed).Count(p.Duration)
		}
	}
	return min(n, 1_000_000) // It only saves time.
}
