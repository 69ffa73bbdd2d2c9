package predict

import "time"

// agenda is what is due, the earliest first; of two at one instant the one that
// was planned first.
type agenda struct {
	heap []event
	seq  int
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// add plans something.
func (a *agenda) add(at time.Duration, do func()) {
	a.seq++
	a.heap = append(a.heap, event{at, a.seq, do})
	for i := len(a.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if a.heap[up].before(a.heap[i]) {
			return
		}
		a.heap[up], a.heap[i] = a.heap[i], a.heap[up]
		i = up
	}
}

// next takes out what is due next.
func (a *agenda) next() (event, bool) {
	if len(a.heap) == 0 {
		return event{}, false
	}
	first, last := a.heap[0], len(a.heap)-1
	a.heap[0] = a.heap[last]
	a.heap[last] = event{} // The closure is not needed any more.
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if a.heap[c].before(a.heap[least]) {
				least = c
			}
		}
		if least == i {
			return first, true
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
