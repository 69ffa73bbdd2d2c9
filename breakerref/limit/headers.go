package limit

import (
	"math"
	"strconv"
	"time"
)

// Header is a header of an answer, by its canonical name.
type Header struct{ Name, Value string }

// Headers tell a client the state of a limiter: X-RateLimit-Limit, -Remaining and -Reset, and
// with again, if the call was refused and waiting helps, Retry-After. Times are in whole seconds,
// rounded up: that is all that Retry-After has room for (RFC 9110, 10.2.3).
func (d Decision) Headers(again bool) []Header {
	all := []Header{
		{"X-Ratelimit-Limit", strconv.Itoa(d.Limit)},
		{"X-Ratelimit-Remaining", strconv.Itoa(d.Remaining)},
		{"X-Ratelimit-Reset", wholeSeconds(d.Reset)},
	}
	if again && !d.Allowed && d.RetryAfter != Never {
		all = append(all, Header{"Retry-After", wholeSeconds(d.RetryAfter)})
	}
	return all
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatFloat(math.Ceil(d.Seconds()), 'f', 0, 64)
}
