package injector

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
)

// put has something sent after all that waits. It waits for room, and reports whether it was
// taken: behind an end it is not.
func (l *socketLane) put(s sending) bool {
	return l.insert(s, func() int { return len(l.queue) })
}

// putFirst has something sent before what is delayed.
func (l *socketLane) putFirst(s sending) {
	now := time.Now()
	l.insert(s, func() int {
		if at := slices.IndexFunc(l.queue, func(s sending) bool { return s.due.After(now) }); at >= 0 {
			return at
		}
		return len(l.queue)
	})
}

func (l *socketLane) insert(s sending, place func() int) bool {
	for {
		l.mu.Lock()
		if l.last {
			l.mu.Unlock()
			return false
		}
		if l.size <= mostWaiting {
			break
		}
		l.mu.Unlock()
		select {
		case <-l.room:
		case <-l.done:
			return false
		}
	}
	defer l.mu.Unlock()
	l.queue = slices.Insert(l.queue, place(), s)
	l.size += length(s.frames)
	l.last = s.end
	wake(l.more)
	return true
}

// putLast has the connection end after all that waits, without waiting for room.
func (l *socketLane) putLast(s sending) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last {
		return false
	}
	l.queue, l.last = append(l.queue, s), true
	wake(l.more)
	wake(l.room) // Who waits for it learns that nothing more is taken.
	return true
}

// wake tells a goroutine that waits, or will.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // It was told.
	}
}

// write sends what waits, each when it is due, until the connection ends.
func (l *socketLane) write() {
	for {
		s, ok := l.take()
		if !ok {
			return
		}
		if !l.send(s) {
			l.broken()
			return
		}
		if s.end {
			l.end(s)
			return
		}
	}
}

// take waits for the next thing that is due; false: the connection ends.
func (l *socketLane) take() (sending, bool) {
	for {
		l.mu.Lock()
		wait := time.Duration(-1) // for ever
		if len(l.queue) > 0 {
			wait = max(0, time.Until(l.queue[0].due))
		}
		if wait == 0 || wait > 0 && l.isCleared() {
			s := l.queue[0]
			l.queue[0] = sending{} // Its frames are not kept.
			l.queue = l.queue[1:]
			l.size -= length(s.frames)
			l.mu.Unlock()
			wake(l.room)
			return s, true
		}
		l.mu.Unlock()
		if !l.rest(wait) {
			return sending{}, false
		}
	}
}

// rest waits for what may change what is due; false: the connection ends.
func (l *socketLane) rest(wait time.Duration) bool {
	var due <-chan time.Time
	var cleared <-chan struct{}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due, cleared = timer.C, l.phase.cleared
	}
	select {
	case <-due:
	case <-cleared:
	case <-l.more:
	case <-l.done:
		return false
	}
	return true
}

// isCleared reports whether nothing may wait any longer for a fault's sake.
func (l *socketLane) isCleared() bool {
	select {
	case <-l.phase.cleared:
		return true
	default:
		return false
	}
}

// send writes one thing; false: nobody takes it.
func (l *socketLane) send(s sending) bool {
	for n, f := range s.frames {
		pad := int64(0)
		if n == len(s.frames)-1 {
			pad = s.pad
		}
		if f.WritePadded(l.out, pad) != nil {
			return false
		}
	}
	if len(s.raw) == 0 {
		return true
	}
	_, err := l.out.Write(s.raw)
	return err == nil
}

// broken takes nothing more, as nobody reads it. A dependency may still have said something
// before.
func (l *socketLane) broken() {
	l.mu.Lock()
	l.queue, l.size, l.last = nil, 0, true
	l.mu.Unlock()
	wake(l.room)
	if l.to == fault.ToClient {
		l.finish(wire.Send, "by the caller")
	}
}

// end ends the connection.
func (l *socketLane) end(s sending) {
	if s.waits {
		timer := time.NewTimer(fault.CloseWait)
		defer timer.Stop()
		select {
		case <-l.answered:
		case <-timer.C:
		case <-l.done:
		}
	}
	l.finish(s.by, s.how)
}
