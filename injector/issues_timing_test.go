package injector_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// A latency of one direction is of that direction only.
func TestLatencyOfOneDirection(t *testing.T) {
	late := &fault.Stream{Latency: fault.Latency{Min: time.Second, Max: time.Second}}
	for name, c := range map[string]struct {
		tcp        fault.TCP
		there, all time.Duration
	}{
		"up":   {fault.TCP{Up: late}, time.Second, time.Second},
		"down": {fault.TCP{Down: late}, 0, time.Second},
		"both": {fault.TCP{Up: late, Down: late}, time.Second, 2 * time.Second},
	} {
		came := make(chan time.Time, 1)
		virtually(t, func(conn net.Conn) {
			got := make([]byte, 1)
			if _, err := io.ReadFull(conn, got); err == nil {
				came <- time.Now()
				conn.Write(got)
			}
		}, func(t *testing.T, _ dependency, call func() net.Conn) {
			conn, began := call(), time.Now()
			conn.Write([]byte{1})
			if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			there, all := (<-came).Sub(began), time.Since(began)
			if !near(there, c.there) || !near(all, c.all) {
				t.Errorf("%s: there after %v, back after %v, want %v and %v", name, there, all, c.there, c.all)
			}
		}, onTCP(c.tcp))
	}
}

// What is said of a law beforehand is what a hundred callers measure: so many of them are
// below each percentile as its name says.
func TestPercentilesAreWhatCallersMeasure(t *testing.T) {
	law := fault.Latency{Lognormal: &fault.Lognormal{Median: 100 * ms, P99: 400 * ms}}
	if got, want := law.String(), "lognormal (p50 100ms, p90 215ms, p99 400ms, mean 119ms)"; got != want {
		t.Errorf("it is said to be %s, want %s", got, want)
	}
	r := rule(fault.ActionPass)
	r.Latency = law
	inVirtualTime(t, func(t *testing.T, w *world) {
		var took []time.Duration
		for range 100 {
			began := time.Now()
			if status, _, err := get(w.client, w.URL()); status != http.StatusOK || err != nil {
				t.Fatal(status, err)
			}
			took = append(took, time.Since(began))
		}
		for percent, at := range map[int]time.Duration{50: 100 * ms, 90: law.Quantile(.9), 99: 400 * ms} {
			below := 0
			for _, d := range took {
				if d <= at {
					below++
				}
			}
			if below != percent {
				t.Errorf("%d of 100 took no more than %v, which is said to be the %dth percentile", below, at, percent)
			}
		}
	}, r)
}

// A latency is had on a connection that is in use already, too, and each request has its own.
func TestLatencyOnAUsedConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.Enter("") // Healthy: the connection is made here.
		for n, want := range []time.Duration{0, 70 * ms, 70 * ms} {
			reused := false
			req := asking(t, w.URL())
			req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
				GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused },
			}))
			head, _, _ := arrivals(t, w.client, req)
			if head != want || reused != (n > 0) {
				t.Errorf("request %d: answered after %v, on a used connection %v", n, head, reused)
			}
			w.Enter("p")
		}
	}, slow(rule(fault.ActionPass), 70*ms))
}

// What becomes of a request is decided when it comes: those that come while the first one
// waits are not the first.
func TestTheVerdictIsOfTheArrival(t *testing.T) {
	r := slow(answering(503), 100*ms)
	r.Select = fault.Select{Kind: fault.SelectFirst, First: 1}
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.call()
		if as := w.snapshot(); len(as) != 1 || as[0].Rule != "p/1" || as[0].Outcome != trace.OutcomeOpen {
			t.Errorf("the ledger has %+v while the first one waits", as)
		}
		w.at(10 * ms)
		w.call()
		w.statuses(t, "the second comes while the first one waits", -1, 200)
		w.at(100 * ms)
		w.statuses(t, "then the first one is answered", 503, 200)
	}, r)
}

