package memnet_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/target/memnet"
)

// TestHTTPInABubble has a client, a server and connections that are all gone
// at the end: synctest reports any goroutine that is left.
func TestHTTPInABubble(t *testing.T) {
	same := httpRun(t, 1)
	for range 5 {
		if diff := cmp.Diff(same, httpRun(t, 1)); diff != "" {
			t.Fatalf("two runs with one seed differ (-first +second):\n%s", diff)
		}
	}
	if cmp.Equal(same, httpRun(t, 2)) {
		t.Error("another seed gave the same instants")
	}
}

// httpRun makes 40 overlapping requests and returns what the server saw.
func httpRun(t *testing.T, seed uint64) (seen []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(seed)
		ln := listen(t, n, "sut:80")
		start := time.Now()
		var mu sync.Mutex
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			line := fmt.Sprintf("%v %s %s", time.Since(start), r.RemoteAddr, r.URL.Path)
			mu.Lock()
			seen = append(seen, line)
			mu.Unlock()
			time.Sleep(25 * time.Millisecond)
			_, _ = io.WriteString(w, "ok")
		})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(ln)
		}()
		tr := &http.Transport{DialContext: n.DialContext}
		var wg sync.WaitGroup
		for i := range 40 {
			time.Sleep(10 * time.Millisecond)
			wg.Go(func() { get(t, tr, fmt.Sprintf("http://sut/%d", i)) })
		}
		wg.Wait()
		tr.CloseIdleConnections()
		_ = srv.Close()
		<-served
	})
	return seen
}

func get(t *testing.T, tr http.RoundTripper, url string) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
}

// TestNoTwoHopsShareAnInstant sends from many connections at once.
func TestNoTwoHopsShareAnInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		ln := listen(t, n, addr)
		start := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		arrived := func() {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(start))
		}
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				c, err := n.DialContext(t.Context(), "tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				arrived()
				mustWrite(t, c, "x")
				_ = c.Close()
			})
			wg.Go(func() { serveOne(t, ln, arrived) })
		}
		wg.Wait()
		if len(at) != 900 {
			t.Fatalf("%d events, want 900", len(at))
		}
		slices.Sort(at)
		if got := len(slices.Compact(at)); got != 900 {
			t.Errorf("900 hops were delivered at %d instants", got)
		}
		// 300 hops leave at once, so collisions push some beyond a microsecond.
		if last := at[len(at)-1]; last > 10*time.Microsecond {
			t.Errorf("the last hop took %v", last)
		}
	})
}

// serveOne accepts a connection and reads its one byte and its end.
func serveOne(t *testing.T, ln net.Listener, arrived func()) {
	c, err := ln.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	for range 2 {
		_, _ = c.Read(make([]byte, 1))
		arrived()
	}
}
