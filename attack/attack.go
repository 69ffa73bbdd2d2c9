package attack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Config is what all phases of a run share.
type Config struct {
	BaseURL        string
	Replicas       []Replica // in place of BaseURL: call seq goes to the one at seq modulo their number
	Recorder       *trace.Recorder
	Correlator     match.Correlator
	Classes        match.Classes
	Reasons        match.Classes   // what an answer says of why the dependency was not asked, beside conventions; see match.NewTeller
	Ages           []match.AgeFrom // where answers say how old what they hold is
	Timeout        time.Duration   // of one call, body included
	InstanceHeader string          // answer header that names the SUT's instance, or empty; with Replicas their names do
	// Dial replaces net.Dialer.DialContext, for an in-process network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Replica is an instance of the SUT that can be addressed by itself.
type Replica struct {
	Name    string // of the instance, as calls record it
	BaseURL string
}

// Phase is the load of one phase: a rate (Schedule, Duration, MaxInFlight), a
// number of calls in a closed loop (Calls, Concurrency, Gap, Until), a closed loop
// for a time (Clients, ThinkMin, ThinkMax, Duration), or users that follow a script
// (Sessions).
type Phase struct {
	Index   int    // into Correlator.Phases; an index is run once
	Name    string // what Correlator.Phases says
	Measure bool
	Targets []match.Target // picked by weight, by (seed, seq); no weight at all means equal ones
	Seed    uint64

	Schedule    pace.Schedule // nil in a closed loop
	Duration    time.Duration
	MaxInFlight int

	Calls       int
	Concurrency int
	Gap         time.Duration // from the end of a call to the next send of the same worker
	Until       func() bool   // asked before each call; true ends the phase

	Clients  int           // each waits for its answer, then thinks before its next call
	ThinkMin time.Duration // a thought lasts as long as (Seed, call) says, at least this
	ThinkMax time.Duration // at most this; the first call comes somewhere within one

	Sessions *Sessions // virtual users that follow a script; Targets are those of its steps
}

// ErrAborted is what Run and Once return after Abort.
var ErrAborted = errors.New("the load was aborted")

// Attacker sends the load of one run. Its methods are safe for concurrent use.
type Attacker struct {
	cfg       Config
	bases     []base // of the replicas; without them, one
	classes   match.Classifier
	teller    match.Teller
	ages      match.AgeReader
	prepared  sync.Map // target by its name, see prepare.go
	transport *http.Transport
	client    *http.Client

	bind    func(context.Context) (context.Context, context.CancelFunc) // ends with Abort too
	abort   context.CancelFunc
	aborted func() bool

	mu   sync.Mutex
	runs map[string]*run // by the name that vegeta puts into X-Vegeta-Attack
}

// idleTimeout closes an unused connection before a SUT does (the shortest
// keep-alive among common servers is 2 s): a request that meets the SUT's close
// is lost, and it is not sent again because it may have arrived.
const idleTimeout = time.Second

// New checks the configuration and returns an Attacker that has sent nothing.
// In a synctest bubble it is called inside.
func New(cfg Config) (*Attacker, error) {
	bases, err := cfg.bases()
	if err != nil {
		return nil, err
	}
	classes, err := cfg.Classes.Compile()
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	teller, err := match.NewTeller(cfg.Reasons)
	if err != nil {
		return nil, fmt.Errorf("attack: reasons: %w", err)
	}
	ages, err := match.NewAgeReader(cfg.Ages)
	if err != nil {
		return nil, fmt.Errorf("attack: ages: %w", err)
	}
	switch {
	case cfg.Recorder == nil:
		return nil, errors.New("attack: no recorder given")
	case cfg.Timeout <= 0:
		return nil, fmt.Errorf("attack: a call's timeout must be positive, not %v", cfg.Timeout)
	case cfg.Correlator.Run == 0:
		return nil, errors.New("attack: the correlator's run must not be 0: trace ids would be invalid")
	}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: cfg.Timeout}).DialContext
	}
	stop, abort := context.WithCancel(context.Background())
	a := &Attacker{
		cfg:     cfg,
		bases:   bases,
		classes: classes,
		teller:  teller,
		ages:    ages,
		transport: &http.Transport{
			DialContext:         dial, // and no Proxy: the environment's does not apply
			MaxIdleConnsPerHost: vegeta.DefaultConnections,
			IdleConnTimeout:     idleTimeout,
			DisableCompression:  true, // classes look at the body as it was sent
		},
		bind: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			unhook := context.AfterFunc(stop, cancel)
			return ctx, func() { unhook(); cancel() }
		},
		abort:   abort,
		aborted: func() bool { return stop.Err() != nil },
		runs:    map[string]*run{},
	}
	a.client = &http.Client{Transport: observer{a}}
	return a, nil
}

