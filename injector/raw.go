package injector

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// raw is a connection that was taken from net/http, to write its bytes by hand.
type raw struct {
	*exchange
	nc    net.Conn
	left  chan struct{} // closed when the caller has left
	hurry func()        // ends what waits for the network, once
	rst   bool          // the connection is to end by RST
}

// perform carries the steps out on the caller's connection, up to its end. status is that
// of the answer if the steps are a complete one, 0 if they are not.
func (x *exchange) perform(steps []wire.Step, status int) ending {
	if x.r.Context().Err() != nil {
		return x.gone()
	}
	nc, buffered, err := http.NewResponseController(x.w.ResponseWriter).Hijack()
	if err != nil {
		return x.gone()
	}
	c := &raw{exchange: x, nc: nc, left: make(chan struct{})}
	gone := make(chan struct{})
	c.hurry = sync.OnceFunc(func() { _ = nc.SetDeadline(time.Unix(1, 0)); close(gone) })
	if paced, ok := nc.(*conn); ok {
		paced.heed(gone)
	}
	// Nothing must wait for a caller who does not read.
	stop := context.AfterFunc(x.r.Context(), c.hurry)
	defer stop()
	listening := c.listen(steps)
	e := c.steps(steps, status)
	if listening || c.rst {
		_ = nc.Close() // A caller who is gone already is no error.
	} else {
		c.closeSoftly(nc, buffered.Reader.Buffered() > 0)
	}
	if listening {
		<-c.left
	}
	return e
}

// listen hears the caller leave, and reads what comes, so that the end can be a FIN. That
// is left out where all is over in a moment.
func (c *raw) listen(steps []wire.Step) bool {
	brief := c.form().Bandwidth == 0
	for _, s := range steps {
		brief = brief && s.At == 0 && s.Do != wire.Quiet && s.Do != wire.Half && s.Fill == 0
	}
	if brief {
		return false
	}
	go func() {
		defer close(c.left)
		_, _ = io.Copy(io.Discard, c.nc)
		c.hurry()
	}()
	return true
}

// steps carries the steps out.
func (c *raw) steps(steps []wire.Step, status int) ending {
	start := time.Now()
	at := start // before the last bytes
	for _, s := range steps {
		if !c.until(start.Add(s.At)) {
			return c.gone()
		}
		if s.Do == wire.Send {
			at = time.Now()
			if err := s.Write(c.nc); err != nil {
				return c.gone()
			}
			continue
		}
		e := c.end(s.Do)
		if status != 0 {
			e.outcome, e.status, e.at = trace.OutcomeAnswered, status, at
		}
		return e
	}
	return c.gone() // Steps end with an end.
}

// until waits; false: the caller left, or the injector ends.
func (c *raw) until(t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.phase.cleared:
		return true
	case <-c.left:
		return false
	case <-c.r.Context().Done():
		return false
	}
}

// end ends the connection as a step says.
func (c *raw) end(do wire.Do) ending {
	if do == wire.RST {
		c.awaitSent(c.nc, c.left)
	}
	e := ending{outcome: trace.OutcomeFIN, at: time.Now()}
	switch do {
	case wire.RST:
		e.outcome, c.rst = c.reset(c.nc), true
	case wire.Quiet:
		e = c.wait()
		e.outcome = trace.OutcomeHang
	case wire.Half:
		if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_ = c.wait()
	case wire.FIN, wire.Send:
	}
	return e
}

// wait waits until the caller leaves or the fault ends.
func (c *raw) wait() ending {
	select {
	case <-c.left:
		return c.gone()
	case <-c.r.Context().Done():
		return c.gone()
	case <-c.phase.ended:
		return ending{outcome: trace.OutcomeFIN, at: time.Now()}
	}
}
