package trace

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Forever is the end of something that the trace did not see end.
const Forever time.Duration = math.MaxInt64

// Blind is a time in which an injector did not serve those who connect, so that attempts
// may have come to it that left no sign. It holds both ends.
type Blind struct {
	From time.Duration // before the door began to shut
	To   time.Duration // after it was open again, or Forever
	Why  string        // what became of those who connected: refuse, unreachable, deaf
}

// Touches reports whether [from, to] and the blind time have an instant in common.
func (b Blind) Touches(from, to time.Duration) bool { return from <= b.To && to >= b.From }

// Blind returns when an injector was blind, by the marks of its door, in the order of time;
// two of them have no instant in common. Of marks of one instant, those come first that
// change something.
func (t *Trace) Blind(injector string) []Blind {
	var blind []Blind
	var marks []Mark
	for _, m := range t.Marks {
		if m.Subject == injector && (m.Kind == MarkDoorShut || m.Kind == MarkDoorOpen) {
			marks = append(marks, m)
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	for len(marks) > 0 {
		kind := MarkDoorShut
		if isShut(blind) {
			kind = MarkDoorOpen
		}
		next := max(0, slices.IndexFunc(marks, func(m Mark) bool { return m.At == marks[0].At && m.Kind == kind }))
		blind = door(blind, marks[next])
		marks = slices.Delete(marks, next, next+1)
	}
	return blind
}

// isShut reports whether the door is still shut after these times.
func isShut(blind []Blind) bool { return len(blind) > 0 && blind[len(blind)-1].To == Forever }

// door takes in the next mark of a door. A door that is shut once more, in another way, was
// not open meanwhile.
func door(blind []Blind, m Mark) []Blind {
	last := len(blind) - 1
	shut := isShut(blind)
	switch {
	case m.Kind == MarkDoorOpen && shut:
		blind[last].To = m.At
	case m.Kind == MarkDoorShut && !shut && last >= 0 && blind[last].To == m.At:
		blind[last].To = Forever
	case m.Kind == MarkDoorShut && !shut:
		blind = append(blind, Blind{From: m.At, To: Forever, Why: m.Text})
	}
	return blind
}

// blindDuring reports whether any of these times, which are in order, touches [from, to].
func blindDuring(blind []Blind, from, to time.Duration) bool {
	i, _ := slices.BinarySearchFunc(blind, from, func(b Blind, t time.Duration) int { return cmp.Compare(b.To, t) })
	return i < len(blind) && blind[i].Touches(from, to)
}
