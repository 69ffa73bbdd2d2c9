package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// service is a system under test that passes requests on to its dependency, and
// misbehaves as it is told: service [FLAGS] LISTEN UPSTREAM. It says who it is on
// standard output.
func service() {
	var s hostile
	flag.BoolVar(&s.mute, "mute", false, "never answer")
	flag.BoolVar(&s.endless, "endless", false, "answer without end")
	flag.BoolVar(&s.torrent, "torrent", false, "answer without end, as fast as can be")
	flag.IntVar(&s.headers, "headers", 0, "answer with so many headers")
	flag.BoolVar(&s.drop, "drop", false, "close the connection after every answer, unannounced")
	flag.BoolVar(&s.stubborn, "stubborn", false, "ignore SIGTERM")
	flag.Int64Var(&s.die, "die", 0, "end at this request, with exit code 7")
	flag.StringVar(&s.child, "child", "", "start a shell command first")
	flag.StringVar(&s.remove, "remove", "", "remove a folder at the first request")
	flag.Parse()
	if err := s.run(flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hostile says how a service misbehaves.
type hostile struct {
	mute, endless, torrent, drop, stubborn bool
	headers                                int
	die                                    int64
	child, remove                          string

	upstream string
	seen     atomic.Int64
}

func (s *hostile) run(listen, upstream string) error {
	s.upstream = upstream
	if s.stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	fmt.Fprintf(os.Stdout, "service=%d\n", os.Getpid())
	if s.child != "" {
		child := exec.CommandContext(context.Background(), "/bin/sh", "-c", s.child)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return err
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", listen)
	if err != nil {
		return err
	}
	server := http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	return server.Serve(l)
}

// ServeHTTP implements http.Handler.
func (s *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.mute:
		<-r.Context().Done()
		return
	case r.URL.Path == "/ready":
		return
	}
	if s.remove != "" {
		_ = os.RemoveAll(s.remove)
	}
	if s.seen.Add(1) == s.die {
		os.Exit(7)
	}
	out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, s.upstream, http.NoBody)
	if err != nil {
		panic(err)
	}
	out.Header = r.Header.Clone()
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for i := range s.headers {
		w.Header().Set(fmt.Sprintf("X-Header-%d", i), "value")
	}
	if s.drop {
		w.Header().Set("Content-Length", resp.Header.Get("Content-Length"))
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
	s.goOn(w, r)
}

// goOn is what a service does after an answer.
func (s *hostile) goOn(w http.ResponseWriter, r *http.Request) {
	more := strings.Repeat("x", 1<<10)
	for (s.endless || s.torrent) && r.Context().Err() == nil {
		_, _ = io.WriteString(w, more)
		_ = http.NewResponseController(w).Flush()
		if s.endless {
			time.Sleep(time.Millisecond)
		}
	}
	if s.drop {
		_ = http.NewResponseController(w).Flush()
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}
}
