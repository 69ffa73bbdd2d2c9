package injector_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// bystander is a server that nobody may be passed on to.
func bystander(t *testing.T) (addr string, called *atomic.Int32) {
	t.Helper()
	called = new(atomic.Int32)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen")
			c.Close()
		}
	}()
	return ln.Addr().String(), called
}

// Whatever a request says that it is meant for, it is answered here or by the one upstream: the port of
// an injector is nobody's way to somewhere else.
func TestAnInjectorIsNoOpenProxy(t *testing.T) {
	victim, called := bystander(t)
	var seen atomic.Int32
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		w.Header().Set("Location", "http://"+victim+"/moved")
		w.WriteHeader(http.StatusFound) // Which a proxy must not follow either.
		io.WriteString(w, "upstream "+r.Host)
	})
	h2c := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	h2c.Config.Protocols = new(http.Protocols)
	h2c.Config.Protocols.SetUnencryptedHTTP2(true)
	h2c.Start()
	t.Cleanup(h2c.Close)
	t.Setenv("HTTP_PROXY", "http://"+victim)
	t.Setenv("http_proxy", "http://"+victim)
	host := func(u string) string { return must(url.Parse(u)).Host }
	for name, d := range map[string]dependency{
		"stub":     start(t, injector.Config{}),
		"upstream": start(t, injector.Config{Upstream: up.URL}),
		"h2c":      start(t, injector.Config{Upstream: "h2c://" + host(h2c.URL)}),
		"form":     start(t, injector.Config{Upstream: up.URL}, fault.Rule{Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}, Form: fault.Form{Slice: &fault.Slice{Size: 1 << 10}}}),
		"held":     start(t, injector.Config{Upstream: up.URL}, fault.Rule{Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}, Hold: &fault.Hold{Probes: 1, Rejected: 1, Max: ms}}),
	} {
		for _, head := range []string{
			"GET http://VICTIM/ HTTP/1.1\r\nHost: VICTIM", "GET http://VICTIM/ HTTP/1.1\r\nHost: d", "GET / HTTP/1.1\r\nHost: VICTIM", "POST http://u:p@VICTIM/ HTTP/1.1\r\nHost: VICTIM\r\nContent-Length: 0",
			"CONNECT VICTIM HTTP/1.1\r\nHost: VICTIM", "CONNECT VICTIM HTTP/1.0", "CONNECT / HTTP/1.1\r\nHost: VICTIM", "CONNECT http://VICTIM/ HTTP/1.1\r\nHost: VICTIM",
			"GET //VICTIM/ HTTP/1.1\r\nHost: d", "GET ///VICTIM HTTP/1.1\r\nHost: d", "GET /@VICTIM/ HTTP/1.1\r\nHost: d", "GET /../../VICTIM HTTP/1.1\r\nHost: d", "GET /\\VICTIM HTTP/1.1\r\nHost: d",
			"OPTIONS * HTTP/1.1\r\nHost: VICTIM", "OPTIONS http://VICTIM HTTP/1.1\r\nHost: VICTIM", "TRACE http://VICTIM/ HTTP/1.1\r\nHost: VICTIM\r\nMax-Forwards: 5",
			"GET / HTTP/1.1\r\nHost: d\r\nX-Forwarded-Host: VICTIM\r\nForwarded: host=VICTIM\r\nX-Original-URL: http://VICTIM/\r\nX-Rewrite-URL: http://VICTIM/\r\nX-Envoy-Original-Dst-Host: VICTIM",
			"GET / HTTP/1.1\r\nHost: d\r\nProxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nVia: 1.1 VICTIM",
			"GET ws://VICTIM/ HTTP/1.1\r\nHost: VICTIM\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
			"GET / HTTP/1.1\r\nHost: VICTIM\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", "GET ftp://VICTIM/ HTTP/1.1\r\nHost: VICTIM",
		} {
			o := observe(t, d.Addr())
			o.say(strings.ReplaceAll(head, "VICTIM", victim) + "\r\nConnection: close\r\n\r\n")
			o.conn.SetReadDeadline(time.Now().Add(2 * time.Second)) // An upgrade may stay.
			if got, _ := o.rest(); strings.Contains(got, "stolen") {
				t.Errorf("%s: %q gets %q", name, head, got)
			}
		}
		for _, fields := range [][]hpack.HeaderField{
			pseudo("CONNECT", "", "", victim), pseudo("CONNECT", "http", "/", victim), pseudo("GET", "http", "/", victim), pseudo("GET", "ftp", "/", victim),
			pseudo("GET", "http", "http://"+victim+"/", "d"), pseudo("GET", "http", "//"+victim+"/", "d"), pseudo("OPTIONS", "http", "*", victim),
			append(pseudo("GET", "http", "/", "d"), hpack.HeaderField{Name: "host", Value: victim}),
			append(pseudo("CONNECT", "http", "/", victim), hpack.HeaderField{Name: ":protocol", Value: "websocket"}),
		} {
			askH2(t, d.Addr(), fields)
		}
	}
	if n := called.Load(); n != 0 || seen.Load() == 0 {
		t.Errorf("%d connections came to a bystander, %d requests to the upstreams", n, seen.Load())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pseudo are pseudo-header fields; empty ones are left out.
func pseudo(method, scheme, path, authority string) []hpack.HeaderField {
	var fields []hpack.HeaderField
	for _, f := range [][2]string{{":method", method}, {":scheme", scheme}, {":path", path}, {":authority", authority}} {
		if f[1] != "" {
			fields = append(fields, hpack.HeaderField{Name: f[0], Value: f[1]})
		}
	}
	return fields
}

// askH2 sends a request over HTTP/2 with prior knowledge and reads until something has come on its stream.
func askH2(t *testing.T, addr string, fields []hpack.HeaderField) {
	t.Helper()
	o := observe(t, addr)
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	w := http2.NewFramer(&out, nil)
	w.WriteSettings()
	enc := hpack.NewEncoder(&block)
	for _, f := range fields {
		enc.WriteField(f)
	}
	w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
	if _, err := o.conn.Write(out.Bytes()); err != nil {
		t.Error(err)
	}
	in := http2.NewFramer(io.Discard, o.r)
	for {
		f, err := in.ReadFrame()
		if err != nil || f.Header().StreamID == 1 {
			return
		}
	}
}
