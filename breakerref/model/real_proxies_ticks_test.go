package model_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// phase is when the timer of a lane ticks.
type phase struct {
	begin time.Time // a tick before the first request
	// late is by how much a period is longer than it should be: the timers are set
	// anew after each tick.
	late time.Duration
}

// fitPhase finds the phase and the period of a timer that has been seen ticking at
// times, not necessarily each time. Only these two are taken from the recording. A
// timer that is not within off of any steady one makes the test inconclusive.
func fitPhase(t *testing.T, l *lane, ticks []time.Time, begin time.Time, off time.Duration) phase {
	t.Helper()
	nominal := l.cfg.Open.Interval
	if len(ticks) < 3 {
		t.Fatalf("%s: inconclusive: its timer was seen to tick only %d times", l.name, len(ticks))
	}
	// Least squares over the number of each tick.
	var n, sx, sy, sxx, sxy float64
	numbers := make([]float64, len(ticks))
	for i, tick := range ticks {
		if i > 0 {
			numbers[i] = numbers[i-1] + float64((tick.Sub(ticks[i-1])+nominal/2)/nominal)
		}
		x, y := numbers[i], tick.Sub(ticks[0]).Seconds()
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n*sxx == sx*sx {
		t.Fatalf("%s: inconclusive: its timer was seen to tick only once", l.name)
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	first := (sy - slope*sx) / n
	period := time.Duration(slope * float64(time.Second))
	anchor := ticks[0].Add(time.Duration(first * float64(time.Second)))
	for i, tick := range ticks {
		at := anchor.Add(time.Duration(numbers[i] * float64(period)))
		if d := tick.Sub(at).Abs(); d > off {
			t.Fatalf("%s: inconclusive: its timer of %v ticks every %v, but once %v beside that; is the machine too slow?", l.name, nominal, period, d)
		}
	}
	late := period - nominal
	if late < -time.Millisecond || late > nominal/50 {
		t.Errorf("%s: its timer of %v ticks every %v", l.name, nominal, period)
	}
	for anchor.After(begin) {
		anchor = anchor.Add(-period)
	}
	return phase{anchor, late}
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
