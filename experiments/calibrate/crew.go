package calibrate

import (
	"context"
	"runtime"
	"sync"

	"github.com/faultline-go/faultline/assert"
)

// carrier carries a look out and returns the verdicts.
type carrier func(context.Context, *look) ([]assert.Verdict, error)

// crew are those who carry looks out, some at a time.
type crew struct {
	carry    carrier
	progress func(done, of int)

	mu         sync.Mutex
	looks      []look
	next, done int
	err        error
}

// carryOut carries looks out on all cores. What comes of them is told one at a time.
func carryOut(ctx context.Context, looks []look, opt Options, carry carrier) error {
	c := &crew{carry: carry, progress: opt.Progress, looks: looks}
	if c.progress == nil {
		c.progress = func(int, int) {}
	}
	workers := opt.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for l := c.take(ctx); l != nil; l = c.take(ctx) {
				vs, err := c.carry(ctx, l)
				c.over(l, vs, err)
			}
		})
	}
	group.Wait()
	return c.err
}

// take takes the next look, or nil if there is none any more.
func (c *crew) take(ctx context.Context) *look {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = ctx.Err()
	}
	if c.err != nil || c.next == len(c.looks) {
		return nil
	}
	c.next++
	return &c.looks[c.next-1]
}

// over tells of a look.
func (c *crew) over(l *look, vs []assert.Verdict, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return
	}
	l.done(vs)
	c.done++
	c.progress(c.done, len(c.looks))
}
