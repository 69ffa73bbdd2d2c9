package predict

import (
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// lasts is how long a request takes with a latency that was drawn, to the first byte of its
// answer, whose work takes so long. To the caller it is the same before the work and after it.
func lasts(l fault.Latency, drawn, work time.Duration) time.Duration {
	if l.Mode == fault.LatencyFloor {
		return max(drawn, work)
	}
	return drawn + work
}
