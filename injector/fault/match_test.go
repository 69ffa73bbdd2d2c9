package fault_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/fault"
)

func TestPathPatterns(t *testing.T) {
	for pattern, paths := range map[string]string{ // + matches, - does not
		"/a/*/b":    "+/a/x/b +/a//b -/a/b -/a/x/y/b -/a/x/b/c",
		"/a/*/b*":   "+/a/x/b +/a/x/b/c +/a/x/bc -/a/b",
		"/a/**/b":   "+/a/b +/a/x/b +/a/x/y/b -/a/xb -/ab -/a/b/c",
		"/a/**":     "+/a/ +/a/x/y -/a -/b/a/",
		"/a**b":     "+/ab +/a/x/b +/axb -/axc",
		"/**/b":     "+/b +/a/b +/a/x/b -/ab",
		"/a/x-*.js": "+/a/x-1.js -/a/x-1/2.js -/a/x-1xjs",
		"/a/*":      "+/a/ +/a/x +/a/x/y -/a",
		"/é/*/ü":    "+/é/x/ü -/é/x/u",
		"/[a]/*/(":  "+/[a]/x/( -/a/x/(",
	} {
		for p := range strings.FieldsSeq(paths) {
			if got, want := (fault.Match{Path: pattern}).Matches(fault.Request{Path: p[1:]}), p[0] == '+'; got != want {
				t.Errorf("%s and %s: %v", pattern, p[1:], got)
			}
		}
	}
}

func TestMatchers(t *testing.T) {
	h := http.Header{"X-Tenant": {"acme"}, "Content-Type": {"application/grpc+proto"}}
	q := url.Values{"plan": {"gold", "tin"}}
	r := fault.Request{
		Method: "POST", Path: "/shop.Payments/Charge", Header: h.Get, Query: q.Get, Peer: "10.1.2.3:4567",
		Body: func() []byte {
			return []byte(`{"order": {"kind": "card", "items": [{"n": 2}, {"n": 7}]}, "last": null}`)
		},
	}
	for _, c := range []struct {
		match fault.Match
		want  bool
	}{
		{fault.Match{PathRegex: "Pay.*/Ch"}, true},
		{fault.Match{PathRegex: "^Pay"}, false},
		{fault.Match{GRPC: "shop.Payments/Charge"}, true},
		{fault.Match{GRPC: "shop.Payments/*"}, true},
		{fault.Match{GRPC: "shop.Payments/Refund"}, false},
		{fault.Match{Query: map[string]string{"plan": "gold"}}, true},
		{fault.Match{Query: map[string]string{"plan": "tin"}}, false}, // the second value
		{fault.Match{Query: map[string]string{"other": ""}}, true},
		{fault.Match{HeaderRegex: map[string]string{"x-tenant": "^ac"}}, true},
		{fault.Match{HeaderRegex: map[string]string{"X-Tenant": "^me"}}, false},
		{fault.Match{HeaderRegex: map[string]string{"X-User": ".*"}}, false}, // there is none
		{fault.Match{JSONPath: map[string]any{"$.order.kind": "card"}}, true},
		{fault.Match{JSONPath: map[string]any{"$..n": 7}}, true},
		{fault.Match{JSONPath: map[string]any{"$.last": nil}}, true},
		{fault.Match{JSONPath: map[string]any{"$.first": nil}}, false},
		{fault.Match{JSONPath: map[string]any{"$.order": "card"}}, false},
		{fault.Match{Peer: "10.1.2.3"}, true},
		{fault.Match{Peer: "10.0.0.0/8"}, true},
		{fault.Match{Peer: "10.2.0.0/16"}, false},
		{fault.Match{Peer: "::ffff:10.1.2.3"}, true},
	} {
		if got := c.match.Matches(r); got != c.want {
			t.Errorf("%s: %v", c.match, got)
		}
		if got := c.match.Matches(fault.Request{}); got && c.match.Query["other"] != "" {
			t.Errorf("%s matches nothing at all", c.match)
		}
	}
}

// A body may have to be waited for, so it is only asked for when that decides.
func TestBodyIsAskedForLast(t *testing.T) {
	body := reset(fault.Select{Kind: fault.SelectAll})
	body.Match = fault.Match{Method: "POST", JSONPath: map[string]any{"$.a": 1}}
	all := reset(fault.Select{Kind: fault.SelectAll})
	all.Match.Path = "/all"
	ph := play(t, 1, all, body)
	asked := 0
	read := func() []byte { asked++; return []byte(`{"a": 1}`) }
	got := ids(ph, fault.Request{Method: "GET", Path: "/", Body: read}, fault.Request{Method: "POST", Path: "/all", Body: read})
	if diff := cmp.Diff([]string{"-", "p/1"}, got); diff != "" || asked != 0 {
		t.Errorf("the body was asked for %d times:\n%s", asked, diff)
	}
	if got := ids(ph, fault.Request{Method: "POST", Path: "/", Body: read}); got[0] != "p/2" || asked != 1 {
		t.Errorf("%s, asked %d times", got, asked)
	}
}

func TestMatchProblems(t *testing.T) {
	for _, c := range []struct {
		match fault.Match
		want  string
	}{
		{fault.Match{PathRegex: "("}, "match.path_regex: \"(\" is not a regular expression of RE2: missing closing ): `(`"},
		{fault.Match{Path: "/a", PathRegex: "a"}, "match.path_regex: does not go with path; one of them says which paths match"},
		{fault.Match{GRPC: "a"}, `match.grpc: "a" is not a method of gRPC; write pkg.Service/Method, or pkg.Service/* for all of them`},
		{fault.Match{GRPC: "a/b", Method: "POST"}, "match.grpc: says method and path itself; leave them out"},
		{fault.Match{Header: map[string]string{"A": "x"}, HeaderRegex: map[string]string{"a": "x"}}, `match.header_regex: header a must be "x" already`},
		{fault.Match{JSONPath: map[string]any{"a": 1}}, `match.jsonpath: "a" is not a path of JSON such as $.state (RFC 9535): unexpected identifier at position 1`},
		{fault.Match{JSONPath: map[string]any{"$.a": []int{}}}, "match.jsonpath: $.a: [] is neither text nor a number of JSON nor true, false or null"},
		{fault.Match{Peer: "localhost"}, `match.peer: "localhost" is neither an address nor a network; write 10.0.0.7 or 10.0.0.0/8`},
		{fault.Match{Path: "/a/\xff*/b"}, "match.path: "},
	} {
		r := reset(fault.Select{Kind: fault.SelectAll})
		r.Match = c.match
		var got []string
		for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {r}}}) {
			got = append(got, strings.TrimPrefix(p.Error(), "phase p: fault 1: "))
		}
		if text := strings.Join(got, "\n"); text != c.want && (!strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(text, c.want)) {
			t.Errorf("%+v: %q, want %q", c.match, text, c.want)
		}
	}
}
