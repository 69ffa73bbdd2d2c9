package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// askGo asks with net/http.
func askGo(ctx context.Context, p planned) said {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if p.ca != "" {
		pem, err := os.ReadFile(p.ca)
		if err != nil {
			return said{kind: saidError, detail: err.Error()}
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
		transport.ForceAttemptHTTP2 = p.fault.h2
	}
	client := http.Client{Transport: transport, Timeout: p.patience}
	if p.fault.again || p.fault.twice {
		if s := askGoOnce(ctx, &client, p); s.kind != saidAnswer {
			return s
		}
	}
	other := make(chan said, 1)
	if p.fault.twice {
		go func() { other <- askGoOnce(ctx, &client, p) }()
	} else {
		other <- said{kind: saidAnswer}
	}
	s := askGoOnce(ctx, &client, p)
	if o := <-other; o.kind != saidAnswer {
		return o
	}
	return s
}

func askGoOnce(ctx context.Context, client *http.Client, p planned) said {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if p.fault.body > 0 {
		method, body = http.MethodPost, bytes.NewReader(bytes.Repeat([]byte("x"), p.fault.body))
	}
	req, err := http.NewRequestWithContext(ctx, method, p.injector.URL()+"/prices", body)
	if err != nil {
		return said{kind: saidError, detail: err.Error()}
	}
	resp, err := client.Do(req)
	var got []byte
	if err == nil {
		defer resp.Body.Close()
		got, err = io.ReadAll(resp.Body)
	}
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return said{kind: saidAnswer, detail: fmt.Sprintf("%d, %d bytes", resp.StatusCode, len(got))}
	case isNet && netErr.Timeout():
		return said{kind: saidTimeout, detail: "net.Error"}
	}
	return said{kind: saidError, detail: goName(err)}
}

// goName is what a program can tell an error by: a type or a value, or else its words.
func goName(err error) string {
	for _, known := range []struct {
		is   error
		name string
	}{
		{syscall.ECONNRESET, "ECONNRESET"}, {syscall.ECONNREFUSED, "ECONNREFUSED"}, {io.ErrUnexpectedEOF, "io.ErrUnexpectedEOF"}, {io.EOF, "io.EOF"},
	} {
		if errors.Is(err, known.is) {
			return known.name
		}
	}
	if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return "x509.CertificateInvalidError"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "x509.HostnameError"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "x509.UnknownAuthorityError"
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	text := err.Error()
	for _, known := range []string{
		"malformed HTTP response", "malformed HTTP status code", "malformed MIME header", "bad Content-Length", "multiple Content-Length",
		"invalid byte in chunk length", "gzip: invalid header",
	} {
		if strings.Contains(text, known) {
			return known
		}
	}
	if reset, ok := strings.CutPrefix(text, "stream error: "); ok {
		return "stream error: " + strings.Split(reset, "; ")[1]
	}
	text, _, _ = strings.Cut(text, ";")
	return text
}

// askCurl asks with curl. Its patience is for the whole of a call.
func askCurl(ctx context.Context, p planned) said {
	address := p.injector.URL() + "/prices"
	args := []string{"--silent", "--max-time", fmt.Sprint(p.patience.Seconds()), "--write-out", "%{http_code}, %{size_download} bytes\n"}
	if p.fault.h2 {
		args = append(args, "--http2")
	}
	if p.ca != "" {
		args = append(args, "--cacert", p.ca)
	}
	if p.fault.body > 0 {
		args = append(args, "--data-binary", "@-")
	}
	args = append(args, "--output", os.DevNull, address)
	if p.fault.again {
		args = append(args, "--output", os.DevNull, address)
	}
	if p.fault.twice { // The one that opens the connection is one of the two: the other waits for it.
		args = append(args, "--parallel", "--output", os.DevNull, address)
	}
	cmd := exec.CommandContext(ctx, "curl", args...)
	cmd.Stdin = strings.NewReader(strings.Repeat("x", p.fault.body))
	out, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed && exit.ExitCode() == 28:
		return said{kind: saidTimeout, detail: curlName(28)}
	case failed:
		return said{kind: saidError, detail: curlName(exit.ExitCode())}
	case err != nil:
		return said{kind: saidError, detail: err.Error()}
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return said{kind: saidAnswer, detail: lines[len(lines)-1]}
}

// curlName is an exit code with the name that libcurl has for it.
func curlName(code int) string {
	name := map[int]string{
		1: "UNSUPPORTED_PROTOCOL", 7: "COULDNT_CONNECT", 8: "WEIRD_SERVER_REPLY", 16: "HTTP2", 18: "PARTIAL_FILE", 28: "OPERATION_TIMEDOUT",
		35: "SSL_CONNECT_ERROR", 52: "GOT_NOTHING", 55: "SEND_ERROR", 56: "RECV_ERROR", 60: "PEER_FAILED_VERIFICATION", 92: "HTTP2_STREAM",
	}[code]
	return strings.TrimSpace(fmt.Sprint(code, " ", name))
}
