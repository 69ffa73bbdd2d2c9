package h2_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/faultline-go/faultline/injector/h2"
)

// The same client against this server and against net/http's.
func BenchmarkServe(b *testing.B) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	for _, own := range []bool{true, false} {
		name := map[bool]string{true: "h2", false: "net-http"}[own]
		b.Run(name, func(b *testing.B) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer ln.Close()
			protocols := new(http.Protocols)
			protocols.SetUnencryptedHTTP2(true)
			if own {
				go func() {
					for {
						c, err := ln.Accept()
						if err != nil {
							return
						}
						go h2.New(c, h2.Options{Handler: handler}).Serve(context.Background())
					}
				}()
			} else {
				s := &http.Server{Handler: handler, Protocols: protocols}
				go s.Serve(ln)
				defer s.Close()
			}
			tr := &http.Transport{Protocols: protocols}
			defer tr.CloseIdleConnections()
			c := &http.Client{Transport: tr}
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := c.Get("http://" + ln.Addr().String())
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}
