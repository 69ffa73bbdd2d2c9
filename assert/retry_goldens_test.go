package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
)

// spaced asks something of waits.
func spaced(change func(*assert.RetrySpacing)) assert.Rule {
	r := assert.RetrySpacing{Injector: "payments"}
	change(&r)
	return r
}

func spacingGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	least := spaced(func(r *assert.RetrySpacing) { r.Min = 50 * ms })
	most := spaced(func(r *assert.RetrySpacing) { r.Max = 350 * ms })
	doubled := spaced(func(r *assert.RetrySpacing) { r.Growth = 2 })
	jitter := spaced(func(r *assert.RetrySpacing) { r.Jitter = 0.2 })
	asked := spaced(func(r *assert.RetrySpacing) { r.RetryAfter = true })
	honours := func(s *setup) { s.Retry.Honours = true }
	return []retried{
		{name: "waits long enough", rule: least, want: pass},
		{name: "does not wait", with: waits(0, 0, 0), rule: least, want: fail},
		{name: "waits too little", with: waits(30*ms, 90*ms, 2), rule: least, want: fail},
		{name: "does not wait, and a library sends again", with: both(waits(0, 0, 0), failsBy(reset), func(s *setup) { s.Retry.Library = true }), rule: least, want: dunno},
		{name: "waits long enough, and a library sends again", with: both(failsBy(reset), func(s *setup) { s.Retry.Library = true }), rule: least, want: dunno},
		{name: "does not wait, but for a connection", with: both(waits(0, 0, 0), busyPool), rule: least, want: fail},
		{name: "waits long enough, and is slow anyway", with: func(s *setup) { s.Own = span{20 * ms, 30 * ms} }, rule: least, want: dunno},
		{name: "waits, few calls", with: briefly(3), rule: least, want: dunno},
		{name: "waits, once open", with: opening, rule: least, want: dunno},
		{name: "waits not too long", rule: most, want: pass},
		{name: "waits too long", with: waits(300*ms, 400*ms, 2), rule: most, want: fail},
		{name: "waits about too long", with: waits(349*ms, 350*ms, 0), rule: most, want: dunno},
		{name: "waits twice as long each time", rule: spaced(func(r *assert.RetrySpacing) { r.Growth = 1.8 }), want: pass},
		{name: "waits as long each time", with: waits(50*ms, 150*ms, 0), rule: doubled, want: fail},
		{name: "waits twice as long each time, up to a limit", with: both(attempts(4), waits(90*ms, 110*ms, 2), func(s *setup) { s.Retry.Most = 250 * ms }), rule: spaced(func(r *assert.RetrySpacing) { r.Growth, r.Max = 2, 260*ms }), want: pass},
		{name: "waits a little longer each time", with: both(attempts(4), waits(95*ms, 105*ms, 1.5)), rule: doubled, want: fail},
		{name: "waits perhaps twice as long each time", with: both(waits(50*ms, 150*ms, 1.7), briefly(60)), rule: doubled, want: dunno},
		{name: "waits differ perhaps", with: briefly(60), rule: spaced(func(r *assert.RetrySpacing) { r.Jitter = 0.45 }), want: dunno},
		{name: "grows, few calls", with: briefly(20), rule: doubled, want: dunno},
		{name: "grows, two attempts", with: attempts(2), rule: doubled, want: dunno},
		{name: "waits differ", rule: jitter, want: pass},
		{name: "waits are alike", with: waits(100*ms, 100*ms, 2), rule: jitter, want: fail},
		{name: "waits differ a little", with: waits(95*ms, 105*ms, 2), rule: jitter, want: fail},
		{name: "waits are too short to differ", with: waits(5*ms, 10*ms, 0), rule: jitter, want: dunno},
		{name: "waits differ, few calls", with: briefly(20), rule: jitter, want: dunno},
		{name: "all at once", rule: spaced(func(r *assert.RetrySpacing) { r.Min, r.Growth, r.Jitter, r.Max = 50*ms, 1.8, 0.2, 310*ms }), want: pass},
		{name: "comes when it is asked to", with: both(honours, failsBy(tooMany(time.Second, false))), rule: asked, want: pass},
		{name: "comes sooner than it is asked to", with: failsBy(tooMany(time.Second, false)), rule: asked, want: fail},
		{name: "comes at the date", with: both(honours, failsBy(tooMany(2*time.Second, true))), rule: asked, want: pass},
		{name: "comes before the date", with: failsBy(tooMany(2*time.Second, true)), rule: asked, want: fail},
		{name: "comes before the header's date", with: failsBy(func(r *fault.Rule) {
			r.Respond = fault.Respond{Status: 503, Headers: map[string]string{"retry-after": "Tue, 14 Nov 2023 22:14:20 GMT"}}
		}), rule: asked, want: fail},
		{name: "comes after the header's seconds", with: both(waits(1100*ms, 1200*ms, 0), failsBy(func(r *fault.Rule) {
			r.Respond = fault.Respond{Status: 503, Headers: map[string]string{"Retry-After": "1"}}
		})), rule: asked, want: pass},
		{name: "is not asked to wait", rule: asked, want: dunno},
		{name: "no more attempts after a Retry-After", with: both(attempts(1), failsBy(tooMany(time.Second, false))), rule: asked, want: dunno},
	}
}

func budgetGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	budget := assert.RetryBudget{Injector: "payments", Ratio: 0.2, Burst: 15, Window: 2 * time.Second}
	bounded := func(s *setup) { s.Retry.Ratio, s.Retry.Capacity = 0.2, 10 }
	post := assert.RetryForbidden{Injector: "payments", Methods: []string{"POST"}}
	reads := func(s *setup) { s.Pay, s.Retry.Reads = 2, true }
	spares := both(reads, func(s *setup) { s.Retry.Spares = true })
	return []retried{
		{name: "within its budget", with: bounded, rule: budget, want: pass},
		{name: "perhaps within its budget", with: bounded, rule: assert.RetryBudget{Injector: "payments", Ratio: 0.2, Burst: 10, Window: 2 * time.Second}, want: dunno},
		{name: "without a budget", rule: budget, want: fail},
		{name: "twice the budget", with: func(s *setup) { s.Retry.Ratio, s.Retry.Capacity = 0.4, 20 }, rule: budget, want: fail},
		{name: "budget, nothing failed", phase: "baseline", with: bounded, rule: budget, want: dunno},
		{name: "budget, no ids", with: both(bounded, func(s *setup) { s.Aggregate = true }), rule: budget, want: dunno},
		{name: "budget by the second", with: bounded, rule: assert.RetryBudget{Injector: "payments", PerSecond: 30, Window: time.Second}, want: pass},

		{name: "POST is not sent again", with: spares, rule: post, want: pass},
		{name: "POST is sent again", with: reads, rule: post, want: fail},
		{name: "POST is sent again, of some targets", with: reads, rule: assert.RetryForbidden{Injector: "payments", Targets: []string{"pay"}, Paths: []string{"/charge*"}}, want: fail},
		{name: "nothing of the kind", with: spares, rule: assert.RetryForbidden{Injector: "payments", Methods: []string{"PATCH"}}, want: dunno},
		{name: "POST is not sent again, nothing failed", with: spares, phase: "baseline", rule: post, want: dunno},
		{name: "a library sends POST again", with: both(spares, failsBy(reset), func(s *setup) { s.Retry.Library = true }), rule: post, want: fail},
		{name: "a library sends POST again that was refused", with: both(spares, failsBy(reset), func(s *setup) { s.Retry.Library = true }), spec: func(s *assert.Spec) {
			s.Phases[1].Faults["payments"][0].H2 = &fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR"}}
		}, rule: post, want: dunno},
	}
}

func cancelGoldens() []retried {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	cancels := assert.CancelPropagates{Injector: "payments", Within: 100 * ms}
	leaves := func(after time.Duration) func(*setup) {
		return func(s *setup) {
			s.Phases[1].Faults, s.ClientTimeout, s.Propagates, s.Retry.Stops = hanging(), after, true, true
		}
	}
	keeps := func(s *setup) { s.Propagates = false }
	return []retried{
		{name: "lets go when its client leaves", with: leaves(300 * ms), rule: cancels, want: pass},
		{name: "lets go by its own timeout", with: both(leaves(300*ms), keeps), rule: cancels, want: fail},
		{name: "lets go never", with: both(leaves(300*ms), keeps, func(s *setup) { s.SUTTimeout = 0 }), rule: cancels, want: fail},
		{name: "lets go, and tries again", with: both(leaves(300*ms), func(s *setup) { s.Retry.Stops = false }), rule: cancels, want: fail},
		{name: "lets go by its own timeout, soon after", with: both(leaves(1930*ms), keeps, attempts(1)), rule: cancels, want: dunno},
		{name: "lets go before", with: both(leaves(3*time.Second), attempts(1)), rule: cancels, want: dunno},
		{name: "no client leaves", rule: cancels, want: dunno},
		{name: "lets go when its client leaves, no ids", with: both(leaves(300*ms), func(s *setup) { s.Aggregate = true }), rule: cancels, want: dunno},
		{name: "dies, and so lets go", with: leaves(300 * ms), trace: dies, rule: cancels, want: pass},
		{name: "dies, and did not let go before", with: both(leaves(300*ms), keeps), trace: dies, rule: cancels, want: fail},
		{name: "lets go, of an outage that is too short", with: both(leaves(300*ms), keeps, attempts(1), func(s *setup) { s.Phases[1].Duration = 320 * ms }), rule: cancels, want: dunno},
	}
}
