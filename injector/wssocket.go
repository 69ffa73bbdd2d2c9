package injector

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
)

// socket is a WebSocket that is relayed, with the faults of one rule.
type socket struct {
	*exchange
	rule     *fault.WebSocket
	nc       net.Conn           // the caller's
	back     io.ReadWriteCloser // the dependency's
	toClient *socketLane
	toServer *socketLane
	done     chan struct{} // closed when the connection is to end
	left     chan struct{} // closed when nothing more comes from the caller
	answered chan struct{} // closed when the caller sent a close frame, or left
	answer   func()        // closes answered, once

	mu      sync.Mutex
	how     string  // it ended; empty: it goes on
	by      wire.Do // wire.Send: there is nobody to end it for
	hung    bool    // nothing is to happen until the phase ends
	stalled bool
	counts  map[fault.WSDirection]uint64 // of messages that began
	pings   uint64                       // of the caller
	notes   map[string]int
}

// newSocket prepares the relay. What begins with the handshake has begun before the caller
// hears of that.
func newSocket(x *exchange, back io.ReadWriteCloser) *socket {
	s := &socket{
		exchange: x, rule: x.socketRule(), back: back, done: make(chan struct{}), left: make(chan struct{}),
		answered: make(chan struct{}), counts: map[fault.WSDirection]uint64{}, notes: map[string]int{},
	}
	s.answer = sync.OnceFunc(func() { close(s.answered) })
	s.toServer, s.toClient = newLane(s, fault.ToServer), newLane(s, fault.ToClient)
	if st := s.rule.Stall; st != nil && st.After == 0 {
		s.stall()
	}
	return s
}

// run relays until the connection has ended, and everything that it began as well.
func (s *socket) run(nc net.Conn, from *bufio.Reader) {
	s.nc = nc
	s.toServer.from, s.toServer.out = from, s.back
	s.toClient.from, s.toClient.out = bufio.NewReader(s.back), nc
	if c := s.rule.Close; c != nil && c.After == 0 {
		s.close()
	}
	var lanes sync.WaitGroup
	for _, l := range []*socketLane{s.toClient, s.toServer} {
		lanes.Go(l.write)
		lanes.Go(l.read)
	}
	for over := s.phase.ended; ; {
		select {
		case <-over:
			over = nil
			s.endPhase()
			continue
		case <-s.r.Context().Done():
			s.finish(wire.Send, "with the injector")
		case <-s.done:
		}
		break
	}
	s.shut()
	lanes.Wait()
}

// endPhase ends what waits for that. No new fault begins then, see isOver.
func (s *socket) endPhase() {
	s.mu.Lock()
	hung := s.hung
	s.mu.Unlock()
	if hung {
		s.finish(wire.FIN, "with the phase, by FIN")
	}
}

// finish says how the connection ends; the first one to do so is right.
func (s *socket) finish(by wire.Do, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.how == "" {
		s.by, s.how = by, how
		close(s.done)
	}
}

// shut ends both connections as finish said.
func (s *socket) shut() {
	_ = s.back.Close() // What is left of it nobody hears.
	switch {
	case s.r.Context().Err() != nil:
	case s.by == wire.RST:
		s.awaitSent(s.nc, s.left)
		s.reset(s.nc)
	case s.by == wire.FIN:
		s.closeSoftly()
	}
	_ = s.nc.Close() // A caller who is gone already is no error.
}

// closeSoftly sends FIN and takes in what still comes, or the system would send RST.
func (s *socket) closeSoftly() {
	_ = s.nc.SetWriteDeadline(time.Unix(1, 0)) // Who writes still, does so to nobody.
	half, ok := s.nc.(interface{ CloseWrite() error })
	if c, wrapped := s.nc.(*conn); wrapped {
		half, ok = c.Conn.(interface{ CloseWrite() error })
	}
	if !ok || half.CloseWrite() != nil {
		return
	}
	timer := time.NewTimer(fault.CloseWait)
	defer timer.Stop()
	select {
	case <-s.left:
	case <-timer.C:
	case <-s.r.Context().Done():
	}
}

