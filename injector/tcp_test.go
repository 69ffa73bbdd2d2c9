package injector_test

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

func onTCP(tcp fault.TCP) fault.Rule {
	r := rule(fault.ActionTCP)
	r.TCP = &tcp
	return r
}

func endOf(after int64, by fault.Action) *fault.Stream {
	return &fault.Stream{End: &fault.StreamEnd{After: after, By: by}}
}

// serveTCP has each connection of a listener served, until the test ends.
func serveTCP(t testing.TB, ln net.Listener, serve func(net.Conn)) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				serve(c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
}

func echoes(c net.Conn) { io.Copy(c, c) }

// startTCP runs an injector before an upstream that does this with a connection.
func startTCP(t testing.TB, serve func(net.Conn), rules ...fault.Rule) dependency {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveTCP(t, ln, serve)
	return start(t, injector.Config{TCP: &injector.TCP{Upstream: ln.Addr().String()}}, rules...)
}

// say writes, and expects that to come back.
func (o observer) echoes(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(o.conn, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(o.r, got); err != nil || string(got) != text {
		t.Fatalf("%q, %v", got, err)
	}
}

// Every byte comes through, in both directions at a time, and FIN behind the last of them.
func TestTCPPassesAllOn(t *testing.T) {
	d := startTCP(t, echoes)
	if !strings.HasPrefix(d.URL(), "tcp://127.0.0.1:") {
		t.Error(d.URL())
	}
	sent := make([]byte, 8<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range sent {
		sent[i] = byte(random.Uint32())
	}
	o := observe(t, d.Addr())
	go func() {
		io.Copy(o.conn, bytes.NewReader(sent))
		o.conn.(*net.TCPConn).CloseWrite()
	}()
	got, end := o.rest()
	if end != "FIN" || crc32.ChecksumIEEE([]byte(got)) != crc32.ChecksumIEEE(sent) {
		t.Errorf("%d bytes, %s", len(got), end)
	}
	a := d.only(t)
	if a.Outcome != trace.OutcomeAnswered || a.Detail != "a TCP connection: 8388608 bytes up, 8388608 bytes down; both sides closed it" || !a.Unread() {
		t.Errorf("%+v", a)
	}
}

// A RST of one side is one for the other.
func TestTCPPassesResetsOn(t *testing.T) {
	ends := make(chan error, 1)
	d := startTCP(t, func(c net.Conn) {
		_, err := io.Copy(io.Discard, c)
		ends <- err
	})
	o := observe(t, d.Addr())
	io.WriteString(o.conn, "x")
	until(t, "it is connected", func() bool { return len(d.snapshot()) == 1 })
	o.leave(t, true)
	if err := <-ends; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the upstream saw %v", err)
	}
	until(t, "it ends", func() bool { return d.ended() == 1 })
	if a := d.only(t); a.Outcome != trace.OutcomeHang || a.Abandon == trace.None || !strings.Contains(a.Detail, "the caller reset it") {
		t.Errorf("%+v", a)
	}
	d = startTCP(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 1))
		c.(*net.TCPConn).SetLinger(0)
	})
	o = observe(t, d.Addr())
	o.say("x")
	if seen, end := o.rest(); seen != "" || end != "RST" {
		t.Errorf("%q, %s", seen, end)
	}
	if a := d.only(t); a.Outcome != trace.OutcomeReset || a.Rule != "" {
		t.Errorf("%+v", a)
	}
}

// Of n connections a ratio hits exactly its share.
func TestTCPRatioIsExact(t *testing.T) {
	for _, workers := range []int{1, 10} {
		const n = 100
		d := startTCP(t, echoes, ratio(onTCP(fault.TCP{Down: endOf(1, fault.ActionReset)}), 3, 10))
		var wg sync.WaitGroup
		var mu sync.Mutex
		resets := 0
		for range workers {
			wg.Go(func() {
				for range n / workers {
					o := observe(t, d.Addr())
					o.say("two")
					_, err := io.ReadFull(o.r, make([]byte, 3))
					if errors.Is(err, syscall.ECONNRESET) {
						mu.Lock()
						resets++
						mu.Unlock()
					} else if err != nil {
						t.Error(err)
					}
					o.conn.Close()
				}
			})
		}
		wg.Wait()
		if c := d.Fired("p")[0]; resets != 30 || c.Hit != 30 || c.Seen != n {
			t.Errorf("%d workers: %d resets, %+v", workers, resets, c)
		}
		if s := d.State(); s.Requests != n {
			t.Errorf("%d connections", s.Requests)
		}
	}
}

