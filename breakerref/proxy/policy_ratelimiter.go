package proxy

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// rateLimiting asks a rate limiter before each call.
type rateLimiting struct {
	header string // whose value is the key; empty: there is one key
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
	return &rateLimiting{header: p.RateLimitKey, now: now, keyed: keyed}, nil
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
		return next(c)
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

// writeLimited tells a client that it asks too often, and when it may ask again. Times
// are in whole seconds, rounded up: that is all that Retry-After has room for.
func writeLimited(w http.ResponseWriter, d *limit.Decision) {
	h := w.Header()
	if d.RetryAfter != limit.Never {
		h.Set("Retry-After", wholeSeconds(d.RetryAfter))
	}
	h.Set("X-Ratelimit-Limit", strconv.Itoa(d.Limit))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("X-Ratelimit-Reset", wholeSeconds(d.Reset))
	writeNone(w, http.StatusTooManyRequests, "the rate limiter does not permit further calls")
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatFloat(math.Ceil(d.Seconds()), 'f', 0, 64)
}
