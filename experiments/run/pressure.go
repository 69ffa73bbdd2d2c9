package run

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// pressureFile is where Linux tells for how long something has waited for a CPU
// (the kernel's Documentation/accounting/psi.rst). Elsewhere nobody knows.
const pressureFile = "/proc/pressure/cpu"

// pressureTick is how often it is read, and pressureNoted the share of that time
// from which on it is worth a mark.
const (
	pressureTick  = 250 * time.Millisecond
	pressureNoted = 0.10
)

// startPressureWatch marks the times at which this machine had too few CPUs for
// all that ran: a service that was kept waiting for one is slow through no fault
// of its own, and this process, which sleeps most of the time, may not notice.
func (r *runner) startPressureWatch(ctx context.Context) {
	before, ok := waited()
	if r.opt.Listen != nil || !ok {
		return
	}
	r.watch(ctx, func(ctx context.Context) {
		tick := time.NewTicker(pressureTick)
		defer tick.Stop()
		last := r.now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			total, ok := waited()
			now := r.now()
			if share := float64(total-before) / float64(now-last); ok && share >= pressureNoted {
				r.rec.Mark(trace.Mark{
					At: now, Dur: now - last, Kind: trace.MarkPressure, Text: strconv.FormatFloat(min(share, 1), 'f', 2, 64),
				})
			}
			before, last = total, now
		}
	})
}

// waited is for how long, since the machine was started, something waited for a CPU.
func waited() (time.Duration, bool) {
	text, err := os.ReadFile(pressureFile)
	if err != nil {
		return 0, false
	}
	_, total, ok := strings.Cut(strings.SplitN(string(text), "\n", 2)[0], "total=")
	us, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
	return time.Duration(us) * time.Microsecond, ok && err == nil
}
