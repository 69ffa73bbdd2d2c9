package model

import (
	"reflect"
	"time"
)

// Alike says whether two machines will do the same from any later instant on, if
// tokens are worth nothing to them (LateCounted). A timer that is due for one and
// past for the other tells them apart. Only the tests of real proxies need it: they
// follow several machines at once, and drop those that are alike.
func Alike(a, b *Machine) bool {
	x, y := *a, *b
	x.now, x.calls, x.stay = y.now, y.calls, y.stay
	dueA, okA := a.NextTimer()
	dueB, okB := b.NextTimer()
	return okA == okB && dueA.Equal(dueB) && reflect.DeepEqual(x, y)
}

// OfNews says whether the next timer is that of the balancer, and no tick.
func (m *Machine) OfNews() bool {
	_, ofNews, _ := m.next()
	return ofNews
}

// SkipTick makes a tick pass that is due at now, but does nothing.
func (m *Machine) SkipTick(now time.Time) { m.now = m.clock(now) }
