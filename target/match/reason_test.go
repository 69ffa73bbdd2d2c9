package match_test

import (
	"net/http"
	"testing"

	"github.com/faultline-go/faultline/target/match"
)

// What an answer says of why it was given, and whether that leaves a doubt.
func TestTell(t *testing.T) {
	own := match.Classes{
		{Name: match.ReasonOpen, Status: []int{429}, Contains: []string{"circuit"}},
		{Name: match.ReasonBulkhead, Status: []int{503}, Header: map[string]string{"X-Why": "full"}},
	}
	teller, err := match.NewTeller(own)
	if err != nil || !teller.NeedBody() {
		t.Fatalf("error %v, needs the body: %v", err, teller.NeedBody())
	}
	for name, c := range map[string]struct {
		status     int
		header     map[string]string
		body       string
		reason, by string
		certain    bool
	}{
		"nothing":               {status: 503},
		"retry after":           {status: 503, header: map[string]string{"Retry-After": "5"}},
		"429":                   {status: 429, reason: match.ReasonLimited, by: "status 429"},
		"declared before 429":   {status: 429, body: "circuit is open", reason: match.ReasonOpen, by: "load.reasons.open", certain: true},
		"declared by header":    {status: 503, header: map[string]string{"X-Why": "FULL"}, reason: match.ReasonBulkhead, by: "load.reasons.bulkhead", certain: true},
		"overloaded":            {status: 503, header: map[string]string{"X-Envoy-Overloaded": "true"}, reason: match.ReasonBulkhead, by: "x-envoy-overloaded", certain: true},
		"limited by envoy":      {status: 429, header: map[string]string{"X-Envoy-Ratelimited": "true"}, reason: match.ReasonLimited, by: "x-envoy-ratelimited", certain: true},
		"no healthy host":       {status: 503, header: map[string]string{"X-Response-Flags": "UH"}, reason: match.ReasonOpen, by: "response flag UH", certain: true},
		"connection failed":     {status: 503, header: map[string]string{"X-Response-Flags": "URX,UF"}, reason: match.ReasonRefused, by: "response flag UF", certain: true},
		"quota spent":           {status: 403, header: map[string]string{"X-RateLimit-Remaining": "0"}, reason: match.ReasonLimited, by: "X-Ratelimit-Remaining: 0"},
		"quota spent, draft":    {status: 503, header: map[string]string{"RateLimit": "limit=10, remaining=0, reset=5"}, reason: match.ReasonLimited, by: "RateLimit: limit=10, remaining=0, reset=5"},
		"last of the quota":     {status: 200, header: map[string]string{"X-RateLimit-Remaining": "0"}},
		"some left":             {status: 503, header: map[string]string{"X-RateLimit-Remaining": "3"}},
		"cache status":          {status: 200, header: map[string]string{"Cache-Status": "Edge; hit; ttl=3"}, reason: match.ReasonCached, by: "Cache-Status: Edge; hit; ttl=3"},
		"cache status, forward": {status: 200, header: map[string]string{"Cache-Status": "Edge; fwd=miss"}},
		"nginx":                 {status: 200, header: map[string]string{"X-Cache-Status": "STALE"}, reason: match.ReasonCached, by: "X-Cache-Status: STALE"},
		"age":                   {status: 200, header: map[string]string{"Age": "12"}, reason: match.ReasonCached, by: "Age: 12"},
		"fresh":                 {status: 200, header: map[string]string{"Age": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range c.header {
				h.Set(k, v)
			}
			reason, by := teller.Tell(c.status, h.Get, []byte(c.body))
			if reason != c.reason || by != c.by || match.Certain(by) != c.certain {
				t.Errorf("%q by %q (certain: %v), want %q by %q (%v)", reason, by, match.Certain(by), c.reason, c.by, c.certain)
			}
		})
	}
}
