//go:build !unix

package simulate_test

import (
	"testing"
	"time"
)

// cpuTime is the clock on the wall, where there is no other.
func cpuTime(*testing.B) time.Duration { return time.Duration(time.Now().UnixNano()) }
