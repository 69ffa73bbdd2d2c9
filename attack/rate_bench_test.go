package attack_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

const (
	trialTime = 1500 * time.Millisecond
	lateP99   = 10 * time.Millisecond // what the judge asks for by default
	// The search begins at lowestRate and goes up by steps, for far beyond its limits a
	// tool takes seconds to recover. It ends when the rates that were held and that
	// were not are within closeRates.
	lowestRate, stepRates, closeRates = 1000, 1.4, 1.03
)

// BenchmarkHighestRate searches for the highest rate of an open loop at which 99 % of
// the slots arrive at a server within 10 ms of when they are due: through this
// package and through vegeta as its users have it, the two by turns. Both keep a
// record of every call, and the server keeps one of every arrival. Each iteration is
// a round; run it on a machine that does nothing else:
//
//	go test -run='^$' -bench=HighestRate -benchtime=10x ./attack
func BenchmarkHighestRate(b *testing.B) {
	tools := []string{"faultline", "vegeta"}
	rates := make([][]float64, len(tools))
	var ratios []float64
	for round := 0; b.Loop(); round++ {
		got := highestRates(b, tools, round)
		for i, rate := range got {
			rates[i] = append(rates[i], rate)
		}
		ratios = append(ratios, got[0]/got[1])
		b.Logf("round %d: faultline %.0f/s, vegeta %.0f/s, ratio %.3f", round+1, got[0], got[1], got[0]/got[1])
	}
	for i, tool := range tools {
		b.Logf("%s: %s calls/s", tool, spread(rates[i], "%.0f"))
		b.ReportMetric(median(rates[i]), tool+"/s")
	}
	b.Logf("ratio: %s", spread(ratios, "%.3f"))
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(0, "ns/op") // An iteration is a search: its time says nothing.
}

// highestRates searches the highest rate of each tool. Their trials take turns, so
// that whatever else the machine does hits all of them.
func highestRates(b *testing.B, tools []string, round int) []float64 {
	low, high := make([]float64, len(tools)), make([]float64, len(tools))
	for i := range tools {
		low[i], high[i] = lowestRate, math.Inf(1)
	}
	for open := true; open; {
		open = false
		for k := range tools {
			i := (k + round) % len(tools) // Another begins in each round.
			if high[i]/low[i] < closeRates {
				continue
			}
			open = true
			if rate := math.Sqrt(low[i] * min(high[i], low[i]*stepRates*stepRates)); holds(b, tools[i], int(rate)) {
				low[i] = rate
			} else {
				high[i] = rate
			}
		}
	}
	return low
}

// holds reports whether a tool can send a rate: in one of three trials, for a machine
// has its moments.
func holds(b *testing.B, tool string, rate int) bool {
	for range 3 {
		p50, p99 := trial(b, tool, rate)
		if testing.Verbose() {
			b.Logf("%s at %d/s: p50 %v, p99 %v", tool, rate, p50, p99)
		}
		if p99 <= lateP99 {
			return true
		}
	}
	return false
}

// trialKey names the variable that makes this program one trial: a tool and a rate.
const trialKey = "FAULTLINE_RATE_TRIAL"

// trial sends a rate in a process of its own. A process in which vegeta was driven
// beyond its limits, up to 10,000 connections and 20,000 open files, stays half as
// fast afterwards, for both tools.
func trial(b *testing.B, tool string, rate int) (p50, p99 time.Duration) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", trialKey, tool, rate))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("a trial of %s at %d/s: %v", tool, rate, err)
	}
	if _, err := fmt.Sscan(string(out), (*int64)(&p50), (*int64)(&p99)); err != nil {
		b.Fatalf("a trial of %s at %d/s wrote %q: %v", tool, rate, out, err)
	}
	return p50, p99
}

