package injector_test

import (
	"io"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
)

// A request that is for a fault by what is in its body is decided when that has come. A fault that was
// cleared, or whose time was over, by then does not hit it, however long it was there when the head came.
func TestAFaultThatEndedBeforeTheBodyCameHitsNothing(t *testing.T) {
	picky := answering(503)
	picky.ID, picky.Match.JSONPath = "picky", map[string]any{"$.a": "b"}
	for name, end := range map[string]func(t *testing.T, d dependency){
		"nothing": func(*testing.T, dependency) {},
		"clear": func(t *testing.T, d dependency) {
			if err := d.Clear(); err != nil {
				t.Error(err)
			}
		},
		"its time": func(t *testing.T, d dependency) {
			until(t, "it is over", func() bool { return len(d.State().Rules) == 0 })
		},
		"the lease": func(t *testing.T, d dependency) {
			until(t, "it has lapsed", func() bool { return d.State().Lease.Lapsed })
			if err := d.Renew(); err == nil {
				t.Error("it has not lapsed")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, injector.Config{Lease: time.Second})
			ttl := time.Minute
			if name == "its time" {
				ttl = 300 * time.Millisecond
			}
			if _, err := d.Apply(picky, ttl); err != nil {
				t.Fatal(err)
			}
			o := observe(t, d.Addr())
			io.WriteString(o.conn, "POST / HTTP/1.1\r\nHost: d\r\nContent-Length: 9\r\n\r\n{\"a\"")
			until(t, "it is looked at", func() bool { return d.State().Requests == 1 })
			end(t, d)
			io.WriteString(o.conn, ":\"b\"}")
			line, err := o.r.ReadString('\n')
			want := "HTTP/1.1 200 OK\r\n"
			if name == "nothing" {
				want = "HTTP/1.1 503 Service Unavailable\r\n"
			}
			if line != want || err != nil {
				t.Errorf("%q, %v; want %q", line, err, want)
			}
			a := d.only(t)
			if (a.Rule == "picky") != (name == "nothing") {
				t.Errorf("recorded %+v", a)
			}
		})
	}
}
