package limit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// What a client is told of a limiter is in whole seconds, rounded up; when to come again only who
// was refused, where that helps, and where it is to be told.
func TestHeaders(t *testing.T) {
	refused := limit.Decision{Limit: 5, Remaining: 2, Reset: 2001 * time.Millisecond, RetryAfter: 300 * time.Millisecond}
	for name, c := range map[string]struct {
		change func(*limit.Decision)
		again  bool
		want   string // Retry-After; empty: there is none
	}{
		"refused":                          {func(*limit.Decision) {}, true, "1"},
		"refused, and not to be told when": {func(*limit.Decision) {}, false, ""},
		"refused for ever":                 {func(d *limit.Decision) { d.RetryAfter = limit.Never }, true, ""},
		"let through":                      {func(d *limit.Decision) { d.Allowed, d.RetryAfter = true, 0 }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := refused
			c.change(&d)
			want := []limit.Header{{Name: "X-Ratelimit-Limit", Value: "5"}, {Name: "X-Ratelimit-Remaining", Value: "2"}, {Name: "X-Ratelimit-Reset", Value: "3"}}
			if c.want != "" {
				want = append(want, limit.Header{Name: "Retry-After", Value: c.want})
			}
			if diff := cmp.Diff(want, d.Headers(c.again)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