// asTrial makes this process a trial, and ends it, if it was started as one.
func asTrial() {
	var tool string
	var rate int
	if _, err := fmt.Sscan(os.Getenv(trialKey), &tool, &rate); err != nil {
		return
	}
	if err := runTrial(tool, rate); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runTrial prints the median and the 99th percentile of how late slots arrived, in
// nanoseconds. One that did not arrive is as late as can be.
func runTrial(tool string, rate int) error {
	s := newYard()
	stop, err := s.serve()
	if err != nil {
		return err
	}
	var late []time.Duration
	switch tool {
	case "faultline":
		late, err = s.faultline(rate)
	case "vegeta":
		late = s.vegeta(rate)
	default:
		err = fmt.Errorf("no tool %q", tool)
	}
	stop()
	if err != nil {
		return err
	}
	slices.Sort(late)
	_, err = fmt.Fprintln(os.Stdout, int64(late[len(late)/2]), int64(late[(len(late)*99+99)/100-1]))
	return err
}

// yard is a server that notes when each call arrives, by its number.
type yard struct {
	addr     string
	corr     match.Correlator
	arrivals atomic.Pointer[[]atomic.Int64] // since epoch, in nanoseconds, or 0
	epoch    time.Time
}

func newYard() *yard {
	return &yard{corr: match.Correlator{Run: 7, Phases: []string{"one"}}, epoch: time.Now()}
}

// serve starts the server for a trial. Stopping it ends all connections: vegeta leaves
// its own open until its process ends.
func (s *yard) serve() (stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.addr = "http://" + ln.Addr().String() + "/"
	server := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln)
	}()
	return func() {
		_ = server.Close()
		<-done
	}, nil
}

// ServeHTTP reads a call's number where each tool writes it.
func (s *yard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := int64(time.Since(s.epoch))
	seq, err := strconv.ParseUint(r.Header.Get("X-Vegeta-Seq"), 10, 64)
	if err != nil {
		if parent := r.Header.Get("Traceparent"); len(parent) > 35 {
			seq, err = strconv.ParseUint(parent[23:35], 16, 64)
		}
	}
	if arrivals := *s.arrivals.Load(); err == nil && seq < uint64(len(arrivals)) {
		arrivals[seq].Store(now)
	}
	_, _ = w.Write([]byte("ok"))
}

// expect makes room for the arrivals of n calls.
func (s *yard) expect(n int) []atomic.Int64 {
	arrivals := make([]atomic.Int64, n)
	s.arrivals.Store(&arrivals)
	return arrivals
}

// lateness is how late calls arrived that were due at these offsets, by their numbers.
// When the tool began is not known: it is where the earliest call was in time.
func (s *yard) lateness(due []time.Duration, arrivals []atomic.Int64) []time.Duration {
	late := make([]time.Duration, 0, len(arrivals))
	began := time.Duration(math.MaxInt64)
	for seq, at := range due {
		if arrived := time.Duration(arrivals[seq].Load()); arrived != 0 {
			late = append(late, arrived-at)
			began = min(began, arrived-at)
		}
	}
	for i := range late {
		late[i] -= began
	}
	for len(late) < len(arrivals) {
		late = append(late, math.MaxInt64)
	}
	return late
}

// attack sends a phase through this package, as a run of faultline does.
func (s *yard) attack(p attack.Phase) (trace.Phase, []trace.Call, error) {
	rec := trace.NewRecorder(time.Now())
	a, err := attack.New(attack.Config{
		BaseURL: s.addr, Recorder: rec, Correlator: s.corr, Timeout: 30 * time.Second,
		Classes: match.Classes{{Name: "primary", Status: []int{200}, Contains: []string{"ok"}}},
	})
	if err != nil {
		return trace.Phase{}, nil, err
	}
	p.Name, p.Targets = "one", []match.Target{{Name: "any", Path: "/"}}
	got, err := a.Run(context.Background(), p)
	if err != nil {
		return got, nil, err
	}
	if err := a.Wait(context.Background()); err != nil {
		return got, nil, err
	}
	calls := rec.Snapshot(trace.Header{}).Calls
	if len(calls) != got.Sent {
		return got, nil, fmt.Errorf("%d calls recorded of %+v", len(calls), got)
	}
	return got, calls, nil
}

// faultline sends a rate through this package.
func (s *yard) faultline(rate int) ([]time.Duration, error) {
	schedule := pace.Constant{Num: rate, Per: time.Second}
	arrivals := s.expect(schedule.Count(trialTime))
	_, calls, err := s.attack(attack.Phase{Schedule: schedule, Duration: trialTime, MaxInFlight: 1000})
	if err != nil {
		return nil, err
	}
	due := make([]time.Duration, len(arrivals)) // of the slot that a call had, for slots may be dropped
	for _, c := range calls {
		seq, err := strconv.Atoi(c.ID[len("one/"):])
		if err != nil {
			return nil, err
		}
		due[seq] = c.Sched
	}
	return s.lateness(due, arrivals), nil
}

