package injector

import (
	"maps"
	"sync"
	"time"
)

// storm guards one rule: it remembers when it hit the requests of the last second.
type storm struct {
	most  int // within a second; 0: no limit
	mu    sync.Mutex
	last  []time.Time // a ring, which is as long as the worst second was
	first int         // the place of the oldest
	n     int         // how many there are
}

// within does what take does, if the rule may hit one more request now.
func (s *storm) within(take func() Limit) Limit {
	if s.most == 0 {
		return take()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now() // Under the lock, so that the instants are in order.
	if s.forget(now); s.n == s.most {
		return LimitPerSecond
	}
	if limit := take(); limit != "" {
		return limit
	}
	s.note(now)
	return ""
}

// forget drops what is a second ago. mu is held.
func (s *storm) forget(now time.Time) {
	for s.n > 0 && now.Sub(s.last[s.first]) >= time.Second {
		s.first = (s.first + 1) % len(s.last)
		s.n--
	}
}

// note adds an instant. mu is held.
func (s *storm) note(now time.Time) {
	if s.n == len(s.last) {
		const least = 8
		longer := make([]time.Time, min(max(least, 2*s.n), s.most))
		copy(longer[copy(longer, s.last[s.first:]):], s.last[:s.first])
		s.last, s.first = longer, 0
	}
	s.last[(s.first+s.n)%len(s.last)] = now
	s.n++
}

// calm reports whether the guard remembers nothing.
func (s *storm) calm(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(now)
	return s.n == 0
}

// storms are the guards of an injector, by the IDs of rules. A rule that is taken away and comes
// back, in a plan or added anew, has the guard that it had: else whoever changes faults often
// enough would have none. Those that are in force and those that remember something are kept.
type storms struct {
	most  int
	by    map[string]*storm
	sweep int // how many there are when it is looked for those that need not be kept
}

func newStorms(most int) storms { return storms{most: most, by: map[string]*storm{}} }

// of returns the guard of an ID. inForce are the plans whose guards are needed.
func (all *storms) of(id string, inForce []*plan) *storm {
	if all.most == 0 {
		return &storm{}
	}
	s := all.by[id]
	if s == nil {
		s = &storm{most: all.most}
		all.by[id] = s
		all.tidy(id, inForce)
	}
	return s
}

// tidy drops guards that are not needed, now and then, but the one of this ID.
func (all *storms) tidy(id string, inForce []*plan) {
	if len(all.by) <= all.sweep {
		return
	}
	needed := map[*storm]bool{all.by[id]: true}
	for _, p := range inForce {
		for _, s := range p.storms {
			needed[s] = true
		}
	}
	now := time.Now()
	maps.DeleteFunc(all.by, func(_ string, s *storm) bool { return !needed[s] && s.calm(now) })
	const least = 64
	all.sweep = 2*len(all.by) + least
}
