package attack

import (
	"sync"
	"time"
)

// ledger counts the calls of a closed loop until nothing can change the counts any
// more.
type ledger struct {
	over chan struct{}

	mu       sync.Mutex
	released int
	decided  int // released calls that came to begin, or are lost
	paced    bool
	total    counts
}

// release counts a call that is handed to vegeta.
func (l *ledger) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released++
}

// decide counts a released call whose fate is known. The lock is held.
func (l *ledger) decide() {
	l.decided++
	l.settle()
}

// finish is Pace's last word.
func (l *ledger) finish(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paced = true
	l.total.ended = now
	l.settle()
}

// settle closes over when the number of calls is final. The lock is held.
func (l *ledger) settle() {
	if l.paced && l.decided == l.released {
		close(l.over)
	}
}

func (l *ledger) settled() <-chan struct{} { return l.over }

func (l *ledger) counts() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
