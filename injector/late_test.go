package injector_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// late is a latency of the answer, in a form.
func late(l fault.Latency, f fault.Form) fault.Rule {
	r := formed(f)
	r.Latency, r.Latency.At = l, fault.LatencyAtResponse
	return r
}

// floor is a latency that counts the work.
func floor(d time.Duration) fault.Rule {
	r := slow(rule(fault.ActionPass), d)
	r.Latency.Mode = fault.LatencyFloor
	return r
}

func fixed(d time.Duration) fault.Latency { return fault.Latency{Min: d, Max: d} }

// due reports whether something came when it was due, and not earlier: the network takes
// microseconds of its own.
func due(d, want time.Duration) bool { return d >= want && d <= want+ms }

// inFrontOf runs a bubble with an upstream, an injector before it and a client.
func inFrontOf(t *testing.T, up http.HandlerFunc, rules []fault.Rule, f func(t *testing.T, d dependency, c *http.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		onNetwork(t, n, "up:80", up)
		d := start(t, injector.Config{Addr: "d:80", Listen: n.Listen, DialUpstream: n.DialContext, Upstream: "http://up:80"}, rules...)
		c := &http.Client{Transport: &http.Transport{DialContext: n.DialContext}}
		defer c.CloseIdleConnections()
		f(t, d, c)
	})
}

// The upstream is asked at once; the caller hears of its answer when the latency has passed,
// and what streams after the head comes when it comes.
func TestLateAnswer(t *testing.T) {
	const s = time.Second
	ramp := fault.Latency{Ramp: &fault.LatencyRamp{Points: []fault.LatencyPoint{{At: 0, Latency: 3 * s}, {At: time.Hour, Latency: 3 * s}}}}
	for name, c := range map[string]struct {
		rule         fault.Rule
		works, rests time.Duration // of the upstream, before its head and in the body
		head, last   time.Duration
	}{
		"at once":               {late(fixed(3*s), fault.Form{}), 0, 0, 3 * s, 3 * s},
		"after its work":        {late(fixed(3*s), fault.Form{}), s, 0, 4 * s, 4 * s},
		"before a long body":    {late(fixed(3*s), fault.Form{}), s, 10 * s, 4 * s, 11 * s},
		"of a law":              {late(fault.Latency{Table: &fault.Table{Points: []fault.Point{{At: 3 * s}, {Quantile: 1, At: 3 * s}}}}, fault.Form{}), s, 0, 4 * s, 4 * s},
		"that is played":        {late(fault.Latency{Trace: []time.Duration{3 * s}}, fault.Form{}), s, 0, 4 * s, 4 * s},
		"of a ramp":             {late(ramp, fault.Form{}), s, 0, 4 * s, 4 * s},
		"of an answer in parts": {late(fixed(3*s), fault.Form{Drip: &fault.Drip{Chunks: 2, Over: s}}), s, 0, 4 * s, 5 * s},
		"of one that is kept":   {late(fixed(3*s), fault.Form{Drip: &fault.Drip{Chunks: 2, Over: s}}), s, 10 * s, 14 * s, 15 * s},
		"floor above the work":  {floor(3 * s), s, 0, 3 * s, 3 * s},
		"floor below the work":  {floor(3 * s), 7 * s, 0, 7 * s, 7 * s},
	} {
		began, worked, read := time.Time{}, time.Duration(0), ""
		inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
			worked = time.Since(began)
			body, err := io.ReadAll(r.Body)
			if read = string(body); err != nil {
				t.Error(err)
			}
			time.Sleep(c.works)
			io.WriteString(w, "begin")
			http.NewResponseController(w).Flush()
			time.Sleep(c.rests)
			io.WriteString(w, "end")
		}, []fault.Rule{c.rule}, func(t *testing.T, d dependency, client *http.Client) {
			began = time.Now()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL(), strings.NewReader("work"))
			if err != nil {
				t.Fatal(err)
			}
			head, pieces, body := arrivals(t, client, req)
			if last := pieces[len(pieces)-1]; worked > ms || read != "work" || body != "beginend" || !due(head, c.head) || !due(last, c.last) {
				t.Errorf("%s: asked after %v for %q, head after %v, %q until %v; want at once, %v, %v", name, worked, read, head, body, last, c.head, c.last)
			}
			if m := d.Meters(); m.DelayOver > ms || m.Delays[0] > 1 {
				t.Errorf("%s: measured %+v", name, m)
			}
			if a := d.only(t); a.Outcome != trace.OutcomeAnswered || !near(a.Dep-a.Arr, c.last) || a.Delay != 3*s {
				t.Errorf("%s: recorded %+v", name, a)
			}
		})
	}
}

