package injector

import (
	"math"
	"testing"
)

// A pace that is beyond every machine lets all through at once; a slow one, a little.
func TestPieces(t *testing.T) {
	for rate, want := range map[int64]int{1: 64, 100_000: 1000, 1 << 20: 10485, 1 << 38: 1 << 20, math.MaxInt64: 1 << 20} {
		if got := (&pace{rate: rate}).piece(1 << 20); got != want {
			t.Errorf("at %d bytes a second %d bytes go at once, want %d", rate, got, want)
		}
	}
}
