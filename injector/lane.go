package injector

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// down is the direction from the upstream to the caller.
const down = 1

// read takes in what comes in a direction. After the end of the link it goes on, for
// nobody, until the source has no more: so a FIN is not followed by a RST.
func (l *link) read(n int) {
	source := l.sides[n]
	buffer := make([]byte, 32<<10)
	for {
		size, err := source.Read(buffer)
		if size > 0 {
			l.queues[n].push(chunk{append([]byte(nil), buffer[:size]...), time.Now()}, l.done)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if n != down {
				l.left.CompareAndSwap(nil, new(time.Now()))
			}
			l.queues[n].push(chunk{at: time.Now()}, l.done)
			return
		default:
			l.broke(n, err)
			return
		}
	}
}

// write passes on what came in a direction, as the fault has it.
func (l *link) write(n int) {
	for {
		c, ok := l.queues[n].pop(l.done)
		if !ok {
			return
		}
		if len(c.bytes) == 0 {
			l.passFIN(n, c)
			return
		}
		for rest := c.bytes; len(rest) > 0; {
			y := l.playing()
			size, ok := l.admit(n, y, c.at, len(rest))
			if !ok || size > 0 && !l.send(n, y, rest[:size]) {
				return
			}
			rest = rest[size:]
		}
	}
}

// admit waits until some of the next bytes are due, and says how many; 0: the faults have changed.
// false:
// the link has ended.
func (l *link) admit(n int, y *play, at time.Time, size int) (int, bool) {
	if y == nil || y.streams[n].Stream == nil {
		return size, !l.isDone()
	}
	s := &y.streams[n]
	if s.hangs() {
		return size, !l.isDone()
	}
	if s.End != nil {
		size = int(min(int64(size), s.End.After-s.passed.Load()))
	}
	due := at.Add(s.latency)
	if s.Slice != nil {
		size = int(min(int64(size), s.Slice.Size))
		due = later(due, s.next)
	}
	if !l.until(due, y) {
		return 0, !l.isDone()
	}
	if s.pace != nil {
		size, due = s.pace.place(size)
		if !l.until(due, y) {
			return 0, !l.isDone()
		}
	}
	return size, true
}

// later is the later of two instants.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// send passes bytes on, or throws them away; false: the link has ended.
func (l *link) send(n int, y *play, p []byte) bool {
	var s *stream
	if y != nil && y.streams[n].Stream != nil {
		s = &y.streams[n]
	}
	if s != nil && s.hangs() {
		l.hung.Store(true)
		return true
	}
	if s != nil {
		s.passed.Add(int64(len(p))) // Before anybody can see that they have.
	}
	sent, err := l.sides[1-n].Write(p)
	l.bytes[n].Add(int64(sent))
	if err != nil {
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			l.broke(1-n, err)
		}
		return false
	}
	if s == nil {
		return true
	}
	if s.Slice != nil {
		s.next = time.Now().Add(s.Slice.Gap)
	}
	if s.End != nil && s.passed.Load() >= s.End.After && s.End.By != fault.ActionHang {
		l.awaitSent(l.sides[1-n], s.End.By, y)
		l.cut(s.End.By)
		return false
	}
	return true
}

// awaitSent waits until a side's kernel has all that a RST would throw away.
func (l *link) awaitSent(to net.Conn, by fault.Action, y *play) {
	for waits := by == fault.ActionReset; waits && unsent(to) > 0; {
		waits = l.until(time.Now().Add(sentStep), y)
	}
}

// passFIN passes the end of a direction on, when it is due.
func (l *link) passFIN(n int, c chunk) {
	for {
		y := l.playing()
		if y == nil || y.streams[n].Stream == nil || n != down && y.streams[n].hangs() {
			break
		}
		due := c.at.Add(y.streams[n].latency)
		if y.streams[n].hangs() {
			l.hung.Store(true)
			due = c.at.Add(forever)
		}
		if l.until(due, y) {
			break
		}
		if l.isDone() {
			return
		}
	}
	if l.fins.Add(1) == int32(len(l.sides)) { // Then all is through, and closing is FIN.
		l.finish(fault.ActionPass, trace.OutcomeAnswered, "both sides closed it")
		return
	}
	half, ok := l.sides[1-n].(interface{ CloseWrite() error })
	if !ok {
		l.finish(fault.ActionPass, trace.OutcomeAnswered, "one side closed it, on a network without half-closed connections")
		return
	}
	_ = half.CloseWrite() // Who is gone needs none.
}

// forever is longer than any run.
const forever = 100 * 365 * day

// until waits; false: the fault is over, or the link.
func (l *link) until(due time.Time, y *play) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-y.over:
		return false
	case <-l.done:
		return false
	}
}

// isDone reports whether the link has ended.
func (l *link) isDone() bool { return isClosed(l.done) }

// hangs reports whether what comes is thrown away.
func (s *stream) hangs() bool {
	return s.Stream != nil && s.End != nil && s.End.By == fault.ActionHang && s.passed.Load() >= s.End.After
}
