package assert_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// drawn is rapid's source with short names.
type drawn struct{ *rapid.T }

func (d drawn) int(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(d.T, what) }

// one in n.
func (d drawn) rare(n int, what string) bool { return d.int(1, n, what) == n }

func (d drawn) ms(lo, hi int, what string) time.Duration {
	return time.Duration(d.int(lo, hi, what)) * ms
}

func (d drawn) span(lo, hi int, what string) span {
	a := d.ms(lo, hi, what)
	return span{a / 2, a + ms}
}

// config draws a breaker.
func (d drawn) config() breakerref.Config {
	c := breakerref.Default()
	c.Window = d.int(5, 50, "window")
	c.MinimumCalls = d.int(2, c.Window+5, "minimum")
	c.FailureRate = float32(d.int(20, 100, "rate"))
	c.Wait = d.ms(300, 3000, "wait")
	c.Permitted = d.int(1, 20, "permitted")
	if d.rare(8, "time based") {
		c.WindowType = breakerref.TimeBased
	}
	if d.rare(8, "grows") {
		c.WaitMultiplier = 1.5
		c.WaitMax = 3 * c.Wait
	}
	return c
}

// setup draws a SUT and a client.
func (d drawn) setup() setup {
	s := setup{
		Seed: rapid.Uint64().Draw(d.T, "seed"), Breaker: d.config(), Failure: match.DefaultFailure(), Unit: assert.UnitAttempt,
		Net: span{20 * time.Microsecond, 300 * time.Microsecond}, Own: span{50 * time.Microsecond, ms},
		Post: span{20 * time.Microsecond, 500 * time.Microsecond}, Base: d.span(1, 40, "base"),
		Fallback: fixed(200 * time.Microsecond), SUTTimeout: 2 * time.Second, ClientTimeout: 8 * time.Second,
	}
	switch d.int(0, 6, "set-up") {
	case 0:
		s.Pool = d.int(1, 5, "pool")
	case 1:
		s.Fallback = d.span(50, 400, "fallback")
	case 2:
		s.Retry = retry{Attempts: d.int(2, 3, "attempts"), Backoff: d.span(1, 300, "backoff"), Rejections: d.rare(2, "retries rejections")}
	case 3:
		s.Unit = assert.UnitCall
		s.Retry = retry{Attempts: d.int(2, 3, "attempts"), Backoff: d.span(1, 100, "backoff"), Inside: true}
	case 4:
		s.Second, s.SecondTook = true, d.span(1, 100, "second took")
	case 5:
		s.Own = d.span(1, 60, "own")
		s.Post = d.span(1, 30, "post")
	}
	if d.rare(4, "stalls") {
		s.Stalls = stalls{Every: d.ms(200, 4000, "distance"), Took: span{50 * ms, 200 * ms}}
	}
	if d.rare(6, "undeclared") {
		s.Undeclared = true
	}
	if d.rare(6, "running") {
		s.Running = rapid.SliceOfN(rapid.Bool(), 1, 30).Draw(d.T, "before")
	}
	s.Probe = d.int(0, 1, "probes before")
	if d.rare(8, "instances") {
		s.Instances = 2
	}
	s.Replicas = s.Instances > 0 && d.rare(2, "replicas")
	s.Aggregate = d.rare(5, "aggregate")
	if d.rare(3, "pay") {
		s.Pay = d.int(2, 4, "pay")
	}
	if d.rare(6, "client leaves first") {
		s.ClientTimeout, s.Propagates = d.ms(200, 1900, "client timeout"), true
	}
	return s
}

// load draws the traffic of a phase.
func (d drawn) load(p phase, long time.Duration) phase {
	if d.rare(4, "closed loop") {
		p.Workers = d.int(1, 20, "workers")
		p.Gap = d.ms(1, 50, "gap")
		p.Calls = d.int(20, 600, "calls")
		return p
	}
	p.Duration = long
	p.Rate = float64(d.int(20, 300, "rate per s"))
	if d.rare(4, "low traffic") {
		p.Rate = float64(d.int(1, 5, "rate per s"))
	}
	p.Jitter = d.ms(0, 10, "jitter")
	return p
}

// faults draws what is wrong in an outage.
func (d drawn) faults() []fault.Rule {
	r := unavailable()[0]
	if d.rare(4, "door") {
		return shutting(rapid.SampledFrom([]fault.Action{fault.ActionRefuse, fault.ActionUnreachable, fault.ActionDeaf}).Draw(d.T, "shut"))
	}
	switch d.int(0, 7, "fault") {
	case 0:
		r.Action, r.Respond = fault.ActionReset, fault.Respond{}
	case 1:
		r.Action, r.Respond = fault.ActionClose, fault.Respond{}
	case 2:
		r.Action, r.Respond = fault.ActionHang, fault.Respond{}
	case 3:
		r.Select = fault.Select{Kind: fault.SelectRatio, Num: uint64(d.int(1, 99, "percent")), Den: 100}
	case 4:
		r.Action, r.Respond = fault.ActionPass, fault.Respond{}
	}
	if r.Action != fault.ActionHang && d.rare(2, "slow") {
		r.Latency = fault.Latency{Min: 0, Max: d.ms(1, 400, "latency")}
	}
	if r.Action != fault.ActionHang && d.rare(4, "hold") {
		n := d.int(1, 20, "held")
		r.Hold = &fault.Hold{Probes: n, Rejected: max(10, 2*n), Max: d.ms(50, 600, "max"), OneByOne: d.rare(3, "one by one")}
	}
	return []fault.Rule{r}
}

// experiment draws phases, and asks everything of them.
func (d drawn) experiment() (setup, []assert.Assertion) {
	s := d.setup()
	c := s.Breaker
	if d.rare(2, "baseline") {
		s.Phases = append(s.Phases, d.load(phase{Name: "baseline"}, 2*time.Second))
	}
	for k := range d.int(1, 3, "rounds") {
		n := func(p string) string { return fmt.Sprintf("%s%d", p, k) }
		if d.rare(2, "trip") {
			s.Phases = append(s.Phases, phase{
				Name: n("trip"), Calls: c.Window + 20, Workers: 1, Gap: d.ms(1, 20, "gap"), Until: d.rare(2, "until"), Faults: unavailable(),
			})
		}
		s.Phases = append(s.Phases, d.load(phase{Name: n("outage"), Faults: d.faults()}, 3*c.Wait+time.Second))
		if d.rare(2, "recovery") || k == 0 {
			s.Phases = append(s.Phases, d.load(phase{Name: n("recovery")}, 2*c.Wait+3*time.Second))
		}
	}
	return s, everything(s)
}
