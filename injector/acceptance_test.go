package injector_test

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// The tests named TestAccepted hold the numbers that an injector is to be measured by. They
// run with small counts, and with the full ones with FAULTLINE_DEEP=1. Others of these
// numbers are held by TestLedgerIsReproducible, TestClearIsFast, and TestKilledController of
// injector/control/client.

// allWorkers are how many callers there are at a time.
func allWorkers() []int { return []int{1, 32, 256} }

// shared has workers do n things between them.
func shared(workers, n int, f func()) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				f()
			}
		})
	}
	wg.Wait()
}

// decisions plays one phase with one rule; it is asked without a network.
func decisions(t *testing.T, seed uint64, r fault.Rule) *fault.Phase {
	t.Helper()
	p, err := fault.NewPlayer(scriptOf(r), seed)
	if err != nil {
		t.Fatal(err)
	}
	return p.Phase("p")
}

// Of a thousand requests each hundredth from 0 to 1 hits its share to within one request.
func TestAcceptedRatios(t *testing.T) {
	const n = 1000
	for percent := range uint64(101) {
		for _, workers := range allWorkers() {
			phase := decisions(t, percent, ratio(answering(503), percent, 100))
			var hit atomic.Uint64
			shared(workers, n, func() {
				if phase.Decide(fault.Request{}).Rule != nil {
					hit.Add(1)
				}
			})
			if got := hit.Load(); got != percent*n/100 {
				t.Errorf("%d %% with %d workers: %d of %d", percent, workers, got, n)
			}
		}
	}
}

// The same through sockets, as the callers count it.
func TestAcceptedRatiosOnTheWire(t *testing.T) {
	const n = 1000
	percents := []uint64{0, 1, 37, 100}
	if sized(0, 1) == 1 {
		percents = nil
		for p := range uint64(101) {
			percents = append(percents, p)
		}
	}
	d := start(t, injector.Config{})
	tr := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: tr, Timeout: time.Minute}
	for _, percent := range percents {
		for _, workers := range allWorkers() {
			if _, err := d.Replace(scriptOf(ratio(answering(503), percent, 100))); err != nil {
				t.Fatal(err)
			}
			var hit, healthy atomic.Uint64
			shared(workers, n, func() {
				switch status, _, err := get(c, d.URL()); {
				case err != nil:
					t.Error(err)
				case status == 503:
					hit.Add(1)
				default:
					healthy.Add(1)
				}
			})
			if h, ok := hit.Load(), healthy.Load(); h != percent*n/100 || h+ok != n {
				t.Errorf("%d %% with %d workers: %d of %d", percent, workers, h, h+ok)
			}
		}
	}
}

// A reset is an RST and a close is a FIN, each time, also behind a large request; both are
// seen by a socket of the operating system, as HTTP clients name them alike.
func TestAcceptedEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		rule fault.Rule
		body int
		n    int
		seen string
		end  string
	}{
		{"RST", stealthy(rule(fault.ActionReset)), 0, 1000, "", "RST"},
		{"RST that shows", rule(fault.ActionReset), 0, 1000, halfLine, "RST"},
		{"FIN", stealthy(rule(fault.ActionClose)), 0, 1000, "", "FIN"},
		{"FIN that shows", rule(fault.ActionClose), 0, 1000, halfLine, "FIN"},
		{"FIN behind 1 MiB", stealthy(rule(fault.ActionClose)), 1 << 20, sized(50, 1000), "", "FIN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, injector.Config{}, c.rule)
			text := request("POST", c.body)
			counted := map[string]int{}
			for range c.n {
				o := observe(t, d.Addr())
				o.say(text)
				seen, end := o.rest()
				counted[seen+end]++
				o.conn.Close()
			}
			if counted[c.seen+c.end] != c.n {
				t.Errorf("of %d ends: %v, want all %q", c.n, counted, c.seen+c.end)
			}
		})
	}
}

// tripped says after how many of n calls a breaker opened; 0: it did not.
func tripped(t *testing.T, n int, failed func() bool) int {
	t.Helper()
	cfg := breakerref.Default()
	cfg.Name, cfg.WindowType, cfg.Window, cfg.MinimumCalls, cfg.FailureRate = "b", breakerref.CountBased, 20, 20, 50
	now := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	m, err := breakerref.New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	for k := range n {
		if !m.Acquire(now) {
			t.Fatalf("call %d: the breaker is %v and was not seen to open", k, m.State())
		}
		m.Record(now, failed(), ms)
		if m.State() == breakerref.Open {
			return k + 1
		}
		now = now.Add(ms)
	}
	return 0
}

