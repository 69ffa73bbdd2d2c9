package injector

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// An upstream with TLS is spoken to in the caller's version of HTTP, if it knows that.
func TestUpstreamWithTLS(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Version", r.Proto)
			w.Write([]byte{0, 0, 0, 0, 0})
			http.NewResponseController(w).Flush() // Or HTTP/1.1 would send no trailers.
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "14")
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		rec := trace.NewRecorder(time.Now())
		i, err := Start(context.Background(), Config{Name: "payments", Upstream: server.URL, Recorder: rec})
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		trust(t, i, server.Client().Transport.(*http.Transport).TLSClientConfig)
		for version, want := range map[int]string{1: "HTTP/1.1", 2: map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[http2]} {
			tr := &http.Transport{Protocols: new(http.Protocols)}
			tr.Protocols.SetHTTP1(version == 1)
			tr.Protocols.SetUnencryptedHTTP2(version == 2)
			defer tr.CloseIdleConnections()
			c := http.Client{Transport: tr, Timeout: 30 * time.Second}
			for range 2 {
				resp, err := c.Post(i.URL(), "application/grpc", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if got := resp.Header.Get("Version"); resp.ProtoMajor != version || got != want {
					t.Errorf("the caller speaks HTTP/%d, the upstream knows HTTP/2 %t, and was spoken to in %s, want %s", version, http2, got, want)
				}
			}
		}
		statuses := map[string]int{}
		for _, a := range rec.Snapshot(trace.Header{}).Attempts {
			statuses[a.GRPC]++
		}
		if fmt.Sprint(statuses) != "map[:2 UNAVAILABLE:2]" {
			t.Errorf("recorded %v", statuses)
		}
	}
}

// trust has an injector trust its upstream.
func trust(t *testing.T, i *Injector, cfg *tls.Config) {
	to, ok := i.healthy.(*httputil.ReverseProxy).Transport.(roads)
	if !ok {
		t.Fatal("not two roads")
	}
	for _, tr := range []*http.Transport{to.plain, to.multi} {
		tr.TLSClientConfig = &tls.Config{RootCAs: cfg.RootCAs}
	}
}
