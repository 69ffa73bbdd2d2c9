//go:build unix

package injector_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// behindDoors is an injector with a phase for each thing that is done to those who connect.
func behindDoors(t *testing.T) *injector.Injector {
	t.Helper()
	phases := map[string][]fault.Rule{}
	for _, a := range fault.Actions() {
		if a.Door() {
			phases[string(a)] = []fault.Rule{{Action: a, Select: fault.Select{Kind: fault.SelectAll}}}
		}
	}
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "door", Recorder: trace.NewRecorder(time.Now()), Script: fault.Script{Phases: phases},
		Stub: injector.Stub{Respond: fault.Respond{Body: "ok"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return in
}

// dialed says what becomes of a connection.
func dialed(t *testing.T, in *injector.Injector) string {
	t.Helper()
	c, err := (&net.Dialer{Timeout: 200 * time.Millisecond}).DialContext(t.Context(), "tcp", in.Addr())
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case timeout != nil && timeout.Timeout():
		return "unanswered"
	case err != nil:
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
		return "silent"
	}
	return "served"
}

// Each of them begins and ends with its phase, however often, at the same port.
func TestDoorsOpenAgain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not all of this can be done here; selftest names what cannot")
	}
	in := behindDoors(t)
	for range 3 {
		for phase, want := range map[string]string{"refuse": "refused", "unreachable": "unanswered", "deaf": "silent"} {
			enter(t, in, phase)
			if got := dialed(t, in); got != want {
				t.Errorf("%s: a connection is %s, want %s", phase, got, want)
			}
			enter(t, in, "")
			if got := dialed(t, in); got != "served" {
				t.Errorf("after %s a connection is %s", phase, got)
			}
		}
	}
	for _, phase := range []string{"refuse", "unreachable", "deaf", "refuse"} {
		enter(t, in, phase) // From one to the next, too.
	}
	if got := dialed(t, in); got != "refused" {
		t.Errorf("a connection is %s, want refused", got)
	}
}

// Nobody else gets the port while connections are refused.
func TestARefusedPortIsKept(t *testing.T) {
	in := behindDoors(t)
	enter(t, in, "refuse")
	plain := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if controlErr := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		}); controlErr != nil {
			return controlErr
		}
		return err
	}}
	l, err := plain.Listen(t.Context(), "tcp", in.Addr())
	if err == nil {
		l.Close()
		t.Error("another program has taken the port")
	}
}

// A connection of a pool does not outlive the fault: one that idles is closed at once, one
// that is busy when its answer is through.
func TestDoorsCloseWhatIdles(t *testing.T) {
	in := behindDoors(t)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", in.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	enter(t, in, "deaf")
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection is left with %v, want EOF", err)
	}
}

// What cannot be done is said, and what was before goes on.
func TestDoorsNeedARealNetwork(t *testing.T) {
	network := memnet.New(1)
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "door", Addr: "dep:80", Listen: network.Listen, Recorder: trace.NewRecorder(time.Now()),
		Script: fault.Script{Phases: map[string][]fault.Rule{"down": {{Action: fault.ActionRefuse, Select: fault.Select{Kind: fault.SelectAll}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.Enter("down"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want that it is not supported", err)
	}
	c, err := network.DialContext(t.Context(), "tcp", "dep:80")
	if err != nil {
		t.Fatalf("nobody listens any more: %v", err)
	}
	c.Close()
}
