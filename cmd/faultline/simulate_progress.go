package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/breakerref/simulate"
)

// patience is how long a simulation may take before a person is told how far it is.
const patience = 2 * time.Second

// simulateMeter tells a person how far a long simulation is: on a terminal by one line
// that is written anew, elsewhere by a line for each quarter.
type simulateMeter struct {
	w       io.Writer
	screen  screen
	now     func() time.Time
	from    time.Time
	drawn   time.Time
	quarter int
}

// show is told after each part.
func (m *simulateMeter) show(done, of int) {
	now := m.now()
	took := now.Sub(m.from)
	quarter := 4 * done / of
	if took < patience || done == of {
		m.quarter = quarter
		return
	}
	left := time.Duration(float64(took) * float64(of-done) / float64(done)).Round(time.Second)
	line := fmt.Sprintf("  %d%% simulated in %s, about %s left", 100*done/of, took.Round(time.Second), left)
	switch {
	case m.screen.terminal && now.Sub(m.drawn) > 100*time.Millisecond:
		_, _ = io.WriteString(m.w, eraseLine+line) // Standard error may lead nowhere.
		m.drawn = now
	case !m.screen.terminal && quarter > m.quarter:
		_, _ = io.WriteString(m.w, line+"\n")
		m.quarter = quarter
	}
}

// done removes the line.
func (m *simulateMeter) done() {
	if !m.drawn.IsZero() {
		_, _ = io.WriteString(m.w, eraseLine)
	}
}

// onAllCores carries out jobs on as many goroutines as there are cores.
func onAllCores(show func(done, of int)) simulate.Runner {
	return func(n int, job func(int)) {
		var next, done atomic.Int64
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range min(runtime.GOMAXPROCS(0), n) {
			wg.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= n {
						return
					}
					job(i)
					mu.Lock()
					show(int(done.Add(1)), n)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	}
}
