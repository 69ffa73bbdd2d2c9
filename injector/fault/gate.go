package fault

import (
	"slices"
	"time"
)

// Gate is the machine behind a [Hold]: it says which parked requests may go. It
// knows no clock and is not safe for concurrent use; the caller gives instants
// as offsets from one epoch, in the order in which it calls.
//
// Requests form groups. A group begins with an arrival at an empty gate and
// ends when nobody is parked any more. Rejections count when their call was
// sent later than the group's Probes-th arrival; arrivals after that one are
// parked too, and the Probes-th arrival itself releases nobody.
type Gate struct {
	hold     Hold
	parked   []ticket
	last     int           // number of the last ticket given out
	arrived  int           // in the current group, those who went included
	since    time.Duration // only calls sent later than this count
	rejected int
	released time.Duration // one by one: the last release of this group
	awaited  int           // one by one: whose answer must come before rejections count; 0: nobody's
}

// ticket is one parked request.
type ticket struct {
	number int // from 1
	at     time.Duration
}

// NewGate returns an empty gate for a valid hold.
func NewGate(h Hold) *Gate { return &Gate{hold: h} }

// Park takes in a request that arrived at this instant and returns its number.
func (g *Gate) Park(at time.Duration) int {
	if len(g.parked) == 0 {
		g.arrived, g.since, g.rejected, g.awaited = 0, at, 0, 0
		g.released = at
	}
	g.last++
	g.arrived++
	g.parked = append(g.parked, ticket{number: g.last, at: at})
	if g.arrived <= g.hold.Probes {
		// Handlers may come out of order: the latest of them is the N-th.
		g.since = max(g.since, at)
	}
	return g.last
}

// Reject tells of a rejected call that was sent at this instant, and returns
// who may go because of it.
func (g *Gate) Reject(sent, now time.Duration) []int {
	if len(g.parked) == 0 || g.arrived < g.hold.Probes || g.awaited != 0 || sent <= g.since {
		return nil
	}
	g.rejected++
	if g.rejected < g.hold.Rejected {
		return nil
	}
	if g.hold.OneByOne {
		return g.releaseOldest(now)
	}
	return g.release(func(ticket) bool { return true })
}

// Expire returns who may go because the hold's Max has passed.
func (g *Gate) Expire(now time.Duration) []int {
	if !g.hold.OneByOne {
		return g.release(func(t ticket) bool { return g.due(t) <= now })
	}
	if len(g.parked) > 0 && g.due(g.parked[0]) <= now {
		return g.releaseOldest(now)
	}
	return nil
}

// Due is when a parked request may go at the latest. With OneByOne it moves
// with every release, so ask again after one.
func (g *Gate) Due(number int) (at time.Duration, parked bool) {
	i := slices.IndexFunc(g.parked, func(t ticket) bool { return t.number == number })
	if i < 0 {
		return 0, false
	}
	return g.due(g.parked[i]), true
}

// Leave takes out a request whose caller left.
func (g *Gate) Leave(number int) {
	g.parked = slices.DeleteFunc(g.parked, func(t ticket) bool { return t.number == number })
}

// Answered tells that a released request was answered (or given up) at this
// instant. One by one, rejections count again for calls sent later than that.
func (g *Gate) Answered(number int, at time.Duration) {
	if g.awaited == number {
		g.awaited = 0
		g.since = max(g.since, at)
	}
}

// due is the latest instant at which t may go.
func (g *Gate) due(t ticket) time.Duration {
	if g.hold.OneByOne {
		return max(t.at, g.released) + g.hold.Max
	}
	return t.at + g.hold.Max
}

// release lets go whomever the condition names.
func (g *Gate) release(cond func(ticket) bool) []int {
	var gone []int
	g.parked = slices.DeleteFunc(g.parked, func(t ticket) bool {
		if cond(t) {
			gone = append(gone, t.number)
			return true
		}
		return false
	})
	return gone
}

// releaseOldest lets one request go and starts counting anew.
func (g *Gate) releaseOldest(now time.Duration) []int {
	t := g.parked[0]
	g.parked = g.parked[1:]
	g.rejected, g.released, g.awaited = 0, now, t.number
	g.since = max(g.since, now)
	return []int{t.number}
}
