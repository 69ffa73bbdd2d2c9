package predict

import (
	"strings"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/target/match"
)

// mostKeys is how many keys the rate limiter of faultline's own service tells apart.
const mostKeys = 100_000

// limiting asks a rate limiter before each call.
type limiting struct {
	in    *instance
	by    string // header whose value is the key; empty: there is one key
	told  bool   // also to those who are let through
	keyed *limit.Keyed
}

func newLimiting(w *way) (*limiting, error) {
	said, created := *w.service.RateLimiter, w.in.clock()
	keyed, err := limit.NewKeyed(mostKeys, func(string) (limit.Limiter, error) { return said.Config().New(created) })
	if err == nil {
		err = said.Config().Validate()
	}
	return &limiting{in: w.in, by: said.By, told: said.Told, keyed: keyed}, err
}

func (l *limiting) wrap(next step) step {
	return func(c *asked, done func(outcome)) {
		d, err := l.keyed.Take(l.in.clock(), keyOf(c.r, l.by), 1)
		goOn := func(ok bool) {
			switch {
			case !ok:
				done(outcome{why: gaveUp})
			case err != nil:
				done(outcome{why: crowded})
			case !d.Allowed && d.RetryAfter != limit.Never:
				d.RetryAfter -= min(d.Wait, d.RetryAfter)
				done(outcome{why: limited, limit: &d})
			case !d.Allowed:
				done(outcome{why: limited, limit: &d})
			case l.told:
				next(c, func(o outcome) {
					o.limit = &d
					done(o)
				})
			default:
				next(c, done)
			}
		}
		if d.Wait == 0 {
			goOn(!c.scope.ended())
			return
		}
		l.in.pause(c, d.Wait, goOn)
	}
}

// keyOf is the value that a request has of a header.
func keyOf(r *request, header string) string {
	switch {
	case header == "":
		return ""
	case strings.EqualFold(header, match.Traceparent), strings.EqualFold(header, match.RequestID):
		return r.id // Each call has one of its own.
	}
	for name, value := range r.target.Headers {
		if strings.EqualFold(name, header) {
			return filled(r, value)
		}
	}
	return ""
}

// filled is a text in which what stands for a call is another text for each call.
func filled(r *request, text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return text + " " + r.id
}
