package injector

import (
	"net/http"

	"github.com/faultline-go/faultline/injector/h2"
)

// isOther takes what is no request of HTTP/1, and reports whether it is one.
func (i *Injector) isOther(c *conn, w http.ResponseWriter, r *http.Request) bool {
	if isPreface(r) { // net/http hands it over as a request.
		c.ahead.look()
		i.serveH2(c, w, r)
		return true
	}
	if r.ProtoMajor != 1 {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusHTTPVersionNotSupported)
		return true // It is recorded as what it is when the connection ends.
	}
	return false
}

// serve plays one request over HTTP/1.
func (i *Injector) serve(w http.ResponseWriter, r *http.Request) {
	c, ours := connOf(r)
	if !ours {
		return // There is no other: it comes from watched.
	}
	// The connection is counted until it is closed, or the request that took it from net/http is through.
	defer c.leave()
	if i.isOther(c, w, r) {
		return
	}
	late := c.begin()
	x := c.sit()
	x.late = late
	if i.exchange(x, c, w, r) {
		c.stand(x)
	}
}

// serveStream plays one over HTTP/2.
func (i *Injector) serveStream(w http.ResponseWriter, r *http.Request) {
	// The connection is counted, so this never adds to nothing while Close waits.
	i.work.Add(1)
	defer i.work.Done()
	x := newExchange()
	x.stream, _ = w.(h2.Stream)
	i.exchange(x, nil, w, r)
}

// asks are what an exchange is asked for, made once for all requests that have it.
type asks struct {
	header, query func(string) string
	look          func() []byte
}

// newExchange returns one for a request.
func newExchange() *exchange {
	x := &exchange{}
	x.asks = asks{x.header, x.query, x.look}
	return x
}

// sit takes the exchange of the request before, which is through, or a new one.
func (c *conn) sit() *exchange {
	x := c.seat
	if x == nil {
		return newExchange()
	}
	c.seat = nil
	return x
}

// stand leaves an exchange that is over to the next request of the connection.
func (c *conn) stand(x *exchange) {
	*x = exchange{asks: x.asks}
	c.seat = x
}

// leave says that the handler of a request is through. A connection that it took from the server is
// counted no longer.
func (c *conn) leave() {
	if c.taken.Load() {
		c.injector.work.Done()
	}
}
