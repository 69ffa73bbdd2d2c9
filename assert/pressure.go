package assert

import (
	"fmt"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// crowded is the share of a phase in which something waited for a CPU from which on
// a bound in time that was missed may be the machine's fault.
const crowded = 0.5

// starvation is how long a service may be kept from a CPU on such a machine: what
// was seen with twenty runnable processes on two CPUs, 400 ms, and more than twice
// as much for safety.
const starvation = time.Second

// pressure says for how much of a phase this machine had too few CPUs. As with
// late arrivals it breaches nothing by itself, and is found wanting by a verdict
// that fails by no more than that can cause.
func (e *evidence) pressure(p trace.Phase) []Check {
	waited := time.Duration(0)
	for _, m := range e.trace.Marks {
		share, err := strconv.ParseFloat(m.Text, 64)
		if m.Kind != trace.MarkPressure || err != nil {
			continue
		}
		if in := min(m.At, p.To) - max(m.At-m.Dur, p.From); in > 0 {
			waited += time.Duration(float64(in) * share)
		}
	}
	if p.To <= p.From || waited == 0 {
		return nil
	}
	share := float64(waited) / float64(p.To-p.From)
	c := Check{
		Name: checkPressure, Phase: p.Name, OK: true, share: share,
		Expected: "free CPU where a bound in time is missed",
		Observed: fmt.Sprintf("something on this machine waited for a CPU for %s of the phase", percent(share)),
		Remedy:   "run on a machine with more free CPU",
	}
	if share > crowded {
		c.late = starvation
	}
	return []Check{c}
}
