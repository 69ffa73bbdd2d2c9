package h2_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector/h2"
)

// dialled is a client of net/http for a handler, over real sockets.
func dialled(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				h2.New(c, h2.Options{Handler: handler, CloseWrite: c.(*net.TCPConn).CloseWrite}).Serve(ctx)
			})
		}
	})
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ln.Addr().String())
	}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		ln.Close()
		cancel()
		serving.Wait()
	})
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

// Go's client is served as by net/http: large bodies both ways at once, many at a time.
func TestGoClient(t *testing.T) {
	c := dialled(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		n, _ := io.Copy(w, r.Body)
		if n > 0 {
			w.Header().Set("Sum", "all")
		}
	})
	body := bytes.Repeat([]byte("0123456789"), 300_000)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			resp, err := c.Post("http://server/", "text/plain", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || !bytes.Equal(got, body) || resp.Trailer.Get("Sum") != "all" || resp.ProtoMajor != 2 {
				t.Errorf("%d bytes, trailer %v, %v", len(got), resp.Trailer, err)
			}
		})
	}
	calls.Wait()
}

// A client who gives up ends the handler's context, also when the body is unread.
func TestGoClientLeaves(t *testing.T) {
	gone := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	c := dialled(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		gone <- context.Cause(r.Context())
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := c.Do(req); err == nil {
		resp.Body.Close()
		t.Error("answered")
	}
	if err := <-gone; !errors.Is(err, h2.ErrClientReset) {
		t.Error(err)
	}
}
