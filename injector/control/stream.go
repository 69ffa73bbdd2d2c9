package control

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"time"

	"github.com/gorilla/websocket"
)

// StreamMessage is what a stream is made of. The first is a snapshot; each later one says
// what has changed since the one before, as a JSON merge patch (RFC 7396).
type StreamMessage struct {
	Type  string `json:"type"` // snapshot or delta
	State object `json:"state,omitempty"`
	Patch object `json:"patch,omitempty"`
}

// The stream's times and bounds.
const (
	streamEvery    = 100 * time.Millisecond // between two looks at the state
	streamPing     = 10 * time.Second
	streamPatience = 5 * time.Second // with a reader who takes nothing
	streamFarewell = 300 * time.Millisecond
	mostStreams    = 32
	mostHeard      = 1 << 10 // bytes of a message, of which none is expected
)

// getStream tells a reader of the state, and then of what changes. Each reader has a stream
// of his own that goes on when he has taken what came before, so a slow one gets fewer and
// larger deltas, and nothing is left out; one who takes nothing is dropped, which is logged and counted.
func (s *Server) getStream(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	if !websocket.IsWebSocketUpgrade(r) {
		return nil, refuse(http.StatusBadRequest, "not_websocket", "this is a WebSocket; ask for one")
	}
	if s.streams.Add(1) > mostStreams {
		s.streams.Add(-1)
		return nil, refuse(http.StatusServiceUnavailable, "too_many_streams", "there are too many streams already; close one")
	}
	defer s.streams.Add(-1)
	var p *problem
	up := websocket.Upgrader{
		HandshakeTimeout: writeTimeout,
		CheckOrigin:      func(*http.Request) bool { return true }, // The guard has looked.
		Error: func(_ http.ResponseWriter, _ *http.Request, _ int, reason error) {
			p = refuse(http.StatusBadRequest, "not_websocket", reason.Error())
		},
	}
	c, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, p // nil where the caller left in between
	}
	defer func() { _ = c.Close() }()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		hear(c)
	}()
	// A reader who takes nothing must not keep the API from its end, and the faults with it.
	stop := context.AfterFunc(r.Context(), func() { part(c, gone) })
	defer stop()
	if err := s.tell(r.Context(), c, gone); isTimeout(err) && r.Context().Err() == nil {
		s.dropped.Add(1)
		s.log.Warn("a reader of the stream took nothing, and was dropped", slog.String("peer", r.RemoteAddr), slog.Duration("after", streamPatience))
	}
	_ = c.Close()
	<-gone
	return nil, nil
}

// part closes a stream whose reader has had his time to be told of the end.
func part(c *websocket.Conn, gone <-chan struct{}) {
	timer := time.NewTimer(streamFarewell)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = c.Close() // It may be closed already.
	case <-gone:
	}
}

// isTimeout reports whether somebody took too long.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// hear reads what comes, so that pings are answered and the end is seen.
func hear(c *websocket.Conn) {
	c.SetReadLimit(mostHeard)
	for {
		// A reader who is not there any more does not answer pings either.
		_ = c.SetReadDeadline(time.Now().Add(3 * streamPing))
		c.SetPongHandler(func(string) error { return c.SetReadDeadline(time.Now().Add(3 * streamPing)) })
		if _, _, err := c.NextReader(); err != nil {
			return
		}
	}
}

// tell sends the snapshot and the deltas, until somebody leaves.
func (s *Server) tell(ctx context.Context, c *websocket.Conn, gone <-chan struct{}) error {
	look, ping := time.NewTicker(streamEvery), time.NewTicker(streamPing)
	defer look.Stop()
	defer ping.Stop()
	last, err := s.views.fresh(s.streamed)
	if err != nil {
		return err
	}
	message, err := json.Marshal(StreamMessage{Type: "snapshot", State: last.state})
	for {
		if err == nil && message != nil {
			_ = c.SetWriteDeadline(time.Now().Add(streamPatience)) // Writing tells of its error.
			err = c.WriteMessage(websocket.TextMessage, message)
		}
		if err != nil {
			return err
		}
		message = nil
		select {
		case <-gone:
			return nil
		case <-ctx.Done():
			text := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the API has ended")
			return c.WriteControl(websocket.CloseMessage, text, time.Now().Add(time.Second))
		case <-ping.C:
			err = c.WriteControl(websocket.PingMessage, nil, time.Now().Add(streamPatience))
		case <-look.C:
			var now view
			if now, err = s.views.recent(s.streamed); err == nil {
				message, err = now.since(last)
				last = now
			}
		}
	}
}

// streamed is the state as a stream has it: injectors by name, so that a delta holds only
// those that changed.
func (s *Server) streamed() (object, error) {
	st := s.state()
	by := map[string]Injector{}
	for _, i := range st.Injectors {
		by[i.Injector] = i
	}
	text, err := json.Marshal(struct {
		State

		Injectors map[string]Injector `json:"injectors"`
	}{st, by})
	if err != nil {
		return nil, err
	}
	var o object
	return o, json.Unmarshal(text, &o)
}

// news is the merge patch from one state to another, without the time itself.
func news(from, to object) object {
	patch := merge(from, to)
	delete(patch, "now")
	return patch
}

// merge is the merge patch from one object to another. No value is null.
func merge(from, to object) object {
	patch := object{}
	for key := range from {
		if _, still := to[key]; !still {
			patch[key] = nil
		}
	}
	for key, value := range to {
		was, isObject := from[key].(object)
		is, stays := value.(object)
		switch {
		case isObject && stays:
			if inner := merge(was, is); len(inner) > 0 {
				patch[key] = inner
			}
		case !reflect.DeepEqual(from[key], value):
			patch[key] = value
		}
	}
	return patch
}
