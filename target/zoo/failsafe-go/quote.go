package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// quotes answers GET /quote from the dependency, or from its last quote.
type quotes struct {
	url   string
	guard failsafe.Executor[any]
	http  http.Client
}

// ServeHTTP implements [http.Handler].
func (q *quotes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source := "dependency"
	if err := q.guard.RunWithExecution(func(failsafe.Execution[any]) error { return q.ask(r.Context(), r.Header) }); err != nil {
		source = "fallback"
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := fmt.Fprintf(w, `{"source":%q}`, source); err != nil {
		panic(http.ErrAbortHandler) // the caller has left
	}
}

// ask sends one request; the identity of the incoming one goes with it.
func (q *quotes) ask(ctx context.Context, incoming http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url+"/quote", http.NoBody)
	if err != nil {
		return err
	}
	for _, name := range []string{"Traceparent", "X-Request-Id"} {
		if values := incoming.Values(name); len(values) > 0 {
			req.Header[name] = values
		}
	}
	resp, err := q.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the dependency answered %d", resp.StatusCode)
	}
	return nil
}

// stateLog is where the breaker's own changes of state are written down, if anywhere.
type stateLog struct{ file *os.File }

// logOf opens the log at a path; empty: none.
func logOf(path string) (stateLog, error) {
	if path == "" {
		return stateLog{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return stateLog{f}, err
}

// changed writes a line: the instant and the new state.
func (l stateLog) changed(e circuitbreaker.StateChangedEvent) {
	if l.file == nil {
		return
	}
	state := map[circuitbreaker.State]string{
		circuitbreaker.OpenState: "OPEN", circuitbreaker.HalfOpenState: "HALF_OPEN", circuitbreaker.ClosedState: "CLOSED",
	}[e.NewState]
	if _, err := fmt.Fprintln(l.file, time.Now().Format(time.RFC3339Nano), state); err != nil {
		fmt.Fprintln(os.Stderr, "quotes:", err)
	}
}
