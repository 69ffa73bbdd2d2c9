package injector

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// A guard remembers one second, however large its rate is and however long it guards.
func TestAStormGuardIsAsLargeAsTheWorstSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storm{most: 1 << 40}
		allow := func() Limit { return "" }
		for range 10_000 {
			s.within(allow)
			time.Sleep(10 * time.Millisecond)
		}
		if len(s.last) > 256 || s.n > 100 {
			t.Errorf("it has %d places, %d taken, for 100 a second", len(s.last), s.n)
		}
	})
}

// Guards of rules that are gone are not kept, once they remember nothing.
func TestStormGuardsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newStorms(3)
		inForce := &plan{storms: map[*fault.Rule]*storm{}}
		kept := all.of("kept", []*plan{inForce})
		inForce.storms[&fault.Rule{ID: "kept"}] = kept
		for k := range 10_000 {
			all.of(fmt.Sprint(k), []*plan{inForce}).within(func() Limit { return "" })
			time.Sleep(100 * time.Millisecond)
		}
		if len(all.by) > 200 || all.of("kept", nil) != kept {
			t.Errorf("%d guards are kept", len(all.by))
		}
	})
}
