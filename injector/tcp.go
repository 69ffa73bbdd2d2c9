package injector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// TCP has an injector pass connections on byte by byte, whatever they carry. It understands
// nothing of it: its faults are those of fault.Rule.TCP and of the door. Its ledger has one
// attempt for each connection, and its state and limits count connections for requests.
//
// What one side ends by FIN is ended so for the other, when all before it has been passed
// on; the other direction goes on. A RST is passed on as one, at once.
type TCP struct {
	Upstream string // host:port
	// Undialled is what a caller sees when the upstream cannot be reached within five
	// seconds: fault.ActionReset, as is meant when empty, or fault.ActionClose.
	Undialled fault.Action
}

// dialPatience is how long an upstream is waited for.
const dialPatience = 5 * time.Second

// check says what is wrong with it.
func (t *TCP) check(cfg Config) error {
	var errs []error
	if host, port, err := net.SplitHostPort(t.Upstream); err != nil || host == "" || port == "" {
		errs = append(errs, fmt.Errorf("tcp: upstream %q is not of the form host:port", t.Upstream))
	}
	if t.Undialled != "" && t.Undialled != fault.ActionReset && t.Undialled != fault.ActionClose {
		errs = append(errs, fmt.Errorf("tcp: undialled %q is neither reset nor close", t.Undialled))
	}
	stub := cfg.Stub
	if cfg.Upstream != "" || cfg.TLS != nil || stub.Status != 0 || stub.Body != "" || len(stub.Headers) > 0 || stub.Latency != 0 {
		errs = append(errs, errors.New("tcp: bytes are passed on as they are; it goes with no upstream of HTTP, no stub and no tls"))
	}
	return errors.Join(errs...)
}

// checkTCP looks for faults that do not go with what is passed on.
func (i *Injector) checkTCP(rules []*fault.Rule) error {
	var errs []error
	for _, r := range rules {
		switch raw := r.Action == fault.ActionTCP; {
		case raw && i.cfg.TCP == nil:
			errs = append(errs, fmt.Errorf("fault %s: tcp is for connections that are passed on byte by byte, and this injector speaks HTTP", r.ID))
		case !raw && !r.Action.Door() && i.cfg.TCP != nil:
			errs = append(errs, fmt.Errorf("fault %s: %s is for HTTP, and this injector passes bytes on as they are; use tcp, refuse, unreachable or deaf", r.ID, r.Action))
		}
	}
	return errors.Join(errs...)
}

// relay takes connections in until the injector ends.
func (i *Injector) relay(ctx context.Context) error {
	i.serving.Go(func() {
		<-ctx.Done()
		_ = i.door.Close() // The error is that of closing a listener: nothing is left to do about it.
	})
	for {
		nc, err := i.door.Accept()
		temporary, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err)
		switch {
		case err == nil:
			i.work.Go(func() { newLink(i, nc).run(ctx) })
		case i.isClosing():
			return http.ErrServerClosed
		case !ok || !temporary.Temporary():
			return err
		default:
			sleepOr(ctx, 5*time.Millisecond) // Descriptors may be had again in a moment.
		}
	}
}

// sleepOr waits, or until ctx ends.
func sleepOr(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sharedPace is a pace for several connections: each takes its place in the line.
type sharedPace struct {
	mu   sync.Mutex
	pace pace
}

// place returns how many of n bytes may be sent next, and when.
func (s *sharedPace) place(n int) (int, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.pace.piece(n)
	return n, s.pace.due(n, time.Now())
}

// lane is a direction of a rule.
type lane struct {
	rule *fault.Rule // nil: of all rules, and both directions
	down int
}

// paces are those that connections share in a phase with these rules.
func paces(rules []*fault.Rule) map[lane]*sharedPace {
	all := map[lane]*sharedPace{}
	for _, r := range rules {
		if r.TCP == nil {
			continue
		}
		for n, s := range []*fault.Stream{r.TCP.Up, r.TCP.Down} {
			switch {
			case s == nil || s.Bandwidth == 0:
			case s.Scope == fault.ScopeRule:
				all[lane{r, n}] = &sharedPace{pace: pace{rate: s.Bandwidth}}
			case s.Scope == fault.ScopeAll && all[lane{}] == nil:
				all[lane{}] = &sharedPace{pace: pace{rate: s.Bandwidth}}
			}
		}
	}
	return all
}

// paceOf is the one for a connection that the rule hit.
func (ph *phase) paceOf(r *fault.Rule, down int, s *fault.Stream) *sharedPace {
	switch {
	case s == nil || s.Bandwidth == 0:
		return nil
	case s.Scope == fault.ScopeRule:
		return ph.paces[lane{r, down}]
	case s.Scope == fault.ScopeAll:
		return ph.paces[lane{}]
	}
	return &sharedPace{pace: pace{rate: s.Bandwidth}}
}

// play is a fault in force for one link.
type play struct {
	rule    *fault.Rule
	phase   *phase
	over    chan struct{} // closed when it is over
	streams [2]stream     // up and down
	holds   bool
}

// hangs reports whether nothing more comes in some direction.
func (y *play) hangs() bool { return y.streams[0].hangs() || y.streams[down].hangs() }

// stream is one direction of it. It belongs to who writes there, but for passed.
type stream struct {
	*fault.Stream

	latency time.Duration
	pace    *sharedPace
	passed  *atomic.Int64 // since the fault began
	next    time.Time     // when the next slice is due
}

// newPlay prepares a fault that was drawn.
func newPlay(v fault.Verdict, p *phase) *play {
	y := &play{rule: v.Rule, phase: p, over: make(chan struct{}), holds: v.Rule.TCP.Hangs()}
	for n, s := range []*fault.Stream{v.Rule.TCP.Up, v.Rule.TCP.Down} {
		y.streams[n] = stream{Stream: s, latency: v.Through(s, uint64(n)), pace: p.paceOf(v.Rule, n, s), passed: new(atomic.Int64)}
	}
	return y
}

// atOnce is how it ends the link before any byte, if it does.
func (y *play) atOnce() fault.Action {
	for _, s := range []*fault.Stream{y.rule.TCP.Up, y.rule.TCP.Down} {
		if s != nil && s.End != nil && s.End.After == 0 && s.End.By != fault.ActionHang {
			return s.End.By
		}
	}
	return ""
}

// keeps reports whether the fault is one of a stage.
func (y *play) keeps(s *stage) bool { return slices.Contains(s.all, y.phase) }
