package experiments

import (
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// putWebSocketStub writes what a healthy dependency says over a WebSocket.
func putWebSocketStub(o *yamldoc.Out, s *WebSocketStub) {
	if s == nil {
		return
	}
	one := &yamldoc.Out{}
	one.PutIf(len(s.Open) > 0, "open", s.Open)
	one.PutIf(len(s.Answer) > 0, "answer", s.Answer)
	o.Put(webSocketFault, one)
}

// putWebSocket writes what becomes of a WebSocket, if anything does.
func putWebSocket(o *yamldoc.Out, w *fault.WebSocket) {
	if w == nil {
		return
	}
	one := &yamldoc.Out{}
	one.PutIf(w.Accept != "", "accept", string(w.Accept))
	if len(w.Messages) > 0 {
		one.Put("messages", each(w.Messages, messageOut))
	}
	if c := w.Close; c != nil {
		end := &yamldoc.Out{}
		end.Put("after", c.After)
		end.Put("of", wayOut(c.Of))
		end.Put("code", int(c.Code))
		end.PutIf(c.Reason != "", "reason", c.Reason)
		end.Put("by", string(c.By))
		one.Put("close", end)
	}
	if s := w.Stall; s != nil {
		stall := &yamldoc.Out{}
		stall.Put("after", s.After)
		stall.Put("to", wayOut(s.To))
		one.Put("stall", stall)
	}
	if w.NoPong != nil {
		which := &yamldoc.Out{}
		putSelection(which, *w.NoPong)
		if w.NoPong.Kind == fault.SelectAll {
			one.Put("no_pong", true)
		} else {
			one.Put("no_pong", which)
		}
	}
	one.PutIf(w.IgnoreClose, "ignore_close", true)
	o.Put(webSocketFault, one)
}

// wayOut is the word for where messages go.
func wayOut(d fault.WSDirection) string {
	switch d {
	case fault.ToServer:
		return wayServer
	case fault.BothWays:
		return wayBoth
	default:
		return wayClient
	}
}

// messageOut writes what is done to some messages.
func messageOut(m fault.WSMessage) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("to", wayOut(m.To))
	if len(m.At) > 0 {
		var numbers []int
		for _, n := range m.At {
			numbers = append(numbers, int(n))
		}
		o.Put("at", numbers)
	}
	putSelection(o, m.Select)
	o.PutIf(m.Control, "control", true)
	switch key := string(m.Do); m.Do {
	case fault.WSDelay:
		putLaw(o, key, m.Delay)
	case fault.WSCut:
		o.Put(key, string(m.By))
	case fault.WSOversize, fault.WSFragment:
		o.Put(key, yamldoc.FormatSize(m.Size))
	default:
		o.Put(key, true)
	}
	return o
}
