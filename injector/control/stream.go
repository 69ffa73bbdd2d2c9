package control

import (
	"encoding/json"
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
	mostStreams    = 32
	mostHeard      = 1 << 10 // bytes of a message, of which none is expected
)

// getStream tells a reader of the state, and then of what changes. Each reader has a stream
// of his own that looks at the state when he has taken what came before, so a slow one gets
// fewer and larger deltas; one who takes nothing is dropped.
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
	s.tell(r, c, gone)
	_ = c.Close()
	<-gone
	return nil, nil
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
func (s *Server) tell(r *http.Request, c *websocket.Conn, gone <-chan struct{}) {
	look, ping := time.NewTicker(streamEvery), time.NewTicker(streamPing)
	defer look.Stop()
	defer ping.Stop()
	last, err := s.streamed()
	message := StreamMessage{Type: "snapshot", State: last}
	for {
		if err == nil && message.Type != "" {
			_ = c.SetWriteDeadline(time.Now().Add(streamPatience)) // Writing tells of its error.
			err = c.WriteJSON(message)
		}
		if err != nil {
			return
		}
		message = StreamMessage{}
		select {
		case <-gone:
			return
		case <-r.Context().Done():
			text := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the API has ended")
			_ = c.WriteControl(websocket.CloseMessage, text, time.Now().Add(time.Second)) // It ends in any case.
			return
		case <-ping.C:
			err = c.WriteControl(websocket.PingMessage, nil, time.Now().Add(streamPatience))
		case <-look.C:
			var now object
			if now, err = s.streamed(); err != nil {
				return
			}
			if patch := news(last, now); len(patch) > 0 {
				patch["now"] = now["now"]
				message = StreamMessage{Type: "delta", Patch: patch}
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
