package injector_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

func onTLS(do fault.TLSDo) fault.Rule {
	r := rule(fault.ActionTLS)
	r.TLS = &fault.TLS{Do: do}
	return r
}

// trusting is the configuration of a client who knows the injector's CA.
func trusting(t testing.TB, d dependency) *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(d.CA()) {
		t.Fatal("the CA is no PEM")
	}
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}
}

// secureClient keeps connections alive.
func secureClient(t testing.TB, d dependency) *http.Client {
	c := client(t)
	c.Transport.(*http.Transport).TLSClientConfig = trusting(t, d)
	return c
}

// startTLS runs an injector with TLS.
func startTLS(t testing.TB, rules ...fault.Rule) dependency {
	t.Helper()
	return start(t, injector.Config{TLS: &injector.TLS{Names: []string{"payments.internal"}}}, rules...)
}

func TestServesOverTLS(t *testing.T) {
	d := startTLS(t)
	if !strings.HasPrefix(d.URL(), "https://127.0.0.1:") {
		t.Fatalf("URL %s", d.URL())
	}
	c := secureClient(t, d)
	for range 3 {
		if status, _, err := get(c, d.URL()); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "payments.internal"} {
		config := trusting(t, d)
		config.ServerName, config.NextProtos = name, []string{"h2", "http/1.1"}
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for range 2 {
			conn, err := tls.Dial("tcp", d.Addr(), config)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s := conn.ConnectionState(); s.NegotiatedProtocol != "http/1.1" || s.DidResume || s.Version != tls.VersionTLS13 {
				t.Errorf("%s: %+v", name, s)
			}
			io.WriteString(conn, request("GET", 0))
			if n, err := conn.Read(make([]byte, 1)); n != 1 { // A ticket would have come before.
				t.Error(err)
			}
			conn.Close()
		}
	}
	if as := d.attempts(t); len(as) != 11 || as[0].Unread() {
		t.Errorf("%+v", as)
	}
}

func TestPlainHasNoCA(t *testing.T) {
	if ca := start(t, injector.Config{}).CA(); ca != nil {
		t.Errorf("%s", ca)
	}
}

