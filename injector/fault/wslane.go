package fault

import "time"

// WSLane decides the messages that go one way on one connection. It is asked about each
// frame that begins a message, and about each control frame, in their order.
type WSLane struct {
	to       WSDirection
	faults   []wsFault
	messages uint64 // that were asked about
	frames   uint64 // these and control frames
}

// wsFault is a fault of messages in the course of a connection.
type wsFault struct {
	*WSMessage
	hash uint64
	nth  uint64 // how many messages it hit
}

// WSVerdict is what becomes of one message.
type WSVerdict struct {
	*WSMessage               // nil: it passes
	Wait       time.Duration // of WSDelay
	Draw       uint64        // a random number of its own, by (seed, rule, index of the handshake, message)
}

// Lane begins a direction of a connection that v's handshake made. v must be of a rule with a
// WebSocket.
func (v Verdict) Lane(to WSDirection) *WSLane {
	l := &WSLane{to: to}
	for n := range v.Rule.WebSocket.Messages {
		m := &v.Rule.WebSocket.Messages[n]
		if m.To == to {
			l.faults = append(l.faults, wsFault{WSMessage: m, hash: v.Draw(uint64(n))})
		}
	}
	return l
}

// Next decides the next message, or control frame.
func (l *WSLane) Next(control bool) WSVerdict {
	message, frame := l.messages, l.frames
	l.frames++
	if !control {
		l.messages++
	}
	for n := range l.faults {
		f := &l.faults[n]
		index := message
		if f.Control {
			index = frame
		} else if control {
			continue
		}
		if !f.hits(index) {
			continue
		}
		v := WSVerdict{WSMessage: f.WSMessage, Draw: number(f.hash, index)}
		if f.Do == WSDelay {
			v.Wait = f.Delay.draw(f.hash, f.nth, 0)
		}
		f.nth++
		return v
	}
	return WSVerdict{}
}

// Messages is how many messages were asked about.
func (l *WSLane) Messages() uint64 { return l.messages }
