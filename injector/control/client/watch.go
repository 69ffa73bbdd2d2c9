package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/faultline-go/faultline/injector/control"
)

// Watch calls f with the state and then after each change, the injectors by name, until ctx
// ends, which is no error, or f returns one, or the stream ends. Who takes longer than a few
// seconds over a state may be dropped.
func (c *Client) Watch(ctx context.Context, f func(control.State) error) error {
	h := http.Header{}
	if c.Token != "" {
		h.Set("Authorization", "Bearer "+c.Token)
	}
	dialer := websocket.Dialer{HandshakeTimeout: 30 * time.Second}
	conn, resp, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(strings.TrimSuffix(c.URL, "/"), "http")+"/v1/stream", h)
	if resp != nil {
		defer func() { _ = resp.Body.Close() }() // It is all there already.
	}
	if err != nil {
		if resp != nil {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, mostAnswer)) // The handshake keeps a part of it.
			return newError(resp, text)
		}
		return fmt.Errorf("control API: open the stream: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	err = watch(conn, f)
	if ctx.Err() != nil {
		return nil // That is how it was to end.
	}
	return err
}

// watch reads messages and calls f with what they come to.
func watch(conn *websocket.Conn, f func(control.State) error) error {
	state := map[string]any{}
	for {
		var m control.StreamMessage
		if err := conn.ReadJSON(&m); err != nil {
			return fmt.Errorf("control API: read the stream: %w", err)
		}
		if m.Type == "snapshot" && m.State != nil {
			state = m.State
		}
		patch(state, m.Patch)
		s, err := stateOf(state)
		if err == nil {
			err = f(s)
		}
		if err != nil {
			return err
		}
	}
}

// patch applies a JSON merge patch (RFC 7396).
func patch(to, with map[string]any) {
	for key, value := range with {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(to, key)
		case isObject:
			was, ok := to[key].(map[string]any)
			if !ok {
				was = map[string]any{}
				to[key] = was
			}
			patch(was, inner)
		default:
			to[key] = value
		}
	}
}

// stateOf reads a state whose injectors are by name.
func stateOf(o map[string]any) (control.State, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return control.State{}, err
	}
	var s struct {
		control.State

		Injectors map[string]control.Injector `json:"injectors"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return control.State{}, fmt.Errorf("control API: read the stream: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Injectors)) {
		s.State.Injectors = append(s.State.Injectors, s.Injectors[name])
	}
	return s.State, nil
}
