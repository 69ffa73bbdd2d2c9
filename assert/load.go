package assert

import (
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// Load is what became of the load of one measured phase, and how long its calls
// were answered after. Only complete answers have a latency; what is quicker since
// the sending than since the instant that a call was due is the generator's own
// delay.
type Load struct {
	Phase     string `json:"phase"`
	OpenLoop  bool   `json:"open_loop"` // a rate was asked for, so that calls were due
	Planned   int    `json:"planned"`
	Sent      int    `json:"sent"`
	Dropped   int    `json:"dropped"`
	Saturated int    `json:"saturated"`
	Answered  int    `json:"answered"`

	ServiceP50 time.Duration `json:"service_p50"` // since it was sent
	ServiceP99 time.Duration `json:"service_p99"`
	PlannedP50 time.Duration `json:"planned_p50"` // since it was due
	PlannedP99 time.Duration `json:"planned_p99"`
}

// Loads describes the load of every measured phase that sent calls, in the order
// of the run.
func Loads(t *trace.Trace) []Load {
	service, planned := map[string][]time.Duration{}, map[string][]time.Duration{}
	for _, c := range t.Calls {
		if c.Answered() {
			service[c.Phase] = append(service[c.Phase], c.End-c.Send)
			planned[c.Phase] = append(planned[c.Phase], c.End-c.Sched)
		}
	}
	var loads []Load
	for _, p := range t.Phases {
		if !p.Measure || p.Planned == 0 {
			continue
		}
		l := Load{
			Phase: p.Name, OpenLoop: p.OpenLoop, Planned: p.Planned, Sent: p.Sent,
			Dropped: p.Dropped, Saturated: p.Saturated, Answered: len(service[p.Name]),
		}
		if l.Answered > 0 {
			l.ServiceP50, l.ServiceP99 = quantile(service[p.Name], 0.5), quantile(service[p.Name], 0.99)
			l.PlannedP50, l.PlannedP99 = quantile(planned[p.Name], 0.5), quantile(planned[p.Name], 0.99)
		}
		loads = append(loads, l)
	}
	return loads
}