// Run carries out one phase and says what became of its load; it records
// calls, not the phase. A phase with a Duration ends then and leaves its
// stragglers in flight, a phase of calls or of sessions ends with its last call.
//
// ctx governs the calls of the phase, stragglers included: when it ends, also
// after Run has returned, they are canceled within 100 ms. A phase that was
// stopped so, or by Abort, has the counts up to then and an error; its Planned
// are the slots that were decided, or in calls mode still all Calls.
func (a *Attacker) Run(ctx context.Context, p Phase) (trace.Phase, error) {
	if err := a.check(p); err != nil {
		return trace.Phase{}, fmt.Errorf("phase %q: %w", p.Name, err)
	}
	bound, cancel := a.bind(ctx)
	r, err := a.start(bound, cancel, p)
	if err != nil {
		cancel()
		return trace.Phase{}, fmt.Errorf("phase %q: %w", p.Name, err)
	}
	// Neither wait needs ctx: with it the pacer stops and the calls are canceled,
	// so both end at once, and the counts are final only after them.
	<-r.gate.settled()
	if p.Calls > 0 || p.Sessions != nil {
		<-r.done
	}
	out := r.outcome(a.cfg.Recorder)
	switch {
	case ctx.Err() != nil:
		return out, fmt.Errorf("phase %q was stopped: %w", p.Name, context.Cause(ctx))
	case a.aborted():
		return out, fmt.Errorf("phase %q was stopped: %w", p.Name, ErrAborted)
	}
	return out, nil
}

// start sets vegeta to work. cancel is called when the last call has ended.
func (a *Attacker) start(ctx context.Context, cancel context.CancelFunc, p Phase) (*run, error) {
	if a.aborted() {
		return nil, ErrAborted
	}
	name := strconv.Itoa(p.Index)
	var hire func(n int) *user
	if p.Sessions != nil {
		script, err := a.routine(p)
		if err != nil {
			return nil, err // Not after check.
		}
		hire = a.hire(script, p.Sessions.Rounds)
	}
	r := newRun(ctx, p, hire)
	a.mu.Lock()
	_, again := a.runs[name]
	if !again {
		a.runs[name] = r
	}
	a.mu.Unlock()
	if again {
		return nil, errors.New("it has been run before: its calls would have the same ids")
	}
	// The target is a stand-in: which one it is depends on the call's number, which
	// only the transport is told.
	stub := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: a.bases[0].url.String()})
	results := vegeta.NewAttacker(
		vegeta.Client(a.client),
		vegeta.Workers(r.workers),
		vegeta.MaxWorkers(r.maxWorkers),
		vegeta.MaxBody(0),
	).Attack(stub, r.gate, 0, name)
	go func() { // Wait waits for it.
		defer close(r.done)
		defer cancel()
		r.drain(results)
	}()
	return r, nil
}

// Once makes one call outside a phase and records it, such as the probe of
// correlation. The caller sees to it that seq does not come twice in a phase.
// The error is about the attacker; what became of the call is in the call.
func (a *Attacker) Once(ctx context.Context, phaseIndex int, seq uint64, t match.Target) (trace.Call, error) {
	if phaseIndex < 0 || phaseIndex >= len(a.cfg.Correlator.Phases) {
		return trace.Call{}, fmt.Errorf("single call: there is no phase %d", phaseIndex)
	}
	if _, err := a.request(ctx, t); err != nil {
		return trace.Call{}, fmt.Errorf("single call to target %q: %w", t.Name, err)
	}
	if a.aborted() {
		return trace.Call{}, fmt.Errorf("single call to target %q: %w", t.Name, ErrAborted)
	}
	ctx, cancel := a.bind(ctx)
	defer cancel()
	return a.call(ctx, order{phase: phaseIndex, seq: seq, target: t}), nil
}

// Abort cancels all calls in flight and stops the phases that send; it does not
// wait for either. Nothing can be sent afterwards.
func (a *Attacker) Abort() { a.abort() }

// Wait waits for the stragglers of all phases and closes the connections. When
// ctx ends first it returns its error, and calls are still in flight: Abort and
// a second Wait end them.
func (a *Attacker) Wait(ctx context.Context) error {
	for _, r := range a.started() {
		select {
		case <-r.done:
		case <-ctx.Done():
			return fmt.Errorf("wait for the calls in flight: %w", context.Cause(ctx))
		}
	}
	a.transport.CloseIdleConnections()
	return nil
}

// started returns the phases that were started so far.
func (a *Attacker) started() []*run {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*run, 0, len(a.runs))
	for _, r := range a.runs {
		out = append(out, r)
	}
	return out
}
