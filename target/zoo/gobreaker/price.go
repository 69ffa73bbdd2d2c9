package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// lastKnown is the rate that is used while no fresh one is to be had.
const lastKnown = 1.05

// prices answers GET /price with a price at the current rate, or at the last one
// known.
type prices struct {
	rates *rateClient
	guard guard
}

// price is what a caller gets; source is "live" or "stale".
type price struct {
	Source string  `json:"source"`
	Price  float64 `json:"price"`
}

// ServeHTTP implements [http.Handler].
func (p *prices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rate, err := p.guard(func() (float64, error) { return p.rates.ask(r.Context(), r.Header) })
	answer := price{Source: "live", Price: 100 * rate}
	if err != nil {
		answer = price{Source: "stale", Price: 100 * lastKnown}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(http.ErrAbortHandler) // the caller has left
	}
}

// rateClient asks the rate service: GET {url}/rate, answered by {"rate": 1.1}.
type rateClient struct {
	url  string
	http http.Client
}

// statusError is an answer other than 200.
type statusError int

// Error implements error.
func (e statusError) Error() string { return fmt.Sprintf("the rate service answered %d", int(e)) }

// statusOf is the status of an answer other than 200, or 0.
func statusOf(err error) int {
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	return 0
}

// ask sends one request; the identity of the incoming one goes with it.
func (c *rateClient) ask(ctx context.Context, incoming http.Header) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/rate", http.NoBody)
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"Traceparent", "X-Request-Id"} {
		if values := incoming.Values(name); len(values) > 0 {
			req.Header[name] = values
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	if resp.StatusCode != http.StatusOK {
		return 0, statusError(resp.StatusCode)
	}
	var body struct {
		Rate float64 `json:"rate"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return 0, fmt.Errorf("read rate: %w", err)
	}
	return body.Rate, nil
}
