//go:build unix

package main

import (
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/faultline-go/faultline/injector"
)

// Requests ask for faults of their own, if they may.
func TestInjectEnvoyHeaders(t *testing.T) {
	t.Parallel()
	addr := vacant(t)
	p := begin(t, exec.Command("faultline", "inject", "--listen", addr, "--envoy-headers", "--max-faulted", "1"))
	listening(t, addr)
	for _, want := range []int{418, 200} { // The second is one too many.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-envoy-fault-abort-request", "418")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("got %s, want %d", resp.Status, want)
		}
	}
	p.signal(t, syscall.SIGINT)
	out, _ := p.ends(t, 130)
	wants(t, out, "\n  and what requests ask for by headers x-envoy-fault-*\n")
}

func TestInjectEnvoyHeadersOfBytes(t *testing.T) {
	var f injectFlags
	if err := f.set().Parse([]string{"--envoy-headers"}); err != nil {
		t.Fatal(err)
	}
	in := injection{injectors: []injector.Config{{Name: "a"}, {Name: "b", TCP: &injector.TCP{}}}}
	if err := f.bound(&in); err == nil || !strings.Contains(err.Error(), "injector b passes bytes on") {
		t.Errorf("%v", err)
	}
	in.injectors = in.injectors[:1]
	if err := f.bound(&in); err != nil || !in.injectors[0].EnvoyHeaders {
		t.Errorf("%v: %+v", err, in)
	}
}
