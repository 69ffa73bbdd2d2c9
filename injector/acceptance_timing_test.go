package injector_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// arrivals reads an answer, and says when its head and each piece of its body came, after
// the request was sent.
func arrivals(t *testing.T, c *http.Client, req *http.Request) (head time.Duration, pieces []time.Duration, body string) {
	t.Helper()
	began := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	head = time.Since(began)
	var all strings.Builder
	for buffer := make([]byte, 64<<10); ; {
		n, err := resp.Body.Read(buffer)
		if all.Write(buffer[:n]); n > 0 {
			pieces = append(pieces, time.Since(began))
		}
		if err == io.EOF {
			return head, pieces, all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// asking is a GET.
func asking(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// bodied is a stub with such a body.
func bodied(text string) injector.Config {
	return injector.Config{Stub: injector.Stub{Respond: fault.Respond{Body: text}}}
}

func formed(f fault.Form) fault.Rule {
	r := rule(fault.ActionPass)
	r.Form = f
	return r
}

func dripped(chunks int, over time.Duration) fault.Rule {
	return formed(fault.Form{Drip: &fault.Drip{Chunks: chunks, Over: over}})
}

// In virtual time the last part of what drips comes when it is due, to the nanosecond, and
// so do those before it.
func TestAcceptedDrip(t *testing.T) {
	for _, over := range []time.Duration{ms, time.Second, 7 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			cfg := bodied(strings.Repeat("x", 1001))
			cfg.Listen = p.listen
			d := start(t, cfg, dripped(11, over))
			c := newClient(p)
			defer c.CloseIdleConnections()
			head, pieces, body := arrivals(t, c, asking(t, d.URL()))
			if head != 0 || len(body) != 1001 || len(pieces) != 11 {
				t.Fatalf("over %v: head after %v, %d bytes in %d pieces", over, head, len(body), len(pieces))
			}
			for n, at := range pieces {
				if want := over * time.Duration(n) / 10; at != want {
					t.Errorf("over %v: piece %d after %v, want %v", over, n, at, want)
				}
			}
		})
	}
}

// On the wire it is never early, and within 2 % or 5 ms.
func TestAcceptedDripOnTheWire(t *testing.T) {
	const over = 400 * ms
	d := start(t, bodied(strings.Repeat("x", 1000)), dripped(10, over))
	c := client(t)
	soundly(t, "a drip over 400 ms took", func() (any, bool) {
		head, pieces, body := arrivals(t, c, asking(t, d.URL()))
		took := pieces[len(pieces)-1]
		if took < over || len(body) != 1000 {
			t.Errorf("%d bytes in %v, which is early", len(body), took)
		}
		return took, took-head <= over+max(over*2/100, 5*ms)
	})
}

// paced says how long a body takes at so many bytes a second.
func paced(t *testing.T, c *http.Client, url string) time.Duration {
	t.Helper()
	began := time.Now()
	status, _, err := get(c, url)
	if status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	return time.Since(began)
}

// A bandwidth holds to 3 % over a second and more: of answers, and of bytes that are passed
// on, in both directions.
func TestAcceptedBandwidth(t *testing.T) {
	const rate = 100_000
	within := func(what string, took, want time.Duration) {
		if took < want*97/100 || took > want*103/100 {
			t.Errorf("%s: %v, want %v", what, took, want)
		}
	}
	for _, seconds := range []time.Duration{1, 2, 30} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			cfg := bodied(strings.Repeat("x", int(seconds)*rate))
			cfg.Listen = p.listen
			d := start(t, cfg, formed(fault.Form{Bandwidth: rate}))
			c := newClient(p)
			defer c.CloseIdleConnections()
			within("an answer", paced(t, c, d.URL()), seconds*time.Second)
		})
		for name, tcp := range map[string]fault.TCP{
			"up": {Up: &fault.Stream{Bandwidth: rate}}, "down": {Down: &fault.Stream{Bandwidth: rate}},
		} {
			virtually(t, echoes, func(t *testing.T, _ dependency, call func() net.Conn) {
				conn, size := call(), int(seconds)*rate
				began := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() { conn.Write(make([]byte, size)) })
				if _, err := io.ReadFull(conn, make([]byte, size)); err != nil {
					t.Error(err)
				}
				within(name, time.Since(began), seconds*time.Second)
				sending.Wait()
			}, onTCP(tcp))
		}
	}
}

// The same on the wire, where a machine may make it slower, but nothing faster.
func TestAcceptedBandwidthOnTheWire(t *testing.T) {
	const rate, size, want = 1 << 20, 1 << 20, time.Second
	d := start(t, bodied(strings.Repeat("x", size)), formed(fault.Form{Bandwidth: rate}))
	c := client(t)
	soundly(t, "1 MiB at 1 MiB/s took", func() (any, bool) {
		took := paced(t, c, d.URL())
		if took < want*97/100 {
			t.Errorf("it took %v, which is more than 1 MiB/s", took)
		}
		return took, took <= want*103/100
	})
}

// A delay is never early, as the caller measures it, whatever its law and however many wait.
func TestAcceptedDelays(t *testing.T) {
	const least = 5 * ms
	for name, law := range map[string]fault.Latency{
		"fixed":   {Min: least, Max: least},
		"uniform": {Min: least, Max: 2 * least},
		"trace":   {Trace: []time.Duration{least, 2 * least}},
	} {
		r := rule(fault.ActionPass)
		r.Latency = law
		d := start(t, injector.Config{}, r)
		c := client(t)
		for _, workers := range []int{1, 64} {
			shared(workers, sized(50, 2000), func() {
				began := time.Now()
				if status, _, err := get(c, d.URL()); status != http.StatusOK || err != nil {
					t.Error(status, err)
				}
				if took := time.Since(began); took < least {
					t.Errorf("%s, %d workers: %v, want no less than %v", name, workers, took, least)
				}
			})
		}
		for _, a := range d.attempts(t) {
			if a.Delay < least || a.Dep-a.Arr < a.Delay {
				t.Fatalf("%s: recorded %v of a delay of %v", name, a.Dep-a.Arr, a.Delay)
			}
		}
	}
}
