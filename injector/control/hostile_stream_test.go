package control_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

const handshake = "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// rawStream opens a stream whose reader has little room, and returns the status of the answer.
func (a api) rawStream() (net.Conn, *bufio.Reader, int) {
	a.t.Helper()
	c, err := net.Dial("tcp", a.Addr())
	if err != nil {
		a.t.Fatal(err)
	}
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		a.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, handshake); err != nil {
		a.t.Fatal(err)
	}
	r := bufio.NewReaderSize(c, 256)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return c, r, resp.StatusCode
}

// manners are the ways in which subscribers misbehave.
var manners = []func(c net.Conn, r *bufio.Reader){
	func(net.Conn, *bufio.Reader) {}, // Reads nothing.
	func(_ net.Conn, r *bufio.Reader) { // Reads slowly.
		for range 100 {
			if _, err := r.ReadByte(); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	},
	func(c net.Conn, _ *bufio.Reader) { c.Close() }, // Leaves.
	func(c net.Conn, _ *bufio.Reader) { // Leaves by a reset.
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	},
	func(c net.Conn, _ *bufio.Reader) { io.WriteString(c, strings.Repeat("\xff\xff\xff\xff garbage", 100)) },
	func(c net.Conn, _ *bufio.Reader) { // A frame that says it has 2^63-1 bytes, and goes on.
		io.WriteString(c, "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00")
		for block := strings.Repeat("x", 1<<16); ; {
			if _, err := io.WriteString(c, block); err != nil {
				return
			}
		}
	},
	func(c net.Conn, _ *bufio.Reader) { // A message without an end, in small pieces.
		io.WriteString(c, "\x01\x80\x00\x00\x00\x00")
		for range 10_000 {
			if _, err := io.WriteString(c, "\x00\x80\x00\x00\x00\x00"); err != nil {
				return
			}
		}
	},
	func(c net.Conn, _ *bufio.Reader) { // Pings whose answers are not read.
		for range 20_000 {
			if _, err := io.WriteString(c, "\x89\x84\x00\x00\x00\x00ping"); err != nil {
				return
			}
		}
	},
}

// Five hundred subscribers of all bad manners, again and again: those for whom there is no room are told so,
// requests are served meanwhile, memory is bounded, and nothing is left behind.
func TestSubscribersOfBadManners(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
	a.call(0)
	time.Sleep(100 * time.Millisecond) // What is made once is made.
	routines, files := runtime.NumGoroutine(), openFiles(t)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	statuses := map[int]int{}
	var conns []net.Conn
	var all sync.WaitGroup
	for k := range 500 {
		c, r, status := a.rawStream()
		statuses[status]++
		conns = append(conns, c)
		if status == http.StatusSwitchingProtocols {
			all.Go(func() { manners[k%len(manners)](c, r) })
		}
		if k%50 == 0 {
			if got := a.call(0); got != 200 && got != 503 {
				t.Errorf("a request gets %d", got)
			}
		}
	}
	if statuses[http.StatusSwitchingProtocols] < 32 || statuses[101]+statuses[503] != 500 {
		t.Errorf("answers: %v", statuses)
	}
	t.Logf("answers: %v", statuses)
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d bytes more are in use", grown)
	}
	for _, c := range conns {
		c.Close()
	}
	all.Wait()
	until(t, "all streams have ended", func() bool { return strings.Contains(a.ask("GET", "/metrics", "").body, "\nfaultline_streams 0\n") })
	until(t, "all goroutines have", func() bool { return runtime.NumGoroutine() <= routines+2 })
	until(t, "all files are closed", func() bool { return openFiles(t) <= files+2 })
}

// fill has streams say more than there is room for.
func (a api) fill() {
	a.t.Helper()
	for n := range 4 {
		a.want(200, "", "PUT", "/v1/plan", longPlan(n))
		time.Sleep(150 * time.Millisecond) // It is looked at ten times a second.
	}
}

// openFiles is how many descriptors are open.
func openFiles(t testing.TB) int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not say which files are open")
	}
	return len(open)
}
