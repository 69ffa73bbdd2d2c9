package run_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// network is what a system under test of a test needs of the bubble.
type network interface {
	Listen(network, addr string) (net.Listener, error)
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// outcome is what a run in a bubble left.
type outcome struct {
	report assert.Report
	bytes  []byte // the trace as it is written
	trace  *trace.Trace
	err    error
}

// inBubble carries out an experiment in virtual time over an in-process
// network. start starts a system under test of the test's own, or is nil.
func inBubble(t *testing.T, src string, start func(t *testing.T, n network) (stop func())) outcome {
	t.Helper()
	plan, err := experiments.LoadPlan("test.yaml", []byte(src), 1)
	if err != nil {
		t.Fatal(err)
	}
	var out outcome
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		if start != nil {
			defer start(t, n)()
		}
		res, err := run.Run(t.Context(), plan, run.Options{Tool: "test", Listen: n.Listen, Dial: n.DialContext})
		out.err = err
		if res == nil {
			return
		}
		out.trace = res.Trace
		var buf bytes.Buffer
		if err := trace.Write(&buf, res.Trace); err != nil {
			t.Fatal(err)
		}
		out.bytes = buf.Bytes()
	})
	if out.trace != nil {
		out.report = assert.Evaluate(plan.Spec(), out.trace)
	}
	return out
}

// verdict finds a verdict by the assertion's id.
func (o outcome) verdict(t *testing.T, id string) assert.Verdict {
	t.Helper()
	for _, v := range o.report.Verdicts {
		if v.ID == id {
			return v
		}
	}
	t.Fatalf("no verdict %q", id)
	return assert.Verdict{}
}

// log shows the verdicts of a failed test.
func (o outcome) log(t *testing.T) {
	t.Helper()
	for _, v := range o.report.Verdicts {
		t.Logf("%-14s %-12s expected %s | observed %s | %s %s", v.ID, v.Result, v.Expected, v.Observed, v.Reason, v.BlockedBy)
	}
	for _, c := range o.report.Integrity {
		if !c.OK {
			t.Logf("integrity %s %s: %s", c.Name, c.Phase, c.Observed)
		}
	}
}
