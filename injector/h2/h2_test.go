package h2_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector/h2"
)

// handled is a server with a handler.
func handled(f func(w http.ResponseWriter, r *http.Request)) h2.Options {
	return h2.Options{Handler: http.HandlerFunc(f)}
}

// streamed is a server with a handler that does what only h2 can.
func streamed(f func(s h2.Stream, r *http.Request)) h2.Options {
	return handled(func(w http.ResponseWriter, r *http.Request) { f(w.(h2.Stream), r) })
}

func TestAnAnswer(t *testing.T) {
	between(t, handled(hello), func(_ *testing.T, p *peer) {
		p.hello()
		p.ask(1, "GET", true)
		p.want("HEADERS 1 :status=200", "DATA 1 GET ", "DATA 1  END")
		p.ask(3, "POST", false)
		p.WriteData(3, false, []byte("one "))
		p.WriteDataPadded(3, true, []byte("two"), make([]byte, 9))
		p.want("HEADERS 3 :status=200", "DATA 3 POST one two", "DATA 3  END")
		p.WritePing(false, [8]byte([]byte("is there")))
		p.want("PING true is there")
	})
}

func TestHeadsAndTrailers(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "A")
		w.Header().Set("X-Got", r.Header.Get("X-Long")[:3]+r.Trailer.Get("T")+r.Header.Get("Cookie")+r.Host)
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "body")
		w.Header().Set("A", "announced")
		w.Header().Set(http.TrailerPrefix+"B", "not")
	}), func(_ *testing.T, p *peer) {
		p.hello()
		block := p.fields(":method", "PUT", ":scheme", "http", ":path", "/x?y=z", ":authority", "server",
			"x-long", strings.Repeat("long", 100), "cookie", "a=b", "cookie", "c=d", "trailer", "t")
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:10]})
		p.WriteContinuation(1, false, block[10:30])
		p.WriteContinuation(1, true, block[30:])
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.fields("t", "end"), EndStream: true, EndHeaders: true})
		p.want("HEADERS 1 :status=103 trailer=A x-got=lonenda=b; c=dserver", "HEADERS 1 :status=418 trailer=A x-got=lonenda=b; c=dserver",
			"DATA 1 body", "HEADERS 1 a=announced b=not END")
	})
}

// A client that waits for it is told to go on when its body is read.
func TestExpectContinue(t *testing.T) {
	between(t, handled(hello), func(_ *testing.T, p *peer) {
		p.hello()
		p.ask(1, "POST", false, "expect", "100-continue")
		p.want("HEADERS 1 :status=100")
		p.WriteData(1, true, []byte("on"))
		p.want("HEADERS 1 :status=200", "DATA 1 POST on", "DATA 1  END")
	})
}

// What of a request is not wanted any more is told by RST_STREAM NO_ERROR after the answer.
func TestEarlyAnswer(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }), func(_ *testing.T, p *peer) {
		p.hello()
		p.ask(1, "POST", false)
		p.WriteData(1, false, []byte("half"))
		p.want("HEADERS 1 :status=404", "DATA 1  END", "RST_STREAM 1 NO_ERROR")
		p.WriteData(1, true, []byte("it was on its way"))
		p.ask(3, "HEAD", true)
		p.want("HEADERS 3 :status=404", "DATA 3  END")
	})
}

// A head larger than a frame is sent in several.
func TestALargeHead(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("~", 40<<10))
	}), func(t *testing.T, p *peer) {
		p.hello()
		p.ask(1, "GET", true)
		if seen := p.seen(); len(seen) != 2 || len(seen[0]) < 40<<10 || seen[1] != "DATA 1  END" {
			t.Errorf("%d frames", len(seen))
		}
	})
}

