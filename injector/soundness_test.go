package injector_test

import (
	"os"
	"slices"
	"testing"
	"time"
)

// sized is a count: the small one, or with FAULTLINE_DEEP=1 the full one.
func sized(small, full int) int {
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		return full
	}
	return small
}

// lateness is by how much this machine's own timers are late now: the median of some.
func lateness() time.Duration {
	late := make([]time.Duration, 21)
	for n := range late {
		began := time.Now()
		time.Sleep(ms)
		late[n] = time.Since(began) - ms
	}
	return median(late)
}

// median sorts what it is given.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// soundly repeats what a busy machine can spoil until it comes out right once. It has to
// within five tries in which the machine's own timers were in time; where they never are,
// nothing can be said, and the test says that. What is wrong on any machine is for f to tell.
func soundly(t *testing.T, what string, f func() (seen any, ok bool)) {
	t.Helper()
	const sound, tries, most = 2 * ms, 5, 30
	failed := 0
	for range most {
		before := lateness()
		seen, ok := f()
		if ok {
			t.Logf("%s: %v", what, seen)
			return
		}
		if late := max(before, lateness()); late > sound {
			t.Logf("%s: %v, while the machine's own timers were %v late", what, seen, late)
			continue
		}
		if failed++; failed == tries {
			t.Errorf("%s: %v, %d times although the machine was in time", what, seen, tries)
			return
		}
	}
	t.Skipf("%s: this machine's own timers are more than %v late, so nothing can be said", what, sound)
}
