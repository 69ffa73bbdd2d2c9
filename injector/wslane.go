package injector

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
)

// socketLane carries the frames of one direction.
type socketLane struct {
	*socket
	to     fault.WSDirection
	from   *bufio.Reader
	out    io.Writer
	faults *fault.WSLane

	// What the reader knows.
	verdict fault.WSVerdict // of the message that comes
	passes  bool            // a stall lets the message pass
	parts   []wire.Frame    // of a message that a fault hits
	held    []wire.Frame    // a message that waits for the next one; nil: none

	mu    sync.Mutex
	queue []sending
	size  int           // of what the queue holds, in bytes
	last  bool          // nothing more is taken
	more  chan struct{} // something was put in the queue
	room  chan struct{} // something was taken out
}

// sending is frames that wait to be sent, and maybe the end of the connection behind them.
type sending struct {
	frames []wire.Frame
	pad    int64  // of filler in the last frame
	raw    []byte // bytes that are no whole frame
	due    time.Time
	end    bool
	waits  bool // for the caller to answer a close frame
	by     wire.Do
	how    string
}

// mostWaiting is how many bytes wait in a direction before no more are read.
const mostWaiting = 4 << 20

func newLane(s *socket, to fault.WSDirection) *socketLane {
	return &socketLane{
		socket: s, to: to, faults: s.verdict.Lane(to),
		more: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// read takes frames in until their connection ends.
func (l *socketLane) read() {
	if l.to == fault.ToServer {
		defer close(l.left)
	}
	for {
		f, err := wire.ReadFrame(l.from, mostFrame)
		if err != nil {
			l.ended(err)
			return
		}
		if f.Opcode.Control() {
			l.control(f)
		} else {
			l.data(f)
		}
	}
}

// ended passes on that nothing more comes.
func (l *socketLane) ended(err error) {
	l.flush()
	if errors.Is(err, wire.ErrTooLong) {
		l.finish(wire.FIN, "by FIN, as "+err.Error())
		return
	}
	switch {
	case l.to == fault.ToClient:
		if !l.isStalled(l.to) {
			l.put(sending{end: true, by: wire.FIN, how: "by the dependency"})
		}
	case l.isStalled(l.to) || errors.Is(err, syscall.ECONNRESET) || l.isHung():
		l.answer()
		l.finish(wire.Send, "by the caller")
	default: // What is on its way still arrives.
		l.answer()
		if !l.put(sending{end: true, by: wire.Send, how: "by the caller"}) {
			l.finish(wire.Send, "by the caller")
		}
	}
}

// isHung reports whether nothing is to happen until the phase ends, or the caller leaves.
func (s *socket) isHung() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hung
}

// control carries a control frame.
func (l *socketLane) control(f wire.Frame) {
	if l.to == fault.ToServer {
		if f.Opcode == wire.OpClose {
			l.answer()
		}
		if l.swallows(f) {
			return
		}
	}
	v := l.next(true)
	switch {
	case l.isStalled(l.to):
	case v.WSMessage != nil:
		l.act(v, []wire.Frame{f})
	case f.Opcode == wire.OpClose:
		l.flush()
		l.put(sending{frames: []wire.Frame{f}})
	default:
		l.putFirst(sending{frames: []wire.Frame{f}})
	}
}

// next decides a message, or control frame.
func (l *socketLane) next(control bool) fault.WSVerdict {
	v := l.faults.Next(control)
	if l.isOver() {
		return fault.WSVerdict{}
	}
	return v
}

// data carries a frame of a message.
func (l *socketLane) data(f wire.Frame) {
	if f.Opcode != wire.OpContinue {
		l.passes = l.count(l.to)
		l.verdict, l.parts = l.next(false), nil
		l.begins(l.to)
	}
	if f.Fin {
		l.mayStall(l.to) // Before the message is sent: who has it can rely on that.
	}
	switch {
	case !l.passes:
		return
	case l.verdict.WSMessage == nil:
		l.put(sending{frames: []wire.Frame{f}})
	case l.verdict.Do != fault.WSDrop:
		l.parts = append(l.parts, f)
	}
	if !f.Fin {
		return
	}
	before := l.held
	l.held = nil
	if l.verdict.WSMessage != nil {
		l.act(l.verdict, l.parts)
	}
	if before != nil {
		l.flush() // Two that would both wait for the next have changed places.
		l.note("reorder " + direction(l.to))
		l.put(sending{frames: before})
	}
	l.passed(l.to)
}

// flush sends a message that waited for a next one.
func (l *socketLane) flush() {
	if l.held != nil && !l.isStalled(l.to) {
		l.put(sending{frames: l.held})
	}
	l.held = nil
}

// act does to a message what a fault says.
func (l *socketLane) act(v fault.WSVerdict, message []wire.Frame) {
	s, did := sending{frames: message}, true
	switch v.Do {
	case fault.WSDrop:
		l.note("drop " + direction(l.to))
		return
	case fault.WSDelay:
		s.due = time.Now().Add(v.Wait)
	case fault.WSDuplicate:
		s.frames = slices.Concat(message, message)
	case fault.WSReorder:
		l.held = message
		return
	case fault.WSCorrupt:
		s.frames, did = wire.Flip(message, v.Draw)
	case fault.WSCut:
		s = sending{raw: message[0].Half(), end: true, by: wire.FIN, how: "by FIN in a frame " + direction(l.to)}
		if v.By == fault.ActionReset {
			s.by, s.how = wire.RST, "by RST in a frame "+direction(l.to)
		}
	case fault.WSOversize:
		s.pad = max(0, v.Size-int64(length(message)))
		did = s.pad > 0
	case fault.WSFragment:
		s.frames = wire.Split(message, int(v.Size))
		did = len(s.frames) > len(message)
	}
	if did {
		l.note(string(v.Do) + " " + direction(l.to))
	}
	l.put(s)
}

// length is that of the payload.
func length(frames []wire.Frame) int {
	n := 0
	for _, f := range frames {
		n += len(f.Payload)
	}
	return n
}
