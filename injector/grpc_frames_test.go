package injector_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector"
)

// frames are those of stream 1 that come in answer to a call whose client has not ended its side, up
// to the end of the stream and, if the client is told to stop, that.
func frames(t *testing.T, addr string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var head strings.Builder
	enc := hpack.NewEncoder(&head)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", addr}, {":path", "/charges.Charges/Charge"}, {"content-type", ofGRPC}, {"te", "trailers"},
	} {
		enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	framer.WriteSettings()
	framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(head.String()), EndHeaders: true})
	var got []string
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		if f.Header().StreamID != 1 {
			continue
		}
		text := f.Header().Type.String()
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range f.RegularFields() {
				if field.Name == "grpc-status" {
					text += " grpc-status=" + field.Value
				}
			}
			if f.StreamEnded() {
				text += " END"
			}
		case *http2.RSTStreamFrame:
			return append(got, text+" "+f.ErrCode.String())
		}
		got = append(got, text)
	}
}

// An upstream's answer that is trailers-only is passed on as such: gRPC's C core takes a head
// without an end, and an end without a status behind it, for an answer without one. A client that
// sends on is told to stop.
func TestTrailersOnlyIsPassedOn(t *testing.T) {
	server := h2cServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ofGRPC)
		w.Header().Set("Grpc-Status", "9")
	})
	d := start(t, injector.Config{Upstream: server})
	for range 20 { // The proxy may have won a race.
		if got := strings.Join(frames(t, d.Addr()), "; "); got != "HEADERS grpc-status=9 END; RST_STREAM NO_ERROR" {
			t.Fatal(got)
		}
	}
	for _, a := range d.attempts(t) {
		if a.GRPC != "FAILED_PRECONDITION" {
			t.Errorf("recorded %+v", a)
		}
	}
}
