package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// Result is one contract and what an observer saw of it on this host.
type Result struct {
	Fault    string `json:"fault"`
	Protocol string `json:"protocol"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	OK       bool   `json:"ok"`
	// Unsupported is why this system cannot do it; empty: it can. Then nothing was observed,
	// and such a fault is refused in an experiment.
	Unsupported string `json:"unsupported,omitempty"`
}

// contract is what a fault has to look like on the wire.
type contract struct {
	fault    string // as an experiment writes it
	protocol string
	expected string // in words
	request  string // empty: a GET
	rule     fault.Rule
	stub     injector.Stub
	patience time.Duration // with a connection that says nothing; 0: patience
	ends     bool          // the phase ends after half of the patience
	holds    func(o Observation) bool
	show     func(o Observation) string // what came; nil: its bytes
	recorded trace.Outcome              // what the injector's own record has to say; empty: an answer
	records  []trace.Outcome            // of several attempts; empty: one, as recorded says
	unseen   bool                       // it has nothing to say: nobody got in

	setUp    func(context.Context, *injector.Config) (tearDown func(), err error) // nil: nothing is special
	observer observer                                                             // nil: a raw socket
}

// observer calls an injector and says what came.
type observer func(ctx context.Context, in *injector.Injector, request string, patience time.Duration) (Observation, error)

// phase is the one with the fault.
const phase = "fault"

// patience is how long a connection is listened to that says nothing.
const patience = 300 * time.Millisecond

// Run proves every contract in turn, and has each told of when it is done. An error says
// that there is nothing to tell, since ctx ended.
func Run(ctx context.Context, seed uint64, tell func(Result)) error {
	for _, c := range contracts() {
		result := Result{Fault: c.fault, Protocol: c.protocol, Expected: c.expected}
		observed, ok, err := c.try(ctx, seed)
		if ctx.Err() != nil {
			return fmt.Errorf("selftest: %w", context.Cause(ctx))
		}
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			result.Unsupported = err.Error()
		case err != nil:
			observed = err.Error()
		}
		result.Observed, result.OK = observed, ok
		tell(result)
	}
	return nil
}

// try plays the fault once and looks at the wire and at the record.
func (c contract) try(ctx context.Context, seed uint64) (observed string, ok bool, err error) {
	if c.rule.Select.Kind == "" {
		c.rule.Select.Kind = fault.SelectAll
	}
	rec := trace.NewRecorder(time.Now())
	cfg := injector.Config{
		Name: "selftest", Stub: c.stub, Seed: seed, Recorder: rec,
		Script: fault.Script{Phases: map[string][]fault.Rule{phase: {c.rule}}},
	}
	if c.setUp != nil {
		tearDown, err := c.setUp(ctx, &cfg)
		if err != nil {
			return "", false, err
		}
		defer tearDown()
	}
	in, err := injector.Start(ctx, cfg)
	if err != nil {
		return "", false, err
	}
	o, err := c.look(ctx, in)
	if closeErr := in.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", false, err
	}
	text := o.told(c.show)
	if wrong := c.misrecorded(rec.Snapshot(trace.Header{}).Attempts); wrong != "" {
		return fmt.Sprintf("%s; recorded as %s", text, wrong), false, nil
	}
	return text, c.holds(o), nil
}

// look has the fault observed.
func (c contract) look(ctx context.Context, in *injector.Injector) (Observation, error) {
	if err := in.Enter(phase); err != nil {
		return Observation{}, err
	}
	wait := c.patience
	if wait == 0 {
		wait = patience
	}
	over := make(chan time.Time, 1)
	if c.ends {
		end := time.AfterFunc(wait/2, func() {
			over <- time.Now()
			_ = in.Enter("") // What follows is observed.
		})
		defer end.Stop()
	}
	request := c.request
	if request == "" {
		request = "GET /charges HTTP/1.1\r\nHost: selftest\r\n\r\n"
	}
	look := c.observer
	if look == nil {
		look = socket
	}
	o, err := look(ctx, in, request, wait)
	select {
	case at := <-over:
		o.Over = at.Sub(o.Begun)
	default:
	}
	return o, err
}

// socket observes with a socket of the operating system.
func socket(ctx context.Context, in *injector.Injector, request string, patience time.Duration) (Observation, error) {
	return observe(ctx, in.Addr(), request, patience)
}

// misrecorded says what was recorded, if that is not what it should be.
func (c contract) misrecorded(attempts []trace.Attempt) string {
	want := c.records
	switch {
	case c.unseen:
		want = nil
	case len(want) == 0 && c.recorded == "":
		want = []trace.Outcome{trace.OutcomeAnswered}
	case len(want) == 0:
		want = []trace.Outcome{c.recorded}
	}
	var got []trace.Outcome
	for _, a := range attempts {
		got = append(got, a.Outcome)
	}
	slices.Sort(got) // Attempts at the same time come in any order.
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("%q", got)
}
