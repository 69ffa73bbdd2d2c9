package control_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// A clear is answered at once, however many hang. Those who hang, and who clears, are
// another process, this test's program in another role: here, its goroutines would wait for
// those of the server. The machine may be busy with something else once, so the best of some
// tries counts.
func TestClearIsFast(t *testing.T) {
	const n, limit = 2000, 100 * time.Millisecond
	if url, ok := os.LookupEnv("FAULTLINE_TEST_CONTROL"); ok {
		_, _ = fmt.Fprintln(os.Stdout, "took", hangAndClear(t, url, os.Getenv("FAULTLINE_TEST_DEPENDENCY"), n))
		return
	}
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	a.want(200, "", "PUT", "/v1/plan", hangs)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	best := time.Hour
	for try := 0; try < 5 && best >= limit; try++ {
		a.want(200, "", "POST", "/v1/phase", `{"name":"out"}`)
		cmd := exec.Command(self, "-test.run=^TestClearIsFast$")
		cmd.Env = append(os.Environ(), "FAULTLINE_TEST_CONTROL="+a.URL(), "FAULTLINE_TEST_DEPENDENCY="+a.deps[0].Addr())
		out, err := cmd.CombinedOutput()
		_, text, _ := strings.Cut(string(out), "took ")
		text, _, _ = strings.Cut(text, "\n")
		took, perr := time.ParseDuration(text)
		if err != nil || perr != nil {
			t.Fatalf("%v, %v: %s", err, perr, out)
		}
		best = min(best, took)
	}
	t.Logf("the clear of %d hung connections was answered in %v", n, best)
	if best >= limit {
		t.Errorf("with %d hung connections a clear was answered in %v", n, best)
	}
}

// hangAndClear opens connections that hang, clears them, and says how long that took; all of
// them must have ended with a FIN.
func hangAndClear(t *testing.T, url, dependency string, n int) time.Duration {
	t.Helper()
	conns := make([]net.Conn, n)
	for k := range conns {
		c, err := net.Dial("tcp", dependency)
		if err != nil {
			t.Fatal(err)
		}
		conns[k] = c
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: dep\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	c := http.Client{}
	defer c.CloseIdleConnections()
	ask := func(method, path string) string {
		req, err := http.NewRequest(method, url+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	held := fmt.Sprintf(`"held":%d,`, n)
	until(t, "all hang", func() bool { return strings.Contains(ask(http.MethodGet, "/v1/state"), held) })
	began := time.Now()
	if got := ask(http.MethodPost, "/v1/clear"); !strings.Contains(got, "dep") {
		t.Fatal(got)
	}
	took := time.Since(began)
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if got, err := io.ReadAll(c); err != nil || string(got) != "HTTP/1.1 " {
			t.Errorf("%q, %v", got, err)
		}
		c.Close()
	}
	return took
}
