package trace_test

import (
	stdcmp "cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

// anyText is often one that was there before, and now and then a long one or one of its own.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "", "GET", "/charges", "127.0.0.1:40112", "\xff\x00"}), rapid.String(),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat("long ", rapid.SampledFrom([]int{24, 26, 51, 52, 3277, 13107, 13108, 40000}).Draw(t, "words"))
		}),
	)
}

// fill gives every field of an attempt any value, also those that are added one day.
func fill(t *rapid.T, a *trace.Attempt) {
	v := reflect.ValueOf(a).Elem()
	for n := range v.NumField() {
		name, field := v.Type().Field(n).Name, v.Field(n)
		if rapid.Bool().Draw(t, name+" stays") {
			continue
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString(anyText().Draw(t, name))
		case reflect.Int, reflect.Int64:
			field.SetInt(rapid.OneOf(rapid.Int64Range(-1, 3), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, name))
		case reflect.Bool:
			field.SetBool(rapid.Bool().Draw(t, name))
		default:
			t.Fatalf("the test knows no values for %s", name)
		}
	}
}

// Whatever is recorded, in whatever order attempts end, also twice: what is read is that, field by
// field, and later changes are in no snapshot.
func TestAttemptsReadAsRecorded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := trace.NewRecorder(epoch())
		var want []trace.Attempt
		seqs := map[string]int{}
		arrive := func(a trace.Attempt) {
			if handle := rec.Arrived(a); handle != len(want) {
				t.Fatalf("attempt %d has the handle %d", len(want), handle)
			}
			seqs[a.Injector]++
			a.Seq, a.Dep, a.Abandon = seqs[a.Injector], trace.None, trace.None
			want = append(want, a)
		}
		depart := func(handle int, as trace.Attempt) {
			rec.Departed(handle, func(a *trace.Attempt) {
				if *a != want[handle] {
					t.Fatalf("attempt %d, at its end (-want +got):\n%s", handle, cmp.Diff(want[handle], *a))
				}
				*a = as
			})
			want[handle] = as
		}
		checked := map[*trace.Trace][]trace.Attempt{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				var a trace.Attempt
				fill(t, &a)
				arrive(a)
			case 2: // Many, of which most end at once.
				first := len(want)
				for n := range rapid.SampledFrom([]int{1, 1022, 1024, 1026, 2100}).Draw(t, "many") {
					arrive(trace.Attempt{Injector: "payments", ID: fmt.Sprint("a/", n), Path: fmt.Sprint("/", n%7), Arr: time.Duration(n)})
				}
				stays := rapid.IntRange(first, len(want)).Draw(t, "stays")
				for handle := first; handle < len(want); handle++ {
					if handle != stays {
						end := want[handle]
						end.Dep, end.Status, end.Outcome = end.Arr+ms, 200+handle%2, trace.OutcomeAnswered
						depart(handle, end)
					}
				}
			case 3, 4:
				if len(want) > 0 {
					handle := rapid.IntRange(0, len(want)-1).Draw(t, "handle")
					end := want[handle]
					fill(t, &end)
					// These stay.
					end.Injector, end.Seq, end.ID, end.Arr = want[handle].Injector, want[handle].Seq, want[handle].ID, want[handle].Arr
					depart(handle, end)
				}
			case 5:
				checked[rec.Snapshot(trace.Header{})] = sorted(want)
			}
		}
		checked[rec.Snapshot(trace.Header{})] = sorted(want)
		for got, want := range checked {
			if !slices.Equal(want, got.Attempts) { // Which is faster than cmp.
				t.Fatalf("a snapshot (-want +got):\n%s", cmp.Diff(want, got.Attempts))
			}
		}
		if got, want := rec.LedgerHash(), rec.Snapshot(trace.Header{}).LedgerHash(); got != want {
			t.Fatalf("the ledger's hash is %s, that of a snapshot %s", got, want)
		}
		if got := rec.AttemptsFrom(0, len(want)+1); !slices.Equal(want, got) || rec.Recorded() != len(want) {
			t.Fatalf("%d recorded of %d (-want +got):\n%s", rec.Recorded(), len(want), cmp.Diff(want, got))
		}
	})
}

// sorted is a copy in the order of a trace.
func sorted(as []trace.Attempt) []trace.Attempt {
	if len(as) == 0 {
		return nil
	}
	as = slices.Clone(as)
	slices.SortStableFunc(as, func(a, b trace.Attempt) int {
		return stdcmp.Or(byArrival(a, b), stdcmp.Compare(a.Injector, b.Injector), stdcmp.Compare(a.Seq, b.Seq))
	})
	return as
}

// A snapshot is read without the lock while others record; the race detector looks on.
func TestSnapshotsWhileRecording(t *testing.T) {
	const workers, rounds = 4, 3000
	rec := trace.NewRecorder(epoch())
	var work sync.WaitGroup
	for w := range workers {
		work.Go(func() {
			for i := range rounds {
				if i > 1500 {
					rec.Departed(i/3, func(a *trace.Attempt) { a.Status++ })
				}
				path := fmt.Sprintf("/%d/%d", w, i)
				h := rec.Arrived(trace.Attempt{Injector: "payments", Path: path, Arr: time.Duration(i)})
				for range 1 + i%2 { // It is odd to have two ends.
					rec.Departed(h, func(a *trace.Attempt) { a.Dep, a.Detail = time.Duration(i), path })
				}
				if i%1000 != 999 {
					continue
				}
				for _, a := range rec.Snapshot(trace.Header{}).Attempts {
					if a.Dep != trace.None && (a.Detail != a.Path || a.Dep != a.Arr) {
						t.Errorf("attempt %d of %s ended at %v as that of %s", a.Seq, a.Path, a.Dep, a.Detail)
					}
				}
			}
		})
	}
	work.Wait()
	if n := len(rec.Snapshot(trace.Header{}).Attempts); n != workers*rounds {
		t.Errorf("%d attempts, want %d", n, workers*rounds)
	}
}

// What came is found by who asks late, and again by who asks later.
func TestReachedWithoutAskingBefore(t *testing.T) {
	rec := trace.NewRecorder(epoch())
	call := func(at time.Duration) trace.Call {
		return trace.Call{ID: "a/1", Target: "checkout", Send: at, End: at + ms, Status: 503}
	}
	record := func(n int) {
		for i := range n {
			rec.Arrived(trace.Attempt{Injector: "payments", Arr: time.Duration(2*(n-i)) * 10 * ms}) // The last came first.
		}
	}
	record(6000)
	for range 2 {
		for _, i := range []int{1, 2, 4096, 5999, 6000} {
			at := time.Duration(2*i) * 10 * ms
			if !rec.Reached("payments", call(at)) || rec.Reached("payments", call(at+2*ms)) || rec.Reached("billing", call(at)) {
				t.Errorf("a call when attempt %d came has not reached the injector, or one after it has, or it has reached another", i)
			}
		}
		record(10)
	}
	rec.Arrived(trace.Attempt{Injector: "payments", ID: "a/1"})
	if !rec.Reached("payments", call(ms)) || rec.Arrivals("payments", "a/1") != 1 {
		t.Error("an attempt with the id of a call has not reached the injector")
	}
}
