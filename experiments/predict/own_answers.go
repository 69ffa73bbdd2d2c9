package predict

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
)

// reference is what faultline's own service answers; kept is an answer that it has kept.
func (w *words) reference(s *experiments.Reference, o outcome, kept *old, d defect, now time.Time) answer {
	r, from := w.says(s, o, kept, d)
	if r == nil {
		return w.primary(nil)
	}
	more := http.Header{}
	if o.limit != nil && (from == sourceNone || s.RateLimiter.Told) {
		for _, told := range o.limit.Headers(o.why == limited && from == sourceNone && !d.mutant.Around.NoRetryAfter) {
			more.Set(told.Name, told.Value)
		}
	}
	if w.tellsAge {
		date(more, kept, from, now)
	}
	if len(more) == 0 {
		return w.canned(r, from)
	}
	return w.read(r, from, more)
}

// says is the text of the answer and whose it is; nil: the dependency's, which faultline
// does not play.
func (w *words) says(s *experiments.Reference, o outcome, kept *old, d defect) (r *fault.Respond, from string) {
	fallback, around := s.Fallback, d.mutant.Around
	if around.FallbackEverywhere && fallback == nil {
		fallback = w.fallback
	}
	if d.noFallback || around.NoFallback {
		fallback, kept = nil, nil
	}
	switch {
	case o.good() && (!around.FallbackAlways || fallback == nil):
		return o.reply.answer, sourcePrimary
	case kept != nil && !around.EmptyFallback:
		return kept.respond, sourceCache
	case fallback != nil && around.EmptyFallback:
		return w.emptied(fallback), sourceFallback
	case fallback != nil:
		return fallback, sourceFallback
	case o.why == replied && o.reply.answer != nil:
		return o.reply.answer, sourcePrimary
	case o.why == limited:
		return w.none(cmp.Or(around.LimitStatus, http.StatusTooManyRequests)), sourceNone
	case o.why == refused, o.why.rejection():
		return w.none(http.StatusServiceUnavailable), sourceNone
	default:
		return w.none(http.StatusBadGateway), sourceNone
	}
}

// date sets the headers by which an answer says how old it is, and what its sender's clock shows.
func date(h http.Header, kept *old, from string, now time.Time) {
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	if from == sourceCache {
		h.Set("Age", strconv.Itoa(int(kept.age/time.Second)))
	}
}

// none is an answer that has nothing but a status.
func (w *words) none(status int) *fault.Respond {
	if w.empties[status] == nil {
		w.empties[status] = &fault.Respond{Status: status}
	}
	return w.empties[status]
}
