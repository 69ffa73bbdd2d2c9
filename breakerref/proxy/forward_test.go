package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

func TestWhatPassesThrough(t *testing.T) {
	w := loopback(t, good())
	type seen struct {
		Method, URI, Host, Body string
		Header                  http.Header
	}
	var got seen
	w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, r.Host, string(body), r.Header}
		h := rw.Header()
		h.Set("Content-Encoding", "gzip")
		h.Set("Location", "/elsewhere")
		h.Set("Connection", "X-Hop")
		h.Set("X-Hop", "1")
		h.Set("Keep-Alive", "timeout=5")
		h["Content-Type"] = nil
		h.Add("Set-Cookie", "a=1")
		h.Add("Set-Cookie", "b=2")
		rw.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(rw, "\x1f\x8bnot really compressed")
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, w.URL()+"/a%2Fb//c;d=1?q=%20x&&y", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Traceparent":         {"00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"},
		"X-Request-Id":        {"0102030405060708090a0b0c0d0e0f10"},
		"X-Twice":             {"1", "2"},
		"Connection":          {"X-Mine, keep-alive"},
		"X-Mine":              {"1"},
		"Te":                  {"trailers"},
		"Proxy-Authorization": {"secret"},
		"User-Agent":          nil,
	}
	resp, err := w.client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := seen{
		Method: http.MethodPatch, URI: "/a%2Fb//c;d=1?q=%20x&&y", Host: got.Host, Body: "body",
		Header: http.Header{
			"Traceparent":    req.Header["Traceparent"],
			"X-Request-Id":   req.Header["X-Request-Id"],
			"X-Twice":        {"1", "2"},
			"Content-Length": {"4"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the dependency's request (-want +got):\n%s", diff)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "\x1f\x8bnot really compressed" || resp.StatusCode != http.StatusFound {
		t.Errorf("got %d %q, %v", resp.StatusCode, body, err)
	}
	resp.Header.Del("Date")
	wantHeader := http.Header{
		"Content-Encoding":   {"gzip"},
		"Content-Length":     {"23"},
		"Location":           {"/elsewhere"},
		"Set-Cookie":         {"a=1", "b=2"},
		"X-Faultline-Source": {"primary"},
	}
	if diff := cmp.Diff(wantHeader, resp.Header); diff != "" {
		t.Errorf("the answer's headers (-want +got):\n%s", diff)
	}
}

func TestABaseWithAPath(t *testing.T) {
	cfg := good()
	w := loopback(t, cfg)
	var uri string
	w.dep.answers(func(_ http.ResponseWriter, r *http.Request) { uri = r.RequestURI })
	for base, want := range map[string]string{"": "/x?y", "/": "/x?y", "/api": "/api/x?y", "/a%2Fpi/": "/a%2Fpi/x?y"} {
		cfg.Addr, cfg.Upstream = "127.0.0.1:0", w.depURL+base
		p, err := proxy.Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.Proxy = p
		w.send(t.Context(), http.MethodGet, "/x?y", nil).want(t, 200, proxy.SourcePrimary)
		if uri != want {
			t.Errorf("base %q: the dependency got %q, want %q", base, uri, want)
		}
		closeProxy(t, p)
	}
}

func TestAHeadRequestKeepsItsLength(t *testing.T) {
	w := loopback(t, good())
	w.dep.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Content-Length", "1234") })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, w.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ContentLength != 1234 {
		t.Errorf("Content-Length is %d, want 1234", resp.ContentLength)
	}
}
