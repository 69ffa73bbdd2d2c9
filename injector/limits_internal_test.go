package injector

import (
	"runtime"
	"sync"
	"testing"

	"github.com/faultline-go/faultline/injector/fault"
)

// However many ask at once, exactly as many are allowed as there may be.
func TestTakeIsExact(t *testing.T) {
	const most, active = 100_000, 3
	b := newBudget(Limits{Faulted: most, Active: active})
	var workers sync.WaitGroup
	var took, over [8]int
	for k := range took {
		workers.Go(func() {
			for n := 0; ; n++ {
				switch b.take(true) {
				case "":
					took[k]++
					if b.used.Load().active > active {
						over[k]++
					}
					if n%16 == 0 {
						runtime.Gosched()
					}
					b.change(-1, -1)
				case LimitFaulted:
					return
				default:
				}
			}
		})
	}
	workers.Wait()
	sum := 0
	for k := range took {
		if sum += took[k]; over[k] > 0 {
			t.Errorf("more than %d were active, %d times", active, over[k])
		}
	}
	if used := *b.used.Load(); sum != most || used != (usage{faulted: most}) {
		t.Errorf("%d were let through, want %d; in use is %+v", sum, most, used)
	}
}

func TestLess(t *testing.T) {
	const huge = 1 << 63
	for _, tt := range []struct {
		a, b, c, d uint64
		want       bool
	}{
		{1, 3, 1, 3, false}, {1, 2, 1, 3, true}, {huge, 2, huge, 3, true}, {huge, 3, huge, 2, false}, {0, huge, 0, 1, false},
	} {
		if got := less(tt.a, tt.b, tt.c, tt.d); got != tt.want {
			t.Errorf("%d*%d < %d*%d is %v", tt.a, tt.b, tt.c, tt.d, got)
		}
	}
}

// A GOAWAY after which nothing follows keeps a request as a hang does.
func TestWhatParks(t *testing.T) {
	away := func(last fault.LastStream, fin bool) *fault.Rule {
		return &fault.Rule{Action: fault.ActionPass, H2: &fault.H2{GoAway: &fault.GoAway{Last: last, FIN: fin}}}
	}
	for _, tt := range []struct {
		rule *fault.Rule
		want bool
	}{
		{&fault.Rule{Action: fault.ActionPass}, false},
		{&fault.Rule{Action: fault.ActionPass, H2: &fault.H2{Abort: true}}, false},
		{away(fault.LastNone, false), true},
		{away(fault.LastNone, true), false},
		{away(fault.LastThis, false), false},
	} {
		if got := parks(tt.rule); got != tt.want {
			t.Errorf("%+v: %t", tt.rule.H2, got)
		}
	}
}
