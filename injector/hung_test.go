package injector_test

import (
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// hangers opens n connections whose requests hang, and returns when all do.
func hangers(t *testing.T, d dependency, n int) []net.Conn {
	t.Helper()
	text := request("GET", 0)
	conns := make([]net.Conn, n)
	for k := range conns {
		c, err := net.Dial("tcp", d.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conns[k] = c
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	for limit := time.Now().Add(time.Minute); d.State().Held < n; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d of %d hang", d.State().Held, n)
		}
	}
	return conns
}

// allEnd reads every connection to its end, which is a FIN.
func allEnd(t *testing.T, conns []net.Conn) {
	t.Helper()
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if got, err := io.ReadAll(c); err != nil || string(got) != "HTTP/1.1 " {
			t.Errorf("%q, %v", got, err)
		}
		c.Close()
	}
}

// Clearing answers at once, however many hang. The machine may be busy with something else
// once, so the best of some tries counts.
func TestClearIsFast(t *testing.T) {
	const n, limit = 2000, 100 * time.Millisecond
	d := start(t, injector.Config{}, rule(fault.ActionHang))
	best := time.Hour
	for range 5 {
		d.Enter("p")
		conns := hangers(t, d, n)
		began := time.Now()
		if err := d.Clear(); err != nil {
			t.Error(err)
		}
		best = min(best, time.Since(began))
		allEnd(t, conns)
		if best < limit {
			break
		}
	}
	t.Logf("%d hung connections were cleared in %v", n, best)
	if best >= limit {
		t.Errorf("clear took %v with %d hung connections", best, n)
	}
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// descriptors is how many are open; -1 where the system does not say.
func descriptors() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(open)
}

// What hung and was cleared leaves nothing behind but its lines in the ledger.
func TestClearLeavesNothing(t *testing.T) {
	rounds, n := 2, 500
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		rounds, n = 5, 2000
	}
	d := start(t, injector.Config{}, rule(fault.ActionHang))
	round := func() {
		d.Enter("p")
		conns := hangers(t, d, n)
		if err := d.Clear(); err != nil {
			t.Error(err)
		}
		allEnd(t, conns)
	}
	round() // What is made once is made now.
	until(t, "all are gone", func() bool { return d.State().Active == 0 })
	routines, files := runtime.NumGoroutine(), descriptors()
	before := heap()
	for range rounds {
		round()
	}
	settle(t, routines)
	until(t, "all files are closed", func() bool { return descriptors() <= files })
	// A line of the ledger is some hundred bytes; a connection that hangs, over ten thousand.
	const line = 1500
	if grown := heap() - before; grown > int64(rounds*n*line) {
		t.Errorf("%d bytes are left of each of %d hung connections", grown/int64(rounds*n), rounds*n)
	} else {
		t.Logf("%d bytes are left of each of %d hung connections", grown/int64(rounds*n), rounds*n)
	}
	if s := d.State(); s.Active != 0 || s.Held != 0 {
		t.Errorf("%+v", s)
	}
}
