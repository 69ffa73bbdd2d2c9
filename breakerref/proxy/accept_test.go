package proxy_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

// accepting asks the actuator with an Accept header, or without if it is empty, and also
// returns the answer's type.
func (w *world) accepting(t *testing.T, path, accept string) (media string, r reply) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL()+proxy.ActuatorPath+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.Header.Get("Content-Type"), reply{status: resp.StatusCode, body: string(text), err: err}
}

// What a client accepts decides the type of the answer, by Spring's rules.
func TestActuatorAnswersAsAccepted(t *testing.T) {
	const (
		v3, v2, plain = "application/vnd.spring-boot.actuator.v3+json", "application/vnd.spring-boot.actuator.v2+json", "application/json"
		text, open    = "text/plain;version=0.0.4;charset=utf-8", "application/openmetrics-text;version=1.0.0;charset=utf-8"
	)
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		for _, tc := range []struct{ path, accept, want string }{
			{"/circuitbreakers", "", v3},
			{"/circuitbreakers", "*/*", v3},
			{"/circuitbreakers", "*; q=.2", v3},
			{"/circuitbreakers", "application/*", v3},
			{"/circuitbreakers", "application/json", plain},
			{"/circuitbreakers", "application/json, text/plain, */*", plain},
			{"/circuitbreakers", "*/*, application/json", plain},
			{"/circuitbreakers", "*/*, application/json;q=0.5", v3},
			{"/circuitbreakers", "application/*, application/json;q=0.9", v3},
			{"/circuitbreakers", "application/*+json, application/json", plain},
			{"/circuitbreakers", "text/html, application/*+json;q=0.2", v3},
			{"/circuitbreakers", v2, v2},
			{"/circuitbreakers", v3 + ";q=0.1," + plain, plain},
			{"/circuitbreakers", "application/json;q=0", plain},
			{"/circuitbreakers", "text/plain", ""},
			{"/circuitbreakers", "rubbish", ""},
			{"/health", "application/json", plain},
			{"/circuitbreakerevents", "application/xml", ""},
			{"/prometheus", "", text},
			{"/prometheus", "text/*", text},
			{"/prometheus", "text/html, */*;q=0.1", text},
			{"/prometheus", "application/openmetrics-text", open},
			{"/prometheus", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", open},
			{"/prometheus", "text/plain, application/openmetrics-text;q=0.1", open},
			{"/prometheus", "application/json", ""},
		} {
			media, r := w.accepting(t, tc.path, tc.accept)
			status, want := http.StatusOK, tc.want
			if want == "" {
				status, want = http.StatusNotAcceptable, plain // Of the error.
			}
			if r.status != status || media != want {
				t.Errorf("%s for %q: got %d %s, want %d %s", tc.path, tc.accept, r.status, media, status, want)
			}
		}
	})
}
