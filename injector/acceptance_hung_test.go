package injector_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// crowd is many callers in a process of their own: with those of the injector, their
// descriptors would be too many for one process, and their goroutines in the count.
type crowd struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// The environment of a crowd.
const (
	crowdAddr = "FAULTLINE_TEST_CROWD"
	crowdSize = "FAULTLINE_TEST_CROWD_SIZE"
)

// gather starts a crowd of n, which is this test's program in another role; it returns when
// all of them hang.
func gather(t *testing.T, d dependency, n int) crowd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestAcceptedHung$")
	cmd.Env = append(os.Environ(), crowdAddr+"="+d.Addr(), fmt.Sprintf("%s=%d", crowdSize, n))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // It has ended, or the test has failed.
	for limit := time.Now().Add(2 * time.Minute); d.State().Held < n; time.Sleep(ms) {
		if time.Now().After(limit) {
			t.Fatalf("%d of %d hang", d.State().Held, n)
		}
	}
	return crowd{cmd, bufio.NewReader(out)}
}

// ended waits for the end of all, and says how they ended.
func (c crowd) ended(t *testing.T) string {
	t.Helper()
	all, err := io.ReadAll(c.out)
	if err = errors.Join(err, c.cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, all)
	}
	_, text, _ := strings.Cut(string(all), "ended: ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// hangOn is the other role: n callers who hang until they are sent away.
func hangOn(addr string, n int) (string, error) {
	conns := make([]net.Conn, n)
	for k := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return "", err
		}
		conns[k] = c
		if _, err := io.WriteString(c, request("GET", 0)); err != nil {
			return "", err
		}
	}
	ends := map[string]int{}
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(2 * time.Minute))
		got, err := io.ReadAll(c)
		ends[fmt.Sprintf("%q, %v", got, err)]++
		c.Close()
	}
	return fmt.Sprint(ends), nil
}

// Ten thousand that hang at once are cleared at once, and nothing of them is left: no
// goroutine, no descriptor, and no memory but their lines in the ledger.
func TestAcceptedHung(t *testing.T) {
	if addr := os.Getenv(crowdAddr); addr != "" {
		var n int
		if _, err := fmt.Sscan(os.Getenv(crowdSize), &n); err != nil {
			t.Fatal(err)
		}
		ends, err := hangOn(addr, n)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintln(os.Stdout, "ended:", ends)
		return
	}
	n := sized(1000, 10_000)
	d := start(t, injector.Config{}, rule(fault.ActionHang))
	round := func(n int) (cleared time.Duration) {
		d.Enter("p")
		c := gather(t, d, n)
		began := time.Now()
		if err := d.Clear(); err != nil {
			t.Error(err)
		}
		cleared = time.Since(began)
		if got, want := c.ended(t), fmt.Sprint(map[string]int{fmt.Sprintf("%q, <nil>", halfLine): n}); got != want {
			t.Errorf("they ended with %s, want %s: all with a FIN", got, want)
		}
		until(t, "all are gone", func() bool { return d.State().Active == 0 })
		return cleared
	}
	round(n) // What is made once is made now, and what is kept for the next ones.
	routines, files, before := runtime.NumGoroutine(), descriptors(), heap()
	cleared := round(n)
	settle(t, routines)
	until(t, "all files are closed", func() bool { return descriptors() <= files })
	// A line of the ledger is some hundred bytes, twice that while its list grows; a connection
	// that hangs is over ten thousand.
	const line = 4000
	grown := (heap() - before) / int64(n)
	t.Logf("%d hung connections were cleared in %v; of each, %d bytes are left", n, cleared, grown)
	if grown > line {
		t.Errorf("%d bytes are left of each of %d hung connections", grown, n)
	}
	if s := d.State(); s.Active != 0 || s.Held != 0 {
		t.Errorf("%+v", s)
	}
}
