package control_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/target/trace"
)

// said sends bytes to an API and returns the status of the answer; 0: there is none.
func (a api) said(text string) (int, http.Header) {
	a.t.Helper()
	c, err := net.Dial("tcp", a.Addr())
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil && !errors.Is(err, net.ErrClosed) {
		a.t.Log(err) // It may have answered before all was sent.
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, resp.Header
}

// Requests as they come over the wire: of a name that was made to point here, of another site's page, of
// who has no token or tries to have it pass in another way. What is served is served for the reason that
// it is meant for this API, and everything else changes nothing.
func TestHostsAndOriginsOnTheWire(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	_, port, _ := net.SplitHostPort(a.Addr())
	for _, tt := range []struct {
		status int
		head   string
	}{
		{200, "Host: 127.0.0.1:PORT"},
		{200, "Host: LOCALHOST:PORT"},
		{200, "Host: [::1]:PORT"},
		{200, "Host: [::1]"},
		{200, "host:\t127.0.0.1 "},
		{200, "Host: 127.1.2.3"},
		{200, "Host: [::ffff:127.0.0.1]:PORT"},
		{403, "Host: localhost.:PORT"},
		{403, "Host: 127.0.0.1."},
		{403, "Host: localhost.evil.example:PORT"},
		{403, "Host: 127.0.0.1.evil.example"},
		{403, "Host: evil.example:PORT"},
		{403, "Host: EVIL.example"},
		{403, "Host: [::2]:PORT"},
		{403, "Host: [::]"},
		{403, "Host: 0.0.0.0:PORT"},
		{403, "Host: 0:PORT"},
		{403, "Host: 2130706433"},
		{403, "Host: 0x7f.1"},
		{403, "Host: 127.1"},
		{403, "Host: 0177.0.0.1"},
		{403, "Host: [::ffff:10.0.0.1]"},
		{403, "Host: [fe80::1%25lo]:PORT"},
		{403, "Host: [::1%25lo]:PORT"},
		{403, "Host: "},
		{403, "Host: :PORT"},
		{403, "Host: []:PORT"},
		{403, "Host: 10.0.0.1"},
		{403, "Host: 169.254.169.254"},
		{400, "Host: user@evil.example"},
		{400, "Host: evil.example#@127.0.0.1"},
		{400, "Host: 127.0.0.1\r\nHost: evil.example"},
		{400, "Host: evil.example\r\nHost: 127.0.0.1"},
		{400, "Host: 127.0.0.1\r\nHost: 127.0.0.1"},
		{400, "X: y"},
		{400, "Host: 127.0.0.1/evil"},
		{400, "Host: 127.0.0.1 evil"},
		{400, "Host : 127.0.0.1"},
		{200, "Host: 127.0.0.1\r\nX-Forwarded-Host: evil.example"},
		{403, "Host: evil.example\r\nX-Forwarded-Host: 127.0.0.1"},
		{200, "Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT"},
		{200, "Host: LocalHost:PORT\r\nOrigin: http://localhost:PORT"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: null"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: "},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:1"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: https://127.0.0.1:PORT"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://localhost:PORT"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: file://"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: ws://127.0.0.1:PORT"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://evil.example\r\nOrigin: http://127.0.0.1:PORT"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT@evil.example"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT.evil.example"},
		{403, "Host: 127.0.0.1:PORT\r\nOrigin: chrome-extension://abc"},
		{403, "Host: 127.0.0.1\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site"},
		{403, "Host: 127.0.0.1\r\nSec-Fetch-Site: CROSS-SITE"},
		{403, "Host: 127.0.0.1\r\nSec-Fetch-Site: "},
	} {
		head := strings.ReplaceAll(tt.head, "PORT", port)
		for _, ask := range []string{"GET /v1/state", "POST /v1/clear", "OPTIONS /v1/clear", "GET /v1/nothing"} {
			want := tt.status
			switch {
			case want == 200 && strings.HasPrefix(ask, "OPTIONS"):
				want = 405
			case want == 200 && strings.HasSuffix(ask, "nothing"):
				want = 404
			}
			got, h := a.said(ask + " HTTP/1.1\r\n" + head + "\r\nConnection: close\r\n\r\n")
			if got != want {
				t.Errorf("%s with %q: %d, want %d", ask, head, got, want)
			}
			for name := range h {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s with %q: it allows a page to read: %s", ask, head, name)
				}
			}
		}
		// The handshake of a stream is no way around.
		want := tt.status
		if want == 200 {
			want = 101
		}
		if got, _ := a.said(strings.Replace(handshake, "Host: localhost", head, 1)); got != want {
			t.Errorf("a stream with %q: %d, want %d", head, got, want)
		}
	}
	for ask, want := range map[string]int{
		"GET http://evil.example/v1/state HTTP/1.1\r\nHost: 127.0.0.1": 403, "GET http://127.0.0.1/v1/state HTTP/1.1\r\nHost: 127.0.0.1": 200,
		"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22": 404, "CONNECT evil.example:22 HTTP/1.1\r\nHost: evil.example:22": 403,
		"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1": 404, "GET //evil.example/v1/state HTTP/1.1\r\nHost: 127.0.0.1": 404, "GET /v1/../v1/state HTTP/1.1\r\nHost: 127.0.0.1": 404,
		"GET /v1/%73tate HTTP/1.1\r\nHost: 127.0.0.1": 200, "GET /v1/state HTTP/1.0": 403, "POST /v1/clear HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2": 400,
		"PRI * HTTP/2.0\r\n\r\nSM": 403, "POST /v1/clear HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x": 501,
	} {
		if got, _ := a.said(ask + "\r\nConnection: close\r\n\r\n"); got != want {
			t.Errorf("%q: %d, want %d", ask, got, want)
		}
	}
	if got, _ := a.said("GET /v1/state HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"); got != 431 && got != 0 {
		t.Errorf("an over-long head: %d", got)
	}
	if got := a.deps[0].State(); got.Plan != 1 || got.Phase != "" {
		t.Errorf("something was changed: %+v", got)
	}
}

