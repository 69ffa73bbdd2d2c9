package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
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

// serve answers a request. Calls to the dependency end with base, not with the
// request's own context, which ends when the client leaves.
func (p *Proxy) serve(base context.Context, w http.ResponseWriter, r *http.Request) {
	if p.cfg.Instance != "" {
		w = &stamped{w, p.cfg.Instance}
	}
	switch r.URL.Path {
	case HealthPath:
		writeJSON(w, http.StatusOK, map[string]string{"status": "UP"})
		return
	case StatePath:
		p.writeState(w)
		return
	}
	if rest, ours := actuatorParts(r.URL); ours && p.cfg.Actuator {
		p.actuator(w, r, rest)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		writeNone(w, http.StatusBadRequest, "the request's body could not be read: "+err.Error())
		return
	}
	if !p.work(r.Context()) {
		abort() // The client has left, or the proxy is stopping.
	}
	defer p.rest()
	s, canned := p.find(r.URL.Path)
	if canned != nil {
		writeCanned(w, canned, SourcePrimary)
		return
	}
	s.answer(base, w, r, body, s.ask(base, r, body))
}

// work waits for a worker and reports whether there was one before ctx ended.
func (p *Proxy) work(ctx context.Context) bool {
	if p.workers == nil {
		return true
	}
	select {
	case p.workers <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// rest gives the worker back.
func (p *Proxy) rest() {
	if p.workers != nil {
		<-p.workers
	}
}

// find returns who serves a path: a service, or else a canned answer.
func (p *Proxy) find(path string) (*service, *Answer) {
	for _, r := range p.routes {
		prefix, open := strings.CutSuffix(r.path, "*")
		if r.path == path || open && strings.HasPrefix(path, prefix) {
			return r.service, r.respond
		}
	}
	return p.main, nil
}

// ask makes the call, with as many attempts as it needs and may have.
func (s *service) ask(base context.Context, r *http.Request, body []byte) outcome {
	for n := 1; ; n++ {
		out := s.attempt(base, r, body)
		if out.good() || out.cause == refused || n >= s.Retry || !pause(base, s.RetryWait) {
			return out
		}
	}
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

// state is what StatePath answers. Rates are in percent, -1 below the minimum
// number of calls.
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

// writeState tells what the breaker knows.
func (p *Proxy) writeState(w http.ResponseWriter) {
	s, m := p.main.breaker.read()
	writeJSON(w, http.StatusOK, newState(s, m))
}

func newState(s breakerref.State, m breakerref.Metrics) state {
	return state{
		State:        s.String(),
		FailureRate:  m.FailureRate,
		SlowRate:     m.SlowRate,
		Buffered:     m.Buffered,
		Failed:       m.Failed,
		Slow:         m.Slow,
		SlowFailed:   m.SlowFailed,
		NotPermitted: m.NotPermitted,
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
