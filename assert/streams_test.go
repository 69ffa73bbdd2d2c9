package assert

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Whether a WebSocket that was opened and then broke is a failure, and when the SUT noted that,
// cannot be known; of an answer it can.
func TestOutcomeOfAStream(t *testing.T) {
	const ms = time.Millisecond
	v := &view{breaker: Breaker{Failure: match.DefaultFailure()}}
	v.index.alive = []answer{{sent: 500 * ms, end: 510 * ms}}
	settled := func(at trace.Attempt) *admission {
		call := trace.Call{ID: "a/0", Send: 10 * ms, End: 40 * ms, Status: 200}
		a := &admission{call: &trace.Joined{Call: call, Attempts: []trace.Attempt{at}}, attempt: &at, lo: call.Send, hi: at.Arr}
		v.settle(a, forever)
		return a
	}
	answered := trace.Attempt{Arr: 20 * ms, Dep: 30 * ms, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 101}
	if a := settled(answered); a.failed || a.failMay || a.settled != 40*ms {
		t.Errorf("an answer: failed %t or perhaps %t, settled %v", a.failed, a.failMay, a.settled)
	}
	answered.Stream, answered.Closed = true, 400*ms
	if a := settled(answered); a.failed || !a.failMay || a.settled < 510*ms || a.settled == forever || a.settle != a.settled {
		t.Errorf("a stream that ended: failed %t or perhaps %t, settled %v and likely %v", a.failed, a.failMay, a.settled, a.settle)
	}
	answered.Closed = 0
	if a := settled(answered); a.failed || !a.failMay || a.settled != forever {
		t.Errorf("a stream that goes on: failed %t or perhaps %t, settled %v", a.failed, a.failMay, a.settled)
	}
}
