package control_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// stream opens one.
func (a api) stream(header http.Header) (*websocket.Conn, *http.Response, error) {
	d := websocket.Dialer{HandshakeTimeout: patience}
	c, resp, err := d.Dial(strings.Replace(a.URL(), "http", "ws", 1)+"/v1/stream", header)
	if err == nil {
		c.SetReadDeadline(time.Now().Add(patience))
		*a.open = append(*a.open, c)
	}
	return c, resp, err
}

// hangUp closes all streams that were opened.
func (a api) hangUp() {
	for _, c := range *a.open {
		c.Close()
	}
	*a.open = nil
}

// dep is what a message has of the injector.
func dep(t *testing.T, all any) map[string]any {
	t.Helper()
	o, ok := all.(map[string]any)["injectors"].(map[string]any)["dep"].(map[string]any)
	if !ok {
		t.Fatalf("no injector in %v", all)
	}
	return o
}

// A stream begins with the state and goes on with what changes.
func TestStream(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	c, _, err := a.stream(nil)
	if err != nil {
		t.Fatal(err)
	}
	var m control.StreamMessage
	if err := c.ReadJSON(&m); err != nil || m.Type != "snapshot" || dep(t, m.State)["phase"] != "" || m.State["recorded"] != 0.0 {
		t.Fatalf("%v, %+v", err, m)
	}
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	m = control.StreamMessage{}
	if err := c.ReadJSON(&m); err != nil || m.Type != "delta" || dep(t, m.Patch)["phase"] != "out" || dep(t, m.Patch)["url"] != nil || m.Patch["recorded"] != nil || m.Patch["now"] == nil {
		t.Errorf("%v, %+v", err, m)
	}
	a.call(0)
	for m = (control.StreamMessage{}); m.Patch["recorded"] != 1.0; {
		if err := c.ReadJSON(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, _, err = c.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("the end is told as %v", err)
	}
}

// A page of another site cannot open one, nor who has no token.
func TestStreamIsGuarded(t *testing.T) {
	a := begin(t, control.Config{Token: token}, injector.Config{}, "dep")
	for _, tt := range []struct {
		header http.Header
		status int
	}{
		{http.Header{}, 401},
		{http.Header{"Authorization": {"Bearer " + token}, "Origin": {"http://evil.example"}}, 403},
		{http.Header{"Authorization": {"Bearer " + token}, "Host": {"evil.example"}}, 403},
		{http.Header{"Authorization": {"Bearer " + token}}, 101},
		{http.Header{"Authorization": {"Bearer " + token}, "Origin": {"http://" + a.Addr()}}, 101},
	} {
		if _, resp, err := a.stream(tt.header); resp == nil || resp.StatusCode != tt.status {
			t.Errorf("%v: %v, %v, want %d", tt.header, resp, err, tt.status)
		}
	}
}

// Readers who take nothing, and those who talk too much, hold up nobody and are gone in the
// end.
func TestStreamOfTheDeaf(t *testing.T) {
	before := runtime.NumGoroutine()
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	for range 10 {
		if _, _, err := a.stream(nil); err != nil {
			t.Fatal(err)
		}
	}
	talker, _, err := a.stream(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := talker.WriteMessage(websocket.TextMessage, make([]byte, 1<<11)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, _, err = talker.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
		t.Errorf("who talks too much is told %v", err)
	}
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	for range 100 {
		a.call(0)
	}
	if got := a.state().Recorded; got != 100 {
		t.Errorf("%d requests were served", got)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	a.deps[0].Close()
	until(t, "everything has ended", func() bool { return runtime.NumGoroutine() <= before })
}