// So is the answer of a stub, whose latency is its work.
func TestLateStub(t *testing.T) {
	for name, c := range map[string]struct {
		rule fault.Rule
		want time.Duration
	}{
		"added":           {late(fixed(time.Second), fault.Form{}), 1200 * ms},
		"102, then added": {late(fixed(time.Second), fault.Form{Inform: &fault.Inform{Status: 102, Times: 1, Every: ms}}), 1201 * ms},
		"floor":           {floor(time.Second), time.Second},
		"floor below":     {floor(ms), 200 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			d := start(t, injector.Config{Listen: p.listen, Stub: injector.Stub{Latency: 200 * ms}}, c.rule)
			client := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
			defer client.CloseIdleConnections()
			if head, _, _ := arrivals(t, client, asking(t, d.URL())); head != c.want {
				t.Errorf("%s: answered after %v, want %v", name, head, c.want)
			}
		})
	}
}

// A held request's floor is counted from when it is let go.
func TestFloorAfterAHold(t *testing.T) {
	r := floor(time.Second)
	r.Hold = &fault.Hold{Probes: 1, Rejected: 1, Max: time.Minute}
	inVirtualTime(t, func(t *testing.T, w *world) {
		if head, _, _ := arrivals(t, w.client, asking(t, w.URL())); head != time.Minute+time.Second {
			t.Errorf("answered after %v", head)
		}
	}, r)
}

// Nothing of an answer comes before its time: what an upstream says before it is kept, and
// comes with it. An upstream that cannot be reached is told of late, too.
func TestLateFromTheFirstByte(t *testing.T) {
	inFrontOf(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, link := range []string{"</a>", "</b>"} {
			w.Header().Set("Link", link)
			w.WriteHeader(http.StatusEarlyHints)
			time.Sleep(time.Second)
		}
		w.Header().Del("Link")
		io.WriteString(w, "done")
	}, []fault.Rule{late(fixed(time.Minute), fault.Form{})}, func(t *testing.T, d dependency, c *http.Client) {
		began := time.Now()
		var hints []string
		req := asking(t, d.URL())
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
				hints = append(hints, h.Get("Link")+time.Since(began).Truncate(ms).String())
				return nil
			},
		}))
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if diff := cmp.Diff([]string{"</a>1m2s", "</b>1m2s"}, hints); diff != "" || resp.Header.Get("Link") != "" || resp.Header.Get("Content-Length") != "4" {
			t.Errorf("head %v, hints (-want +got):\n%s", resp.Header, diff)
		}
	})
	inFrontOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		[]fault.Rule{late(fixed(time.Minute), fault.Form{})}, func(t *testing.T, d dependency, c *http.Client) {
			head, _, body := arrivals(t, c, asking(t, d.URL()))
			if !due(head, time.Minute) || !strings.Contains(body, "could not reach its upstream") {
				t.Errorf("%q after %v", body, head)
			}
		})
}

// What is cleared waits no longer, be it by hand or by a lease that lapses; a phase that ends
// lets its latencies pass to their end. None of it is measured as an error.
func TestLateIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		lease time.Duration
		do    func(d dependency)
		want  time.Duration
	}{
		"clear":     {0, func(d dependency) { d.Clear() }, 5 * time.Second},
		"lease":     {10 * time.Second, func(dependency) {}, 10 * time.Second},
		"phase end": {0, func(d dependency) { d.Enter("") }, time.Minute},
	} {
		for _, r := range []fault.Rule{late(fixed(time.Minute), fault.Form{}), floor(time.Minute)} {
			synctest.Test(t, func(t *testing.T) {
				n := memnet.New(1)
				onNetwork(t, n, "up:80", func(http.ResponseWriter, *http.Request) {})
				d := start(t, injector.Config{Addr: "d:80", Listen: n.Listen, DialUpstream: n.DialContext, Upstream: "http://up:80", Lease: c.lease}, r)
				client := &http.Client{Transport: &http.Transport{DialContext: n.DialContext}}
				defer client.CloseIdleConnections()
				time.AfterFunc(5*time.Second, func() { c.do(d) })
				if head, _, _ := arrivals(t, client, asking(t, d.URL())); !due(head, c.want) {
					t.Errorf("%s: answered after %v, want %v", name, head, c.want)
				}
				if m := d.Meters(); m.DelayOver < 0 || m.DelayOver > ms {
					t.Errorf("%s: the latency was longer by %v", name, m.DelayOver)
				}
			})
		}
	}
}

