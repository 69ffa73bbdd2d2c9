package predict

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// A floor has the work in it, and is no ceiling.
func TestLasts(t *testing.T) {
	const ms = time.Millisecond
	added := fault.Latency{At: fault.LatencyAtResponse}
	floor := fault.Latency{Mode: fault.LatencyFloor}
	for _, c := range []struct {
		l                 fault.Latency
		drawn, work, want time.Duration
	}{
		{fault.Latency{}, 50 * ms, 20 * ms, 70 * ms},
		{added, 50 * ms, 20 * ms, 70 * ms},
		{floor, 50 * ms, 20 * ms, 50 * ms},
		{floor, 50 * ms, 90 * ms, 90 * ms},
	} {
		if got := lasts(c.l, c.drawn, c.work); got != c.want {
			t.Errorf("%+v: %v and %v of work last %v, want %v", c.l, c.drawn, c.work, got, c.want)
		}
	}
}
