package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

// update asks the actuator for a state.
func (w *world) update(t *testing.T, name, state string) reply {
	t.Helper()
	return w.post(t, "/circuitbreakers/"+name, "application/json", `{"updateState":"`+state+`"}`)
}

// post sends the actuator a body of a type.
func (w *world) post(t *testing.T, path, media, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL()+proxy.ActuatorPath+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	resp, err := w.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, source: resp.Header.Get(proxy.Source), body: string(text), err: err}
}

func TestActuatorChangesStates(t *testing.T) {
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			update string
			then   breakerref.State
			source string
		}{
			{"DISABLE", breakerref.Disabled, proxy.SourcePrimary},
			{"FORCE_OPEN", breakerref.ForcedOpen, proxy.SourceFallback},
			{"CLOSE", breakerref.Closed, proxy.SourcePrimary},
		} {
			w.update(t, "test", tc.update).wantJSON(t, 200,
				`{"circuitBreakerName":"test","currentState":"`+tc.then.String()+`","message":"test state has been changed successfully"}`)
			w.wantState(t, tc.then)
			if r := w.get(t.Context()); r.source != tc.source {
				t.Errorf("%s: a call was answered by %q, want %q", tc.update, r.source, tc.source)
			}
		}
		for name, tc := range map[string]struct {
			r      reply
			status int
			says   string
		}{
			"unknown name":  {w.update(t, "other", "CLOSE"), 404, `no circuit breaker \"other\", and none is created`},
			"unknown state": {w.update(t, "test", "OPEN"), 400, `updateState is \"OPEN\", must be CLOSE, FORCE_OPEN or DISABLE`},
			"no JSON":       {w.post(t, "/circuitbreakers/test", "application/json", "CLOSE"), 400, `the body must be JSON such as`},
			"GET":           {w.actuator(t, "/circuitbreakers/test"), 405, "the method must be POST, not GET"},
			"POST":          {w.send(t.Context(), http.MethodPost, "/actuator/circuitbreakers", nil), 405, "the method must be GET, not POST"},
			"unknown path":  {w.actuator(t, "/env"), 404, "no such endpoint"},
			"no path":       {w.actuator(t, ""), 404, "no such endpoint"},
		} {
			var body struct {
				Timestamp, Error, Message, Path string
				Status                          int
			}
			if err := json.Unmarshal([]byte(tc.r.body), &body); err != nil {
				t.Fatalf("%s: %v in %s", name, err, tc.r.body)
			}
			says := strings.ReplaceAll(tc.says, `\`, "")
			if tc.r.status != tc.status || body.Status != tc.status || body.Error != http.StatusText(tc.status) || !strings.Contains(body.Message, says) ||
				!strings.HasPrefix(body.Path, "/actuator") || body.Timestamp != "2026-01-01T10:00:00.123+00:00" {
				t.Errorf("%s: got %d %+v, want %d and %q", name, tc.r.status, body, tc.status, says)
			}
		}
		w.wantState(t, breakerref.Closed)
	})
}

// What an operator may write is what Spring Boot understands.
func TestActuatorUnderstandsUpdates(t *testing.T) {
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			path, media, body string
			status            int // 200: the breaker is then disabled
		}{
			{"", "application/json", `{"updateState":"disable"}`, 200},
			{"", "application/json", `{"updateState":" Dis-able "}`, 200},
			{"", "Application/JSON; charset=utf-8", `{"updateState":"DISABLE","more":1,"none":null}`, 200},
			{"", "application/vnd.spring-boot.actuator.v2+json", `{"updateState":"DISABLE"} rest`, 200},
			{"", "application/json", "\ufeff" + `{"updateState":"DISABLE"}`, 200},
			{"?updateState=DISABLE", "application/json", `{"updateState":"CLOSE"}`, 200},
			{"?updateState=DISABLE&updateState=x", "application/json", "", 200},
			{"other", "application/json", `{"updateState":"DISABLE","name":"test"}`, 200},
			{"", "application/json", `{"updateState":""}`, 500},
			{"", "application/json", `{"updateState":"\t "}`, 500},
			{"?updateState=", "application/json", `{"updateState":"DISABLE"}`, 500},
			{"", "application/json", `{"updateState":"DISABLED"}`, 400},
			{"", "application/json", `{"updateState":"-"}`, 400},
			{"", "application/json", `{"updateState":null}`, 400},
			{"", "application/json", `{"updateState":2}`, 400},
			{"", "application/json", `{"updatestate":"DISABLE"}`, 400},
			{"", "application/json", `{"updateState":"DISABLE","more":{}}`, 400},
			{"", "application/json", `{"updateState":"DISABLE","name":null}`, 400},
			{"", "application/json", `null`, 400},
			{"", "application/json", ``, 400},
			{"", "application/json", `{"updateState":"DISABLE"` + strings.Repeat(" ", 1<<16) + "}", 413},
			{"", "application/x-www-form-urlencoded", `{"updateState":"DISABLE"}`, 415},
			{"", "application/problem+json", `{"updateState":"DISABLE"}`, 415},
			{"", "", `{"updateState":"DISABLE"}`, 415},
		} {
			w.update(t, "test", "CLOSE")
			path := "/circuitbreakers/test" + tc.path
			if tc.path == "other" {
				path = "/circuitbreakers/other"
			}
			want := breakerref.Closed
			if tc.status == 200 {
				want = breakerref.Disabled
			}
			if r := w.post(t, path, tc.media, tc.body); r.status != tc.status || w.State() != want {
				t.Errorf("%s %s %.60s: got %d and %v, want %d and %v", tc.path, tc.media, tc.body, r.status, w.State(), tc.status, want)
			}
		}
	})
}
