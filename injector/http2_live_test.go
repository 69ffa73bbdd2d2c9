package injector_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// Over TLS, ALPN chooses.
func TestBothProtocolsOverTLS(t *testing.T) {
	reset := rule(fault.ActionReset)
	reset.Match.Path = "/reset"
	abort := rule(fault.ActionPass)
	abort.H2, abort.Match.Path = &fault.H2{Abort: true}, "/abort"
	d := start(t, injector.Config{TLS: &injector.TLS{Protocols: []string{"h2", "http/1.1"}}}, reset, abort)
	for want, protocols := range map[string]func(*http.Protocols){
		"HTTP/2.0": func(p *http.Protocols) { p.SetHTTP2(true) }, "HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
	} {
		c := secureClient(t, d)
		tr := c.Transport.(*http.Transport)
		tr.Protocols = new(http.Protocols)
		protocols(tr.Protocols)
		resp, err := c.Get(d.URL() + "/" + want)
		if err != nil {
			t.Fatal(want, err)
		}
		if err := resp.Body.Close(); err != nil || resp.Proto != want || resp.StatusCode != http.StatusOK {
			t.Errorf("%s %d %v, want %s", resp.Proto, resp.StatusCode, err, want)
		}
		if _, _, err := get(c, d.URL()+"/reset"); err == nil {
			t.Errorf("%s: /reset was answered", want)
		}
		status, _, err := get(c, d.URL()+"/abort")
		if h2 := want == "HTTP/2.0"; h2 && !errors.Is(err, syscall.ECONNRESET) || !h2 && status != http.StatusNotImplemented {
			t.Errorf("%s: /abort: %d %v", want, status, err)
		}
	}
	for _, a := range d.attempts(t) {
		if hit := a.Rule != "" && a.Detail == ""; a.Unread() || hit != (a.Outcome == trace.OutcomeReset) {
			t.Errorf("%+v", a)
		}
	}
}

// A fault that is added during a phase finds the connections that are open, and leaves those of the
// phase alone.
func TestSettingsThatAreAdded(t *testing.T) {
	settings := rule(fault.ActionSettings)
	settings.Settings = &fault.H2Settings{MaxStreams: 7}
	d := start(t, injector.Config{})
	c := h2Client(t)
	dialled := counted(c)
	ask := func(want int64) {
		t.Helper()
		if status, _, err := get(c, d.URL()); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
		if got := dialled.Load(); got != want {
			t.Errorf("%d connections, want %d", got, want)
		}
	}
	ask(1)
	if _, err := d.Apply(rule(fault.ActionPass), time.Minute); err != nil {
		t.Fatal(err)
	}
	ask(1)
	if _, err := d.Apply(settings, time.Minute); err != nil {
		t.Fatal(err)
	}
	dialled.settle(t, c, d.URL(), 2)
	ask(2)
	if _, err := d.Apply(rule(fault.ActionPass), time.Minute); err != nil {
		t.Fatal(err)
	}
	ask(2)
	if err := d.Clear(); err != nil {
		t.Fatal(err)
	}
	dialled.settle(t, c, d.URL(), 3)
	for _, r := range d.State().Rules {
		t.Errorf("%+v is left", r)
	}
}

// A door is shut to those who are in: they are told to go, and then meet it.
func TestDoorOfHTTP2(t *testing.T) {
	d := start(t, injector.Config{})
	c := h2Client(t)
	if status, _, err := get(c, d.URL()); status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	if _, err := d.Apply(rule(fault.ActionRefuse), time.Minute); err != nil {
		t.Fatal(err)
	}
	until(t, "refused", func() bool {
		_, _, err := get(c, d.URL())
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

// dials counts those of a client.
type dials struct{ atomic.Int64 }

func counted(c *http.Client) *dials {
	n := &dials{}
	c.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return n
}

// settle calls until the client has heard the GOAWAY, and so has dialled so often.
func (n *dials) settle(t *testing.T, c *http.Client, url string, want int64) {
	t.Helper()
	for end := time.Now().Add(patience); n.Load() < want; {
		if status, _, err := get(c, url); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
		if time.Now().After(end) {
			t.Fatalf("%d connections after %v, want %d", n.Load(), patience, want)
		}
	}
}