// What cannot work is refused at the start.
func TestTLSIsRefused(t *testing.T) {
	for _, c := range []struct {
		cfg  injector.Config
		want string
	}{
		{injector.Config{Script: fault.Script{Phases: map[string][]fault.Rule{"p": {onTLS(fault.TLSStall)}}}}, "stall needs connections with TLS"},
		{injector.Config{TLS: &injector.TLS{Names: []string{"a:1"}}}, `"a:1" is not the name of a host`},
	} {
		c.cfg.Recorder = trace.NewRecorder(time.Now())
		if _, err := injector.Start(t.Context(), c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// What came instead of a handshake that succeeds is in the ledger, and nothing else is.
func TestHandshakesThatFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		call    func(*testing.T, dependency)
		outcome trace.Outcome // empty: no attempt
		detail  string
	}{
		{"nothing", func(t *testing.T, d dependency) { observe(t, d.Addr()).leave(t, false) }, "", ""},
		{"a reset", func(t *testing.T, d dependency) {
			o := observe(t, d.Addr())
			other, err := tls.Dial("tcp", d.Addr(), trusting(t, d)) // When it is served, both are accepted.
			if err != nil {
				t.Fatal(err)
			}
			other.Close()
			o.leave(t, true)
		}, trace.OutcomeHang, "reset the connection before it sent anything"},
		{"HTTP in plain", func(t *testing.T, d dependency) {
			o := observe(t, d.Addr())
			o.say("GET / HTTP/1.1\r\nHost: d\r\n\r\n")
			if seen, _ := o.rest(); !strings.HasPrefix(seen, "HTTP/1.0 400 ") {
				t.Errorf("%q", seen)
			}
		}, trace.OutcomeAnswered, "HTTP in plain"},
		{"garbage", func(t *testing.T, d dependency) {
			o := observe(t, d.Addr())
			o.say("\x00\x01\x02 garbage")
			o.rest()
		}, trace.OutcomeFIN, "does not look like a TLS handshake"},
		{"half a ClientHello", func(t *testing.T, d dependency) {
			o := observe(t, d.Addr())
			io.WriteString(o.conn, "\x16\x03\x01\x01\x00\x01")
			o.leave(t, false)
		}, trace.OutcomeHang, "EOF"},
		{"a caller who knows no CA", func(t *testing.T, d dependency) {
			if _, err := tls.Dial("tcp", d.Addr(), &tls.Config{ServerName: "localhost"}); err == nil {
				t.Error("no error")
			}
		}, trace.OutcomeHang, `bad certificate; it is for "localhost"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := startTLS(t)
			c.call(t, d)
			if c.outcome == "" {
				if as := d.attempts(t); len(as) != 0 {
					t.Errorf("%+v", as)
				}
				return
			}
			until(t, "it is recorded", func() bool { return d.ended() == 1 })
			if a := d.only(t); a.Outcome != c.outcome || !strings.Contains(a.Detail, c.detail) || !a.Unread() {
				t.Errorf("%+v", a)
			}
		})
	}
}

// Of n connections a ratio hits exactly its share, however many come at a time; which one a
// request is on makes no difference.
func TestTLSRatioIsExact(t *testing.T) {
	for _, workers := range []int{1, 16} {
		const n = 100
		r := onTLS(fault.TLSAlert)
		r.TLS.Alert = 112 // unrecognized_name
		d := startTLS(t, ratio(r, 3, 10))
		config := trusting(t, d)
		var wg sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for w := range workers {
			wg.Go(func() {
				for range n/workers + (n%workers+workers-1-w)/workers {
					conn, err := tls.Dial("tcp", d.Addr(), config)
					alert, ok := errors.AsType[tls.AlertError](err)
					switch {
					case err == nil:
						conn.Close()
					case ok && alert == 112 || strings.Contains(err.Error(), "unrecognized name"):
						mu.Lock()
						refused++
						mu.Unlock()
					default:
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if refused != 30 {
			t.Errorf("%d workers: %d of %d were refused", workers, refused, n)
		}
		as := d.attempts(t)
		if len(as) != 30 || as[0].Rule != "p/1" || as[0].Outcome != trace.OutcomeFIN || !strings.Contains(as[0].Detail, "alert 112") {
			t.Errorf("%d attempts: %+v", len(as), as[0])
		}
		if c := d.Fired("p")[0]; c.Seen != n || c.Hit != 30 {
			t.Errorf("%+v", c)
		}
	}
}

// A limit lets handshakes pass as it does requests.
func TestTLSLimits(t *testing.T) {
	d := start(t, injector.Config{TLS: &injector.TLS{}, Limits: injector.Limits{Faulted: 2}}, onTLS(fault.TLSClose))
	failed := 0
	for range 5 {
		conn, err := tls.Dial("tcp", d.Addr(), trusting(t, d))
		if err != nil {
			failed++
			continue
		}
		conn.Close()
	}
	if s := d.State(); failed != 2 || s.Overflow[injector.LimitFaulted] != 3 || s.Active != 0 || s.Rules[0].Hit != 2 {
		t.Errorf("%d failed, %+v", failed, s)
	}
}

// Stalled handshakes end with their caller, with their phase, and with the injector; nothing
// is left of them.
func TestStallsEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	d := startTLS(t, onTLS(fault.TLSStall))
	const n = 50
	config := trusting(t, d)
	stalled := func() []net.Conn {
		conns := make([]net.Conn, n)
		for i := range conns {
			o := observe(t, d.Addr())
			conns[i] = o.conn
			go tls.Client(o.conn, config).Handshake()
		}
		until(t, "all are stalled", func() bool { return d.State().Held == n })
		return conns
	}
	none := func() bool { return d.State().Held == 0 && d.State().Active == 0 }
	for _, c := range stalled() {
		c.Close()
	}
	until(t, "callers who left are let go", none)
	stalled()
	if err := d.Clear(); err != nil {
		t.Error(err)
	}
	until(t, "cleared ones are let go", none)
	d.Enter("p")
	stalled()
	as := d.attempts(t)
	if len(as) != 3*n || as[0].Abandon == trace.None || as[n].Dep == trace.None || as[0].Outcome != trace.OutcomeHang || as[n].Outcome != trace.OutcomeHang {
		t.Errorf("%d attempts: %+v", len(as), as[0])
	}
	settle(t, before)
}

// In virtual time: a latency before the ServerHello is exact, and a stall lasts as long as
// its phase.
func TestTLSInVirtualTime(t *testing.T) {
	for _, c := range []struct {
		do   fault.TLSDo
		want time.Duration
		ok   bool
	}{{fault.TLSSlow, 3 * time.Second, true}, {fault.TLSStall, 20 * time.Second, false}} {
		t.Run(string(c.do), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onTLS(c.do)
				r.Latency = fault.Latency{Min: 3 * time.Second, Max: 3 * time.Second}
				p := newPipes()
				d := start(t, injector.Config{Listen: p.listen, TLS: &injector.TLS{}}, r)
				time.AfterFunc(20*time.Second, func() { d.Enter("") })
				began := time.Now()
				near, err := p.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				err = tls.Client(near, trusting(t, d)).Handshake()
				if took := time.Since(began); took != c.want || (err == nil) != c.ok {
					t.Errorf("%v after %v", err, took)
				}
				near.Close()
				d.Close()
			})
		})
	}
}

// A rule for handshakes is drawn once per connection, and its requests are told by nothing.
func TestRequestsOnAFaultedConnection(t *testing.T) {
	d := startTLS(t, onTLS(fault.TLSExpired), rule(fault.ActionRespond))
	c := secureClient(t, d)
	c.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	for range 3 {
		if status, _, err := get(c, d.URL()); err != nil || status != http.StatusServiceUnavailable {
			t.Fatal(status, err)
		}
	}
	if f := d.Fired("p"); f[0].Hit != 1 || f[1].Hit != 3 {
		t.Errorf("%+v", f)
	}
	if as := d.attempts(t); len(as) != 3 || as[0].Rule != "p/2" || as[0].Detail != "" {
		t.Errorf("%+v", as)
	}
}
