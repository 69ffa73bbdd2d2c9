package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// call is a request on its way to the dependency.
type call struct {
	base   context.Context //nolint:containedctx // Ends when the proxy stops; work that runs on has no other end.
	ctx    context.Context //nolint:containedctx // Of base; ends earlier if a policy gives up. A call is what a request is in net/http.
	number uint64          // of the service's calls
	method string
	url    *url.URL
	header http.Header
	body   []byte

	spawn func(func()) // starts what may outlive the request, but not the proxy
	begun func()       // tells a time limiter that what blocks its caller is over; nil: there is none
}

// begin tells that from now on a caller of asynchronous code would hold a future.
func (c *call) begin() {
	if c.begun != nil {
		c.begun()
	}
}

// within returns the same call with another end.
func (c *call) within(ctx context.Context) *call {
	other := *c
	other.ctx = ctx
	return &other
}

// errLate ends the context of a call that its time limiter has given up and cancels.
var errLate = errors.New("the time limit is over")

// errLeft ends the context of a call whose client has left, where that ends it.
var errLeft = errors.New("the client has left")

// ended says why the context of the call is over.
func (c *call) ended() cause {
	switch {
	case c.base.Err() != nil:
		return stopping
	case errors.Is(context.Cause(c.ctx), errLate):
		return late
	case errors.Is(context.Cause(c.ctx), errLeft):
		return left
	}
	return timeout
}

// pause waits, and reports false if the call ended first.
func (c *call) pause(d time.Duration) bool { return pause(c.ctx, d) }

// await waits for a channel to be closed, and reports false if the call ended first.
func (c *call) await(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// step makes a call, or says why there is none.
type step func(*call) outcome

// policy is one that is there, at work.
type policy interface {
	// wrap returns the step with the policy around it.
	wrap(next step) step
}

// chain nests policies around a step, the first outermost.
func chain(policies []policy, innermost step) step {
	made := innermost
	for _, p := range slices.Backward(policies) {
		made = p.wrap(made)
	}
	return made
}
