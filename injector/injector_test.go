package injector_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// patience bounds what must happen at once on any machine.
const patience = 10 * time.Second

// dependency is an injector under test with its recorder.
type dependency struct {
	*injector.Injector
	rec *trace.Recorder
}

// start runs an injector "dep" whose phase "p" has these rules, and enters it.
func start(t testing.TB, cfg injector.Config, rules ...fault.Rule) dependency {
	t.Helper()
	d := dependency{rec: trace.NewRecorder(time.Now())}
	cfg.Name, cfg.Recorder, cfg.Seed = "dep", d.rec, 1
	if cfg.Script.Phases == nil {
		cfg.Script.Phases = map[string][]fault.Rule{"p": rules}
	}
	i, err := injector.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Injector = i
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	i.Enter("p")
	return d
}

// There is no moment in which a port answers and its faults are not there yet: a caller who
// comes at once would be answered, and shift what is hit after him.
func TestTheFirstCallerMeetsTheFaults(t *testing.T) {
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "dep", Recorder: trace.NewRecorder(time.Now()), Phase: "p", Script: fault.Script{Phases: map[string][]fault.Rule{
			"p": {{Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}, Select: fault.Select{Kind: fault.SelectFirst, First: 1}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, want := range []int{503, 200} {
		resp, err := http.Get(in.URL())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("got %d, want %d", resp.StatusCode, want)
		}
	}
}

// attempts closes the injector, which completes all records, and returns them.
func (d dependency) attempts(t testing.TB) []trace.Attempt {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	as := d.snapshot()
	for _, a := range as {
		if a.Outcome == trace.OutcomeOpen {
			t.Errorf("attempt %d has no end after Close", a.Seq)
		}
	}
	return as
}

func (d dependency) snapshot() []trace.Attempt { return d.rec.Snapshot(trace.Header{}).Attempts }

// only returns the one attempt there is.
func (d dependency) only(t testing.TB) trace.Attempt {
	t.Helper()
	as := d.attempts(t)
	if len(as) != 1 {
		t.Fatalf("%d attempts, want one: %+v", len(as), as)
	}
	return as[0]
}

// until polls for what happens in another goroutine that tells nobody.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("still not: " + what)
		}
	}
}

// ended counts attempts that have an end.
func (d dependency) ended() int {
	n := 0
	for _, a := range d.snapshot() {
		if a.Outcome != trace.OutcomeOpen {
			n++
		}
	}
	return n
}

// client returns a keep-alive client that is closed with the test.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// get returns status and body, or the error.
func get(c *http.Client, url string) (int, string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// rule is a fault of every request.
func rule(a fault.Action) fault.Rule {
	r := fault.Rule{Select: fault.Select{Kind: fault.SelectAll}, Action: a}
	if a == fault.ActionRespond {
		r.Respond.Status = http.StatusServiceUnavailable
	}
	return r
}

func stealthy(r fault.Rule) fault.Rule { r.Stealth = true; return r }

func ratio(r fault.Rule, num, den uint64) fault.Rule {
	r.Select = fault.Select{Kind: fault.SelectRatio, Num: num, Den: den}
	return r
}

func request(method string, body int) string {
	var b strings.Builder
	b.WriteString(method + " /x HTTP/1.1\r\nHost: dep\r\n")
	if body > 0 {
		b.WriteString("Content-Length: " + strconv.Itoa(body) + "\r\n")
	}
	b.WriteString("\r\n")
	b.WriteString(strings.Repeat("b", body))
	return b.String()
}

// observer is a raw socket, as an HTTP client's view of a fault is not the wire's.
type observer struct {
	conn net.Conn
	r    *bufio.Reader
}

func observe(t testing.TB, addr string) observer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return observer{conn, bufio.NewReader(conn)}
}

// say sends a request, in the background as its answer may come before its end.
func (o observer) say(text string) {
	go io.WriteString(o.conn, text)
}

// rest returns all bytes up to the end of the connection, and which end it was.
func (o observer) rest() (seen, end string) {
	all, err := io.ReadAll(o.r)
	switch {
	case err == nil:
		return string(all), "FIN"
	case errors.Is(err, syscall.ECONNRESET):
		return string(all), "RST"
	default:
		return string(all), err.Error()
	}
}

// settle waits until no more goroutines run than before.
func settle(t testing.TB, before int) {
	t.Helper()
	until(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
}

func enter(t *testing.T, in *injector.Injector, phase string) {
	t.Helper()
	if err := in.Enter(phase); err != nil {
		t.Fatal(err)
	}
}
