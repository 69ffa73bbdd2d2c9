//go:build unix

package simulate_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is how long this process has had a CPU. On a machine that others use as well
// it says more of speed than the clock on the wall.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
