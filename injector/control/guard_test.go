package control_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/target/trace"
)

const token = "0123456789abcdef"

// A page of another site, also one whose name was made to point here, gets nothing; nor does
// who has not the token.
func TestGuard(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	host := a.Addr()
	_, port, _ := net.SplitHostPort(host)
	named := begin(t, control.Config{Hosts: []string{"ci.internal"}, Token: token}, injector.Config{}, "dep")
	for _, tt := range []struct {
		api     api
		status  int
		code    string
		headers []string
	}{
		{a, 200, "", nil},
		{a, 200, "", []string{"Host", "localhost:" + port}},
		{a, 200, "", []string{"Host", "[::1]:" + port}},
		{a, 200, "", []string{"Host", "127.0.0.1"}},
		{a, 403, "foreign_host", []string{"Host", "evil.example:" + port}},
		{a, 403, "foreign_host", []string{"Host", "localhost.evil.example"}},
		{a, 403, "foreign_host", []string{"Host", "0.0.0.0:" + port}},
		{a, 403, "foreign_host", []string{"Host", "ci.internal"}},
		{a, 200, "", []string{"Origin", "http://" + host}},
		{a, 403, "foreign_origin", []string{"Origin", "http://evil.example"}},
		{a, 403, "foreign_origin", []string{"Origin", "https://" + host}},
		{a, 403, "foreign_origin", []string{"Origin", "http://localhost:1"}},
		{a, 403, "foreign_origin", []string{"Origin", "null"}},
		{a, 200, "", []string{"Sec-Fetch-Site", "same-origin"}},
		{a, 403, "foreign_origin", []string{"Sec-Fetch-Site", "cross-site"}},
		{a, 403, "foreign_origin", []string{"Sec-Fetch-Site", "same-site"}},
		{named, 401, "unauthorized", nil},
		{named, 401, "unauthorized", []string{"Authorization", "Bearer " + token[1:]}},
		{named, 401, "unauthorized", []string{"Authorization", "Basic " + token}},
		{named, 401, "unauthorized", []string{"Authorization", "Bearer"}},
		{named, 200, "", []string{"Authorization", "Bearer " + token}},
		{named, 200, "", []string{"Authorization", "bearer " + token, "Host", "CI.internal:80"}},
		{named, 403, "foreign_host", []string{"Authorization", "Bearer " + token, "Host", "ci.internal.evil.example"}},
	} {
		for _, path := range []string{"/v1/state", "/metrics", "/openapi.json"} {
			got := tt.api.want(tt.status, tt.code, "GET", path, "", tt.headers...)
			if auth := got.header.Get("WWW-Authenticate"); (auth != "") != (got.status == 401) {
				t.Errorf("WWW-Authenticate is %q", auth)
			}
		}
	}
}

// What changes something is sent in a way that a page cannot send unasked.
func TestWritesAreJSON(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	for _, write := range [][2]string{{"PUT", "/v1/plan"}, {"POST", "/v1/faults"}, {"POST", "/v1/clear"}, {"POST", "/v1/phase"}, {"POST", "/v1/lease"}} {
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"} {
			a.want(415, "media_type", write[0], write[1], `{}`, "Content-Type", kind)
		}
	}
	a.want(200, "", "POST", "/v1/clear", `{}`, "Content-Type", "application/json; charset=UTF-8")
	a.want(200, "", "POST", "/v1/clear", "", "Content-Type", "") // In a hurry.
	a.want(403, "foreign_origin", "POST", "/v1/clear", "", "Content-Type", "", "Origin", "http://evil.example")
	a.want(400, "bad_body", "POST", "/v1/clear", `{"all":true}`)
	a.want(413, "too_large", "POST", "/v1/clear", strings.Repeat(" ", 1<<17))
	a.want(413, "too_large", "PUT", "/v1/plan", strings.Repeat(" ", 1<<23))
	a.want(404, "not_found", "GET", "/v1", "")
	a.want(404, "not_found", "GET", "/v1/state/", "")
	if got := a.want(405, "method_not_allowed", "POST", "/v1/plan", "{}"); got.header.Get("Allow") != "GET, PUT" {
		t.Errorf("allowed: %s", got.header.Get("Allow"))
	}
	if got := a.deps[0].State(); got.Plan != 1 || got.Phase != "" {
		t.Errorf("a refused request changed something: %+v", got)
	}
}

func TestWhereItListens(t *testing.T) {
	dep := begin(t, control.Config{}, injector.Config{}, "dep").deps
	base := control.Config{Injectors: dep, Recorder: trace.NewRecorder(time.Now())}
	for _, tt := range []struct {
		addr, token string
		hosts       []string
		say         string // empty: it may
	}{
		{"127.0.0.1:0", "", nil, ""},
		{"127.9.9.9:0", "", nil, ""},
		{"localhost:0", "", nil, ""},
		{"here", "", nil, "write host:port"},
		{":0", token, nil, "address :0 is that of all networks; name the one"},
		{":0", token, []string{"ci"}, "address :0 is that of all networks; name the one"},
		{"127.0.0.1:65536", "", nil, "write host:port"},
		{"127.0.0.1:none", "", nil, "write host:port"},
		{"127.0.0.1:0", token + " two", nil, "the token is not one word of printable ASCII"},
		{"127.0.0.1:0", token + "\nsecond line", nil, "the token is not one word of printable ASCII"},
		{"127.0.0.1:0", token + "ü", nil, "the token is not one word of printable ASCII"},
		{"127.0.0.1:0", token + "\x7f", nil, "the token is not one word of printable ASCII"},
		{"127.0.0.1:0", "", []string{""}, `host "": write a name or an address alone`},
		{"127.0.0.1:0", "", []string{"ci", "ci:9900"}, `host "ci:9900": write a name or an address alone`},
		{"127.0.0.1:0", "", []string{"[::1]"}, `host "[::1]": write a name or an address alone`},
		{"127.0.0.1:0", "", []string{"http://ci"}, `host "http://ci": write a name or an address alone`},
		{"127.0.0.1:0", "", []string{"::1", "ci.internal"}, ""},
		{"0.0.0.0:0", "", nil, `allow "0.0.0.0" by its name`},
		{"0.0.0.0:0", "", []string{"0.0.0.0"}, "is not on loopback and needs a token"},
		{"0.0.0.0:0", token, []string{"ci.internal"}, `allow "0.0.0.0" by its name`},
		{"0.0.0.0:0", token, []string{"0.0.0.0"}, ""},
		{"127.0.0.1:0", "short", nil, "the token has 5 characters; use at least 16"},
	} {
		cfg := base
		cfg.Addr, cfg.Token, cfg.Hosts = tt.addr, tt.token, tt.hosts
		cfg.Listen = func(string, string) (net.Listener, error) { return nil, errAsked }
		_, err := control.Start(context.Background(), cfg)
		if asked := errors.Is(err, errAsked); asked != (tt.say == "") || !asked && !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if _, err := control.Start(context.Background(), control.Config{}); err == nil || !strings.Contains(err.Error(), "there is no injector") {
		t.Error(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	base.Addr = taken.Addr().String()
	if _, err := control.Start(context.Background(), base); err == nil || !strings.Contains(err.Error(), "choose another port") {
		t.Error(err)
	}
}

var errAsked = errors.New("it asked for a listener")

// Closing ends what is open.
func TestClose(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	c, err := net.Dial("tcp", a.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a.ask("GET", "/v1/state", "")
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection is open still")
	}
	if _, err := http.Get(a.URL()); err == nil {
		t.Error("it answers still")
	}
}
