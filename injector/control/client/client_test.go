package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/control/client"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

const token = "0123456789abcdef"

// begin starts an API over one injector, whose phase out answers 503.
func begin(t testing.TB, lease time.Duration) (*client.Client, *injector.Injector) {
	t.Helper()
	rec := trace.NewRecorder(time.Now())
	script := fault.Script{Phases: map[string][]fault.Rule{"out": {answering(503)}}}
	i, err := injector.Start(t.Context(), injector.Config{Name: "dep", Recorder: rec, Script: script, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	s, err := control.Start(t.Context(), control.Config{Injectors: []*injector.Injector{i}, Recorder: rec, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &client.Client{URL: s.URL() + "/", Token: token}, i
}

func answering(status int) fault.Rule {
	return fault.Rule{Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionRespond, Respond: fault.Respond{Status: status}}
}

func status(t testing.TB, i *injector.Injector) int {
	t.Helper()
	resp, err := http.Get(i.URL())
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestClient(t *testing.T) {
	c, i := begin(t, time.Hour)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Enter(ctx, "out"))
	if got := status(t, i); got != 503 {
		t.Errorf("the phase answers %d", got)
	}
	plan, tag, err := c.Plan(ctx, "")
	must(err)
	want := answering(503)
	want.ID = "out/1"
	if diff := cmp.Diff(fault.Script{Phases: map[string][]fault.Rule{"out": {want}}}, plan); diff != "" {
		t.Error(diff)
	}
	plan.Phases["out"][0].Respond.Status = 502
	now, err := c.Replace(ctx, "dep", plan, tag)
	must(err)
	if got := status(t, i); got != 502 || now == tag {
		t.Errorf("the new plan answers %d, tag %s", got, now)
	}
	_, err = c.Replace(ctx, "dep", plan, tag)
	if e, ok := errors.AsType[*client.Error](err); !errors.Is(err, client.ErrStale) || !ok || e.Status != 412 || e.ETag != now {
		t.Errorf("a stale tag: %+v", err)
	}
	plan.Phases["out"][0].Respond.Status = 1
	if _, err := c.Replace(ctx, "", plan, ""); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "respond.status: 1 is not") {
		t.Errorf("an invalid plan: %v", err)
	}
	added, err := c.Add(ctx, "dep", answering(418), time.Minute)
	must(err)
	if got := status(t, i); got != 418 || added.ID != "added/1" || time.Until(added.Until) > time.Minute {
		t.Errorf("%+v answers %d", added, got)
	}
	must(c.Clear(ctx, ""))
	if got := status(t, i); got != 200 {
		t.Errorf("cleared, it answers %d", got)
	}
	tail, err := c.Ledger(ctx, 1)
	must(err)
	var rules []string
	for _, l := range tail.Lines {
		rules = append(rules, l.Rule)
	}
	if diff := cmp.Diff([]string{"out/1", "added/1", ""}, rules); diff != "" || tail.Next != 4 {
		t.Errorf("next %d, %s", tail.Next, diff)
	}
	state, err := c.State(ctx)
	must(err)
	if s := state.Injectors[0]; s.Requests != 4 || s.Faulted != 3 || s.ETag != now {
		t.Errorf("%+v", s)
	}
	if text, err := c.Metrics(ctx); err != nil || !strings.Contains(string(text), `faultline_requests_total{injector="dep"} 4`) {
		t.Errorf("%v, %s", err, text)
	}
	if until, err := c.Renew(ctx); err != nil || time.Until(until) < 30*time.Minute {
		t.Errorf("%v, %v", until, err)
	}
	if _, err := c.Next(ctx); !errors.Is(err, client.ErrNoNext) {
		t.Errorf("next after the last: %v", err)
	}
	must(c.Enter(ctx, ""))
	if next, err := c.Next(ctx); err != nil || next != "out" {
		t.Errorf("next is %q, %v", next, err)
	}
}

// What is watched is the state as it is asked for.
func TestWatch(t *testing.T) {
	c, i := begin(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	enough := errors.New("enough")
	phases := []string{}
	err := c.Watch(ctx, func(s control.State) error {
		if len(s.Injectors) != 1 || s.Injectors[0].URL != i.URL() {
			t.Errorf("%+v", s)
		}
		phases = append(phases, s.Injectors[0].Phase)
		switch len(phases) {
		case 1:
			return c.Enter(ctx, "out")
		case 2:
			return i.Clear()
		}
		asked, err := c.State(ctx)
		asked.Now = s.Now
		if diff := cmp.Diff(asked, s); diff != "" || err != nil {
			t.Errorf("%v, asked -, watched +:\n%s", err, diff)
		}
		return enough
	})
	if diff := cmp.Diff([]string{"", "out", "out"}, phases); diff != "" || !errors.Is(err, enough) {
		t.Errorf("%v, %s", err, diff)
	}
	err = c.Watch(ctx, func(control.State) error {
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("cancelled: %v", err)
	}
	if err := (&client.Client{URL: c.URL}).Watch(t.Context(), nil); !errors.Is(err, client.ErrUnauthorized) {
		t.Error(err)
	}
}

func TestClientErrors(t *testing.T) {
	c, _ := begin(t, 0)
	ctx := t.Context()
	if err := c.Enter(ctx, "nowhere"); !errors.Is(err, client.ErrUnknownPhase) || errors.Is(err, client.ErrStale) {
		t.Error(err)
	}
	if _, err := c.Renew(ctx); !errors.Is(err, client.ErrNoLease) {
		t.Error(err)
	}
	if err := c.KeepRenewed(ctx, time.Second); !errors.Is(err, client.ErrNoLease) {
		t.Error(err)
	}
	if _, err := (&client.Client{URL: c.URL}).State(ctx); !errors.Is(err, client.ErrUnauthorized) {
		t.Error(err)
	}
	short, _ := begin(t, time.Nanosecond)
	if _, err := short.Renew(ctx); !errors.Is(err, client.ErrLapsed) {
		t.Error(err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, err := (&client.Client{URL: other.URL}).State(ctx)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 404 || e.Code != "unknown" {
		t.Error(err)
	}
	other.Close()
	if _, err := (&client.Client{URL: other.URL}).State(ctx); err == nil {
		t.Error("nobody answered")
	}
}

// A controller that is killed takes the faults with it, within the lease, at whatever
// moment. The controller is this test's program in another role.
func TestKilledController(t *testing.T) {
	if url := os.Getenv("FAULTLINE_TEST_CONTROL"); url != "" {
		lease, err := time.ParseDuration(os.Getenv("FAULTLINE_TEST_LEASE"))
		if err != nil {
			t.Fatal(err)
		}
		c := client.Client{URL: url, Token: token}
		err = client.ErrLapsed // before it began
		for errors.Is(err, client.ErrLapsed) {
			err = c.KeepRenewed(context.Background(), lease/4)
		}
		t.Fatal(err)
	}
	kills := 5
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		kills = 100
	}
	const lease = 200 * time.Millisecond
	c, i := begin(t, lease)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for n := range kills {
		controller := exec.Command(self, "-test.run=^TestKilledController$")
		controller.Env = append(os.Environ(), "FAULTLINE_TEST_CONTROL="+c.URL, "FAULTLINE_TEST_LEASE="+lease.String())
		if err := controller.Start(); err != nil {
			t.Fatal(err)
		}
		// It is there when it has renewed, which the lease's end tells by moving.
		was := i.State().Lease.Until
		for limit := time.Now().Add(time.Minute); !i.State().Lease.Until.After(was); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatal("the controller does not renew the lease")
			}
		}
		// A controller that this machine starved has lost its lease; that is no kill.
		if err := i.Enter("out"); err != nil {
			if lost++; lost > kills {
				t.Fatal("the machine is too slow for a lease of ", lease)
			}
		}
		time.Sleep(time.Duration(n*7919%100) * lease / 100) // at another moment each time
		if err := controller.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = controller.Wait() // "signal: killed" is what was wanted.
		dead := time.Now()
		passesWithin(t, i, dead, lease)
	}
	t.Logf("%d kills, in %d the lease was lost before", kills, lost)
}

// passesWithin asks until after the lease that may have been renewed up to an instant: what
// is sent later is answered by a healthy dependency.
func passesWithin(t *testing.T, i *injector.Injector, dead time.Time, lease time.Duration) {
	t.Helper()
	faulted := 0
	for after := 0; after < 3; {
		sent := time.Now()
		// A renewal that was on its way when its sender died counts from when it came, so
		// the end is asked for.
		end := i.State().Lease.Until
		late := !sent.Before(end)
		switch got := status(t, i); {
		case late && got != 200:
			t.Fatalf("%v after the end of the lease: %d", sent.Sub(end), got)
		case late:
			after++
		case got == 503:
			faulted++
		}
	}
	end := i.State().Lease.Until
	// It came within what the machine took to run the server, which is not the lease's doing.
	if over := end.Sub(dead.Add(lease)); over > time.Second {
		t.Errorf("the lease ended %v later than a lease after the kill", over)
	}
	t.Logf("%d were faulted after the kill", faulted)
}
