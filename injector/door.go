package injector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/faultline-go/faultline/injector/fault"
)

// door is the listener that the server accepts from. A fault may shut it, or let callers
// in whom nobody listens to. Shutting keeps the port: nobody else can take it.
type door struct {
	addr   string // of the port that it keeps
	own    bool   // the listener is one of the operating system's
	listen func() (net.Listener, error)

	conns  chan caller // for the server
	errs   chan error  // of accepting, for the server: it knows which ones it survives
	closed chan struct{}
	close  func()      // closes closed, once
	hold   func() bool // whether one more caller may be parked
	free   func(n int) // so many are parked no longer
	wait   sync.WaitGroup

	mu     sync.Mutex
	mode   fault.Action // "": open
	ln     net.Listener // nil: shut
	keep   func()       // gives up what keeps the port; nil: ln does
	parked []net.Conn   // whom nobody listens to
}

// caller is somebody who was let in.
type caller struct {
	net.Conn

	late bool // nobody listened to it until the door opened: what it has sent came earlier than it is read
}

// newDoor returns an open door around a listener.
func newDoor(ln net.Listener) *door {
	d := &door{addr: ln.Addr().String(), conns: make(chan caller), errs: make(chan error), closed: make(chan struct{})}
	d.close = sync.OnceFunc(func() { close(d.closed) })
	d.listen = func() (net.Listener, error) {
		return new(net.ListenConfig).Listen(context.Background(), "tcp", d.addr)
	}
	d.serve(ln)
	return d
}

// serve takes callers in from a listener, until that is closed. The caller holds mu, or
// nobody else knows of the door.
func (d *door) serve(ln net.Listener) {
	d.ln = ln
	d.wait.Go(func() {
		for {
			c, err := ln.Accept()
			switch {
			case err == nil:
				d.take(c)
			case !d.is(ln): // It was shut.
				return
			case !d.report(err):
				return
			}
		}
	})
}

// report tells the server of an error, and reports whether accepting goes on: the server
// does by the same rule.
func (d *door) report(err error) bool {
	select {
	case d.errs <- err:
	case <-d.closed:
		return false
	}
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

// is reports whether the door is open with this listener.
func (d *door) is(ln net.Listener) bool {
	select {
	case <-d.closed:
		return false
	default:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ln == ln
}

// take hands a caller to the server, or parks it.
func (d *door) take(c net.Conn) {
	d.mu.Lock()
	if d.mode == fault.ActionDeaf && d.hold() {
		d.parked = append(d.parked, c)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	d.hand(caller{c, false})
}

// hand gives a caller to the server.
func (d *door) hand(c caller) {
	select {
	case d.conns <- c:
	case <-d.closed:
		_ = c.Close()
	}
}

// set changes what the door does. It returns when the change is in force: the next caller
// meets it.
func (d *door) set(mode fault.Action) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mode == mode || isClosed(d.closed) { // A door that is closed for good must not listen again.
		return nil
	}
	if err := d.open(); err != nil {
		return err
	}
	var err error
	if !d.own && (mode == fault.ActionRefuse || mode == fault.ActionUnreachable) {
		return fmt.Errorf("%s needs the operating system's network: %w", mode, errors.ErrUnsupported)
	}
	switch mode {
	case fault.ActionRefuse:
		err = d.shut(holdPort)
	case fault.ActionUnreachable:
		err = d.shut(fillBacklog)
	default:
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s at %s: %w", mode, d.addr, err), d.open())
	}
	d.mode = mode
	return nil
}

// open lets callers in again; those that were parked are served now.
func (d *door) open() error {
	if d.ln == nil {
		if d.keep != nil {
			d.keep()
			d.keep = nil
		}
		ln, err := d.listen()
		if err != nil {
			return fmt.Errorf("listen again at %s: %w", d.addr, err)
		}
		d.serve(ln)
	}
	d.mode = ""
	parked := d.parked
	d.parked = nil
	d.free(len(parked))
	for _, c := range parked {
		d.wait.Go(func() { d.hand(caller{c, true}) })
	}
	return nil
}

// shut closes the listener and keeps its port in another way.
func (d *door) shut(keep func(addr string) (release func(), err error)) error {
	ln := d.ln
	d.ln = nil
	if err := ln.Close(); err != nil {
		return err
	}
	release, err := keep(d.addr)
	if err != nil {
		return err
	}
	d.keep = release
	return nil
}

// next waits for the next caller.
func (d *door) next() (caller, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case err := <-d.errs:
		return caller{}, err
	case <-d.closed:
		return caller{}, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.next()
	return c.Conn, err
}

// Close implements net.Listener: it ends all that the door has begun.
func (d *door) Close() error {
	d.close()
	d.mu.Lock()
	var err error
	if d.ln != nil {
		err = d.ln.Close()
	}
	if d.keep != nil {
		d.keep()
	}
	for _, c := range d.parked {
		_ = c.Close()
	}
	d.free(len(d.parked))
	d.ln, d.keep, d.parked = nil, nil, nil
	d.mu.Unlock()
	d.wait.Wait()
	return err
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", d.addr)
	if err != nil {
		return &net.TCPAddr{}
	}
	return a
}
