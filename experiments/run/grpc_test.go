package run_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// statuses has a gRPC dependency fail by its status alone. The wait is so long that no machine is
// too slow to show that a breaker did not open.
const statuses = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: statuses }
sut: { base_url: SUT }
injectors: { charges: { listen: 127.0.0.1:PORT, stub: { grpc: { messages: aGk= }, latency: 1ms } } }
load: { timeout: 5s, targets: [ { name: pay, path: /pay } ] }
breakers: { charges: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 1m, permitted_calls: 3, failure: FAILURE } }
phases:
  - { name: healthy, load: { calls: 20, gap: 2ms } }
  - { name: trip, load: { calls: 40, gap: 2ms }, faults: [ { FAULT } ] }
assert:
  - { id: trips, breaker.opens: charges, phase: trip, at_call: 5 }
  - { id: stays, breaker.stays_closed: charges, phase: trip }
`

// A breaker that counts statuses of gRPC as it is said to passes, and one that does not count them
// fails, by each kind of answer that is a failure to a client of gRPC.
func TestGRPCFailuresAreJudged(t *testing.T) {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	// The wrong one takes an answer that is complete for a good one, whatever its status.
	deaf := func(err error) bool {
		_, status := errors.AsType[statusError](err)
		return !status
	}
	// This one knows no status but UNAVAILABLE.
	only := func(err error) bool {
		status, _ := errors.AsType[statusError](err)
		return status == "14"
	}
	const every, unavailable = "[5xx, reset, eof, timeout, grpc]", "[grpc:UNAVAILABLE, grpc:DEADLINE_EXCEEDED]"
	type verdicts = map[string]assert.Result
	opens := verdicts{"trips": assert.Pass}
	never := verdicts{"trips": assert.Fail}
	for _, tc := range []struct {
		name, failure, fault, recorded string
		fails                          func(error) bool
		want                           verdicts
	}{
		{"a status", every, "grpc: UNAVAILABLE", "UNAVAILABLE", nil, opens},
		{"a status, not counted", every, "grpc: UNAVAILABLE", "UNAVAILABLE", deaf, never},
		{"a named status", unavailable, "grpc: { status: UNAVAILABLE, messages: aGk= }", "UNAVAILABLE", only, opens},
		{"a named status, not counted", unavailable, "grpc: { status: UNAVAILABLE, messages: aGk= }", "UNAVAILABLE", deaf, never},
		{"another status", unavailable, "grpc: NOT_FOUND", "NOT_FOUND", only, verdicts{"trips": assert.Inconclusive}},
		{"another status, counted", unavailable, "grpc: NOT_FOUND", "NOT_FOUND", nil, verdicts{"trips": assert.Fail, "stays": assert.Fail}},
		{"no status", every, "grpc: { messages: aGk=, end: no_trailers }", trace.GRPCNoStatus, nil, opens},
		{"no status, not counted", every, "grpc: { messages: aGk=, end: no_trailers }", trace.GRPCNoStatus, deaf, never},
		{"HTTP", "[grpc]", "respond: { status: 200 }", trace.GRPCNoStatus, nil, opens},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			src := strings.NewReplacer("FAILURE", tc.failure, "FAULT", tc.fault).Replace(statuses)
			out, by := liveWith(t, src, "http", &caller{
				client: func() (*http.Transport, error) { return transport, nil }, fails: tc.fails, wait: time.Minute,
			})
			if out.err != nil {
				t.Fatal(out.err)
			}
			got := verdicts{}
			for _, v := range out.report.Verdicts {
				if _, asked := tc.want[v.ID]; asked {
					got[v.ID] = v.Result
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
				out.log(t)
			}
			for _, a := range by["trip"] {
				if a.GRPC != tc.recorded || a.Outcome != trace.OutcomeAnswered {
					t.Errorf("recorded %q, want %q: %+v", a.GRPC, tc.recorded, a)
				}
			}
		})
	}
}