// A latency of those that fail leaves the others as fast as they are.
func TestLatencyOfTheFailedOnly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		for range 10 {
			began := time.Now()
			status, _, err := get(w.client, w.URL())
			if err != nil {
				t.Fatal(err)
			}
			if took, want := time.Since(began), map[int]time.Duration{200: 0, 503: 2 * time.Second}[status]; took != want {
				t.Errorf("%d after %v, want %v", status, took, want)
			}
		}
	}, ratio(slow(answering(503), 2*time.Second), 1, 2))
}

// Nothing is cut to a length that somebody thought enough: a latency of a day lasts a day.
func TestNoLatencyIsTooLong(t *testing.T) {
	const day = 24 * time.Hour
	inVirtualTime(t, func(t *testing.T, w *world) {
		if head, _, _ := arrivals(t, w.client, asking(t, w.URL())); head != day {
			t.Errorf("answered after %v", head)
		}
	}, slow(rule(fault.ActionPass), day))
}

// onNetwork serves a handler in a bubble, until the test ends.
func onNetwork(t *testing.T, n *memnet.Network, addr string, h http.HandlerFunc) {
	t.Helper()
	ln, err := n.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(ln) })
	t.Cleanup(func() { srv.Close(); serving.Wait() })
}

// Before an upstream, latency is before the upstream is asked; the forms of an answer, be it
// what comes before it, its parts or its end, act when the upstream has done its work.
func TestWhatIsLateBeforeAnUpstream(t *testing.T) {
	const wait = time.Second
	for name, c := range map[string]struct {
		rule         fault.Rule
		worked, came time.Duration
	}{
		"latency":        {slow(rule(fault.ActionPass), wait), wait, wait},
		"102, then late": {formed(fault.Form{Inform: &fault.Inform{Status: 102, Times: 1, Every: wait}}), 0, wait},
		"drip":           {dripped(2, wait), 0, wait},
		"slice":          {formed(fault.Form{Slice: &fault.Slice{Size: 1000, Gap: wait}}), 0, wait},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			began := time.Now()
			var worked time.Duration
			onNetwork(t, n, "up:80", func(w http.ResponseWriter, _ *http.Request) {
				worked = time.Since(began)
				w.Header()["Date"] = nil
				io.WriteString(w, "done")
			})
			d := start(t, injector.Config{Addr: "d:80", Listen: n.Listen, DialUpstream: n.DialContext, Upstream: "http://up:80"}, c.rule)
			client := &http.Client{Transport: &http.Transport{DialContext: n.DialContext}}
			defer client.CloseIdleConnections()
			_, pieces, body := arrivals(t, client, asking(t, d.URL()))
			if came := pieces[len(pieces)-1]; body != "done" || !near(worked, c.worked) || !near(came, c.came) {
				t.Errorf("%s: the upstream worked after %v, %q came after %v; want %v and %v", name, worked, body, came, c.worked, c.came)
			}
		})
	}
}

// A reset hits after the upstream has done its work if it is one in the answer, and spares it
// the work otherwise.
func TestAResetMayComeAfterTheWork(t *testing.T) {
	for name, c := range map[string]struct {
		rule   fault.Rule
		worked int
	}{
		"in the answer": {formed(fault.Form{Cut: &fault.Cut{At: fault.CutStart, By: fault.ActionReset}}), 1},
		"of the caller": {stealthy(rule(fault.ActionReset)), 0},
	} {
		worked := 0
		up := upstream(t, func(http.ResponseWriter, *http.Request) { worked++ })
		d := start(t, injector.Config{Upstream: up.URL}, c.rule)
		o := observe(t, d.Addr())
		o.say(request("POST", 10))
		if seen, end := o.rest(); seen != "" || end != "RST" {
			t.Errorf("%s: %q and %s", name, seen, end)
		}
		d.attempts(t)
		if worked != c.worked {
			t.Errorf("%s: the upstream worked %d times, want %d", name, worked, c.worked)
		}
	}
}

