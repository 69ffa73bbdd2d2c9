package model_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// The sixth failure in a row opens a gobreaker; a minute later it lets one probe
// through.
func Example() {
	cfg, _ := model.Preset("gobreaker")
	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	m, err := model.New(cfg, start)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(after time.Duration, o model.Outcome) {
		now := start.Add(after)
		token, answer := m.Acquire(now)
		if answer == model.Admitted {
			m.Record(now.Add(10*time.Millisecond), token, o, 10*time.Millisecond)
		}
		fmt.Printf("%4v %v, now %v\n", after, answer, m.State())
	}
	for i := range 7 {
		call(time.Duration(i)*time.Second, model.Failure)
	}
	call(66*time.Second, model.Success)
	// Output:
	//   0s admitted, now CLOSED
	//   1s admitted, now CLOSED
	//   2s admitted, now CLOSED
	//   3s admitted, now CLOSED
	//   4s admitted, now CLOSED
	//   5s admitted, now OPEN
	//   6s rejected, now OPEN
	// 1m6s admitted, now CLOSED
}

// What a configuration cannot do is refused, not ignored.
func ExampleConfig_Validate() {
	cfg, _ := model.Preset("pgmux")
	cfg.Trip.Judged = model.OnFailure
	cfg.Open.Rise = 2
	fmt.Println(cfg.Validate())
	// Output:
	// open.rise is set, but does nothing without open.exit ExitChecks
	// window.kind CountTumbling is judged when it is full: it needs trip.judged OnRecord and no trip.min
}
