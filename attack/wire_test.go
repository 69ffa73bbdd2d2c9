package attack_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// TestTheBytesOfARequest looks at the wire itself: that a request must not be sent
// twice changes nothing of it.
func TestTheBytesOfARequest(t *testing.T) {
	for _, tc := range []struct {
		name   string
		target match.Target
		want   []string // lines, without those that carry the call's identity
	}{
		{"GET", match.Target{Path: "/a"}, []string{"GET /a HTTP/1.1", "Host: HOST", "User-Agent: Go-http-client/1.1"}},
		{"OPTIONS", match.Target{Method: http.MethodOptions, Path: "/a"}, []string{"OPTIONS /a HTTP/1.1", "Host: HOST", "User-Agent: Go-http-client/1.1"}},
		{"TRACE", match.Target{Method: http.MethodTrace, Path: "/a"}, []string{"TRACE /a HTTP/1.1", "Host: HOST", "User-Agent: Go-http-client/1.1"}},
		{"HEAD", match.Target{Method: http.MethodHead, Path: "/a"}, []string{"HEAD /a HTTP/1.1", "Host: HOST", "User-Agent: Go-http-client/1.1"}},
		{
			"POST with a key and no body",
			match.Target{Method: http.MethodPost, Path: "/a", Headers: map[string]string{"Idempotency-Key": "1"}},
			[]string{"POST /a HTTP/1.1", "Host: HOST", "User-Agent: Go-http-client/1.1", "Transfer-Encoding: chunked", "Idempotency-Key: 1"},
		},
		{
			"GET with a body",
			match.Target{Path: "/a", Body: "{}"},
			[]string{"GET /a HTTP/1.1", "Host: HOST", "User-Agent: Go-http-client/1.1", "Content-Length: 2"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := make(chan []string, 1)
			addr := lineServer(t, got)
			a, err := attack.New(attack.Config{
				BaseURL: "http://" + addr, Recorder: trace.NewRecorder(time.Now()),
				Correlator: match.Correlator{Run: 1, Phases: []string{"probe"}}, Timeout: 10 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := a.Once(t.Context(), 0, 0, tc.target)
			if err != nil || !c.Answered() {
				t.Fatalf("%+v, %v", c, err)
			}
			for i := range tc.want {
				tc.want[i] = strings.ReplaceAll(tc.want[i], "HOST", addr)
			}
			if diff := cmp.Diff(tc.want, <-got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if err := a.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// lineServer answers one request and tells its lines, up to the empty one.
func lineServer(t *testing.T, got chan<- []string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		var lines []string
		for in := bufio.NewScanner(conn); in.Scan() && in.Text() != ""; {
			if l := in.Text(); !strings.HasPrefix(l, "Traceparent:") && !strings.HasPrefix(l, "X-Request-Id:") {
				lines = append(lines, l)
			}
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		got <- lines
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}
