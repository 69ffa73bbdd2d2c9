package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// Source is the header that says where an answer comes from.
const Source = "X-Faultline-Source"

// The values of Source.
const (
	SourcePrimary   = "primary"
	SourceSecondary = "secondary"
	SourceCache     = "cache"
	SourceFallback  = "fallback"
	SourceNone      = "none"
)

// Instance is the header that says which instance of a service has answered.
const Instance = "X-Faultline-Instance"

// The paths that the proxy answers itself, off the breaker's path.
const (
	HealthPath = "/-/healthz"
	StatePath  = "/-/state"
)

// serve answers a request. Calls to the dependency end with base, and with the request's
// own context, which ends when the client leaves, only where the service says so.
func (p *Proxy) serve(base context.Context, w http.ResponseWriter, r *http.Request) {
	at, err := p.pick(r)
	if err != nil {
		writeNone(w, http.StatusBadRequest, err.Error())
		return
	}
	if at.name != "" {
		w = &stamped{w, at.name}
	}
	if handler := p.own(at, r); handler != nil {
		handler(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		writeNone(w, http.StatusBadRequest, "the request's body could not be read: "+err.Error())
		return
	}
	if !at.work(r.Context()) {
		abort() // The client has left, or the proxy is stopping.
	}
	defer at.rest()
	s, canned := at.find(r.URL.Path)
	if canned != nil {
		writeCanned(w, canned, SourcePrimary)
		return
	}
	ctx := base
	if s.Cancels {
		with, cancel := context.WithCancelCause(base)
		defer cancel(nil)
		defer context.AfterFunc(r.Context(), func() { cancel(errLeft) })()
		ctx = with
	}
	c := &call{
		base: base, ctx: ctx, number: s.calls.Add(1) - 1,
		method: r.Method, url: r.URL, header: p.onward(r.Header), body: body,
		spawn: p.active.Go, // The request is active until it is answered.
	}
	s.answer(c, w, r, s.ask(c))
}

// own returns who answers a path of the proxy's own; nil: it is the dependency's.
func (p *Proxy) own(at *instance, r *http.Request) http.HandlerFunc {
	switch r.URL.Path {
	case HealthPath:
		return func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]string{"status": "UP"})
		}
	case StatePath:
		return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, at.main.breaker.told()) }
	}
	if rest, ours := actuatorParts(r.URL); ours && p.cfg.Actuator {
		return func(w http.ResponseWriter, r *http.Request) { p.actuator(at, w, r, rest) }
	}
	return nil
}

// onward returns the headers that go to the dependency.
func (p *Proxy) onward(h http.Header) http.Header {
	h = endToEnd(h)
	h.Del("Expect") // This server has answered it.
	if len(p.instances) > 1 {
		h.Del(Instance) // It was for us.
	}
	return h
}

// abort closes the client's connection. Without it, returning without an answer
// would be an empty 200.
func abort() { panic(http.ErrAbortHandler) }

// pause waits for d and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stamped is a ResponseWriter that says who answers. It does so last of all, since a
// dependency may be such a service too, and say so in its own answer.
type stamped struct {
	http.ResponseWriter
	instance string
}

// WriteHeader is called for every answer.
func (s *stamped) WriteHeader(status int) {
	s.Header().Set(Instance, s.instance)
	s.ResponseWriter.WriteHeader(status)
}

// writeAnswer passes a source's answer on. Errors of writing are not looked at, here
// and below: they say that the client has left.
func writeAnswer(w http.ResponseWriter, r *http.Request, a *answer, source string) {
	h := w.Header()
	maps.Copy(h, a.header)
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // Or the server would guess one.
	}
	if r.Method != http.MethodHead && a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	h.Set(Source, source)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// writeCanned sends a configured answer.
func writeCanned(w http.ResponseWriter, a *Answer, source string) {
	h := w.Header()
	h["Content-Type"] = nil
	for k, v := range a.Headers {
		h.Set(k, v)
	}
	h.Set(Source, source)
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	_, _ = io.WriteString(w, a.Body)
}

// writeNone says that there is neither an answer nor a fallback.
func writeNone(w http.ResponseWriter, status int, reason string) {
	w.Header().Set(Source, SourceNone)
	writeJSON(w, status, map[string]string{"source": SourceNone, "reason": reason})
}

// state is what StatePath answers of Resilience4j's breaker. Rates are in percent, -1
// below the minimum number of calls.
type state struct {
	State        string  `json:"state"`
	FailureRate  float32 `json:"failure_rate"`
	SlowRate     float32 `json:"slow_rate"`
	Buffered     int     `json:"buffered"`
	Failed       int     `json:"failed"`
	Slow         int     `json:"slow"`
	SlowFailed   int     `json:"slow_failed"`
	NotPermitted int     `json:"not_permitted"`
}

// otherState is what StatePath answers of another breaker: what its window holds.
type otherState struct {
	State     string `json:"state"`
	Model     string `json:"model"`
	Calls     int    `json:"calls"`
	Successes int    `json:"successes"`
	Failures  int    `json:"failures"`
	Ignored   int    `json:"ignored"`
}

// told is what StatePath answers.
func (b *breaker) told() any {
	l := b.look()
	if b.machine == nil {
		return otherState{l.state.String(), b.model, l.counts.Calls, l.counts.Successes, l.counts.Failures, l.counts.Ignored}
	}
	return state{
		State:        l.state.String(),
		FailureRate:  l.metrics.FailureRate,
		SlowRate:     l.metrics.SlowRate,
		Buffered:     l.metrics.Buffered,
		Failed:       l.metrics.Failed,
		Slow:         l.metrics.Slow,
		SlowFailed:   l.metrics.SlowFailed,
		NotPermitted: l.metrics.NotPermitted,
	}
}

// writeJSON sends a value that can be marshalled: all of them are strings and
// finite numbers.
func writeJSON(w http.ResponseWriter, status int, value any) {
	writeJSONAs(w, status, "application/json", value)
}

// writeJSONAs is writeJSON with a media type.
func writeJSONAs(w http.ResponseWriter, status int, media string, value any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
