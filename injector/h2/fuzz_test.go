package h2_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/faultline-go/faultline/injector/h2"
)

// FuzzFrames sends whatever bytes after a sound preface. The server neither panics nor hangs: when
// the client has left, Serve returns.
func FuzzFrames(f *testing.F) {
	seed := func(write func(fr *http2.Framer)) {
		var b bytes.Buffer
		fr := http2.NewFramer(&b, nil)
		fr.AllowIllegalWrites = true
		fr.WriteSettings()
		write(fr)
		f.Add(b.Bytes())
	}
	get := []byte{0x82, 0x86, 0x84, 0x41, 0x01, 'h'} // GET http://h/
	post := []byte{0x83, 0x86, 0x84, 0x41, 0x01, 'h'}
	seed(func(fr *http2.Framer) {
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: get, EndStream: true, EndHeaders: true})
		fr.WriteRSTStream(1, http2.ErrCodeCancel)
		fr.WritePing(false, [8]byte{})
	})
	seed(func(fr *http2.Framer) {
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: post[:2]})
		fr.WriteContinuation(1, true, post[2:])
		fr.WriteDataPadded(1, false, []byte("body"), make([]byte, 3))
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x00, 0x01, 't', 0x01, 'v'}, EndStream: true, EndHeaders: true})
		fr.WriteGoAway(0, http2.ErrCodeNo, nil)
	})
	seed(func(fr *http2.Framer) {
		fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: get, EndStream: true, EndHeaders: true})
		fr.WriteWindowUpdate(3, 5)
		fr.WriteWindowUpdate(0, 1<<31-1)
		fr.WriteData(7, true, []byte("idle"))
	})
	f.Fuzz(func(t *testing.T, frames []byte) {
		near, far := net.Pipe()
		defer near.Close()
		c := h2.New(far, h2.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
			w.Header().Set(http.TrailerPrefix+"T", r.Trailer.Get("T"))
		}), Unread: func(u h2.Unread) {
			if u.Why == "" {
				t.Error("an attempt without a reason")
			}
		}})
		served := make(chan struct{})
		go func() {
			defer close(served)
			c.Serve(context.Background())
		}()
		go io.Copy(io.Discard, near)
		_ = near.SetWriteDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(near, http2.ClientPreface)
		near.Write(frames)
		near.Close()
		select {
		case <-served:
		case <-time.After(20 * time.Second):
			t.Fatal("the connection is still served 20 s after its client left")
		}
	})
}
