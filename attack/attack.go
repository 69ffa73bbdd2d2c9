package attack

import (
	"context"
	"net"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Config is what all phases of a run share.
type Config struct {
	BaseURL        string
	Recorder       *trace.Recorder
	Correlator     match.Correlator
	Classes        match.Classes
	Timeout        time.Duration // of one call, body included
	InstanceHeader string        // answer header that names the SUT's instance, or empty
	// Dial replaces net.Dialer.DialContext, for an in-process network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Phase is the load of one phase: either a rate (Schedule, Duration,
// MaxInFlight) or a number of calls in a closed loop (Calls, Concurrency, Gap,
// Until).
type Phase struct {
	Index   int // into Correlator.Phases
	Name    string
	Measure bool
	Targets []match.Target // picked by weight, by (seed, seq)
	Seed    uint64

	Schedule    pace.Schedule // nil in calls mode
	Duration    time.Duration
	MaxInFlight int

	Calls       int
	Concurrency int
	Gap         time.Duration // from the end of a call to the next send of the same worker
	Until       func() bool   // asked before each call; true ends the phase
}
