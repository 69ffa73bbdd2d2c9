package predict

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Everything comes once, in the order of time and, at one instant, of planning,
// whether it was sorted in or queued.
func TestAgendaKeepsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		now, planned, seen := time.Duration(0), 0, map[int]bool{}
		last := event{at: -1}
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				a.add(now+time.Duration(rapid.IntRange(0, 5).Draw(t, "in")), func() {})
				planned++
			case 1:
				a.queue(now, time.Duration(rapid.IntRange(1, 3).Draw(t, "after")), func() {})
				planned++
			case 2:
				take(t, &a, &last, seen)
				now = max(now, last.at)
			}
		}
		for range planned - len(seen) {
			take(t, &a, &last, seen)
		}
		if _, more := a.next(); more || len(seen) != planned {
			t.Fatalf("%d of %d came, more: %v", len(seen), planned, more)
		}
	})
}

// take takes the next event, if there is one.
func take(t *rapid.T, a *agenda, last *event, seen map[int]bool) {
	e, ok := a.next()
	if !ok {
		return
	}
	// What is planned for now after something of this instant was taken has a later
	// number, so the order holds throughout.
	if !last.before(e) || seen[e.seq] {
		t.Fatalf("%v came after %v", e.at, last.at)
	}
	*last, seen[e.seq] = e, true
}
