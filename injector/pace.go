package injector

import (
	"io"
	"time"
)

// pace says when the next bytes are due, at so many a second. It begins with none: the
// first bytes are due when they would have come.
type pace struct {
	rate int64
	next time.Time // when what was said so far is through; zero: nothing was
}

// paceStep is how long the bytes take that are let through at once.
const paceStep = 10 * time.Millisecond

// catchUp is how far the pace may be behind and still make up for it: more would be a
// burst after a time in which nothing was sent.
const catchUp = 100 * time.Millisecond

// piece is how many of n bytes are let through at once.
func (p *pace) piece(n int) int {
	return min(n, max(64, int(p.rate/int64(time.Second/paceStep))))
}

// due returns when n more bytes are through.
func (p *pace) due(n int, now time.Time) time.Time {
	if p.next.IsZero() || now.Sub(p.next) > catchUp {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	return p.next
}

// slowBody is a request's body that is read at so many bytes a second.
type slowBody struct {
	io.ReadCloser
	pace pace
	wait func(time.Time) bool
}

// hangUpStep is how long it takes at most until a caller is missed whose request is read
// slowly.
const hangUpStep = 20 * time.Millisecond

// readUntil waits while a request is read slowly, and looks in between whether the caller has
// left: no read tells that as long as something is unread. It returns false if he has.
func (x *exchange) readUntil(t time.Time) bool {
	there := x.r.Context().Err() == nil
	for there && time.Until(t) > 0 && !isClosed(x.phase.cleared) {
		step := time.Now().Add(hangUpStep)
		if step.After(t) {
			step = t
		}
		c, ok := connOf(x.r)
		there = x.sleepUntil(step) && !x.body.failed.Load() && (!ok || x.stream != nil || !hungUp(c.Conn))
	}
	if !there {
		x.body.failed.Store(true) // The request is not complete, and never will be.
	}
	return there
}

// Read lets the time pass that the bytes take.
func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:b.pace.piece(len(p))])
	if n > 0 && !b.wait(b.pace.due(n, time.Now())) {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}
