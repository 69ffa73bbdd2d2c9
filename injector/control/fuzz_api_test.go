package control_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/target/memnet"
)

// FuzzAPI sends whatever request to the API. The answer is one of those that the API has:
// JSON or text with a status below 500 but for what a network cannot do, and a word for each
// refusal. Whatever was changed, the state can be read, the plan comes back as it is read,
// and a clear ends all faults.
func FuzzAPI(f *testing.F) {
	for _, seed := range []string{
		"GET /v1/state HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"PUT /v1/plan?injector=dep HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIf-Match: \"1-x\", *\r\nContent-Length: 79\r\n\r\n" +
			`{"phases":{"out":[{"select":{"kind":"ratio","num":1,"den":2},"action":"hang"}]}}`,
		"POST /v1/faults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 64\r\n\r\n" + `{"rule":{"select":{"kind":"all"},"action":"deaf"},"ttl":"1m0.5s"}`,
		"POST /v1/faults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 66\r\n\r\n" + `{"rule":{"select":{"kind":"all"},"action":"refuse"},"ttl":"1m0.5s"}`,
		"DELETE /v1/faults?injector=none HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
		"POST /v1/phase HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n" + `{"name":"out"}`,
		"POST /v1/phase HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 13\r\n\r\n" + `{"next":true}`,
		"POST /v1/clear HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST /v1/lease HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /v1/ledger?since=0&wait=1s HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n",
		"OPTIONS * HTTP/1.0\r\n\r\n", "GET http://127.0.0.1/openapi.json HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\n\r\n",
	} {
		f.Add(seed)
	}
	network := memnet.New(1)
	a := begin(f, control.Config{}, injector.Config{Addr: "dep:1", Listen: network.Listen, Lease: time.Hour}, "dep")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil || r.URL.Path == "/v1/stream" { // Which needs a connection.
			t.Skip()
		}
		answered := serve(a, r)
		checkAnswer(t, answered, text)
		state, plan := serve(a, mustRequest(t, "GET", "/v1/state", "")), serve(a, mustRequest(t, "GET", "/v1/plan", ""))
		if state.Code != http.StatusOK || !json.Valid(state.Body.Bytes()) || plan.Code != http.StatusOK {
			t.Fatalf("after %q: state %d, plan %d", text, state.Code, plan.Code)
		}
		again := serve(a, mustRequest(t, "PUT", "/v1/plan", plan.Body.String()))
		if after := serve(a, mustRequest(t, "GET", "/v1/plan", "")); again.Code != http.StatusOK && again.Code != http.StatusNotImplemented || after.Body.String() != plan.Body.String() {
			t.Fatalf("after %q the plan %s comes back as %d %s", text, plan.Body, again.Code, after.Body)
		}
		cleared := serve(a, mustRequest(t, "POST", "/v1/clear", ""))
		if left := a.deps[0].State().Rules; cleared.Code != http.StatusOK || len(left) > 0 {
			t.Fatalf("after %q a clear is answered %d and leaves %+v", text, cleared.Code, left)
		}
	})
}

// serve has the API answer.
func serve(a api, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func mustRequest(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

// checkAnswer holds an answer against what the API may say.
func checkAnswer(t *testing.T, w *httptest.ResponseRecorder, text string) {
	t.Helper()
	switch {
	case w.Code < 200 || w.Code >= 500 && w.Code != http.StatusNotImplemented:
		t.Fatalf("%q is answered %d: %s", text, w.Code, w.Body)
	case w.Code >= 400:
		var p control.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Code == "" || p.Message == "" {
			t.Fatalf("%q is refused with %d: %s", text, w.Code, w.Body)
		}
	case !slices.Contains([]string{"application/json", "application/x-ndjson", "text/plain; version=0.0.4; charset=utf-8"}, w.Header().Get("Content-Type")):
		t.Fatalf("%q is answered as %q", text, w.Header().Get("Content-Type"))
	}
}