// Only the token in its place lets somebody in.
func TestTokensOnTheWire(t *testing.T) {
	a := begin(t, control.Config{Token: token}, injector.Config{}, "dep")
	for head, want := range map[string]int{
		"Authorization: Bearer " + token:                                   200,
		"authorization: BEARER " + token + "  ":                            200,
		"Authorization: Bearer  " + token:                                  401,
		"Authorization: Bearer":                                            401,
		"Authorization: Bearer ":                                           401,
		"Authorization: ":                                                  401,
		"Authorization: " + token:                                          401,
		"Authorization: Basic " + token:                                    401,
		"Authorization: Bearer " + token + "x":                             401,
		"Authorization: Bearer " + token[:15]:                              401,
		"Authorization: Bearer " + token + ",x":                            401,
		"Authorization: Bearer\t" + token:                                  401,
		"Authorization: Bearer " + strings.ToUpper(token):                  401,
		"Authorization: Basic x\r\nAuthorization: Bearer " + token:         401,
		"Authorization: Bearer " + token + "\r\nAuthorization: Bearer bad": 401,
		"Proxy-Authorization: Bearer " + token:                             401,
		"Cookie: token=" + token:                                           401,
		"X-Token: " + token:                                                401,
		"Authorization: Bearer " + strings.Repeat(token, 500):              401,
	} {
		for _, path := range []string{"/v1/state", "/metrics", "/openapi.json"} {
			if got, _ := a.said("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + "\r\nConnection: close\r\n\r\n"); got != want {
				t.Errorf("%s with %q: %d, want %d", path, head, got, want)
			}
		}
	}
	for _, query := range []string{"?token=" + token, "?access_token=" + token, "?authorization=Bearer%20" + token} {
		if got, _ := a.said("GET /v1/state" + query + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); got != 401 {
			t.Errorf("%s: %d", query, got)
		}
	}
	if got, _ := a.said("GET http://Bearer:" + token + "@127.0.0.1/v1/state HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); got != 401 {
		t.Errorf("in the target: %d", got)
	}
}

// A name of loopback that is another address on this machine is no loopback.
func TestALocalhostThatIsNotIsRefused(t *testing.T) {
	dep := begin(t, control.Config{}, injector.Config{}, "dep").deps
	elsewhere := func(string, string) (net.Listener, error) {
		return named{closing: make(chan struct{}), addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9900}}, nil
	}
	_, err := control.Start(context.Background(), control.Config{Injectors: dep, Recorder: trace.NewRecorder(time.Now()), Addr: "localhost:9900", Listen: elsewhere})
	if err == nil || !strings.Contains(err.Error(), "localhost is 192.0.2.1 here, which is not on loopback") {
		t.Errorf("got %v", err)
	}
	_, err = injector.Start(context.Background(), injector.Config{Name: "dep", Recorder: trace.NewRecorder(time.Now()), Addr: "localhost:9901", Listen: elsewhere})
	if err == nil || !strings.Contains(err.Error(), "localhost is 192.0.2.1 here, which is not on loopback") {
		t.Errorf("got %v", err)
	}
}

// named is a listener at some address, where nobody comes.
type named struct {
	closing chan struct{}
	addr    net.Addr
}

func (n named) Accept() (net.Conn, error) { <-n.closing; return nil, net.ErrClosed }
func (n named) Close() error              { close(n.closing); return nil }
func (n named) Addr() net.Addr            { return n.addr }

// Addresses that others can reach need a token and their name, however they are written.
func TestAddressesThatOthersReach(t *testing.T) {
	dep := begin(t, control.Config{}, injector.Config{}, "dep").deps
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "0:0", "[::ffff:0.0.0.0]:0", "192.0.2.1:0", "example.com:0", "localhost.:0", "localhost.evil.example:0", "[fe80::1%lo]:0", "*:0", "127.0.0.1.:0"} {
		cfg := control.Config{Injectors: dep, Recorder: trace.NewRecorder(time.Now()), Addr: addr}
		cfg.Listen = func(string, string) (net.Listener, error) { return nil, errAsked }
		for _, with := range []func(*control.Config){
			func(*control.Config) {},
			func(c *control.Config) { c.Token = token },
			func(c *control.Config) { c.Hosts, _ = []string{hostIn(addr)}, 0 },
		} {
			c := cfg
			with(&c)
			if _, err := control.Start(context.Background(), c); err == nil || errors.Is(err, errAsked) {
				t.Errorf("%s with token %q and hosts %q is let through", addr, c.Token, c.Hosts)
			}
		}
	}
}

func hostIn(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}
