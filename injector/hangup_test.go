package injector_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// A caller whose request is read slowly is missed when he leaves, and not only when all that
// he sent has been read. He may be behind TLS, and before an upstream.
func TestLeavingWhileReadSlowly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the kernel does not say that a caller left whose bytes are unread")
	}
	slowly := rule(fault.ActionPass)
	slowly.ReadRate = 1
	for name, c := range map[string]struct {
		d    dependency
		dial func(d dependency) (net.Conn, error)
	}{
		"TLS": {startTLS(t, slowly), func(d dependency) (net.Conn, error) {
			return tls.Dial("tcp", d.Addr(), trusting(t, d))
		}},
		"upstream": {startUpstream(t, slowly), func(d dependency) (net.Conn, error) {
			return net.Dial("tcp", d.Addr())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := c.dial(c.d)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, request("POST", 10_000)); err != nil {
				t.Fatal(err)
			}
			until(t, "he is there", func() bool { return c.d.State().Active == 1 })
			conn.Close()
			until(t, "his place is free", func() bool { return c.d.State().Active == 0 })
			if a := c.d.only(t); a.Outcome != trace.OutcomeHang || a.Abandon == trace.None {
				t.Errorf("recorded %+v, want that he left", a)
			}
		})
	}
}

// startUpstream runs an injector in front of an upstream that reads what it gets.
func startUpstream(t *testing.T, rules ...fault.Rule) dependency {
	t.Helper()
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	return start(t, injector.Config{Upstream: up.URL}, rules...)
}
