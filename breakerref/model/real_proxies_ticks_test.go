package model_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// span is the time in which something is known to have been.
type span struct{ lo, hi time.Time }

// ticks are those of a real timer that were seen. It sets itself anew after each
// tick, and so is late a little more each time, and much if the machine stalls; the
// model's timer is never late. So the model is told of everything in its own time,
// in which the ticks that were seen are exactly where they should be, and nothing
// else is taken from the recording. The zero value is no timer.
type ticks struct {
	seen     []span
	nth      []int // of seen[0], and so on
	interval time.Duration
}

// newTicks numbers the ticks that were seen of a timer, up to the first that is off
// by more than limit. 0: every tick was seen, however late.
func newTicks(seen []span, interval, limit time.Duration) ticks {
	k := ticks{interval: interval}
	for i, s := range seen {
		n := 0
		if i > 0 {
			d := s.lo.Sub(seen[i-1].lo)
			steps := (d + interval/2) / interval
			if limit > 0 && (d-steps*interval).Abs() > limit {
				break
			}
			n = k.nth[i-1] + 1
			if limit > 0 {
				n = k.nth[i-1] + max(1, int(steps))
			}
		}
		k.seen, k.nth = append(k.seen, s), append(k.nth, n)
	}
	return k
}

// begin returns a tick before an instant.
func (k ticks) begin(before time.Time) time.Time {
	if len(k.seen) == 0 {
		return before
	}
	return k.seen[0].lo.Add(-(k.seen[0].lo.Sub(before)/k.interval + 2) * k.interval)
}

// place returns where an instant is in the model's time if each tick was at its
// first or at its last instant. It is not known after the last tick that was seen.
func (k ticks) place(t time.Time, end func(span) time.Time) (at time.Time, known bool) {
	i := slices.IndexFunc(k.seen, func(s span) bool { return end(s).After(t) })
	switch i {
	case -1:
		return t, false
	case 0:
		return k.seen[0].lo.Add(t.Sub(end(k.seen[0]))), true
	}
	a, b := end(k.seen[i-1]), end(k.seen[i])
	steps := float64(k.nth[i-1]) + float64(t.Sub(a))/float64(b.Sub(a))*float64(k.nth[i]-k.nth[i-1])
	return k.seen[0].lo.Add(time.Duration(steps * float64(k.interval))), true
}

// placed returns the events in the model's time, as far as they can be placed.
func (k ticks) placed(events []realEvent) []realEvent {
	var all []realEvent
	for _, e := range events {
		lo, _ := k.place(e.lo, func(s span) time.Time { return s.hi })
		hi, known := k.place(e.hi, func(s span) time.Time { return s.lo })
		if !known {
			break
		}
		e.lo, e.hi = lo, hi
		all = append(all, e)
	}
	return all
}

// lanePath is where a proxy finds a lane.
func lanePath(i int) string { return fmt.Sprintf("/%d/", i) }

// connect waits until a proxy answers, and asks it for what none of its pools has.
func connect(t *testing.T, client *http.Client, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/none", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the proxy does not answer: %v", err)
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// lockedBuffer takes what a process writes while a test may read it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}
func (b *lockedBuffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }
