package bulkhead_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
)

// TestSemaphoreProperties drives a fair bulkhead by calls that come, end, wait and go
// away, and knows of each what may become of it:
//
//   - never more calls are under way than permitted;
//   - every wait ends exactly once, and not after its Until;
//   - those let in are let in by order of arrival;
//   - nobody waits while a place is free, and places are conserved.
func TestSemaphoreProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := bulkhead.DefaultSemaphore()
		cfg.MaxConcurrentCalls = rapid.IntRange(0, 4).Draw(t, "max")
		cfg.MaxWait = time.Duration(rapid.IntRange(0, 30).Draw(t, "wait")) * time.Millisecond
		s := must(bulkhead.NewSemaphore(cfg))
		now := time.Unix(0, 0)
		until := map[bulkhead.Ticket]time.Time{}
		underWay, lastIn := 0, bulkhead.Ticket(0)
		collect := func() {
			for _, e := range s.Endings() {
				limit, waits := until[e.Ticket]
				if !waits || e.At.After(limit) || e.At.After(now) {
					t.Fatalf("%+v ends a wait that is to end at %v (waiting: %v)", e, limit, waits)
				}
				delete(until, e.Ticket)
				if e.Verdict == bulkhead.Admitted {
					underWay++
					if e.Ticket < lastIn {
						t.Fatalf("%d was let in after %d", e.Ticket, lastIn)
					}
					lastIn = e.Ticket
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(*rapid.T) {
				a := s.Acquire(now)
				switch a.Verdict {
				case bulkhead.Admitted:
					underWay++
				case bulkhead.Waiting:
					until[a.Ticket] = a.Until
				case bulkhead.Rejected:
				}
			},
			"release": func(t *rapid.T) {
				if underWay == 0 {
					t.Skip("no call is under way")
				}
				underWay--
				s.Release(now)
			},
			"cancel": func(t *rapid.T) {
				s.Cancel(now, bulkhead.Ticket(rapid.IntRange(0, 50).Draw(t, "ticket")))
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				s.Advance(now)
				collect()
				m := s.Metrics()
				want := bulkhead.SemaphoreMetrics{Available: cfg.MaxConcurrentCalls - underWay, Max: cfg.MaxConcurrentCalls, Waiting: len(until)}
				if diff := cmp.Diff(want, m); diff != "" {
					t.Fatalf("metrics (-want +got):\n%s", diff)
				}
				if m.Available < 0 || m.Available > 0 && m.Waiting > 0 {
					t.Fatalf("%+v", m)
				}
			},
		})
		for underWay > 0 || len(until) > 0 { // All wind up.
			now = now.Add(cfg.MaxWait)
			s.Advance(now)
			collect()
			if underWay > 0 {
				underWay--
				s.Release(now)
				collect()
			}
		}
	})
}

// TestChangesConservePlaces changes the limit as well: whatever waits, the limit in
// force is the sum of calls under way and free places, less what a change has taken.
func TestChangesConservePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := bulkhead.SemaphoreConfig{
			MaxConcurrentCalls: rapid.IntRange(0, 4).Draw(t, "max"),
			MaxWait:            time.Hour,
			FairCallHandling:   rapid.Bool().Draw(t, "fair"),
		}
		s := must(bulkhead.NewSemaphore(cfg))
		underWay, now := 0, time.Unix(0, 0)
		changes := map[bulkhead.Ticket]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(*rapid.T) {
				if s.Acquire(now).Verdict == bulkhead.Admitted {
					underWay++
				}
			},
			"release": func(t *rapid.T) {
				if underWay == 0 {
					t.Skip("no call is under way")
				}
				underWay--
				s.Release(now)
			},
			"change": func(t *rapid.T) {
				cfg := s.Config()
				cfg.MaxConcurrentCalls = rapid.IntRange(0, 5).Draw(t, "max")
				if a := must(s.Change(now, cfg)); a.Verdict == bulkhead.Waiting {
					changes[a.Ticket] = true
				}
			},
			"": func(t *rapid.T) {
				for _, e := range s.Endings() {
					if !changes[e.Ticket] {
						underWay++
					}
					delete(changes, e.Ticket)
				}
				m := s.Metrics()
				if m.Available < 0 || underWay+m.Available != m.Max {
					t.Fatalf("%d under way, %+v", underWay, m)
				}
				if m.Available == 0 || len(changes) > 0 {
					return
				}
				if m.Waiting > 0 {
					t.Fatalf("some wait although there is room: %+v", m)
				}
			},
		})
	})
}