// What drips still does behind a proxy that passes on what it has, such as this injector.
func TestDripThroughAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		cfg := bodied("0123456789")
		cfg.Addr, cfg.Listen = "d:80", n.Listen
		d := start(t, cfg, dripped(5, 4*time.Second))
		proxy := start(t, injector.Config{Addr: "proxy:80", Listen: n.Listen, DialUpstream: n.DialContext, Upstream: d.URL()})
		client := &http.Client{Transport: &http.Transport{DialContext: n.DialContext}}
		defer client.CloseIdleConnections()
		_, pieces, body := arrivals(t, client, asking(t, proxy.URL()))
		if body != "0123456789" || len(pieces) != 5 {
			t.Fatalf("%q in %d pieces", body, len(pieces))
		}
		for k, at := range pieces {
			if !near(at, time.Duration(k)*time.Second) {
				t.Errorf("piece %d after %v", k, at)
			}
		}
	})
}

// An arrival counts once, whoever has looked at it: the rules before, the one that reads its
// body, the upstream. Where a rule does not match, it does not count at all.
func TestAnArrivalCountsOnce(t *testing.T) {
	read := answering(500)
	read.Match = fault.Match{Path: "/pay", JSONPath: map[string]any{"$.card": "bad"}}
	second := answering(503)
	second.Match.Path = "/pay"
	second.Select = fault.Select{Kind: fault.SelectEvery, Every: 2}
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	d := start(t, injector.Config{Upstream: up.URL}, read, second)
	c := client(t)
	var got []int
	for range 4 {
		for _, path := range []string{"/health", "/pay"} {
			resp, err := c.Post(d.URL()+path, "application/json", strings.NewReader(`{"card":"good"}`))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			got = append(got, resp.StatusCode)
		}
	}
	if diff := cmp.Diff([]int{200, 200, 200, 503, 200, 200, 200, 503}, got); diff != "" {
		t.Error("answers (-want +got):\n" + diff)
	}
	if diff := cmp.Diff([]fault.Count{{Rule: "p/1"}, {Rule: "p/2", Seen: 4, Hit: 2}}, d.Fired("p")); diff != "" {
		t.Error("counts (-want +got):\n" + diff)
	}
}

// A share of one in a million is just that.
func TestRareFaults(t *testing.T) {
	phase := decisions(t, 1, ratio(answering(503), 1, 1_000_000))
	var hits []int
	for n := range 3_000_000 {
		if phase.Decide(fault.Request{}).Rule != nil {
			hits = append(hits, n)
		}
	}
	if len(hits) != 3 || hits[1]-hits[0] != 1_000_000 || hits[2]-hits[1] != 1_000_000 {
		t.Errorf("hit %v of 3 million", hits)
	}
}

// Thousands may drip at a time: each takes its connection and the two goroutines of net/http,
// and nothing of them is left.
func TestManyDripAtATime(t *testing.T) {
	n := sized(300, 5000)
	d := start(t, bodied(strings.Repeat("x", 1000)), dripped(100, time.Hour))
	o := observe(t, d.Addr()) // What is made once is made now.
	o.say(request("GET", 0))
	until(t, "it drips", func() bool { return d.State().Active == 1 })
	o.conn.Close()
	until(t, "he is gone", func() bool { return d.State().Active == 0 })
	routines, files := runtime.NumGoroutine(), descriptors()
	conns := make([]net.Conn, n)
	for k := range conns {
		c, err := net.Dial("tcp", d.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conns[k] = c
		io.WriteString(c, request("GET", 0))
	}
	until(t, "all drip", func() bool { return d.State().Active == n })
	until(t, "no more goroutines than two for each", func() bool { return runtime.NumGoroutine() <= routines+2*n })
	if got := descriptors(); got > files+2*n { // Each has two ends here.
		t.Errorf("%d more descriptors for %d connections", got-files, n)
	}
	if err := d.Clear(); err != nil { // The rest of each is sent at once.
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(time.Minute))
		text := make([]byte, 4096)
		size := 0
		for !strings.HasSuffix(string(text[:size]), strings.Repeat("x", 1000)) {
			got, err := c.Read(text[size:])
			if size += got; err != nil {
				t.Fatal(err)
			}
		}
		sizes[fmt.Sprint(strings.Count(string(text[:size]), "x"))]++
		c.Close()
	}
	if diff := cmp.Diff(map[string]int{"1000": n}, sizes); diff != "" {
		t.Error("bodies (-want +got):\n" + diff)
	}
	settle(t, routines)
	until(t, "all files are closed", func() bool { return descriptors() <= files })
}
