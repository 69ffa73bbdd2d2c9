package injector_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// A gRPC server behind a reverse proxy: bodies stream both ways, trailers pass.
func TestUpstreamOverHTTP2(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" {
			t.Errorf("%s, TE %q", r.Proto, r.Header.Get("Te"))
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w)
		flush.Flush()
		line := make([]byte, 4)
		for {
			if _, err := io.ReadFull(r.Body, line); err != nil {
				break
			}
			w.Write(bytes.ToUpper(line))
			flush.Flush()
		}
		w.Header().Set("Grpc-Status", "7")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", "no")
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(ln)
	defer server.Close()
	dripping := rule(fault.ActionPass)
	dripping.Match.Path, dripping.Form.Drip = "/drip", &fault.Drip{Chunks: 2, Over: ms}
	d := start(t, injector.Config{Upstream: "h2c://" + ln.Addr().String()}, dripping)
	c := h2Client(t)
	for _, path := range []string{"/stream", "/drip"} {
		body, say := io.Pipe()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+path, body)
		req.Header.Set("Te", "trailers")
		var got []byte
		if path == "/stream" { // Each is answered before the next is sent.
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"ping", "pong"} {
				io.WriteString(say, word)
				answer := make([]byte, 4)
				if _, err := io.ReadFull(resp.Body, answer); err != nil {
					t.Fatal(err)
				}
				got = append(got, answer...)
			}
			say.Close()
			checkTrailers(t, resp, got)
			continue
		}
		go func() { io.WriteString(say, "pingpong"); say.Close() }()
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		checkTrailers(t, resp, nil)
	}
	for _, a := range d.attempts(t) {
		if a.Outcome != trace.OutcomeAnswered || a.Status != 200 {
			t.Errorf("recorded %+v", a)
		}
	}
}

// An upstream that breaks off is a reset of the stream, and of nothing else.
func TestH2UpstreamBreaksOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	d := start(t, injector.Config{Upstream: server.URL})
	c := h2Client(t)
	for range 2 {
		if _, body, err := get(c, d.URL()); body != "half" || err == nil || !strings.Contains(err.Error(), "INTERNAL_ERROR") {
			t.Errorf("%q, %v", body, err)
		}
	}
	peers := map[string]bool{}
	for _, a := range d.attempts(t) {
		peers[a.Peer] = true
		if a.Outcome != trace.OutcomeReset {
			t.Errorf("recorded %+v", a)
		}
	}
	if len(peers) != 1 {
		t.Errorf("over %d connections", len(peers))
	}
}

func checkTrailers(t *testing.T, resp *http.Response, got []byte) {
	t.Helper()
	defer resp.Body.Close()
	rest, err := io.ReadAll(resp.Body)
	if got = append(got, rest...); string(got) != "PINGPONG" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if resp.Trailer.Get("Grpc-Status") != "7" || resp.Trailer.Get("Grpc-Message") != "no" {
		t.Errorf("trailers %v", resp.Trailer)
	}
}
