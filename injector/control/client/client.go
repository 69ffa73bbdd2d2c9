// Package client calls the control API of running injectors.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/fault"
)

// Client calls one API. The zero value of all but URL is fine.
type Client struct {
	URL   string       // as http://127.0.0.1:9900
	Token string       // empty: none
	HTTP  *http.Client // nil: one that follows no redirect and no proxy, and waits for 30 s at most
}

// Error is an answer that is not a success.
type Error struct {
	control.Problem

	Status int
	ETag   string // of the plan in force, where the answer has it
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("control API: %d %s: %s", e.Status, e.Code, e.Message)
	if len(e.Problems) > 0 {
		text += ": " + strings.Join(e.Problems, "; ")
	}
	return text
}

// Is reports whether target is an *Error with the same Code, as the errors below are.
func (e *Error) Is(target error) bool {
	t, ok := errors.AsType[*Error](target)
	return ok && t.Code == e.Code
}

// What errors.Is may ask an error for. The details are those of an [*Error].
var (
	ErrStale        error = &Error{Problem: control.Problem{Code: "stale"}}         // another plan is in force
	ErrInvalid      error = &Error{Problem: control.Problem{Code: "invalid"}}       // Problems says why
	ErrLapsed       error = &Error{Problem: control.Problem{Code: "lapsed"}}        // the lease was not renewed
	ErrNoLease      error = &Error{Problem: control.Problem{Code: "no_lease"}}      // there is none to renew
	ErrNoNext       error = &Error{Problem: control.Problem{Code: "no_next"}}       // the last phase is on
	ErrUnknownPhase error = &Error{Problem: control.Problem{Code: "unknown_phase"}} // no plan has it
	ErrUnauthorized error = &Error{Problem: control.Problem{Code: "unauthorized"}}  // the token is missing or wrong
	ErrUnsupported  error = &Error{Problem: control.Problem{Code: "unsupported"}}   // this system cannot do that
)

// State returns what the injectors do.
func (c *Client) State(ctx context.Context) (control.State, error) {
	var s control.State
	_, err := c.json(ctx, http.MethodGet, "/v1/state", nil, nil, &s)
	return s, err
}

// Plan returns the plan of an injector, and its entity tag. The name may be empty where
// there is one injector, here and below.
func (c *Client) Plan(ctx context.Context, injector string) (plan fault.Script, tag string, err error) {
	h, err := c.json(ctx, http.MethodGet, "/v1/plan"+of(injector), nil, nil, &plan)
	return plan, h.Get("ETag"), err
}

// Replace replaces the plan of an injector if its entity tag is this one; an empty tag is
// any. It returns the tag of the new one.
func (c *Client) Replace(ctx context.Context, injector string, plan fault.Script, tag string) (now string, err error) {
	h := http.Header{}
	if tag != "" {
		h.Set("If-Match", tag)
	}
	got, err := c.json(ctx, http.MethodPut, "/v1/plan"+of(injector), h, plan, &control.PlanSet{})
	return got.Get("ETag"), err
}

// Add adds a fault to the phase of an injector that is on, until ttl has passed or the phase
// ends.
func (c *Client) Add(ctx context.Context, injector string, rule fault.Rule, ttl time.Duration) (control.AddedFault, error) {
	var added control.AddedFault
	_, err := c.json(ctx, http.MethodPost, "/v1/faults"+of(injector), nil, control.NewFault{Rule: rule, TTL: ttl.String()}, &added)
	return added, err
}

// Clear ends all faults of an injector at once, or of all for an empty name.
func (c *Client) Clear(ctx context.Context, injector string) error {
	_, err := c.json(ctx, http.MethodPost, "/v1/clear"+of(injector), nil, struct{}{}, &control.Cleared{})
	return err
}

// Enter enters a phase.
func (c *Client) Enter(ctx context.Context, phase string) error {
	_, err := c.json(ctx, http.MethodPost, "/v1/phase", nil, control.PhaseChange{Name: &phase}, &control.PhaseSet{})
	return err
}

