//go:build unix

package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// An experiment's dependency with TLS, HTTP/2 and gRPC is played without its load: its
// certificate is where the file says, and who speaks something else is told of.
func TestInjectProtocols(t *testing.T) {
	t.Parallel()
	addr := vacant(t)
	file := launched{
		injector: "listen: " + addr + ", tls: { protocols: [h2, http/1.1], ca_file: ca.pem }, stub: { grpc: OK }",
		phases: `{ name: healthy, load: { calls: 20 } }
  - { name: broken, load: { calls: 20 }, faults: [ { first: 1, h2: { reset: CANCEL } } ] }`,
	}.write(t)
	ca := filepath.Join(filepath.Dir(file), "ca.pem")
	p := begin(t, exec.Command("faultline", "inject", "--phase", "broken", file))
	p.says(t, "phase broken, until Ctrl-C: RST_STREAM CANCEL to the first request$")
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	call := func(http2 bool) (string, error) {
		client := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{RootCAs: pool}}}
		defer client.CloseIdleConnections()
		resp, err := client.Get("https://" + addr)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		return resp.Status + " " + resp.Header.Get("Grpc-Status"), nil
	}
	if got, err := call(true); err == nil || !strings.Contains(err.Error(), "CANCEL") {
		t.Errorf("got %q, %v, want RST_STREAM CANCEL", got, err)
	}
	if got, err := call(true); err != nil || got != "200 OK 0" {
		t.Errorf("got %q, %v, want a status of gRPC", got, err)
	}
	if got, err := call(false); err != nil || !strings.HasPrefix(got, "501 ") {
		t.Errorf("got %q, %v, want 501", got, err)
	}
	p.signal(t, syscall.SIGINT)
	out, said := p.ends(t, 130)
	wants(t, out, "engine listening on https://"+addr+", answering gRPC OK; callers have to trust "+ca+"\n")
	wants(t, said, "injector engine: the stub was met 1 times and not played, but answered 501: grpc has no meaning over HTTP/1.1")
}

func TestTrustInWords(t *testing.T) {
	for want, cfg := range map[string]injector.Config{
		"":                               {Name: "plain"},
		"; callers have to trust /a.pem": {Name: "file", TLS: &injector.TLS{}},
		"; callers cannot trust its certificate, as injectors.none.tls names no ca_file": {Name: "none", TLS: &injector.TLS{}},
	} {
		if got := trustInWords(cfg, map[string]string{"file": "/a.pem"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProtocolsInWords(t *testing.T) {
	all := fault.Select{Kind: fault.SelectAll}
	for want, r := range map[string]fault.Rule{
		"TLS expired to all connections that match sni a":                          {Action: fault.ActionTLS, TLS: &fault.TLS{Do: fault.TLSExpired}, Match: fault.Match{SNI: "a"}},
		"HTTP/2 with max_concurrent_streams 1 to all connections":                  {Action: fault.ActionSettings, Settings: &fault.H2Settings{MaxStreams: 1}},
		"gRPC UNAVAILABLE to all requests":                                         {Action: fault.ActionRespond, Respond: fault.Respond{GRPC: &fault.GRPC{Status: "UNAVAILABLE"}}},
		"respond 503, RST_STREAM CANCEL after 3 bytes of the body to all requests": {Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}, H2: &fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutBody, Bytes: 3}}},
		"RST under all streams to all requests":                                    {Action: fault.ActionPass, H2: &fault.H2{Abort: true}},
	} {
		r.Select = all
		if got := ruleInWords(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
