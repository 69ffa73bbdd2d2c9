package attack_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// TestMain names a proxy that does not exist: whatever heeded it would fail.
// net/http reads the environment once, so one test cannot do this for itself.
func TestMain(m *testing.M) {
	asTrial()
	if err := os.Setenv("HTTP_PROXY", "http://nowhere:1"); err != nil {
		panic(err)
	}
	m.Run()
}

// world is a system under test in this process, an attacker and what both saw.
type world struct {
	*attack.Attacker
	rec    *trace.Recorder
	corr   match.Correlator
	start  time.Time
	server *http.Server
	served chan struct{}
}

// connKey finds, in a request's context, whether its connection was used before.
type connKey struct{}

// newWorld serves handler on ln and attacks it through dial. The handler sees
// requests after they were recorded as attempts.
func newWorld(t *testing.T, ln net.Listener, dial func(context.Context, string, string) (net.Conn, error), handler http.HandlerFunc) *world {
	t.Helper()
	start := time.Now()
	w := &world{
		rec:    trace.NewRecorder(start),
		corr:   match.Correlator{Run: 7, Phases: []string{"one", "two", "probe"}},
		start:  start,
		served: make(chan struct{}),
	}
	w.server = &http.Server{
		Handler: w.record(handler),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, new(atomic.Bool))
		},
	}
	go func() {
		defer close(w.served)
		_ = w.server.Serve(ln)
	}()
	var err error
	w.Attacker, err = attack.New(attack.Config{
		BaseURL:    "http://" + ln.Addr().String(),
		Recorder:   w.rec,
		Correlator: w.corr,
		Classes:    match.Classes{{Name: "primary", Status: []int{200}, Contains: []string{"ok"}}},
		Timeout:    2 * time.Second,
		Dial:       dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// newBubbleWorld is a world on an in-process network. It is called in a bubble.
func newBubbleWorld(t *testing.T, handler http.HandlerFunc) *world {
	t.Helper()
	n := memnet.New(1)
	ln, err := n.Listen("tcp", "sut:80")
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, ln, n.DialContext, handler)
}

// newLoopbackWorld is a world on real sockets.
func newLoopbackWorld(t *testing.T, handler http.HandlerFunc) *world {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, ln, nil, handler)
}

// record is a little dependency: it records every request as an attempt.
func (w *world) record(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		id, by, _ := w.corr.Identify(match.Request{Header: r.Header, URI: r.RequestURI})
		handle := w.rec.Arrived(trace.Attempt{
			Injector: "dep", ID: id, By: by, Peer: r.RemoteAddr, Method: r.Method, Path: r.URL.RequestURI(),
			Arr: w.rec.Since(time.Now()),
		})
		defer w.rec.Departed(handle, func(a *trace.Attempt) {
			a.Dep, a.Outcome = w.rec.Since(time.Now()), trace.OutcomeAnswered
		})
		next(rw, r)
	})
}

// finish waits for the stragglers, stops the server and returns what was seen.
func (w *world) finish(t *testing.T) *trace.Trace {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Wait(ctx); err != nil {
		t.Error(err)
	}
	if err := w.server.Shutdown(ctx); err != nil { // Handlers still have to depart.
		t.Error(err)
	}
	<-w.served
	return w.rec.Snapshot(trace.Header{})
}

// rate is a phase of 100/s for d.
func rate(d time.Duration, maxInFlight int) attack.Phase {
	return attack.Phase{
		Name:     "one",
		Targets:  []match.Target{{Name: "search", Path: "/search"}},
		Schedule: pace.Constant{Num: 100, Per: time.Second}, Duration: d, MaxInFlight: maxInFlight,
	}
}

// calls is a phase of n calls by c workers.
func calls(n, c int) attack.Phase {
	return attack.Phase{
		Name:    "one",
		Targets: []match.Target{{Name: "search", Path: "/search"}},
		Calls:   n, Concurrency: c,
	}
}

// after answers after d.
func after(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			_, _ = io.WriteString(w, "ok")
		case <-r.Context().Done():
		}
	}
}

// run carries out a phase that is expected to go well.
func (w *world) run(t *testing.T, p attack.Phase) trace.Phase {
	t.Helper()
	out, err := w.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
