package injector_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// The answer to HEAD says how long the body of a GET would be, in whatever form it is sent.
func TestHeadKeepsTheLengthOfItsUpstream(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1234")
		if r.Method != http.MethodHead {
			io.WriteString(w, strings.Repeat("x", 1234))
		}
	})
	for name, f := range map[string]fault.Form{
		"sound": {}, "after": {After: &fault.After{Do: fault.AfterClose}}, "slice": {Slice: &fault.Slice{Size: 50}},
		"drip": {Drip: &fault.Drip{Chunks: 2, Over: time.Millisecond}}, "wrong type": {Malformed: fault.WrongType},
	} {
		r := rule(fault.ActionPass)
		r.Form = f
		if f == (fault.Form{}) {
			r.Latency.Min, r.Latency.Max = time.Millisecond, time.Millisecond
		}
		d := start(t, injector.Config{Upstream: up.URL}, r)
		o := observe(t, d.Addr())
		o.say("HEAD /x HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n")
		if seen, end := o.rest(); end != "FIN" || !strings.Contains(seen, "\r\nContent-Length: 1234\r\n") || !strings.HasSuffix(seen, "\r\n\r\n") {
			t.Errorf("%s: %q, %s", name, seen, end)
		}
	}
}
