package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/control/client"
)

// Whatever a server sends that is no API of this kind, who watches it gets a state or an error.
func TestWatchingSomethingElse(t *testing.T) {
	for _, said := range []string{`{"type":"snapshot","state":null}`, `{"type":"delta","patch":{"a":{"b":1}}}`, `{"type":"snapshot"}`, `{"type":"x","state":{"injectors":[]}}`, `{"patch":null}`, `null`, `[]`, `7`, ``, `{`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := new(websocket.Upgrader).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.WriteMessage(websocket.TextMessage, []byte(said))
			c.WriteMessage(websocket.TextMessage, []byte(`{"type":"delta","patch":{"injectors":{"dep":{"phase":"p"}},"gone":null}}`))
		}))
		enough, states := errors.New("enough"), 0
		err := (&client.Client{URL: s.URL}).Watch(t.Context(), func(control.State) error {
			if states++; states == 2 {
				return enough
			}
			return nil
		})
		if err == nil {
			t.Errorf("%s: no error", said)
		}
		s.Close()
	}
}
