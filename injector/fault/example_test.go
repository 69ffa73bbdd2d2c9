package fault_test

import (
	"fmt"

	"github.com/faultline-go/faultline/injector/fault"
)

// A ratio is no dice: at every moment the share is right, and with the same seed
// and order the same requests are hit.
func ExamplePlayer() {
	script := fault.Script{Phases: map[string][]fault.Rule{"outage": {{
		ID:      "outage/1",
		Match:   fault.Match{Path: "/charges*"},
		Select:  fault.Select{Kind: fault.SelectRatio, Num: 2, Den: 5},
		Action:  fault.ActionRespond,
		Respond: fault.Respond{Status: 503},
	}}}}
	player, err := fault.NewPlayer(script, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	outage := player.Phase("outage")
	for range 10 {
		v := outage.Decide(fault.Request{Method: "GET", Path: "/charges/7", Header: func(string) string { return "" }})
		if v.Rule == nil {
			fmt.Print(". ")
		} else {
			fmt.Print(v.Rule.Respond.Status, " ")
		}
	}
	fmt.Println(outage.Decide(fault.Request{Path: "/health"}).Rule == nil)
	// Output: . 503 . 503 . . 503 . 503 . true
}
