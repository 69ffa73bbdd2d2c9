package control

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
)

// The buckets of a histogram are cumulative, and what is beyond the last bound is counted.
func TestDelays(t *testing.T) {
	g := gauged{State: injector.State{Injector: "a"}, Meters: injector.Meters{Delays: []uint64{1, 2, 0, 0, 0, 0, 0, 0, 0, 4, 8}, DelayOver: 3 * time.Second / 2}}
	var e exposition
	e.delays([]gauged{g})
	const want = `# HELP faultline_delay_error_seconds By how much latencies were longer than asked for.
# TYPE faultline_delay_error_seconds histogram
faultline_delay_error_seconds_bucket{injector="a",le="5e-05"} 1
faultline_delay_error_seconds_bucket{injector="a",le="0.0001"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.0002"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.0005"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.001"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.002"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.005"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.01"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.05"} 3
faultline_delay_error_seconds_bucket{injector="a",le="0.25"} 7
faultline_delay_error_seconds_bucket{injector="a",le="+Inf"} 15
faultline_delay_error_seconds_sum{injector="a"} 1.5
faultline_delay_error_seconds_count{injector="a"} 15
`
	if diff := cmp.Diff(want, e.String()); diff != "" {
		t.Error(diff)
	}
}
