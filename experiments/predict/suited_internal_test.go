package predict

import (
	"testing"

	"github.com/faultline-go/faultline/injector/fault"
)

// A request can be guessed for whatever a fault usually asks for.
func TestSuitedIsMatched(t *testing.T) {
	for _, m := range []fault.Match{
		{},
		{Method: "POST", Path: "/charges*"},
		{Path: "/a/*/b"},
		{Path: "/a/**/b*"},
		{PathRegex: `^/users/[0-9]+/(a|b)?x{2,3}[^/]\.js$`},
		{GRPC: "shop.Payments/Charge"},
		{GRPC: "shop.Payments/*"},
		{Query: map[string]string{"plan": "gold"}, Peer: "10.0.0.0/8"},
		{Header: map[string]string{"X-Kind": "card"}, HeaderRegex: map[string]string{"x-user": "(?i)^[a-f]{4}$"}},
		{JSONPath: map[string]any{"$.order.kind": "card", "$.order.n": 3.0, "$.last": nil}, Peer: "::1"},
	} {
		if !m.Matches(suited(m, fault.Request{Method: "GET", Path: "/"})) {
			t.Errorf("no request is guessed for %s", m)
		}
	}
	for _, m := range []fault.Match{{PathRegex: `^/a\b.b`}, {JSONPath: map[string]any{"$[0].a": 1}}} {
		if m.Matches(suited(m, fault.Request{})) {
			t.Errorf("%s is guessed; this test tries what is not", m)
		}
	}
}
