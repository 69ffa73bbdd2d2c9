package target_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/target"
)

func TestExpand(t *testing.T) {
	vars := map[string]string{
		"injectors.payments.url":  "http://127.0.0.1:9901",
		"injectors.payments.addr": "127.0.0.1:9901",
		"sut.port":                "8080",
		"loop":                    "{{loop}}",
	}
	for _, tc := range []struct{ template, want, err string }{
		{template: "", want: ""},
		{template: "-jar", want: "-jar"},
		{template: "{{injectors.payments.url}}/charges", want: "http://127.0.0.1:9901/charges"},
		{template: "a{{ sut.port }}b{{sut.port}}c", want: "a8080b8080c"},
		{template: "{{loop}}", want: "{{loop}}"},
		{template: "} }} { ", want: "} }} { "},
		{template: "{{injectors.payment.url}}", err: "{{injectors.payment.url}} is not known, did you mean {{injectors.payments.url}}; known are injectors.payments.addr, injectors.payments.url, loop, sut.port"},
		{template: "{{sut.sport}}", err: "{{sut.sport}} is not known, did you mean {{sut.port}};"},
		{template: "{{sut.prot}}", err: "{{sut.prot}} is not known, did you mean {{sut.port}};"},
		{template: "{{HOME}}", err: `"{{HOME}}": {{HOME}} is not known; known are`},
		{template: "{{sut.port}", err: "{{ is not closed by }}"},
	} {
		got, err := target.Expand(tc.template, vars)
		if got != tc.want || (err == nil) != (tc.err == "") {
			t.Errorf("Expand(%q) = %q, %v; want %q", tc.template, got, err, tc.want)
		}
		if err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("Expand(%q): the error %q lacks %q", tc.template, err, tc.err)
		}
	}
}

func TestExpandKnowsNothing(t *testing.T) {
	_, err := target.Expand("{{a}}", nil)
	if err == nil || !strings.HasSuffix(err.Error(), "{{a}} is not known; nothing is known here") {
		t.Errorf("got %v", err)
	}
}

func TestFreePort(t *testing.T) {
	port, release, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if l, err := net.Listen("tcp", addr); err == nil {
		l.Close()
		t.Errorf("%s was free before release", addr)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("the port is not free after release: %v", err)
	}
	l.Close()
}

func TestFreePortEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := target.FreePort(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
}

func TestReadyLate(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if err := target.WaitReady(t.Context(), client(t), url, 200, time.Minute, nil); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("asked %d times, want 4: until the first right answer and no further", n)
	}
}

func TestNeverReady(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "{\"status\":\n \"DOWN\"}"+strings.Repeat("x", 1000))
	})
	err := target.WaitReady(t.Context(), client(t), url, 200, 300*time.Millisecond, nil)
	want := "GET " + url + ` did not answer 200 within 300ms; the last answer was 503 Service Unavailable {"status": "DOWN"}x`
	if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > len(want)+answerSlack {
		t.Errorf("got  %v\nwant %s...", err, want)
	}
}

// answerSlack is more than what an error may quote of an answer.
const answerSlack = 300

func TestNobodyListens(t *testing.T) {
	port, release, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	if err := target.Vacant(t.Context(), url); err != nil {
		t.Errorf("Vacant: %v", err)
	}
	err = target.WaitReady(t.Context(), client(t), url, 200, 200*time.Millisecond, nil)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want what was seen last: connection refused", err)
	}
}

func TestReadySeesARedirectAsItIs(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/login", http.StatusFound)
		}
	})
	err := target.WaitReady(t.Context(), client(t), url, 200, 200*time.Millisecond, nil)
	if err == nil || !strings.Contains(err.Error(), "302 Found") {
		t.Errorf("got %v, want the 302 and not the 200 behind it", err)
	}
}

func TestReadyGivesUpWhenTheProcessDied(t *testing.T) {
	exited := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	time.AfterFunc(100*time.Millisecond, func() { close(exited) })
	err := target.WaitReady(t.Context(), client(t), url, 200, time.Hour, exited)
	if !errors.Is(err, target.ErrExited) || !strings.Contains(err.Error(), "418") {
		t.Errorf("got %v, want ErrExited and the last answer", err)
	}
}

func TestReadyDistrustsTheAnswerOfAnotherProcess(t *testing.T) {
	// The launched process died because its port is taken; who took it answers 200.
	exited := make(chan struct{})
	close(exited)
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	if err := target.WaitReady(t.Context(), client(t), url, 200, time.Hour, exited); !errors.Is(err, target.ErrExited) {
		t.Errorf("got %v, want ErrExited", err)
	}
	err := target.Vacant(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "somebody listens at "+strings.TrimPrefix(url, "http://")) {
		t.Errorf("Vacant = %v, want that somebody listens there", err)
	}
}

func TestReadyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	hang := make(chan struct{})
	defer close(hang)
	url := serve(t, func(http.ResponseWriter, *http.Request) { <-hang })
	err := target.WaitReady(ctx, client(t), url, 200, time.Hour, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "there was no answer") {
		t.Errorf("got %v, want the end of the context, and that there was no answer", err)
	}
}

func serve(t *testing.T, h http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s.URL
}

func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
