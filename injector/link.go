package injector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// link is a caller's connection and the one to the upstream for it.
type link struct {
	*Injector
	sides   [2]net.Conn // the caller, the upstream
	queues  [2]*queue   // up, down
	bytes   [2]atomic.Int64
	drawing sync.Mutex           // held while a fault is drawn
	play    atomic.Pointer[play] // nil: sound
	hung    atomic.Bool          // the upstream's bytes were thrown away
	reading sync.WaitGroup
	writing sync.WaitGroup
	fins    atomic.Int32 // that were passed on

	once  sync.Once
	done  chan struct{} // closed when it ends
	how   ended         // read after done
	left  atomic.Pointer[time.Time]
	stage *stage // that it was drawn for
	life  *time.Timer
	rule  string // the last that hit it
	spare string
}

// ended is how a link ended.
type ended struct {
	by      fault.Action // what both sides see: reset, close, or pass where they have seen it
	outcome trace.Outcome
	why     string
}

// newLink returns a link that is not drawn for.
func newLink(i *Injector, caller net.Conn) *link {
	l := &link{Injector: i, queues: [2]*queue{newQueue(), newQueue()}, done: make(chan struct{})}
	l.sides[0] = caller
	l.life = time.NewTimer(0)
	l.life.Stop()
	return l
}

// finish ends the link; the first one says how.
func (l *link) finish(by fault.Action, outcome trace.Outcome, why string) {
	l.once.Do(func() {
		l.how = ended{by, outcome, why}
		close(l.done)
	})
}

// run passes bytes on until the end.
func (l *link) run(ctx context.Context) {
	since := time.Now()
	l.budget.arrived.Add(1)
	l.stage = l.phase.Load()
	l.draw(l.stage.all, since)
	handle := l.cfg.Recorder.Arrived(trace.Attempt{
		Injector: l.cfg.Name, Phase: l.stage.name, Peer: l.sides[0].RemoteAddr().String(), Arr: l.offset(since), Rule: l.rule,
		Detail: "a TCP connection", Stream: true,
	})
	l.dial(ctx)
	l.supervise()
	at := time.Now()
	l.tearDown()
	l.stop()
	l.cfg.Recorder.Departed(handle, func(a *trace.Attempt) { l.describe(a, at) })
}

// describe completes the record.
func (l *link) describe(a *trace.Attempt, at time.Time) {
	a.Rule, a.Spared, a.Outcome = l.rule, l.spare, l.how.outcome
	a.BytesUp, a.BytesDown, a.Closed = l.bytes[0].Load(), l.bytes[1].Load(), l.offset(at)
	a.Detail = fmt.Sprintf("a TCP connection: %d bytes up, %d bytes down; %s", a.BytesUp, a.BytesDown, l.how.why)
	if l.hung.Load() && l.how.by != fault.ActionReset {
		a.Outcome = trace.OutcomeHang
	}
	if left := l.left.Load(); left != nil && a.Outcome == trace.OutcomeHang {
		a.Abandon = l.offset(*left)
		return
	}
	a.Dep = l.offset(at)
}

// playing is the fault that is on. It waits while one is drawn: who reads in the counts that
// this connection was hit has its next byte meet the fault.
func (l *link) playing() *play {
	l.drawing.Lock()
	defer l.drawing.Unlock()
	return l.play.Load()
}

// draw asks these phases for a fault.
func (l *link) draw(among []*phase, now time.Time) {
	l.drawing.Lock()
	defer l.drawing.Unlock()
	v, p := l.askAmong(among, fault.Request{Layer: fault.LayerTCP, Peer: l.sides[0].RemoteAddr().String()}, now)
	if v.Rule == nil {
		return
	}
	next := newPlay(v, p)
	if limit := l.permit(v.Rule, p, next.holds); limit != "" {
		l.spare = fmt.Sprintf("rule %s: limit %s", v.Rule.ID, limit)
		return
	}
	l.stop()
	l.rule = v.Rule.ID
	l.play.Store(next)
	if life := v.Rule.TCP.Life; life != nil {
		l.life.Reset(time.Until(now.Add(life.For)))
	}
	if by := next.atOnce(); by != "" {
		l.cut(by)
	}
}

// stop ends the fault that is on.
func (l *link) stop() {
	y := l.play.Swap(nil)
	if y == nil {
		return
	}
	l.life.Stop()
	close(y.over)
	l.release(true, y.holds)
}

