package injector_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// A dependency that is healthy until the phase with its fault is entered, and again
// after it.
func ExampleStart() {
	ctx := context.Background()
	in, err := injector.Start(ctx, injector.Config{
		Name: "payments",
		Stub: injector.Stub{Respond: fault.Respond{Status: 200}},
		Script: fault.Script{Phases: map[string][]fault.Rule{
			"outage": {{ID: "outage/1", Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}}},
		}},
		Recorder: trace.NewRecorder(time.Now()),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = in.Close() }() // Nothing was left open.
	for _, phase := range []string{"", "outage", ""} {
		in.Enter(phase)
		resp, err := http.Get(in.URL())
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close() // It is empty.
		fmt.Println(resp.StatusCode)
	}
	// Output:
	// 200
	// 503
	// 200
}