// Who leaves while his answer is kept from him is missed at once, also if the upstream
// answered and leaves the rest of what he sent unread.
func TestLeavingBeforeALateAnswer(t *testing.T) {
	for name, asks := range map[string]string{
		"GET": request("GET", 0), "a whole body": request("POST", 10),
		"half a body": strings.Replace(request("POST", 10), " 10\r\n", " 20\r\n", 1), "an unread body": request("POST", 150_000),
	} {
		if name == "an unread body" && runtime.GOOS != "linux" {
			continue // Elsewhere the kernel does not say that a caller left whose bytes are unread.
		}
		t.Run(name, func(t *testing.T) {
			answered, over := make(chan struct{}, 1), make(chan struct{})
			up := narrowUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
				flush := http.NewResponseController(w)
				if err := flush.EnableFullDuplex(); err != nil {
					t.Error(err)
				}
				flush.Flush()
				answered <- struct{}{}
				<-over
			})
			t.Cleanup(func() { close(over) })
			d := start(t, up, late(fixed(time.Hour), fault.Form{}))
			conn, err := net.Dial("tcp", d.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, asks)
			<-answered
			if st := d.State(); st.Active != 1 {
				t.Errorf("%+v while it waits", st)
			}
			conn.Close()
			until(t, "his place is free", func() bool { return d.State().Active == 0 })
			if a := d.only(t); a.Outcome != trace.OutcomeHang || a.Abandon == trace.None {
				t.Errorf("recorded %+v, want that he left", a)
			}
		})
	}
}

// narrowUpstream is an upstream that the kernel takes little for.
func narrowUpstream(t *testing.T, h http.HandlerFunc) injector.Config {
	up := httptest.NewUnstartedServer(h)
	up.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Error(err)
		}
		return ctx
	}
	up.Start()
	t.Cleanup(up.Close)
	return injector.Config{Upstream: up.URL, DialUpstream: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetWriteBuffer(4096)
		}
		return c, err
	}}
}

// Over HTTP/2 as well, with and without TLS: the stream waits and not its connection.
func TestLateOverHTTP2(t *testing.T) {
	r := late(fixed(time.Second), fault.Form{})
	r.Match.Path = "/late"
	inVirtualH2(t, injector.Config{Stub: injector.Stub{Latency: 100 * ms}}, func(t *testing.T, d dependency, c *http.Client) {
		done := make(chan time.Duration)
		began := time.Now()
		go func() {
			get(c, d.URL()+"/late")
			done <- time.Since(began)
		}()
		synctest.Wait()
		get(c, d.URL()+"/other")
		if took := time.Since(began); !due(took, 100*ms) {
			t.Errorf("another stream took %v", took)
		}
		if took := <-done; !due(took, 1100*ms) {
			t.Errorf("answered after %v", took)
		}
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			resp, err := c.Do(asking(t, d.URL()+"/late").WithContext(ctx))
			if err == nil {
				resp.Body.Close()
			}
			done <- 0
		}()
		time.Sleep(500 * ms)
		leave()
		<-done
		time.Sleep(50 * ms)
		if st := d.State(); st.Active != 0 {
			t.Errorf("the caller left, and %d wait", st.Active)
		}
	}, r)
}

// A gRPC server works at once, and its caller waits: for the head, and for no message after it.
func TestLateGRPC(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	worked := make(chan time.Time, 1)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		worked <- time.Now()
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.Write([]byte{0, 0, 0, 0, 0})
		w.Header().Set("Grpc-Status", "0")
	})}
	go server.Serve(ln)
	defer server.Close()
	d := start(t, injector.Config{Upstream: "h2c://" + ln.Addr().String()}, late(fixed(200*ms), fault.Form{}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/a.B/C", strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Te": {"trailers"}, "Content-Type": {"application/grpc"}}
	resp, err := h2Client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	came := time.Now()
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); len(body) != 5 || err != nil || resp.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("%q %v %v", body, resp.Trailer, err)
	}
	if waited := came.Sub(<-worked); waited < 200*ms {
		t.Errorf("the head came %v after the work", waited)
	}
}

// A WebSocket is shaken hands for late, and what the upstream says first comes with it.
func TestLateSocket(t *testing.T) {
	for name, r := range map[string]fault.Rule{
		"relayed blindly": late(fixed(200*ms), fault.Form{}),
		"with faults": func() fault.Rule {
			r := late(fixed(200*ms), fault.Form{})
			r.Match.WebSocket, r.WebSocket = true, &fault.WebSocket{NoPong: &fault.Select{Kind: fault.SelectAll}}
			return r
		}(),
	} {
		for dep, cfg := range map[string]injector.Config{
			"stub":     {Stub: injector.Stub{WebSocket: &injector.WebSocketStub{Open: []string{"hello"}}}},
			"upstream": {Upstream: socketUpstream(t, said(1, true, "hello")).url},
		} {
			d := start(t, cfg, r)
			o := observe(t, d.Addr())
			began := time.Now()
			o.say("GET /x HTTP/1.1\r\nHost: dep\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
			if _, err := o.r.Peek(1); err != nil || time.Since(began) < 200*ms {
				t.Errorf("%s, %s: the first byte after %v: %v", name, dep, time.Since(began), err)
			}
			resp, err := http.ReadResponse(o.r, nil)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%s, %s: %+v %v", name, dep, resp, err)
			}
			frame := make([]byte, 7)
			if _, err := io.ReadFull(o.r, frame); err != nil || string(frame[2:]) != "hello" {
				t.Errorf("%s, %s: %q %v", name, dep, frame, err)
			}
			o.conn.Close()
		}
	}
}