// The windows of the client hold an answer back, the stream's and the connection's.
func TestTheClientsWindows(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", 70_000))
	}), func(_ *testing.T, p *peer) {
		p.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		p.ask(1, "GET", true)
		p.want("HEADERS 1 :status=200", "DATA 1 xxxxxxxxxx")
		p.WriteWindowUpdate(1, 3)
		p.want("DATA 1 xxx")
		p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100_000})
		p.want("DATA 1 (16384)", "DATA 1 (16384)", "DATA 1 (16384)", "DATA 1 (16370)") // 65535, with the 13 before.
		p.WriteWindowUpdate(0, 100_000)
		p.want("DATA 1 (4465)", "DATA 1  END")
	})
}

// The server's windows: what is read is given back, what nobody reads holds its stream back and no other.
func TestTheServersWindows(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Slow") != "" {
			time.Sleep(time.Minute)
		}
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("N", http.StatusText(int(n/1000)))
	}), func(_ *testing.T, p *peer) {
		p.hello()
		p.WriteSettingsAck()
		p.settle()
		p.ask(1, "POST", false, "slow", "yes")
		block := make([]byte, 16<<10)
		for range 16 {
			p.WriteData(1, false, block)
		}
		p.want("WINDOW_UPDATE 0 262144")
		p.ask(3, "POST", false)
		for range 4 {
			p.WriteData(3, false, block)
		}
		p.want("WINDOW_UPDATE 3 65536")
		p.WriteData(3, true, nil)
		p.want("HEADERS 3 :status=200 n=", "DATA 3  END")
		time.Sleep(time.Minute)
		p.want("WINDOW_UPDATE 1 65536", "WINDOW_UPDATE 1 65536", "WINDOW_UPDATE 1 65536", "WINDOW_UPDATE 1 65536")
		for range 17 {
			p.WriteData(1, false, block)
		}
		p.want("WINDOW_UPDATE 1 65536", "WINDOW_UPDATE 1 65536", "WINDOW_UPDATE 0 262144", "WINDOW_UPDATE 1 65536", "WINDOW_UPDATE 1 65536")
	})
}

// A server that never updates its windows, until it is released.
func TestNoUpdates(t *testing.T) {
	o := handled(hello)
	o.Settings = h2.Settings{InitialWindow: 5, NoUpdates: true, AckDelay: time.Hour, MaxStreams: 1}
	between(t, o, func(_ *testing.T, p *peer) {
		p.hello()
		p.WriteSettingsAck()
		p.settle()
		p.ask(1, "POST", false)
		p.WriteData(1, false, []byte("hello"))
		p.want()
		p.ask(3, "GET", true)
		p.want("RST_STREAM 3 REFUSED_STREAM")
		p.h2.Release()
		p.want("WINDOW_UPDATE 0 5", "WINDOW_UPDATE 1 5")
		p.WriteData(1, true, []byte(" you"))
		p.want("WINDOW_UPDATE 0 4", "HEADERS 1 :status=200", "DATA 1 POST hello you", "DATA 1  END")
	})
}