// Connections that are open feel a phase begin and end, and a fault that is added; those that
// hang end with it.
func TestTCPFaultsReachOpenConnections(t *testing.T) {
	d := startTCP(t, echoes, onTCP(fault.TCP{Down: endOf(10, fault.ActionReset)}))
	d.Enter("sound")
	o := observe(t, d.Addr())
	o.echoes(t, "twelve bytes") // Then it has arrived.
	other := observe(t, d.Addr())
	other.echoes(t, "twelve bytes")
	d.Enter("p")
	until(t, "both were drawn", func() bool { return d.Fired("p")[0].Hit == 2 })
	o.say("twelve bytes")
	if seen, end := o.rest(); seen != "twelve byt" || end != "RST" {
		t.Errorf("%q, %s", seen, end)
	}
	other.echoes(t, "nine byte")
	d.Enter("sound")
	until(t, "the fault is over", func() bool { return d.State().Active == 0 })
	other.echoes(t, "twelve bytes")
	if _, err := d.Apply(onTCP(fault.TCP{Up: endOf(3, fault.ActionHang)}), time.Minute); err != nil {
		t.Fatal(err)
	}
	until(t, "it was drawn again", func() bool { return d.State().Held == 1 })
	other.say("twelve bytes")
	got := make([]byte, 3)
	if _, err := io.ReadFull(other.r, got); err != nil || string(got) != "twe" {
		t.Errorf("%q, %v", got, err)
	}
	d.Clear()
	if seen, end := other.rest(); seen != "" || end != "FIN" {
		t.Errorf("%q, %s", seen, end)
	}
	as := d.attempts(t)
	if len(as) != 2 || as[0].Rule != "p/1" || as[1].Rule != "added/1" || as[1].Outcome != trace.OutcomeHang || !strings.Contains(as[1].Detail, "36 bytes up") {
		t.Errorf("%+v", as)
	}
}

// A door that shuts ends connections that are open.
func TestTCPDoor(t *testing.T) {
	d := startTCP(t, echoes, rule(fault.ActionRefuse))
	d.Enter("sound")
	o := observe(t, d.Addr())
	o.echoes(t, "x")
	d.Enter("p")
	if seen, end := o.rest(); seen != "" || end != "FIN" {
		t.Errorf("%q, %s", seen, end)
	}
	if _, err := net.Dial("tcp", d.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}

// An upstream that is not there is an end and no hang, and is in the ledger.
func TestTCPWithoutUpstream(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	for by, want := range map[fault.Action]string{"": "RST", fault.ActionReset: "RST", fault.ActionClose: "FIN"} {
		d := start(t, injector.Config{TCP: &injector.TCP{Upstream: ln.Addr().String(), Undialled: by}})
		if end := endAtOnce(t, d.Addr()); end != want {
			t.Errorf("%s: %s", by, end)
		}
		if a := d.only(t); a.Outcome != trace.OutcomeUpstream || !strings.Contains(a.Detail, "connection refused") {
			t.Errorf("%+v", a)
		}
	}
}

// endAtOnce connects and says how that ends; a RST may come before connect(2) returns.
func endAtOnce(t *testing.T, addr string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err == nil {
		defer c.Close()
		_, err = io.ReadAll(c)
	}
	switch {
	case err == nil:
		return "FIN"
	case errors.Is(err, syscall.ECONNRESET):
		return "RST"
	}
	return err.Error()
}

func TestTCPIsRefused(t *testing.T) {
	script := func(r fault.Rule) fault.Script {
		return fault.Script{Phases: map[string][]fault.Rule{"p": {r}}}
	}
	up := &injector.TCP{Upstream: "127.0.0.1:1"}
	for _, c := range []struct {
		cfg  injector.Config
		want string
	}{
		{injector.Config{TCP: &injector.TCP{Upstream: "x"}}, "not of the form host:port"},
		{injector.Config{TCP: &injector.TCP{Upstream: "x:1", Undialled: fault.ActionHang}}, "neither reset nor close"},
		{injector.Config{TCP: up, TLS: &injector.TLS{}}, "no tls"},
		{injector.Config{TCP: up, Upstream: "http://x"}, "no upstream of HTTP"},
		{injector.Config{TCP: up, Script: script(rule(fault.ActionReset))}, "reset is for HTTP"},
		{injector.Config{Script: script(onTCP(fault.TCP{Down: endOf(1, fault.ActionReset)}))}, "this injector speaks HTTP"},
	} {
		c.cfg.Recorder = trace.NewRecorder(time.Now())
		if _, err := injector.Start(t.Context(), c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Whatever connections are doing, Close ends them, and nothing is left.
func TestTCPCloseLeavesNothing(t *testing.T) {
	for name, tcp := range map[string]fault.TCP{
		"sound":  {Life: &fault.Life{For: time.Hour, By: fault.ActionReset}},
		"late":   {Down: &fault.Stream{Latency: fault.Latency{Min: time.Hour, Max: time.Hour}}},
		"slow":   {Down: &fault.Stream{Bandwidth: 100}},
		"hung":   {Down: endOf(0, fault.ActionHang), Up: endOf(0, fault.ActionHang)},
		"closed": {Down: endOf(1, fault.ActionClose)},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			t.Run("", func(t *testing.T) {
				d := startTCP(t, echoes, onTCP(tcp))
				for range 20 {
					observe(t, d.Addr()).say(strings.Repeat("x", 100_000))
				}
				until(t, "all were drawn", func() bool { return d.Fired("p")[0].Hit == 20 })
				began := time.Now()
				if as := d.attempts(t); len(as) != 20 {
					t.Errorf("%d attempts", len(as))
				}
				if took := time.Since(began); took > patience/2 {
					t.Errorf("Close took %v", took)
				}
				if s := d.State(); s.Active != 0 || s.Held != 0 {
					t.Errorf("%+v", s)
				}
			})
			settle(t, before)
		})
	}
}

// virtually runs an injector of TCP in a bubble; call opens connections to it.
func virtually(t *testing.T, serve func(net.Conn), f func(t *testing.T, d dependency, call func() net.Conn), rules ...fault.Rule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		ln, err := n.Listen("tcp", "upstream:1")
		if err != nil {
			t.Fatal(err)
		}
		serveTCP(t, ln, serve)
		d := start(t, injector.Config{TCP: &injector.TCP{Upstream: "upstream:1"}, Addr: "d:1", Listen: n.Listen, DialUpstream: n.DialContext}, rules...)
		f(t, d, func() net.Conn {
			c, err := n.DialContext(t.Context(), "tcp", "d:1")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return c
		})
		d.Close()
	})
}