// count takes in that a message begins; it reports whether it is still one of those that a
// stall lets pass.
func (s *socket) count(to fault.WSDirection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[to]++
	st := s.rule.Stall
	if st == nil || st.To != to && st.To != fault.BothWays || s.isOver() && !s.stalled {
		return true
	}
	return s.total(st.To) <= st.After
}

// total is how many messages began in a direction, or in both. mu is held.
func (s *socket) total(of fault.WSDirection) uint64 {
	if of == fault.BothWays {
		return s.counts[fault.ToClient] + s.counts[fault.ToServer]
	}
	return s.counts[of]
}

// mayStall begins a stall with the last message that passes.
func (s *socket) mayStall(to fault.WSDirection) {
	s.mu.Lock()
	st := s.rule.Stall
	stalls := st != nil && (st.To == to || st.To == fault.BothWays) && s.total(st.To) >= st.After
	s.mu.Unlock()
	if stalls {
		s.stall()
	}
}

// passed begins what begins when a message of this direction is through; a close that
// counts messages to the server began with the message, see begins.
func (s *socket) passed(to fault.WSDirection) {
	s.mu.Lock()
	closes := to == fault.ToClient && s.closesAt(to)
	s.mu.Unlock()
	if closes {
		s.close()
	}
}

// begins has a message to the server end the connection before it can be answered.
func (s *socket) begins(to fault.WSDirection) {
	s.mu.Lock()
	closes := to == fault.ToServer && s.closesAt(to)
	s.mu.Unlock()
	if closes {
		s.close()
	}
}

// closesAt reports whether a message of this direction is the last one before a close. mu is
// held.
func (s *socket) closesAt(to fault.WSDirection) bool {
	c := s.rule.Close
	if c == nil {
		return false
	}
	of := c.Of
	if of == "" {
		of = fault.ToClient
	}
	return (of == to || of == fault.BothWays) && s.total(of) >= c.After
}

// stall lets nothing more pass.
func (s *socket) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver() || s.stalled {
		return
	}
	s.stalled, s.hung = true, true
	s.notes["stall "+direction(s.rule.Stall.To)]++
}

// isStalled reports whether nothing passes in a direction.
func (s *socket) isStalled(to fault.WSDirection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stalled && (s.rule.Stall.To == to || s.rule.Stall.To == fault.BothWays)
}

// close ends the connection as the rule says, once.
func (s *socket) close() {
	c := s.rule.Close
	if s.isOver() || s.isStalled(fault.ToClient) {
		return
	}
	end := sending{end: true, by: wire.FIN, how: "by FIN after a fault", waits: c.Code != fault.CloseAbnormal}
	if c.By == fault.ActionReset {
		end.by, end.how, end.waits = wire.RST, "by RST", false
	}
	if c.Code != fault.CloseAbnormal {
		end.frames = []wire.Frame{wire.CloseFrame(c.Code, c.Reason)}
	}
	if s.toClient.putLast(end) {
		s.note(fmt.Sprintf("close %d", c.Code))
	}
}

// swallows reports whether a control frame of the caller comes to nobody.
func (s *socket) swallows(f wire.Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Opcode == wire.OpPing && s.rule.NoPong != nil:
		s.pings++
		if s.isOver() || !s.rule.NoPong.Hit(s.pings-1) {
			return false
		}
		s.notes["no pong"]++
		return true
	case f.Opcode == wire.OpClose && s.rule.IgnoreClose && !s.isOver():
		s.hung = true
		s.notes["close ignored"]++
		return true
	}
	return false
}

// isOver reports whether the phase is over: no new fault begins.
func (s *socket) isOver() bool { return isClosed(s.phase.ended) }

// note counts what a fault did.
func (s *socket) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[what]++
}

// direction names one for a reader.
func direction(d fault.WSDirection) string {
	if d == fault.BothWays {
		return "both ways"
	}
	return strings.ReplaceAll(string(d), "_", " ")
}

// String tells what came and what faults did, once all is over.
func (s *socket) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := []string{fmt.Sprintf("websocket: %d messages to client, %d to server", s.counts[fault.ToClient], s.counts[fault.ToServer])}
	for _, what := range slices.Sorted(maps.Keys(s.notes)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.notes[what], what))
	}
	return strings.Join(append(parts, "ended "+s.how), "; ")
}