// What a handler can do to its stream and to the connection.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s h2.Stream)
		want []string
	}{
		"reset at once":   {func(s h2.Stream) { s.Reset(http2.ErrCodeRefusedStream) }, []string{"RST_STREAM 1 REFUSED_STREAM"}},
		"reset in a body": {func(s h2.Stream) { io.WriteString(s, "half"); s.Reset(http2.ErrCodeCancel) }, []string{"HEADERS 1 :status=200", "DATA 1 half", "RST_STREAM 1 CANCEL"}},
		"an unknown code": {func(s h2.Stream) { s.Reset(77) }, []string{"RST_STREAM 1 unknown error code 0x4d"}},
		"abort handler":   {func(h2.Stream) { panic(http.ErrAbortHandler) }, []string{"RST_STREAM 1 INTERNAL_ERROR"}},
		"panic":           {func(h2.Stream) { panic("a bug") }, []string{"RST_STREAM 1 INTERNAL_ERROR"}},
		"go away, answer": {func(s h2.Stream) { s.GoAway(http2.ErrCodeNo, s.ID(), ""); io.WriteString(s, "bye") }, []string{"GOAWAY 1 NO_ERROR", "HEADERS 1 :status=200", "DATA 1 bye", "DATA 1  END", "FIN"}},
		"go away and FIN": {func(s h2.Stream) { s.GoAway(http2.ErrCodeEnhanceYourCalm, 0, "no"); s.Close() }, []string{"GOAWAY 0 ENHANCE_YOUR_CALM", "FIN"}},
		"FIN":             {func(s h2.Stream) { io.WriteString(s, "half"); s.Close() }, []string{"HEADERS 1 :status=200", "DATA 1 half", "FIN"}},
		"RST":             {func(s h2.Stream) { s.Abort() }, []string{"RST"}},
		"RST in a body":   {func(s h2.Stream) { io.WriteString(s, "half"); s.Sent(); s.Abort() }, []string{"HEADERS 1 :status=200", "DATA 1 half", "RST"}},
		"a malformed head": {func(s h2.Stream) {
			s.Fields([]hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "A B", Value: "c"}}, true)
		}, []string{"malformed 1"}},
		"raw":              {func(s h2.Stream) { s.Raw([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1}); s.Reset(0) }, []string{"DATA 1  END", "RST_STREAM 1 NO_ERROR"}},
		"connection close": {func(s h2.Stream) { s.Header().Set("Connection", "close") }, []string{"HEADERS 1 :status=200", "GOAWAY 1 NO_ERROR", "DATA 1  END", "FIN"}},
	} {
		t.Run(name, func(t *testing.T) {
			between(t, streamed(func(s h2.Stream, _ *http.Request) { c.do(s) }), func(_ *testing.T, p *peer) {
				p.hello()
				p.ask(1, "GET", true)
				p.want(c.want...)
			})
		})
	}
}

// Why a request's context ends.
func TestCauses(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(p *peer)
		want  error
	}{
		"reset":    {func(p *peer) { p.WriteRSTStream(1, http2.ErrCodeCancel) }, h2.ErrClientReset},
		"left":     {func(p *peer) { p.conn.Close() }, h2.ErrClientLeft},
		"broken":   {func(p *peer) { p.WriteData(8, true, nil) }, h2.ErrBroken},
		"another":  {func(p *peer) { p.ask(3, "DELETE", true) }, h2.ErrClosed},
		"another2": {func(p *peer) { p.ask(3, "PATCH", true) }, h2.ErrAborted},
	} {
		t.Run(name, func(t *testing.T) {
			var cause error
			between(t, streamed(func(s h2.Stream, r *http.Request) {
				switch r.Method {
				case http.MethodDelete:
					s.Close()
				case http.MethodPatch:
					s.Abort()
				default:
					<-r.Context().Done()
					cause = context.Cause(r.Context())
				}
			}), func(t *testing.T, p *peer) {
				p.hello()
				p.ask(1, "POST", false) // Its body is never read.
				p.settle()
				c.leave(p)
				p.settle()
				if !errors.Is(cause, c.want) {
					t.Errorf("%v, want %v", cause, c.want)
				}
			})
		})
	}
}