// TestThreadPoolProperties conserves calls: each is rejected, or runs once. The queued
// ones start in order. There are never more threads than the maximum, nor more than the
// core while the queue has room, unless they were started before.
func TestThreadPoolProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		core := rapid.IntRange(1, 3).Draw(t, "core")
		cfg := bulkhead.ThreadPoolConfig{
			Core: core, Max: core + rapid.IntRange(0, 3).Draw(t, "more"),
			QueueCapacity: rapid.IntRange(0, 3).Draw(t, "queue"),
			KeepAlive:     time.Duration(rapid.IntRange(0, 30).Draw(t, "keep")) * time.Millisecond,
		}
		p := must(bulkhead.NewThreadPool(cfg))
		now := time.Unix(0, 0)
		var queued []bulkhead.Ticket
		running := 0
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				before := p.Metrics()
				s := p.Submit(now)
				if s.Metrics != p.Metrics() {
					t.Fatalf("answered %+v, is %+v", s.Metrics, p.Metrics())
				}
				switch s.Verdict {
				case bulkhead.Admitted:
					running++
				case bulkhead.Waiting:
					queued = append(queued, s.Ticket)
				case bulkhead.Rejected:
					if running != cfg.Max || len(queued) != cfg.QueueCapacity {
						t.Fatalf("rejected with %+v", s.Metrics)
					}
				}
				if s.Metrics.Size > max(before.Size, cfg.Core) && s.Metrics.QueueRemaining > 0 {
					t.Fatalf("a thread beyond the core while there is room: %+v", s.Metrics)
				}
			},
			"finish": func(t *rapid.T) {
				if running == 0 {
					t.Skip("no call is running")
				}
				ticket, ok := p.Finish(now)
				if ok != (len(queued) > 0) || ok && ticket != queued[0] {
					t.Fatalf("started %d (%v), queued were %v", ticket, ok, queued)
				}
				if ok {
					queued = slices.Delete(queued, 0, 1)
				} else {
					running--
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				p.Advance(now)
				m := p.Metrics()
				want := bulkhead.ThreadPoolMetrics{
					QueueDepth: len(queued), QueueCapacity: cfg.QueueCapacity, QueueRemaining: cfg.QueueCapacity - len(queued),
					Size: m.Size, Core: cfg.Core, Max: cfg.Max, Active: running, Available: cfg.Max - running,
				}
				if diff := cmp.Diff(want, m); diff != "" {
					t.Fatalf("metrics (-want +got):\n%s", diff)
				}
				if m.Size > cfg.Max || m.Size < running || m.QueueRemaining < 0 || m.QueueDepth > 0 && m.Active < m.Size {
					t.Fatalf("%+v", m)
				}
				if due, ok := p.NextTimer(); ok && (!due.After(now) || due.After(now.Add(cfg.KeepAlive))) {
					t.Fatalf("the next thread ends at %v, now is %v", due, now)
				}
			},
		})
		now = now.Add(time.Minute)
		for running > 0 {
			if _, ok := p.Finish(now); !ok {
				running--
			}
		}
		p.Advance(now.Add(cfg.KeepAlive))
		if m := p.Metrics(); m.Size > cfg.Core || m.Active != 0 {
			t.Fatalf("in the end %+v", m)
		}
	})
}

func TestVerdictString(t *testing.T) {
	got := fmt.Sprint(bulkhead.Rejected, bulkhead.Admitted, bulkhead.Waiting, bulkhead.Verdict(7))
	if want := "rejected admitted waiting Verdict(7)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
