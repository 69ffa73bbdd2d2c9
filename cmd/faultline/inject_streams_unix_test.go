//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"
)

// streamsExperiment is an experiment with connections that are passed on and with WebSockets.
const streamsExperiment = `apiVersion: faultline/v1
kind: Experiment
metadata: { name: streams }
sut: { base_url: http://127.0.0.1:1 }
injectors:
  database: { listen: DATABASE, tcp: { upstream: UPSTREAM } }
  feed: { listen: FEED, stub: { websocket: { open: hello } } }
load: { rate: 10/s, targets: [ { name: pay, path: /pay, depends_on: [database, feed] } ] }
breakers: { feed: { injector: feed } }
phases:
  - { name: healthy, duration: 1s }
  - name: broken
    duration: 5s
    faults:
      - { injector: database, first: 1, tcp: { down: { cut: { by: close } } } }
      - { injector: feed, websocket: { messages: [ { to: client, at: 2, corrupt: true } ], close: { after: 1, code: 1013 } } }
assert: [ { id: calm, phase: broken, breaker.stays_closed: feed } ]
`

// A file's connections and WebSockets are served and broken without load, too.
func TestInjectStreams(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, " stored") }))
	defer upstream.Close()
	database, feed, dir := vacant(t), vacant(t), t.TempDir()
	file, ledger := filepath.Join(dir, "streams.yaml"), filepath.Join(dir, "back.jsonl")
	text := strings.NewReplacer("DATABASE", database, "FEED", feed, "UPSTREAM", upstream.Listener.Addr().String()).Replace(streamsExperiment)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := begin(t, exec.Command("faultline", "inject", "--phase", "broken", "--trace", ledger, file))
	p.says(t, "phase broken, until Ctrl-C:$")
	p.says(t, "^    database down close after 0 bytes to the first connection$")
	p.says(t, "^    feed WebSocket with corrupt to client, close 1013 after 1 messages to all requests that match websocket")
	listening(t, feed)
	// To see whether somebody listens takes a connection, and the first one at the database is hit.
	if got := ask(t, 2, http.MethodGet, "http://"+database); got != "cut 200 stored" {
		t.Errorf("connections: %q", got)
	}
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+feed, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, said, err := conn.ReadMessage()
	_, _, end := conn.ReadMessage()
	_ = conn.Close()
	if string(said) != "hello" || err != nil || !websocket.IsCloseError(end, websocket.CloseTryAgainLater) {
		t.Errorf("the WebSocket said %q, %v, and then %v", said, err, end)
	}
	p.says(t, "101:1")
	p.signal(t, syscall.SIGINT)
	out, _ := p.ends(t, 130)
	wants(t, out, "database listening on tcp://"+database+", passing connections on to "+upstream.Listener.Addr().String())
	recorded, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(recorded), `"rule":"broken/0"`, `"bytes_up":`, `"rule":"broken/1"`, `1 close 1013`, `"stream":true,"t_closed":`)
}