// Next enters the next phase and returns its name.
func (c *Client) Next(ctx context.Context) (phase string, err error) {
	var set control.PhaseSet
	_, err = c.json(ctx, http.MethodPost, "/v1/phase", nil, control.PhaseChange{Next: true}, &set)
	return set.Phase, err
}

// Renew renews the lease, and says until when it lasts by the clock of the API. If it had
// lapsed before, it is renewed all the same, but faults are off until a phase is entered, as
// [ErrLapsed] says.
func (c *Client) Renew(ctx context.Context) (until time.Time, err error) {
	var set control.LeaseSet
	_, err = c.json(ctx, http.MethodPost, "/v1/lease", nil, struct{}{}, &set)
	if err == nil && set.Lapsed {
		err = &Error{Status: http.StatusOK, Problem: control.Problem{Code: "lapsed", Message: injector.ErrLapsed.Error()}}
	}
	return set.Until, err
}

// KeepRenewed renews the lease at once and then after every interval, until ctx ends, which
// is no error, or a renewal fails, or the lease had lapsed. A third of the lease is a good
// interval.
func (c *Client) KeepRenewed(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if _, err := c.Renew(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Tail is a part of the ledger.
type Tail struct {
	Lines []control.Line
	Next  int // where to go on
	Open  int // the place of the first of the lines that had no end yet; -1: all had one
}

// Ledger returns the lines from a place on, up to as many as the API gives at once.
func (c *Client) Ledger(ctx context.Context, since int) (Tail, error) {
	t := Tail{Next: since, Open: -1}
	h, body, err := c.do(ctx, http.MethodGet, "/v1/ledger?since="+strconv.Itoa(since), nil, nil)
	if err != nil {
		return t, err
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, len(body)+1)
	for lines.Scan() {
		var l control.Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return t, fmt.Errorf("read a line of the ledger: %w", err)
		}
		t.Lines = append(t.Lines, l)
	}
	if t.Next, err = strconv.Atoi(h.Get(control.HeaderNext)); err != nil {
		return t, fmt.Errorf("read the ledger's header %s: %w", control.HeaderNext, err)
	}
	if text := h.Get(control.HeaderOpen); text != "" {
		if t.Open, err = strconv.Atoi(text); err != nil {
			return t, fmt.Errorf("read the ledger's header %s: %w", control.HeaderOpen, err)
		}
	}
	return t, nil
}

// Metrics returns the metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	_, body, err := c.do(ctx, http.MethodGet, "/metrics", nil, nil)
	return body, err
}

// of names an injector in a query.
func of(injector string) string {
	if injector == "" {
		return ""
	}
	return "?injector=" + url.QueryEscape(injector)
}

// json sends a value, if there is one, and reads another.
func (c *Client) json(ctx context.Context, method, path string, h http.Header, body, to any) (http.Header, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("control API: write the request: %w", err)
		}
	}
	got, answer, err := c.do(ctx, method, path, h, text)
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(answer, to); err != nil {
		return got, fmt.Errorf("control API: read the answer of %s %s: %w", method, path, err)
	}
	return got, nil
}

// mostAnswer is how long an answer is at most that is read.
const mostAnswer = 64 << 20

// do sends a request. An error is an [*Error] if the API gave it.
func (c *Client) do(ctx context.Context, method, path string, h http.Header, body []byte) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("control API: %w", err)
	}
	if h != nil {
		req.Header = h
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		// Of its own, as a connection that is kept would outlive the call.
		client = &http.Client{
			Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("control API: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return resp.Header, nil, fmt.Errorf("control API: read the answer of %s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return resp.Header, nil, newError(resp, text)
	}
	return resp.Header, text, nil
}

// newError is what an answer says that is not a success.
func newError(resp *http.Response, text []byte) *Error {
	e := &Error{Status: resp.StatusCode, ETag: resp.Header.Get("ETag")}
	if json.Unmarshal(text, &e.Problem) != nil || e.Code == "" {
		e.Problem = control.Problem{Code: "unknown", Message: "the answer is not one of the control API"}
	}
	return e
}
