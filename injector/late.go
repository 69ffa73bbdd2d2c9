package injector

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// errLeft says that the caller left while the answer was kept from him.
var errLeft = errors.New("the caller left before the answer was due")

// lateKey is the context key of the *exchange whose answer is late.
type lateKey struct{}

// answerLate has the upstream's answer wait for its time before its head is passed on.
func (x *exchange) answerLate(r *http.Request) *http.Request {
	if !x.owed {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), lateKey{}, x))
}

// answered is told of each head of an upstream, before the caller is.
func answered(res *http.Response) error {
	if x, ok := res.Request.Context().Value(lateKey{}).(*exchange); ok && !x.ripen() {
		return errLeft
	}
	return noteAnswer(res)
}

// ripen waits for the rule's latency, if that is one of the answer: it is called when the work
// is done, before the first byte of the answer. It returns false when the caller left.
func (x *exchange) ripen() bool {
	if !x.owed {
		return true
	}
	x.owed = false
	now := time.Now()
	due := now.Add(x.verdict.Latency)
	floor := x.verdict.Rule.Latency.Mode == fault.LatencyFloor
	if floor {
		due = x.from.Add(x.verdict.Latency)
	}
	wait := x.sleepUntil
	if !x.heard() {
		wait = x.readUntil // The server does not hear him leave.
	}
	if !wait(due) {
		return false
	}
	if !floor || due.After(now) { // Else the work took longer, which is no error.
		x.meter.waited(due)
	}
	x.w.release()
	return true
}

// heard reports whether the server hears the caller leave: over HTTP/1.1, when nothing of the
// request is unread.
func (x *exchange) heard() bool {
	return x.stream != nil || x.r.ContentLength == 0 || x.body.ended.Load()
}

// interim is an answer that is none yet.
type interim struct {
	status int
	header http.Header
}

// release sends what came before an answer that was late.
func (w *answerWriter) release() {
	w.keep = false
	kept := w.kept
	w.kept = nil
	for _, i := range kept {
		maps.Copy(w.Header(), i.header)
		w.ResponseWriter.WriteHeader(i.status)
		clear(w.Header())
	}
}

// keeps keeps an answer that is none yet for release, if the answer is late: it would be the
// first byte of it. That the body may come is no part of the answer.
func (w *answerWriter) keeps(status int) bool {
	if !w.keep || status >= http.StatusOK || status == http.StatusContinue {
		return false
	}
	w.kept = append(w.kept, interim{status, w.Header().Clone()})
	return true
}
