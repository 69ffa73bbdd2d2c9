package pace_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
)

// Slots are due whether or not anybody is able to send.
func ExampleConstant() {
	rate := pace.Constant{Num: 100, Per: time.Second}
	fmt.Println(rate.Due(0), rate.Due(700), rate.Count(10*time.Second))
	// Output: 0s 7s 1000
}