// near reports whether d is at least want, and above it by the hops of the network only.
func near(d, want time.Duration) bool { return d >= want-ms && d <= want+ms }

// A thousand messages, one a millisecond, are each late by the latency and no more.
func TestTCPLatencyIsNoBandwidth(t *testing.T) {
	late := func(d time.Duration) *fault.Stream { return &fault.Stream{Latency: fault.Latency{Min: d, Max: d}} }
	virtually(t, echoes, func(t *testing.T, _ dependency, call func() net.Conn) {
		c := call()
		began := time.Now()
		go func() {
			for range 1000 {
				c.Write([]byte{1})
				time.Sleep(ms)
			}
		}()
		for n := range 1000 {
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); !near(took, time.Duration(n)*ms+3*time.Second) {
				t.Fatalf("message %d came after %v", n, took)
			}
		}
	}, onTCP(fault.TCP{Up: late(time.Second), Down: late(2 * time.Second)}))
}

// Who shares a bandwidth is who the scope says.
func TestTCPBandwidthScopes(t *testing.T) {
	const size = 100_000
	for _, c := range []struct {
		name string
		tcp  fault.TCP
		want time.Duration // for two connections that send and get as much
	}{
		{"connection", fault.TCP{Down: &fault.Stream{Bandwidth: size}}, time.Second},
		{"rule", fault.TCP{Down: &fault.Stream{Bandwidth: size, Scope: fault.ScopeRule}}, 2 * time.Second},
		{"rule, of each direction", fault.TCP{
			Up: &fault.Stream{Bandwidth: size, Scope: fault.ScopeRule}, Down: &fault.Stream{Bandwidth: size, Scope: fault.ScopeRule},
		}, 2 * time.Second},
		{"all", fault.TCP{
			Up: &fault.Stream{Bandwidth: size, Scope: fault.ScopeAll}, Down: &fault.Stream{Bandwidth: size, Scope: fault.ScopeAll},
		}, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, echoes, func(t *testing.T, _ dependency, call func() net.Conn) {
				began := time.Now()
				var wg sync.WaitGroup
				for range 2 {
					conn := call()
					wg.Go(func() { conn.Write(make([]byte, size)) })
					wg.Go(func() {
						if _, err := io.ReadFull(conn, make([]byte, size)); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(began); took < c.want*98/100 || took > c.want*103/100 {
					t.Errorf("it took %v, want %v", took, c.want)
				}
			}, onTCP(c.tcp))
		})
	}
}

// A life ends on time, whatever is sent: its timer is not set anew by traffic.
func TestTCPLifeUnderTraffic(t *testing.T) {
	virtually(t, echoes, func(t *testing.T, _ dependency, call func() net.Conn) {
		c := call()
		began := time.Now()
		var sending sync.WaitGroup
		defer sending.Wait()
		sending.Go(func() {
			for {
				if _, err := c.Write([]byte{1}); err != nil {
					return
				}
				time.Sleep(10 * ms)
			}
		})
		got, err := io.ReadAll(c)
		if took := time.Since(began); !errors.Is(err, syscall.ECONNRESET) || !near(took, 3*time.Second) || len(got) < 290 {
			t.Errorf("%d bytes, %v after %v", len(got), err, took)
		}
	}, onTCP(fault.TCP{Life: &fault.Life{For: 3 * time.Second, By: fault.ActionReset}}))
}
