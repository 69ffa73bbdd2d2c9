package fault

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"
)

// TestCoversAndOverlapsAreSound holds what is certain of two matches to requests:
// what one covers it matches, and what cannot be of both is not.
func TestCoversAndOverlapsAreSound(t *testing.T) {
	covered, apart := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m, n := drawMatch(t), drawMatch(t)
		for range 3 {
			switch rapid.IntRange(0, 7).Draw(t, "alike in") {
			case 0:
				n.Method, n.Path, n.PathRegex, n.GRPC = m.Method, m.Path, m.PathRegex, m.GRPC
			case 1:
				n.Header, n.HeaderRegex = m.Header, m.HeaderRegex
			case 2:
				n.Query, n.Peer, n.JSONPath = m.Query, m.Peer, m.JSONPath
			case 3:
				m.Header, m.HeaderRegex = nil, nil
			case 4:
				m.Query, m.JSONPath = nil, nil
			case 5:
				m.Peer, m.Method = "", ""
			}
		}
		var ps problems
		m.check(&ps)
		n.check(&ps)
		if len(ps) > 0 {
			t.Fatal(ps[0].Text)
		}
		covers, overlaps := m.covers(n), m.overlaps(n)
		if overlaps != n.overlaps(m) || covers && !overlaps {
			t.Fatalf("%s; %s: covers %v, overlaps %v and %v", m, n, covers, overlaps, n.overlaps(m))
		}
		if covers {
			covered++
		}
		if !overlaps {
			apart++
		}
		if !m.covers(m) {
			t.Fatalf("%s does not cover itself", m)
		}
		for range 30 {
			r := drawRequest(t)
			inM, inN := m.Matches(r), n.Matches(r)
			if covers && inN && !inM || !overlaps && inM && inN {
				t.Fatalf("%s (%v); %s (%v): covers %v, overlaps %v; %s %s", m, inM, n, inN, covers, overlaps, r.Method, r.Path)
			}
			if inM && !m.MayMatch(r.Method, r.Path) {
				t.Fatalf("%s matches %s %s, which it may not", m, r.Method, r.Path)
			}
		}
	})
	if covered < 3 || apart < 3 {
		t.Errorf("only %d pairs covered, %d apart", covered, apart)
	}
}

// TestNotCovered are pairs that chance seldom tries.
func TestNotCovered(t *testing.T) {
	for _, pair := range [][2]Match{
		{{Peer: "10.0.0.0/16"}, {Peer: "10.0.0.0/8"}},
		{{HeaderRegex: map[string]string{"A": ".*"}}, {Header: map[string]string{"A": ""}}},
		{{GRPC: "p.S/M"}, {Path: "/p.S/M", Method: "POST"}},
		{{Path: "/a/*/b"}, {Path: "/a/**/b"}},
	} {
		if pair[0].covers(pair[1]) {
			t.Errorf("%s covers %s", pair[0], pair[1])
		}
	}
	if (Match{HeaderRegex: map[string]string{"A": ".*"}}).overlaps(Match{Header: map[string]string{"A": ""}}) {
		t.Error("a header that matches may be absent")
	}
}

// drawMatch draws a match of few words, so that matches and requests meet.
func drawMatch(t *rapid.T) Match {
	pick := func(name string, from ...string) string {
		return rapid.SampledFrom(append(from, "", "", "")).Draw(t, name)
	}
	m := Match{
		Method: pick("method", "GET", "POST", "post"),
		Path:   pick("path", "/a", "/a*", "/a/*", "/a/b", "/*/b", "/a/**/b", "/**/b*", "/p.S/*", "/p.S/M", "*", "/a/*/b*", "/**"),
		Peer:   pick("peer", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::1"),
	}
	if m.Path == "" && rapid.Bool().Draw(t, "by expression") {
		m.PathRegex = pick("regex", "^/a", "b$", "/a/b")
	}
	if m.Method == "" && m.Path == "" && m.PathRegex == "" {
		m.GRPC = pick("grpc", "p.S/M", "p.S/*")
	}
	put := func(name string, to *map[string]string, from ...string) {
		if v := rapid.SampledFrom(append(from, "-", "-")).Draw(t, name); v != "-" {
			*to = map[string]string{"A": v}
		}
	}
	put("header", &m.Header, "x", "y", "")
	put("query", &m.Query, "x", "y", "")
	if m.Header == nil {
		put("expression", &m.HeaderRegex, "x", "^.?$")
	}
	if rapid.Bool().Draw(t, "body") {
		m.JSONPath = map[string]any{"$.a": rapid.SampledFrom([]any{"x", 1, 1.0, true, nil}).Draw(t, "value")}
	}
	return m
}

func drawRequest(t *rapid.T) Request {
	pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	header := map[string]string{
		"A": pick("A", "", "x", "y", "xy"), "Content-Type": pick("type", "", "application/grpc", "application/grpc+proto; v=1", "application/grpc-web"),
	}
	query := url.Values{"A": {pick("param", "", "x", "y")}}
	body := pick("body of it", "", `{"a":"x"}`, `{"a":1}`, `{"a":1.0}`, `{"a":true}`, `{"a":null}`, `{"a":[1]} 2`, `no`)
	return Request{
		Method: pick("m", "GET", "POST"),
		Path:   pick("p", "/a", "/ab", "/a/b", "/a/c/b", "/a/c/d/b", "/a/", "/b", "/p.S/M", "/p.S/N", "/p.S/M/N", "/a/c/bd"),
		Header: func(key string) string { return header[key] },
		Query:  query.Get,
		Peer:   pick("from", "10.1.2.3:80", "10.1.2.4", "10.2.0.1:1", "[::1]:5", "[::ffff:10.1.2.3]:7", ""),
		Body:   func() []byte { return []byte(body) },
	}
}
