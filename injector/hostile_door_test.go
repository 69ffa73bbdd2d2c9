package injector_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// A fault that cannot be had leaves what was done to those who connect as it was.
func TestAFaultThatCannotBeHadLeavesTheDoorAsItWas(t *testing.T) {
	network := memnet.New(1)
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "dep", Addr: "dep:80", Listen: network.Listen, Recorder: trace.NewRecorder(time.Now()), Phase: "p",
		Script: fault.Script{Phases: map[string][]fault.Rule{"p": {rule(fault.ActionDeaf)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for n := range 2 {
		c, err := network.DialContext(t.Context(), "tcp", "dep:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go io.WriteString(c, request("GET", 0))
		until(t, "nobody listens to it", func() bool { return in.State().Held == 1 })
		if n > 0 {
			break
		}
		if _, err := in.Apply(rule(fault.ActionRefuse), time.Minute); !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("got %v", err)
		}
	}
}