// A breaker with a window of 20 and a threshold of 50 % says the same in a hundred runs: it
// does not open at 30 %, and opens at 55 % with the 20th call. With ratios that are thrown by
// dice it would do either at times.
func TestAcceptedBreaker(t *testing.T) {
	const runs, calls = 100, 1000
	trips := func(percent uint64, kind fault.SelectKind) (n, at int) {
		for seed := range uint64(runs) {
			r := ratio(answering(503), percent, 100)
			r.Select.Kind = kind
			phase := decisions(t, seed, r)
			if k := tripped(t, calls, func() bool { return phase.Decide(fault.Request{}).Rule != nil }); k > 0 {
				n, at = n+1, max(at, k)
			}
		}
		return n, at
	}
	if n, _ := trips(30, fault.SelectRatio); n != 0 {
		t.Errorf("at 30 %% it opened in %d of %d runs", n, runs)
	}
	if n, at := trips(55, fault.SelectRatio); n != runs || at != 20 {
		t.Errorf("at 55 %% it opened in %d of %d runs, after %d calls at the latest", n, runs, at)
	}
	// The control: what is measured here can be otherwise.
	if n, _ := trips(30, fault.SelectRandom); n == 0 {
		t.Error("dice have not tripped it either")
	}
}

// The same through sockets, in one plan whose phase is entered anew for each run.
func TestAcceptedBreakerOnTheWire(t *testing.T) {
	runs, calls := sized(10, 100), 200
	d := start(t, injector.Config{Script: fault.Script{Phases: map[string][]fault.Rule{
		"30": {ratio(answering(503), 30, 100)}, "55": {ratio(answering(503), 55, 100)},
	}}})
	c := client(t)
	for phase, want := range map[string]int{"30": 0, "55": 20} {
		for range runs {
			enter(t, d.Injector, phase)
			got := tripped(t, calls, func() bool {
				status, _, err := get(c, d.URL())
				if err != nil {
					t.Error(err)
				}
				return status != http.StatusOK
			})
			if got != want {
				t.Errorf("at %s %% it opened after %d calls, want %d (0: never)", phase, got, want)
			}
		}
	}
}

// leaves has a caller leave, and says how long his place was taken for.
func leaves(t *testing.T, d dependency, text string) time.Duration {
	t.Helper()
	c, err := net.Dial("tcp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	until(t, "it is there", func() bool { return d.State().Active == 1 })
	left := time.Now()
	c.Close()
	until(t, "his place is free", func() bool { return d.State().Active == 0 })
	return time.Since(left)
}

// Who leaves has his place free at once, whatever he waited for, with his request read or
// half sent.
func TestAcceptedLeaving(t *testing.T) {
	const limit = 50 * ms
	long := fault.Latency{Min: time.Hour, Max: time.Hour}
	late := rule(fault.ActionRespond)
	late.Latency = long
	in := func(f fault.Form) fault.Rule {
		r := rule(fault.ActionPass)
		r.Form = f
		return r
	}
	slowly := rule(fault.ActionPass)
	slowly.ReadRate = 1
	whole := request("POST", 1<<20)
	for _, c := range []struct {
		name string
		rule fault.Rule
		text string
	}{
		{"hang, nothing to read", rule(fault.ActionHang), request("GET", 0)},
		{"hang, body read", rule(fault.ActionHang), whole},
		{"hang, body unread", rule(fault.ActionHang), whole[:1<<19]},
		{"latency, nothing to read", late, request("GET", 0)},
		{"latency, body read", late, whole},
		{"latency, body unread", late, whole[:1<<19]},
		{"drip", in(fault.Form{Drip: &fault.Drip{Chunks: 10, Over: 10 * time.Hour}}), request("GET", 0)},
		{"slices", in(fault.Form{Slice: &fault.Slice{Size: 10, Gap: time.Hour}}), request("GET", 0)},
		{"informed", in(fault.Form{Inform: &fault.Inform{Status: 103, Times: 2, Every: time.Hour}}), request("GET", 0)},
		{"cut and kept", in(fault.Form{Cut: &fault.Cut{At: fault.CutHead, By: fault.ActionHang}}), request("GET", 0)},
		{"half closed", in(fault.Form{After: &fault.After{Do: fault.AfterHalf}}), request("GET", 0)},
		{"closed later", in(fault.Form{After: &fault.After{Do: fault.AfterReset, Wait: time.Hour}}), request("GET", 0)},
		{"bandwidth", in(fault.Form{Bandwidth: 1}), request("GET", 0)},
		{"bandwidth, then cut", in(fault.Form{Bandwidth: 1, Cut: &fault.Cut{At: fault.CutBody, Bytes: 5, By: fault.ActionReset}}), request("GET", 0)},
		{"read slowly", slowly, request("POST", 1000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.rule.ReadRate > 0 && runtime.GOOS != "linux" {
				t.Skip("elsewhere the kernel does not say that a caller left whose bytes are unread")
			}
			d := start(t, injector.Config{Stub: injector.Stub{Respond: fault.Respond{Body: "0123456789"}}}, c.rule)
			soundly(t, "the median of 20", func() (any, bool) {
				took := make([]time.Duration, 20)
				for n := range took {
					took[n] = leaves(t, d, c.text)
				}
				m := median(took)
				return m, m < limit
			})
		})
	}
}
