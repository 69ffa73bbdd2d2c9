package injector_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// Replacing the plan, adding faults and clearing them, again and again, leaves nothing behind but the
// marks of the trace, which are kept by design.
func TestChangesLeaveNothingBehind(t *testing.T) {
	n := sized(3_000, 100_000)
	d := start(t, injector.Config{Limits: injector.Limits{PerSecond: 10}}, answering(503))
	c := client(t)
	others := func(k int) fault.Script {
		rules := []fault.Rule{answering(503), rule(fault.ActionHang), slow(answering(500), time.Minute), rule(fault.ActionReset)}
		for r := range rules {
			rules[r].ID = string(rune('a'+r)) + time.Duration(k).String()
			rules[r].Match.Path = "/other" + string(rune('a'+r))
		}
		return scriptOf(rules...)
	}
	change := func(k int) {
		if _, err := d.Replace(others(k)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(rule(fault.ActionClose), time.Minute); err != nil {
			t.Fatal(err)
		}
		if k%2 == 0 {
			if err := d.Clear(); err != nil {
				t.Fatal(err)
			}
		} else {
			d.Enter("p")
		}
		if k%100 == 0 {
			get(c, d.URL())
		}
	}
	for k := range 1000 { // What is made once is made now.
		change(-k - 1)
	}
	routines, files, marks, before := runtime.NumGoroutine(), descriptors(), marksOf(d), heap()
	for k := range n {
		change(k)
	}
	until(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= routines })
	until(t, "all files are closed", func() bool { return descriptors() <= files })
	grown, more := heap()-before, marksOf(d)-marks
	t.Logf("%d bytes more after %d changes, with %d marks: %d bytes a mark", grown, n, more, grown/int64(more))
	// A mark has an instant and three texts; what holds them grows by a quarter at a time.
	const most = 400
	if grown > int64(more*most)+1<<20 {
		t.Errorf("%d bytes more after %d changes, with %d marks", grown, n, more)
	}
}

func marksOf(d dependency) int { return len(d.rec.Snapshot(trace.Header{}).Marks) }
