package injector_test

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// However faults come and go, no byte is lost, doubled or put elsewhere.
func TestTCPUnderChange(t *testing.T) {
	short := fault.Latency{Min: ms, Max: 3 * ms}
	d := startTCP(t, echoes, onTCP(fault.TCP{
		Up:   &fault.Stream{Latency: short, Slice: &fault.Slice{Size: 700}},
		Down: &fault.Stream{Bandwidth: 20 << 20, Scope: fault.ScopeRule, Latency: short},
	}))
	var sent []byte
	for n := 0; len(sent) < 1<<20; n++ {
		sent = strconv.AppendInt(sent, int64(n), 36)
	}
	const callers = 8
	var calls sync.WaitGroup
	over := make(chan struct{})
	for range callers {
		o := observe(t, d.Addr())
		calls.Go(func() {
			io.Copy(o.conn, bytes.NewReader(sent))
			o.conn.(*net.TCPConn).CloseWrite()
		})
		calls.Go(func() {
			if got, end := o.rest(); got != string(sent) || end != "FIN" {
				t.Errorf("%d of %d bytes, %s", len(got), len(sent), end)
			}
		})
	}
	go func() { calls.Wait(); close(over) }()
	changes := 0
	for running := true; running; changes++ {
		select {
		case <-over:
			running = false
		default:
			d.Enter("p")
			d.Apply(onTCP(fault.TCP{Down: &fault.Stream{Slice: &fault.Slice{Size: 900}}}), time.Minute)
			time.Sleep(ms)
			d.Clear()
		}
	}
	t.Logf("%d changes", changes)
	if s := d.State(); s.Active != 0 {
		t.Errorf("%+v", s)
	}
	for _, a := range d.attempts(t) {
		if !strings.Contains(a.Detail, "both sides closed it") {
			t.Errorf("%+v", a)
		}
	}
}

// A connection beyond a limit passes soundly, and its record says why.
func TestTCPLimits(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveTCP(t, ln, echoes)
	d := start(t, injector.Config{
		TCP: &injector.TCP{Upstream: ln.Addr().String()}, Limits: injector.Limits{Held: 1},
	}, onTCP(fault.TCP{Down: endOf(0, fault.ActionHang)}))
	observe(t, d.Addr()).say("x")
	until(t, "it hangs", func() bool { return d.State().Held == 1 })
	observe(t, d.Addr()).echoes(t, "x")
	if as := d.attempts(t); len(as) != 2 || as[0].Spared != "" || as[1].Spared != "rule p/1: limit held" || as[1].Rule != "" {
		t.Errorf("%+v", as)
	}
}

// When nobody renews the lease, open connections are passed on soundly.
func TestTCPLease(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveTCP(t, ln, echoes)
	d := start(t, injector.Config{
		TCP: &injector.TCP{Upstream: ln.Addr().String()}, Lease: 200 * ms,
	}, onTCP(fault.TCP{Down: &fault.Stream{Latency: fault.Latency{Min: time.Hour, Max: time.Hour}}}))
	o := observe(t, d.Addr())
	until(t, "it is drawn", func() bool { return d.Fired("p")[0].Hit == 1 || d.State().Lease.Lapsed })
	o.echoes(t, "late by an hour, but for the lease")
}
