package model

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// news is what the balancer knows of the watched host, which may be less than what
// the breaker does.
type news struct {
	out    bool
	heeded time.Time // when it last heeded news
	due    time.Time // when it will next; zero: there are none
}

// tell tells the balancer that the host went out or came back. Fresh news that may be
// heeded at once takes older news along.
func (m *Machine) tell() {
	merge := m.cfg.Hosts.Merge
	switch {
	case merge == 0:
	case m.news.heeded.IsZero() || m.now.Sub(m.news.heeded) > merge:
		m.heed()
	case m.news.due.IsZero():
		m.news.due = m.now.Add(merge)
	}
}

// heed lets the balancer act on what is the case now.
func (m *Machine) heed() {
	m.news = news{out: m.state == breakerref.Open, heeded: m.now}
}

// permitByNews asks the balancer.
func (m *Machine) permitByNews() Answer {
	if m.news.out && !m.panics() {
		return Rejected
	}
	return Admitted
}
