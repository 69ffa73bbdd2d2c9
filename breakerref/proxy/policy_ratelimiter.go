package proxy

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/mutant"
)

// rateLimiting asks a rate limiter before each call.
type rateLimiting struct {
	header string // whose value is the key; empty: there is one key
	told   bool   // also to those who are let through
	now    func() time.Time

	mu    sync.Mutex
	keyed *limit.Keyed
}

func newRateLimiting(p Policies, now func() time.Time) (*rateLimiting, error) {
	created := now()
	keyed, err := limit.NewKeyed(mostKeys, func(string) (limit.Limiter, error) { return p.RateLimiter.New(created) })
	if err != nil {
		return nil, err
	}
	return &rateLimiting{header: p.RateLimitKey, told: p.RateLimitTold, now: now, keyed: keyed}, nil
}

func (l *rateLimiting) wrap(next step) step {
	return func(c *call) outcome {
		d, err := l.take(c)
		if !c.pause(d.Wait) { // One who is refused may be held, too, before he learns of it.
			return outcome{cause: c.ended()}
		}
		switch {
		case err != nil:
			return outcome{cause: crowded}
		case !d.Allowed:
			if d.RetryAfter != limit.Never {
				d.RetryAfter -= min(d.Wait, d.RetryAfter)
			}
			return outcome{cause: limited, limit: &d}
		}
		out := next(c)
		if l.told {
			out.limit = &d
		}
		return out
	}
}

// take asks the limiter of the call's key. The clock is read under the lock, so that the
// limiter never sees time go back.
func (l *rateLimiting) take(c *call) (limit.Decision, error) {
	key := ""
	if l.header != "" {
		key = c.header.Get(l.header)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keyed.Take(l.now(), key, 1)
}

// writeLimited tells a client that it asks too often, and when it may ask again.
func writeLimited(w http.ResponseWriter, d *limit.Decision, wrong mutant.Around) {
	tellLimit(w.Header(), d, !wrong.NoRetryAfter)
	writeNone(w, cmp.Or(wrong.LimitStatus, http.StatusTooManyRequests), "the rate limiter does not permit further calls")
}

// tellLimit puts the state of a rate limiter into the headers of an answer.
func tellLimit(h http.Header, d *limit.Decision, again bool) {
	for _, told := range d.Headers(again) {
		h.Set(told.Name, told.Value)
	}
}

// limiting is a ResponseWriter whose answer tells the state of a rate limiter. It does so
// last of all, since a dependency may tell of one of its own.
type limiting struct {
	http.ResponseWriter
	state *limit.Decision
}

// WriteHeader is called for every answer.
func (l *limiting) WriteHeader(status int) {
	tellLimit(l.Header(), l.state, false)
	l.ResponseWriter.WriteHeader(status)
}
