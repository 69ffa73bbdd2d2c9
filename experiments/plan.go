package experiments

import (
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// Plan is a compiled experiment: everything a run does and is judged by, as
// data. It can be printed, compared and shipped.
type Plan struct {
	Name        string             `json:"name" yaml:"name"`
	Description string             `json:"description,omitempty" yaml:"description,omitempty"`
	Tags        []string           `json:"tags,omitempty" yaml:"tags,omitempty"`
	File        string             `json:"file,omitempty" yaml:"file,omitempty"`
	Sets        []string           `json:"set,omitempty" yaml:"set,omitempty"` // what was set otherwise than in the file, each path=value
	Seed        uint64             `json:"seed" yaml:"seed"`
	SUT         SUT                `json:"sut" yaml:"sut"`
	Injectors   []Injector         `json:"injectors" yaml:"injectors"`
	Correlate   Correlate          `json:"correlate" yaml:"correlate"`
	Targets     []match.Target     `json:"targets" yaml:"targets"`
	Classes     match.Classes      `json:"classes" yaml:"classes"`
	Reasons     match.Classes      `json:"reasons,omitempty" yaml:"reasons,omitempty"` // how an answer says why the dependency was not asked: named by match.Reasons, beside conventions
	Timeout     time.Duration      `json:"timeout" yaml:"timeout"`
	MaxInFlight int                `json:"max_in_flight" yaml:"max_in_flight"`
	Breakers    []assert.Breaker   `json:"breakers" yaml:"breakers"`
	Probes      []StateProbe       `json:"probes,omitempty" yaml:"probes,omitempty"` // of some of them
	Phases      []Phase            `json:"phases" yaml:"phases"`
	Integrity   assert.Integrity   `json:"integrity" yaml:"integrity"`
	SteadyState []assert.Criterion `json:"steady_state,omitempty" yaml:"steady_state,omitempty"`
	Assertions  []PlanAssertion    `json:"assertions" yaml:"assertions"`
}

// PlanAssertion is an assertion in the form in which a plan is printed.
type PlanAssertion struct {
	ID    string      `json:"id" yaml:"id"`
	Kind  string      `json:"kind" yaml:"kind"`
	Phase string      `json:"phase,omitempty" yaml:"phase,omitempty"`
	Line  int         `json:"line,omitempty" yaml:"line,omitempty"`
	Rule  assert.Rule `json:"rule" yaml:"rule"`
}

// SUT is the system under test: faultline's reference service, a command to
// launch, or something that runs already.
type SUT struct {
	BaseURL        string     `json:"base_url,omitempty" yaml:"base_url,omitempty"`
	Launch         *Launch    `json:"launch,omitempty" yaml:"launch,omitempty"`
	Ready          *Ready     `json:"ready,omitempty" yaml:"ready,omitempty"`
	Reference      *Reference `json:"reference,omitempty" yaml:"reference,omitempty"`
	InstanceHeader string     `json:"instance_header,omitempty" yaml:"instance_header,omitempty"`
	Replicas       []Replica  `json:"replicas,omitempty" yaml:"replicas,omitempty"` // in place of BaseURL; calls go to them in turn
}

// Replica is one instance of a SUT that can be addressed by itself.
type Replica struct {
	Name    string `json:"name" yaml:"name"`
	BaseURL string `json:"base_url" yaml:"base_url"`
}

// Launch is a command that starts the SUT. Values of Env (and the command's
// words) may contain {{injectors.NAME.url}}, {{injectors.NAME.addr}},
// {{injectors.NAME.ca_file}} (of one with TLS) and {{sut.port}}.
type Launch struct {
	Command []string          `json:"command" yaml:"command"`
	Dir     string            `json:"dir,omitempty" yaml:"dir,omitempty"` // relative to the experiment's file
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	Stop    time.Duration     `json:"stop" yaml:"stop"` // patience after SIGTERM before SIGKILL
}

// Ready says when a launched SUT can take load.
type Ready struct {
	Get     string        `json:"get" yaml:"get"`
	Expect  int           `json:"expect" yaml:"expect"`
	Timeout time.Duration `json:"timeout" yaml:"timeout"`
}

// Reference is faultline's own service with the reference breaker, run inside
// this process between the load and one injector.
type Reference struct {
	Injector string            `json:"injector" yaml:"injector"`
	Breaker  breakerref.Config `json:"breaker" yaml:"breaker"`
	Failure  match.Failure     `json:"failure" yaml:"failure"`
	Timeout  time.Duration     `json:"timeout" yaml:"timeout"`                       // of its client towards the dependency
	Cancels  bool              `json:"cancels,omitempty" yaml:"cancels,omitempty"`   // a client that leaves ends its call, and no outcome is recorded; false: it changes nothing
	Fallback *fault.Respond    `json:"fallback,omitempty" yaml:"fallback,omitempty"` // nil: 503 when rejected, 502 when the dependency failed

	Model *Model `json:"model,omitempty" yaml:"model,omitempty"` // another breaker that decides in place of Breaker; nil: Breaker does
	Cache *Cache `json:"cache,omitempty" yaml:"cache,omitempty"` // answers in place of the dependency, before Fallback; nil: none

	Ejection *Eject `json:"ejection,omitempty" yaml:"ejection,omitempty"` // in place of Breaker; nil: that

	Policies `yaml:",inline"`

	Pool    int     `json:"pool,omitempty" yaml:"pool,omitempty"`       // most connections to the dependency; 0: no limit
	Workers int     `json:"workers,omitempty" yaml:"workers,omitempty"` // most requests of the whole service under way; others wait; 0: no limit
	Paging  *Paging `json:"paging,omitempty" yaml:"paging,omitempty"`   // nil: it lists nothing
	Defect  string  `json:"defect,omitempty" yaml:"defect,omitempty"`   // a named wrong behaviour, for a negative control
	Routes  []Route `json:"routes,omitempty" yaml:"routes,omitempty"`   // paths that are served otherwise; the first that matches
}

// Paging is a list that the reference service has in two sources, page by page: the
// first is asked with the dependency, the second answers where that does not.
type Paging struct {
	Items    int    `json:"items" yaml:"items"`
	Page     int    `json:"page" yaml:"page"`           // items on a page
	OnSwitch string `json:"on_switch" yaml:"on_switch"` // what a source does with the cursor of the other
}

// Route is a path of the reference service that is not served as the rest: by
// another dependency with a breaker of its own, or by the service alone.
type Route struct {
	Path    string         `json:"path" yaml:"path"`                           // as fault.Match.Path: a * at its end stands for any rest
	Service *Reference     `json:"service,omitempty" yaml:"service,omitempty"` // without Routes and Workers
	Respond *fault.Respond `json:"respond,omitempty" yaml:"respond,omitempty"` // or: answered without a dependency
}

// Injector is one dependency that faultline plays.
type Injector struct {
	Name     string       `json:"name" yaml:"name"`
	Listen   string       `json:"listen" yaml:"listen"` // host:port; port 0 is chosen by the system
	Upstream string       `json:"upstream,omitempty" yaml:"upstream,omitempty"`
	Stub     *Stub        `json:"stub,omitempty" yaml:"stub,omitempty"`
	TCP      *TCP         `json:"tcp,omitempty" yaml:"tcp,omitempty"` // in place of both: bytes are passed on as they are
	Script   fault.Script `json:"script" yaml:"script"`
	TLS      *TLS         `json:"tls,omitempty" yaml:"tls,omitempty"` // nil: plain

	// EnvoyHeaders has requests ask for faults of their own by Envoy's headers x-envoy-fault-*.
	EnvoyHeaders bool `json:"envoy_headers,omitempty" yaml:"envoy_headers,omitempty"`
}

// TLS is how an injector speaks TLS, by a CA of its own.
type TLS struct {
	Names     []string `json:"names,omitempty" yaml:"names,omitempty"`     // of the certificate, besides localhost, 127.0.0.1 and ::1
	Protocols []string `json:"protocols" yaml:"protocols"`                 // of ALPN, the preferred first: h2, http/1.1
	CAFile    string   `json:"ca_file,omitempty" yaml:"ca_file,omitempty"` // where the CA's certificate is written, relative to the experiment's file; empty: to a file that goes with the run
}

// Stub is what a healthy dependency answers.
type Stub struct {
	fault.Respond `yaml:",inline"`
	Latency       time.Duration `json:"latency,omitempty" yaml:"latency,omitempty"`

	WebSocket *WebSocketStub `json:"websocket,omitempty" yaml:"websocket,omitempty"` // nil: it speaks none
}

// WebSocketStub is what a healthy dependency says over a WebSocket.
type WebSocketStub struct {
	Open   []string `json:"open,omitempty" yaml:"open,omitempty"`     // texts that it sends at once
	Answer []string `json:"answer,omitempty" yaml:"answer,omitempty"` // texts in answer to each message; none: the message itself
}

// TCP is a dependency whose connections are passed on byte by byte.
type TCP struct {
	Upstream  string       `json:"upstream" yaml:"upstream"`   // host:port
	Undialled fault.Action `json:"undialled" yaml:"undialled"` // what a caller sees when the upstream cannot be reached: reset or close
}

// Correlate says how attempts are joined with calls.
type Correlate struct {
	Order   []string `json:"order" yaml:"order"`                           // traceparent, header:NAME, single_flight; the first that works is used
	MinJoin float64  `json:"min_join,omitempty" yaml:"min_join,omitempty"` // 0..1; 0: integrity.join alone
}

// Phase is one step of an experiment: its load and its faults.
type Phase struct {
	Name     string                  `json:"name" yaml:"name"`
	Measure  bool                    `json:"measure" yaml:"measure"`
	Duration time.Duration           `json:"duration,omitempty" yaml:"duration,omitempty"` // rate mode
	Rate     Rate                    `json:"rate" yaml:"rate"`
	Ramp     *Ramp                   `json:"ramp,omitempty" yaml:"ramp,omitempty"`         // rate mode, in place of Rate
	Steps    []Step                  `json:"steps,omitempty" yaml:"steps,omitempty"`       // rate mode, in place of Rate; Duration is their sum
	Burst    *Burst                  `json:"burst,omitempty" yaml:"burst,omitempty"`       // rate mode, in place of Rate
	Poisson  bool                    `json:"poisson,omitempty" yaml:"poisson,omitempty"`   // rate, ramp and steps: exponential gaps by the plan's seed
	Clients  *Clients                `json:"clients,omitempty" yaml:"clients,omitempty"`   // closed loop for a time
	Sessions *Sessions               `json:"sessions,omitempty" yaml:"sessions,omitempty"` // users that follow a script
	Calls    *Calls                  `json:"calls,omitempty" yaml:"calls,omitempty"`       // calls mode
	Targets  []string                `json:"targets,omitempty" yaml:"targets,omitempty"`   // names; empty: all
	Faults   map[string][]fault.Rule `json:"faults,omitempty" yaml:"faults,omitempty"`     // by injector

	// Align begins the phase at a whole multiple of it by the wall clock, up to as much later
	// than it would otherwise; 0: it begins at once.
	Align time.Duration `json:"align,omitempty" yaml:"align,omitempty"`
}

// AlignedAt is how long a phase that could begin at an instant of the wall clock waits.
func (p Phase) AlignedAt(now time.Time) time.Duration {
	if p.Align <= 0 {
		return 0
	}
	past := time.Duration(now.UnixNano()) % p.Align
	return (p.Align - past) % p.Align
}

// Rate is Num requests per Per.
type Rate struct {
	Num int           `json:"num,omitempty" yaml:"num,omitempty"`
	Per time.Duration `json:"per,omitempty" yaml:"per,omitempty"`
}

// Ramp is a rate that changes evenly from From to To over the phase.
type Ramp struct {
	From Rate `json:"from" yaml:"from"`
	To   Rate `json:"to" yaml:"to"`
}

// Step is a constant rate for a time.
type Step struct {
	Rate Rate          `json:"rate" yaml:"rate"`
	For  time.Duration `json:"for" yaml:"for"`
}

// Burst is Calls calls due at one instant, again after each Every; the first at
// the phase's start.
type Burst struct {
	Calls int           `json:"calls" yaml:"calls"`
	Every time.Duration `json:"every" yaml:"every"`
}

// Clients is a closed loop of N clients for the phase's duration. Each waits for
// its answer, then for its think time, which lies evenly in [ThinkMin, ThinkMax]
// by (seed, call). A client's first call comes somewhere within a think time.
type Clients struct {
	N        int           `json:"n" yaml:"n"`
	ThinkMin time.Duration `json:"think_min" yaml:"think_min"`
	ThinkMax time.Duration `json:"think_max" yaml:"think_max"`
}

// Sessions is a closed loop of Users virtual users, each of whom follows the script
// Rounds times and thinks before each step, as long as in Clients.
type Sessions struct {
	Users    int           `json:"users" yaml:"users"`
	Rounds   int           `json:"rounds" yaml:"rounds"`
	ThinkMin time.Duration `json:"think_min" yaml:"think_min"`
	ThinkMax time.Duration `json:"think_max" yaml:"think_max"`
	Script   match.Script  `json:"script" yaml:"script"`
}

// ClosedLoop reports whether each call of a phase waits for another.
func (p Phase) ClosedLoop() bool { return p.Calls != nil || p.Clients != nil || p.Sessions != nil }

// Calls is a number of calls in a closed loop.
type Calls struct {
	N           int           `json:"n" yaml:"n"`
	Concurrency int           `json:"concurrency" yaml:"concurrency"`
	Gap         time.Duration `json:"gap,omitempty" yaml:"gap,omitempty"`
	Until       string        `json:"until,omitempty" yaml:"until,omitempty"`     // open, closed; a breaker's state that ends the phase
	Breaker     string        `json:"breaker,omitempty" yaml:"breaker,omitempty"` // whose state

	// UntilArrivals ends the phase before its next call when so many attempts have arrived
	// in it, at all injectors together; 0: nothing but N and Until does.
	UntilArrivals int `json:"until_arrivals,omitempty" yaml:"until_arrivals,omitempty"`
}