// Frames that break the protocol; h2spec has more of them.
func TestBrokenProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(p *peer)
		want []string
		told string // of an attempt without a request
	}{
		"no preface":     {func(p *peer) { io.WriteString(p.conn, "GET / HTTP/1.1\r\nHost: server\r\n\r\n") }, []string{"GOAWAY 0 PROTOCOL_ERROR", "FIN"}, "no preface of HTTP/2"},
		"no settings":    {func(p *peer) { io.WriteString(p.conn, http2.ClientPreface); p.WritePing(false, [8]byte{}) }, []string{"GOAWAY 0 PROTOCOL_ERROR", "FIN"}, "the first frame is PING"},
		"half a preface": {func(p *peer) { io.WriteString(p.conn, http2.ClientPreface[:9]); p.conn.Close() }, nil, "after 9 bytes"},
		"half a head": {func(p *peer) {
			p.hello()
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			p.conn.Close()
		}, nil, "in the middle of the head"},
		"idle data":   {func(p *peer) { p.hello(); p.WriteData(5, true, nil) }, []string{"GOAWAY 0 PROTOCOL_ERROR", "FIN"}, "stream 5, which is idle"},
		"even stream": {func(p *peer) { p.hello(); p.ask(2, "GET", true) }, []string{"GOAWAY 0 PROTOCOL_ERROR", "FIN"}, "stream 2"},
		"bad hpack": {func(p *peer) {
			p.hello()
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x80}, EndHeaders: true})
		}, []string{"GOAWAY 0 COMPRESSION_ERROR", "FIN"}, "COMPRESSION_ERROR"},
		"bad length": {func(p *peer) {
			p.hello()
			p.ask(1, "POST", false, "content-length", "3")
			p.WriteData(1, true, []byte("four"))
		}, []string{"RST_STREAM 1 PROTOCOL_ERROR"}, ""},
		"bad field":       {func(p *peer) { p.hello(); p.ask(1, "GET", true, "connection", "close") }, []string{"RST_STREAM 1 PROTOCOL_ERROR"}, "belongs to one connection"},
		"window overflow": {func(p *peer) { p.hello(); p.WriteWindowUpdate(0, 1<<31-1) }, []string{"GOAWAY 0 FLOW_CONTROL_ERROR", "FIN"}, "larger than 2^31-1"},
		"too much data": {func(p *peer) {
			p.hello()
			p.ask(1, "POST", false)
			for range 5 {
				p.WriteData(1, false, make([]byte, 16000))
			}
		}, []string{"RST_STREAM 1 FLOW_CONTROL_ERROR"}, ""},
		"head too large": {func(p *peer) {
			p.hello()
			block := p.fields(":method", "GET", ":scheme", "http", ":path", "/", "x", strings.Repeat("~", 600_000), "y", strings.Repeat("~", 500_000))
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:1<<14], EndStream: true})
			for block = block[1<<14:]; len(block) > 1<<14; block = block[1<<14:] {
				p.WriteContinuation(1, false, block[:1<<14])
			}
			p.WriteContinuation(1, true, block)
		}, []string{"HEADERS 1 :status=431", "DATA 1  END"}, "longer than 1048576 bytes"},
		"ping flood": {func(p *peer) {
			p.hello()
			var flood strings.Builder
			for range 80_000 { // More than the network holds of their answers, which nobody reads.
				http2.NewFramer(&flood, nil).WritePing(false, [8]byte{})
			}
			io.WriteString(p.conn, flood.String())
		}, nil, "too many PING"},
	} {
		t.Run(name, func(t *testing.T) {
			between(t, handled(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					<-r.Context().Done()
					return
				}
				hello(w, r)
			}), func(t *testing.T, p *peer) {
				c.do(p)
				if c.want != nil {
					seen := p.seen()
					if n := len(c.want); len(seen) < n || strings.Join(seen[len(seen)-n:], "; ") != strings.Join(c.want, "; ") {
						t.Errorf("saw %q, want %q at the end", seen[max(0, len(seen)-10):], c.want)
					}
				} else {
					<-p.over
				}
				if all := *p.told; c.told == "" && len(all) > 0 || c.told != "" && (len(all) != 1 || !strings.Contains(all[0].Why, c.told)) {
					t.Errorf("told %+v, want %q", all, c.told)
				}
			})
		})
	}
}

// The end of the server, and of its service.
func TestShutdown(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(10 * time.Second):
		case <-r.Context().Done():
		}
		io.WriteString(w, "late")
	}), func(_ *testing.T, p *peer) {
		p.hello()
		p.ask(1, "GET", true)
		p.settle()
		p.h2.Shutdown()
		p.want("GOAWAY 1 NO_ERROR")
		p.ask(3, "GET", true) // It did not know yet.
		time.Sleep(10 * time.Second)
		p.want("HEADERS 1 :status=200", "DATA 1 late", "DATA 1  END", "FIN")
	})
}

// A client that does not read keeps nobody waiting when it leaves, or the server ends.
func TestAClientWhoDoesNotRead(t *testing.T) {
	between(t, handled(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}), func(_ *testing.T, p *peer) {
		p.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		p.WriteWindowUpdate(0, 1<<31-1-65535)
		p.ask(1, "GET", true)
		p.settle()
	})
}
