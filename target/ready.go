package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// pollPause is the time between two questions, pollTimeout the longest wait for
// one answer: a system that is starting may accept a connection and forget it.
const (
	pollPause   = 50 * time.Millisecond
	pollTimeout = 2 * time.Second
)

// answerBytes bounds how much of an answer an error message quotes.
const answerBytes = 200

// ErrExited is what [WaitReady] returns, wrapped, when the process ended before it
// was ready; [Process.Err] then knows why.
var ErrExited = errors.New("the system under test ended")

// WaitReady asks GET url until the answer has the expected status. It follows no
// redirects. It gives up after timeout, when ctx ends, or when exited is closed
// (nil: nobody's end is watched), and then says what the last answer was.
func WaitReady(ctx context.Context, client *http.Client, url string, expect int, timeout time.Duration, exited <-chan struct{}) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	asker := *client
	asker.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	last := "there was no answer"
	for {
		status, seen := ask(limited, &asker, url)
		if limited.Err() == nil {
			last = "the last answer was " + seen
		}
		select {
		case <-exited:
			// Also when the answer was right: then it came from somebody else.
			return fmt.Errorf("%w before GET %s answered %d; %s", ErrExited, url, expect, last)
		default:
		}
		if status == expect {
			return nil
		}
		select {
		case <-time.After(pollPause):
		case <-exited: // The next round says so.
		case <-limited.Done():
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("wait for GET %s to answer %d: %w; %s", url, expect, err, last)
			}
			return fmt.Errorf("GET %s did not answer %d within %s; %s", url, expect, timeout, last)
		}
	}
}

// ask asks once and returns the status, 0 if there was none, and what was seen in
// words.
func ask(ctx context.Context, client *http.Client, target string) (status int, seen string) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // The address is in the message already.
		}
		return 0, "none: " + err.Error()
	}
	defer func() { _ = resp.Body.Close() }()                      // What was read of it is enough.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, answerBytes)) // Part of an answer is worth showing too.
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
	return resp.StatusCode, strings.TrimSpace(resp.Status + " " + text)
}

// Vacant returns an error if somebody accepts connections at the address of url
// already. Asked before a launch it tells that the answers would come from another
// process, such as the one that an earlier run left.
func Vacant(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return fmt.Errorf("read the address of the system under test: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // "http" and "https" are names of ports too.
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil // Nobody answers: that is what was hoped for.
	}
	_ = conn.Close() // Nothing was sent over it.
	return fmt.Errorf("somebody listens at %s already, before the system under test was launched; stop that process, or omit launch to test it", u.Host)
}
