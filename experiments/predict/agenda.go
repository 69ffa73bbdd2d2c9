package predict

import "time"

// agenda is what is due, the earliest first; of two at one instant the one that
// was planned first.
type agenda struct {
	heap  []event
	lanes []lane
	seq   int
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// lane is a queue of what is due after one and the same time, as timeouts are:
// there are many, and they need not be sorted.
type lane struct {
	after  time.Duration
	events []event
	first  int
}

// add plans something.
func (a *agenda) add(at time.Duration, do func()) {
	a.seq++
	e := event{at, a.seq, do}
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 && e.before(a.heap[(i-1)/2]) {
		a.heap[i] = a.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	a.heap[i] = e
}

// queue plans something for when a time that others wait for too has passed.
func (a *agenda) queue(now, after time.Duration, do func()) {
	a.seq++
	e := event{now + after, a.seq, do}
	for i := range a.lanes {
		if a.lanes[i].after == after {
			a.lanes[i].events = append(a.lanes[i].events, e)
			return
		}
	}
	a.lanes = append(a.lanes, lane{after: after, events: []event{e}})
}

// next takes out what is due next.
func (a *agenda) next() (event, bool) {
	var from *lane
	best := event{}
	for i := range a.lanes {
		if l := &a.lanes[i]; l.first < len(l.events) && (from == nil || l.events[l.first].before(best)) {
			from, best = l, l.events[l.first]
		}
	}
	switch {
	case len(a.heap) > 0 && (from == nil || a.heap[0].before(best)):
		return a.pop(), true
	case from == nil:
		return event{}, false
	}
	from.events[from.first] = event{} // The closure is not needed any more.
	from.first++
	return best, true
}

// pop takes the first out of the heap.
func (a *agenda) pop() event {
	first, last := a.heap[0], len(a.heap)-1
	e := a.heap[last]
	a.heap[last] = event{}
	a.heap = a.heap[:last]
	i := 0
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && a.heap[c+1].before(a.heap[c]) {
			c++
		}
		if !a.heap[c].before(e) {
			break
		}
		a.heap[i] = a.heap[c]
		i = c
	}
	if last > 0 {
		a.heap[i] = e
	}
	return first
}
