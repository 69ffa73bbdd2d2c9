//go:build unix

package injector_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// doorMarks are the kinds of the marks of doors, in order.
func doorMarks(rec *trace.Recorder) []trace.MarkKind {
	var kinds []trace.MarkKind
	for _, m := range rec.Snapshot(trace.Header{}).Marks {
		if m.Kind == trace.MarkDoorShut || m.Kind == trace.MarkDoorOpen {
			kinds = append(kinds, m.Kind)
		}
	}
	return kinds
}

// hammer makes calls by a pool of connections until it is told to stop, and tells the
// recorder of each.
func hammer(rec *trace.Recorder, cor match.Correlator, url string, worker uint64, stop <-chan struct{}) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: 50 * time.Millisecond}
	defer c.CloseIdleConnections()
	for seq := worker << 32; ; seq++ {
		select {
		case <-stop:
			return
		default:
		}
		// A client does not send a POST again that fails on a connection of its pool.
		req, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			panic(err)
		}
		cor.Carry(req.Header.Set, 0, seq)
		call := trace.Call{ID: cor.ID(0, seq), Phase: "p", Target: "t", Send: rec.Since(time.Now()), Status: 502}
		if resp, err := c.Do(req); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err == nil {
				call.Status = resp.StatusCode
			}
		}
		call.End = rec.Since(time.Now())
		rec.Ended(call)
	}
}

// A call that meets a door is never taken for a short circuit, however it hits the moment in
// which that shuts or opens: the caller here has no breaker, so all that comes to nobody
// came to a door.
func TestDoorMarksEncloseTheDoor(t *testing.T) {
	cor := match.Correlator{Run: 7, Phases: []string{"p"}}
	phases := map[string][]fault.Rule{}
	for _, a := range fault.Actions() {
		if a.Door() && (runtime.GOOS == "linux" || a != fault.ActionUnreachable) {
			phases[string(a)] = []fault.Rule{rule(a)}
		}
	}
	d := start(t, injector.Config{Correlator: cor, Script: fault.Script{Phases: phases}})
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for n := range uint64(4) {
		workers.Go(func() { hammer(d.rec, cor, d.URL(), n+1, stop) })
	}
	for range 6 {
		for phase := range phases {
			for _, p := range []string{phase, ""} {
				enter(t, d.Injector, p)
				time.Sleep(7 * time.Millisecond) // Some calls come while it is so.
			}
		}
	}
	close(stop)
	workers.Wait()
	if err := d.Close(); err != nil { // It has read by now what waited.
		t.Error(err)
	}
	kinds := map[trace.Kind]int{}
	j := d.rec.Snapshot(trace.Header{}).Join("dep", func(string) bool { return true })
	for _, c := range j.Calls {
		kinds[c.Kind]++
		if c.Kind == trace.Short || c.Kind == trace.Lost {
			t.Errorf("a call from %v to %v, answered %d, is %s; blind was %v", c.Call.Send, c.Call.End, c.Call.Status, c.Kind, j.Blind)
		}
	}
	if want := 6 * len(phases); len(j.Blind) != want || kinds[trace.Unknown] == 0 || kinds[trace.Admitted] == 0 {
		t.Errorf("blind %d times, want %d; calls are %v", len(j.Blind), want, kinds)
	}
}

// From one door to the next it is blind all the time, and so it is from the start.
func TestDoorMarksOfWhatFollows(t *testing.T) {
	rec := trace.NewRecorder(time.Now())
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "dep", Recorder: rec, Phase: "refuse",
		Script: fault.Script{Phases: map[string][]fault.Rule{"refuse": {rule(fault.ActionRefuse)}, "deaf": {rule(fault.ActionDeaf)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	began := rec.Since(time.Now())
	for _, phase := range []string{"deaf", "refuse", "", ""} {
		enter(t, in, phase)
	}
	id, err := in.Apply(rule(fault.ActionDeaf), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Clear(); err != nil {
		t.Fatal(err)
	}
	want := []trace.MarkKind{trace.MarkDoorShut, trace.MarkDoorOpen, trace.MarkDoorShut, trace.MarkDoorOpen}
	if diff := cmp.Diff(want, doorMarks(rec)); diff != "" {
		t.Errorf("with fault %s (-want +got):\n%s", id, diff)
	}
	blind := rec.Snapshot(trace.Header{}).Blind("dep")
	if len(blind) != 2 || blind[0].Why != "refuse" || blind[0].From > began || blind[1].Why != "deaf" {
		t.Errorf("blind %v, began at %v", blind, began)
	}
}

// A door that cannot be had is said to be shut all the same, until a phase without it.
func TestDoorMarksWithoutADoor(t *testing.T) {
	network, rec := memnet.New(1), trace.NewRecorder(time.Now())
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "dep", Addr: "dep:80", Listen: network.Listen, Recorder: rec,
		Script: fault.Script{Phases: map[string][]fault.Rule{"p": {rule(fault.ActionRefuse)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.Enter("p"); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("got %v", err)
	}
	enter(t, in, "")
	if diff := cmp.Diff([]trace.MarkKind{trace.MarkDoorShut, trace.MarkDoorOpen}, doorMarks(rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What waited behind a deaf door is said to have come late, and nothing else.
func TestLateAttempts(t *testing.T) {
	d := start(t, injector.Config{}, rule(fault.ActionDeaf))
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func() {
		t.Helper()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	until(t, "it is parked", func() bool { return d.State().Held == 1 })
	enter(t, d.Injector, "")
	until(t, "it is served", func() bool { return d.rec.Recorded() == 1 })
	ask()
	until(t, "the next is served", func() bool { return d.rec.Recorded() == 2 })
	as := d.rec.AttemptsFrom(0, 2)
	if !as[0].Late || as[1].Late {
		t.Errorf("late: %t, then %t; want true, then false", as[0].Late, as[1].Late)
	}
}
