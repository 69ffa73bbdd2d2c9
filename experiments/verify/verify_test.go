package verify

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

var only = flag.Int("only", -1, "the one random configuration to look at")

// service is the one of the tests.
func service() Service {
	return Service{
		SUT: experiments.SUT{BaseURL: "http://127.0.0.1:1"}, Target: match.Target{Method: http.MethodGet, Path: "/"},
		Listen: "127.0.0.1:9901", Stub: fault.Respond{Status: 200, Body: "ok"}, Fail: 503, Timeout: 10 * time.Second,
	}
}

// verified plays the plan of a declared system with a service that is another one.
func verified(t *testing.T, d Declared, is System) (*program, Report) {
	t.Helper()
	s := service()
	p := derive(d.System, Options{Fresh: true, Timeout: s.Timeout})
	plan := p.plan("test", s)
	seen, err := predict.Play(Reference(plan, is), mutant.Mutant{}, 300*time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	return p, Judge(d, plan.Breakers[0].Failure, seen)
}

// random is a configuration by a number.
func random(n int) System {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	pick := func(all ...float64) float64 { return all[r.IntN(len(all))] }
	b := breakerref.Default()
	b.Name = "random"
	b.Window = int(pick(2, 4, 5, 8, 10, 20, 50, 100))
	b.MinimumCalls = int(pick(1, 2, 3, 5, 8, 10, 20, 100))
	b.FailureRate = float32(pick(10, 25, 33, 50, 60, 75, 100))
	b.SlowRate = float32(pick(20, 50, 80, 100))
	b.SlowDuration = time.Duration(pick(100, 200, 500, 60000)) * time.Millisecond
	b.Wait = time.Duration(pick(200, 500, 600, 1000, 5000, 60000)) * time.Millisecond
	b.Permitted = int(pick(1, 2, 3, 5, 10))
	if r.IntN(3) == 0 {
		b.WindowType, b.Window = breakerref.TimeBased, int(pick(1, 2, 3, 5, 10, 60))
	}
	switch r.IntN(4) {
	case 0:
		b.WaitMultiplier = pick(1.5, 2, 3)
		if r.IntN(2) == 0 {
			b.WaitMax = time.Duration(float64(b.Wait) * pick(2, 4))
		}
	case 1:
		if r.IntN(2) == 0 {
			b.WaitRandom = pick(0.1, 0.3, 0.5)
		}
	}
	if r.IntN(5) == 0 {
		b.HalfOpenMaxWait = time.Duration(pick(500, 2000)) * time.Millisecond
		b.HalfOpenMaxWaitCloses = r.IntN(3) == 0
	}
	s := System{Breaker: b}
	if r.IntN(4) == 0 {
		s.Retry = &retry.Config{MaxAttempts: int(pick(2, 3, 4)), Wait: time.Duration(pick(10, 20, 50)) * time.Millisecond}
		s.Inside = r.IntN(4) == 0
	}
	return s
}

func TestRightServicesPass(t *testing.T) {
	n := 20
	if os.Getenv("FAULTLINE_DEEP") != "" {
		n = 100
	}
	for i := range n {
		if *only >= 0 && i != *only {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := random(i)
			_, r := verified(t, Declared{System: s}, s)
			if r.Difference != nil || r.Reason != "" {
				t.Errorf("%+v\n%+v\n%+v %s", s.Breaker, s.Retry, r.Difference, r.Reason)
			}
			for _, row := range r.Rows {
				if row.Verdict != Pass {
					t.Logf("%+v", row)
				}
			}
		})
	}
}

// TestLiesAreNamed has one parameter of a service changed that was declared otherwise.
func TestLiesAreNamed(t *testing.T) {
	n := 5
	if os.Getenv("FAULTLINE_DEEP") != "" {
		n = 100
	}
	told := map[Param]int{}
	for i := range n {
		if *only >= 0 && i != *only {
			continue
		}
		s := random(i)
		_, right := verified(t, Declared{System: s}, s)
		chance := rand.New(rand.NewPCG(uint64(i), 11))
		for _, row := range right.Rows {
			p := Param(row.Param)
			if row.Verdict != Pass || p == Order || p == Random {
				continue
			}
			all := s.neighbours(p)
			v := all[chance.IntN(len(all))]
			lie, ok := s.with(p, v)
			if !ok || s.alike(p, v) || p == RetryWait && !tellsRetryWait(s.number(p), v) || !shows(t, s, lie) {
				continue
			}
			told[p]++
			t.Run(fmt.Sprintf("%d/%s", i, say(p, v)), func(t *testing.T) {
				_, r := verified(t, Declared{System: s}, lie)
				named(t, p, r)
				if t.Failed() {
					t.Logf("%+v %+v", s.Breaker, s.Retry)
				}
			})
		}
	}
	t.Log(told)
}

// tellsRetryWait reports whether a wait between attempts is so much longer than another that
// a busy machine does not explain it, and does not run into the timeout of the calls.
func tellsRetryWait(declared, v float64) bool {
	return v < declared || v > 1.3*declared+float64(15*time.Millisecond) && v < float64(time.Second)
}

// shows reports whether a lie would show in what a right service is asked.
func shows(t *testing.T, s, lie System) bool {
	t.Helper()
	sv := service()
	p := derive(s, Options{Fresh: true, Timeout: sv.Timeout})
	plan := p.plan("test", sv)
	tr, err := predict.Play(Reference(plan, s), mutant.Mutant{}, 300*time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := observe(tr, plan.Breakers[0].Failure)
	if err != nil {
		t.Fatal(err)
	}
	return !(&judge{seen: seen}).explains(lie)
}

// named checks that a parameter is accused, and no other.
func named(t *testing.T, p Param, r Report) {
	t.Helper()
	if r.Difference == nil {
		for _, row := range r.Rows {
			if row.Param == string(p) && p == Attempts && row.Verdict == Undecided {
				return // Each call that failed was refused before its last attempt: it was slow, or it was tried again.
			}
		}
		t.Errorf("nothing was found: %s", r.Reason)
		return
	}
	found := false
	for _, row := range r.Rows {
		if row.Verdict == Fail && row.Param != string(p) {
			t.Errorf("%s is accused", row.Param)
		}
		if row.Param == string(p) && row.Verdict != Fail {
			t.Logf("not alone: %v", r.Difference.Explained)
		}
		if row.Param == string(p) {
			found = row.Verdict == Fail || row.Observed != "" && row.Verdict == Undecided
		}
	}
	if !found {
		t.Errorf("it is not named: %+v", r.Difference)
	}
	t.Logf("%s\n%s\n%v", r.Difference.Sequence, r.Difference.Says, r.Difference.Explained)
}