// cut ends the link for a fault.
func (l *link) cut(by fault.Action) {
	if by == fault.ActionReset {
		l.finish(by, trace.OutcomeReset, "a fault reset it")
		return
	}
	l.finish(by, trace.OutcomeFIN, "a fault closed it")
}

// dial reaches for the upstream and has bytes passed on.
func (l *link) dial(ctx context.Context) {
	if l.isDone() { // A fault ended it at once.
		return
	}
	within, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	nc, err := l.cfg.DialUpstream(within, "tcp", l.cfg.TCP.Upstream)
	if err != nil && ctx.Err() != nil { // Nobody knows of the upstream.
		l.finish(fault.ActionPass, trace.OutcomeFIN, "the injector ended")
		return
	}
	if err != nil {
		by := l.cfg.TCP.Undialled
		if by == "" {
			by = fault.ActionReset
		}
		l.finish(by, trace.OutcomeUpstream, "the upstream cannot be reached: "+err.Error())
		return
	}
	l.sides[1] = nc
	for n := range l.queues {
		l.reading.Go(func() { l.read(n) })
		l.writing.Go(func() { l.write(n) })
	}
}

// supervise waits for the end, and has the link drawn again when the faults change.
func (l *link) supervise() {
	for {
		select {
		case <-l.done:
			return
		case <-l.closing:
			l.finish(fault.ActionPass, trace.OutcomeFIN, "the injector ended")
		case <-l.life.C:
			l.cut(l.play.Load().rule.TCP.Life.By)
		case <-l.stage.replaced:
			l.redraw()
		}
	}
}

// redraw does what a change of the faults means for a link that is open.
func (l *link) redraw() {
	last, next := l.stage, l.phase.Load()
	l.stage = next
	if next.door != "" {
		l.finish(fault.ActionClose, trace.OutcomeFIN, fmt.Sprintf("it was open when the fault %s began", next.door))
		return
	}
	if y := l.play.Load(); y != nil && !y.keeps(next) {
		hangs := y.hangs()
		l.stop()
		if hangs {
			l.finish(fault.ActionClose, trace.OutcomeHang, "the fault that it hung for ended")
			return
		}
	}
	var fresh []*phase
	for _, p := range next.all {
		if !slices.Contains(last.all, p) {
			fresh = append(fresh, p)
		}
	}
	l.draw(fresh, time.Now())
}

// lingering is how long is read after a FIN, so that it is not followed by a RST.
const lingering = 5 * time.Second

// tearDown ends both connections as the end says.
func (l *link) tearDown() {
	defer func() {
		for _, c := range l.sides {
			if c != nil {
				_ = c.Close() // One that is closed already is no error.
			}
		}
		l.reading.Wait()
		l.writing.Wait()
	}()
	for _, c := range l.sides {
		if c != nil {
			_ = c.SetWriteDeadline(time.Unix(1, 0)) // Nothing must wait for who does not read.
		}
	}
	switch l.how.by {
	case fault.ActionReset:
		for _, c := range l.sides {
			if c != nil {
				l.abort(c, &fault.Rule{ID: l.rule})
			}
		}
	case fault.ActionClose:
		l.writing.Wait()
		l.linger()
	default:
	}
}

// linger sends FIN to both sides and reads what they still send.
func (l *link) linger() {
	for n, c := range l.sides {
		half, ok := c.(interface{ CloseWrite() error })
		if !ok || half.CloseWrite() != nil {
			if c != nil {
				_ = c.SetReadDeadline(time.Unix(1, 0)) // There is no FIN without an end of reading.
			}
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(lingering))
		if l.sides[1] == nil && n == 0 { // Nobody reads yet.
			l.reading.Go(func() { _, _ = io.Copy(io.Discard, c) })
		}
	}
	all := make(chan struct{})
	l.writing.Go(func() {
		l.reading.Wait()
		close(all)
	})
	select {
	case <-all:
	case <-l.closing:
	}
}

// broke ends the link as a side is gone.
func (l *link) broke(side int, err error) {
	switch {
	case errors.Is(err, net.ErrClosed):
	case side == 0:
		l.left.CompareAndSwap(nil, new(time.Now()))
		l.finish(fault.ActionReset, trace.OutcomeHang, "the caller reset it")
	default:
		l.finish(fault.ActionReset, trace.OutcomeReset, "the upstream reset it")
	}
}