// vegeta sends as vegeta's users do: vegeta attack -rate=R -duration=D.
func (s *yard) vegeta(rate int) []time.Duration {
	pacer := vegeta.Rate{Freq: rate, Per: time.Second}
	due := make([]time.Duration, pace.Constant{Num: rate, Per: time.Second}.Count(trialTime))
	for seq := range due {
		due[seq] = time.Duration(seq) * time.Second / time.Duration(rate)
	}
	arrivals := s.expect(len(due)) // It ends by the clock, and may send some more.
	var results vegeta.Results
	targeter := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: s.addr})
	sent := vegeta.NewAttacker().Attack(targeter, pacer, trialTime, "one")
	for over := time.After(2 * trialTime); ; { // Driven too hard, it waits for 30 s.
		select {
		case r, ok := <-sent:
			if ok {
				results.Add(r)
				continue
			}
		case <-over:
		}
		return s.lateness(due, arrivals)
	}
}

// BenchmarkBurst tells how much of a burst leaves within MaxLate. The rest is dropped,
// and counted so.
func BenchmarkBurst(b *testing.B) {
	for _, n := range []int{10, 30, 100, 300, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := newYard()
			stop, err := s.serve()
			if err != nil {
				b.Fatal(err)
			}
			defer stop()
			var shares []float64
			for b.Loop() {
				s.expect(3 * n)
				got, _, err := s.attack(attack.Phase{
					Schedule: pace.Burst{Calls: n, Every: 200 * time.Millisecond}, Duration: 500 * time.Millisecond, MaxInFlight: n,
				})
				if err != nil {
					b.Fatal(err)
				}
				shares = append(shares, float64(got.Sent)/float64(got.Planned))
			}
			b.ReportMetric(100*median(shares), "%sent")
			b.ReportMetric(100*slices.Min(shares), "%sent-at-least")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkMemoryOfAMillionCalls tells how much of the heap stays in use when a
// recorder has a million calls, and an attempt of each at a dependency, and how long
// it is held up at most by a call more.
func BenchmarkMemoryOfAMillionCalls(b *testing.B) {
	const n = 1_000_000
	corr := match.Correlator{Run: 7, Phases: []string{"outage"}}
	var before, calls, both runtime.MemStats
	var longest time.Duration
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		rec := trace.NewRecorder(time.Now())
		for i := range uint64(n) {
			at := time.Duration(i) * time.Millisecond
			id := corr.ID(0, i)
			began := time.Now()
			rec.Sent(id)
			rec.Ended(trace.Call{
				ID: id, Phase: "outage", Target: "checkout", Sched: at, Send: at, First: at, End: at, Status: 200, Class: "fallback",
			})
			longest = max(longest, time.Since(began))
		}
		runtime.GC()
		runtime.ReadMemStats(&calls)
		for i := range uint64(n) {
			handle := rec.Arrived(trace.Attempt{
				Injector: "payments", ID: corr.ID(0, i), By: match.Traceparent, Phase: "outage", Peer: "127.0.0.1:40112",
				Method: http.MethodPost, Path: "/charges", Arr: time.Duration(i) * time.Millisecond,
			})
			rec.Departed(handle, func(a *trace.Attempt) { a.Outcome, a.Status = trace.OutcomeAnswered, http.StatusOK })
		}
		runtime.GC()
		runtime.ReadMemStats(&both)
		runtime.KeepAlive(rec)
	}
	b.ReportMetric(float64(calls.HeapAlloc-before.HeapAlloc)/n, "B/call")
	b.ReportMetric(float64(both.HeapAlloc-calls.HeapAlloc)/n, "B/attempt")
	b.ReportMetric(float64(both.HeapAlloc-before.HeapAlloc)/1e6, "MB")
	b.ReportMetric(float64(longest.Microseconds())/1e3, "ms-longest-append")
}

func median(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread is the median and the whole range of numbers.
func spread(xs []float64, format string) string {
	return fmt.Sprintf("median "+format+", "+format+" to "+format+" in %d rounds", median(xs), slices.Min(xs), slices.Max(xs), len(xs))
}
