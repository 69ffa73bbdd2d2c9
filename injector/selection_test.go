package injector_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// A fault sees the query, the caller's address and the body, and what was looked at
// of the body still goes on to the upstream.
func TestFaultsSeeTheWholeRequest(t *testing.T) {
	sent := ""
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		buf := new(strings.Builder)
		if err := r.Write(buf); err != nil {
			t.Error(err)
		}
		sent = buf.String()
	})
	in := func(m fault.Match) fault.Rule {
		r := rule(fault.ActionRespond)
		m.Peer = "127.0.0.0/8"
		r.Match = m
		return r
	}
	d := start(t, injector.Config{Upstream: up.URL, Script: fault.Script{Phases: map[string][]fault.Rule{"p": {
		in(fault.Match{Query: map[string]string{"plan": "gold"}}),
		in(fault.Match{Method: "POST", JSONPath: map[string]any{"$.kind": "card"}}),
	}}}})
	d.Enter("p")
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"/?plan=gold", "", 503}, {"/?plan=tin", "", 200}, {"/", `{"kind": "card"}`, 503}, {"/", `{"kind": "cash", "n": 7}`, 200},
	} {
		resp, err := client(t).Post(d.URL()+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %s: %d", c.path, c.body, resp.StatusCode)
		}
	}
	if !strings.HasSuffix(sent, `{"kind": "cash", "n": 7}`) {
		t.Errorf("the upstream got %q", sent)
	}
}
