package predict

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
)

// reference is what faultline's own service answers; old is an answer that it has kept.
func (w *words) reference(s *experiments.Reference, o outcome, old *fault.Respond, d defect) answer {
	r, from := w.says(s, o, old, d)
	switch {
	case r == nil:
		return w.primary(nil)
	case o.limit == nil || from != sourceNone && !s.RateLimiter.Told:
		return w.canned(r, from)
	}
	return w.read(r, from, limitHeaders(o, from))
}

// says is the text of the answer and whose it is; nil: the dependency's, which faultline
// does not play.
func (w *words) says(s *experiments.Reference, o outcome, old *fault.Respond, d defect) (r *fault.Respond, from string) {
	fallback, around := s.Fallback, d.mutant.Around
	if d.noFallback || around.NoFallback {
		fallback, old = nil, nil
	}
	switch {
	case o.good() && (!around.FallbackAlways || fallback == nil):
		return o.reply.answer, sourcePrimary
	case old != nil && !around.EmptyFallback:
		return old, sourceCache
	case fallback != nil && around.EmptyFallback:
		return w.emptied(fallback), sourceFallback
	case fallback != nil:
		return fallback, sourceFallback
	case o.why == replied && o.reply.answer != nil:
		return o.reply.answer, sourcePrimary
	case o.why == limited:
		return w.none(http.StatusTooManyRequests), sourceNone
	case o.why == refused, o.why.rejection():
		return w.none(http.StatusServiceUnavailable), sourceNone
	default:
		return w.none(http.StatusBadGateway), sourceNone
	}
}

// none is an answer that has nothing but a status.
func (w *words) none(status int) *fault.Respond {
	if w.empties[status] == nil {
		w.empties[status] = &fault.Respond{Status: status}
	}
	return w.empties[status]
}

// limitHeaders tell the state of a rate limiter, times in whole seconds.
func limitHeaders(o outcome, from string) http.Header {
	h, d := http.Header{}, *o.limit
	if o.why == limited && from == sourceNone && d.RetryAfter != limit.Never {
		h.Set("Retry-After", wholeSeconds(d.RetryAfter))
	}
	h.Set("X-Ratelimit-Limit", strconv.Itoa(d.Limit))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("X-Ratelimit-Reset", wholeSeconds(d.Reset))
	return h
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatFloat(math.Ceil(d.Seconds()), 'f', 0, 64)
}
