package injector_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// inForm is a healthy answer in a form.
func inForm(f fault.Form) fault.Rule {
	return fault.Rule{Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}, Form: f}
}

// An answer of an upstream that has no end is not read without one, where it has to be kept to be sent in
// another form.
func TestAnEndlessAnswerInAnotherForm(t *testing.T) {
	for name, caller := range map[string]func(testing.TB) *http.Client{"HTTP/1.1": client, "HTTP/2": h2Client} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			left := make(chan struct{})
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				defer close(left)
				for block := make([]byte, 1<<20); ; {
					n, err := w.Write(block)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			})
			d := start(t, injector.Config{Upstream: up.URL}, inForm(fault.Form{Drip: &fault.Drip{Chunks: 2, Over: ms}}))
			status, body, err := get(caller(t), d.URL())
			if status != http.StatusBadGateway || !strings.Contains(body, "it is longer than 67108864 bytes") {
				t.Errorf("%d %q, %v", status, body, err)
			}
			select {
			case <-left:
			case <-time.After(patience):
				t.Error("the upstream still has somebody who reads")
			}
			if n := sent.Load(); n > 100<<20 {
				t.Errorf("%d bytes were read", n)
			}
			if a := d.only(t); a.Outcome != trace.OutcomeUpstream {
				t.Errorf("recorded %+v", a)
			}
		})
	}
}

// What an upstream says before and behind its answer comes with it in another form, too.
func TestInformationAndTrailersInAnotherForm(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "0123456789")
		w.Header().Set("X-Sum", "45")
		w.Header().Set(http.TrailerPrefix+"X-More", "yes")
	})
	for name, f := range map[string]fault.Form{"none": {}, "drip": {Drip: &fault.Drip{Chunks: 5, Over: ms}}, "bandwidth": {Bandwidth: 1 << 20}, "type": {Malformed: fault.WrongType}} {
		d := start(t, injector.Config{Upstream: up.URL}, inForm(f))
		o := observe(t, d.Addr())
		o.say("GET / HTTP/1.1\r\nHost: d\r\nTE: trailers\r\nConnection: close\r\n\r\n")
		seen, end := o.rest()
		for _, want := range []string{"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n", "HTTP/1.1 200 OK\r\n", "\r\nX-Sum: 45\r\n", "\r\nX-More: yes\r\n", "0\r\nX-"} {
			if !strings.Contains(seen, want) {
				t.Errorf("%s: %q is missing in %q", name, want, seen)
			}
		}
		if end != "FIN" || strings.Contains(seen, "Content-Length") || strings.Count(seen, "Link") != 1 {
			t.Errorf("%s: %q, %s", name, seen, end)
		}
		o = observe(t, d.Addr())
		o.say("GET / HTTP/1.0\r\nHost: d\r\n\r\n")
		if seen, _ := o.rest(); !strings.HasSuffix(seen, "\r\n\r\n0123456789") {
			t.Errorf("%s, to HTTP/1.0: %q", name, seen)
		}
	}
}
