package injector_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

const ms = time.Millisecond

// pipes is a network of net.Pipe, for bubbles.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
	once   *sync.Once
	wrap   func(net.Conn) net.Conn // the dependency's end
}

func newPipes() pipes {
	return pipes{make(chan net.Conn), make(chan struct{}), &sync.Once{}, func(c net.Conn) net.Conn { return c }}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p pipes) listen(string, string) (net.Listener, error) { return p, nil }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.calls <- p.wrap(far):
		return near, nil
	case <-p.closed:
		return nil, errors.New("refused")
	}
}

// world is a dependency in virtual time, and calls to it.
type world struct {
	dependency
	net    pipes
	client *http.Client
	calls  sync.WaitGroup
	mu     sync.Mutex
	ends   []time.Duration // of the calls, in their order; -1: not ended
	status []int
}

// inVirtualTime runs f in a bubble; the phase "p" has these rules.
func inVirtualTime(t *testing.T, f func(*testing.T, *world), rules ...fault.Rule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		w := &world{net: p, dependency: start(t, injector.Config{Listen: p.listen}, rules...)}
		tr := &http.Transport{DialContext: p.dial}
		w.client = &http.Client{Transport: tr}
		f(t, w)
		w.calls.Wait()
		tr.CloseIdleConnections()
	})
}

// at waits for an instant of the run, and for everyone to come to rest there.
func (w *world) at(d time.Duration) {
	time.Sleep(d - w.rec.Since(time.Now()))
	synctest.Wait()
}

// call sends a request in the background.
func (w *world) call() {
	w.mu.Lock()
	n := len(w.ends)
	w.ends, w.status = append(w.ends, -1), append(w.status, -1)
	w.mu.Unlock()
	w.calls.Go(func() {
		status, _, _ := get(w.client, w.URL())
		end := w.rec.Since(time.Now())
		w.mu.Lock()
		w.ends[n], w.status[n] = end, status
		w.mu.Unlock()
	})
	synctest.Wait()
}

// reject tells of n rejected calls, sent at this instant.
func (w *world) reject(n int, sent time.Duration) {
	for range n {
		w.Rejected(sent)
	}
	synctest.Wait()
}

// want compares when the calls ended.
func (w *world) want(t *testing.T, what string, ends ...time.Duration) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(ends, w.ends); diff != "" {
		t.Errorf("%s: calls ended at (-want +got):\n%s", what, diff)
	}
}

func held(h fault.Hold) fault.Rule {
	r := rule(fault.ActionRespond)
	r.Hold = &h
	return r
}

func TestHoldReleasesOnRejections(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		for i := range 3 {
			w.at(time.Duration(i) * 10 * ms)
			w.call()
		}
		w.at(30 * ms)
		w.reject(20, 20*ms) // sent no later than the third arrival
		w.reject(9, 25*ms)
		w.want(t, "nine are not ten", -1, -1, -1)
		w.at(40 * ms)
		w.reject(1, 35*ms)
		w.want(t, "the tenth", 40*ms, 40*ms, 40*ms)
		w.at(50 * ms)
		w.call()
		w.reject(20, 60*ms)
		w.want(t, "a new group", 40*ms, 40*ms, 40*ms, -1)
	}, held(fault.Hold{Probes: 3, Rejected: 10, Max: 250 * ms}))
}

// A breaker that admits ten is seen to admit ten.
func TestHoldParksAllArrivals(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		want := []time.Duration{}
		for i := range 10 {
			w.at(time.Duration(i) * ms)
			w.call()
			want = append(want, -1)
			w.want(t, "parked", want...)
		}
		w.at(20 * ms)
		w.reject(10, 15*ms)
		for i := range want {
			want[i] = 20 * ms
		}
		w.want(t, "released", want...)
		for _, a := range w.attempts(t) {
			if a.Dep != 20*ms || a.Status != 503 {
				t.Errorf("recorded %+v", a)
			}
		}
	}, held(fault.Hold{Probes: 3, Rejected: 10, Max: 250 * ms}))
}

func TestHoldMaxReleasesEachByItsOwnArrival(t *testing.T) {
	r := held(fault.Hold{Probes: 3, Rejected: 10, Max: 250 * ms})
	r.Latency = fault.Latency{Min: 30 * ms, Max: 30 * ms}
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.call()
		w.at(100 * ms)
		w.call()
		w.calls.Wait()
		w.want(t, "hold, then latency", 280*ms, 380*ms)
	}, r)
}

func TestHoldOneByOne(t *testing.T) {
	r := held(fault.Hold{Probes: 3, Rejected: 2, Max: 250 * ms, OneByOne: true})
	r.Latency = fault.Latency{Min: 5 * ms, Max: 5 * ms}
	inVirtualTime(t, func(t *testing.T, w *world) {
		for i := range 4 {
			w.at(time.Duration(i) * ms)
			w.call()
		}
		w.at(10 * ms)
		w.reject(2, 9*ms)
		w.at(14 * ms)
		w.reject(5, 14*ms)
		w.at(20 * ms)
		w.want(t, "the oldest, after its latency", 15*ms, -1, -1, -1)
		w.reject(5, 15*ms)
		w.at(30 * ms)
		w.want(t, "rejections sent before the answer do not count", 15*ms, -1, -1, -1)
		w.reject(2, 21*ms)
		w.calls.Wait()
		w.want(t, "then Max from each release", 15*ms, 35*ms, 285*ms, 535*ms)
	}, r)
}

func TestPhaseChangeReleasesHoldsAndLetsLatenciesFinish(t *testing.T) {
	slow := rule(fault.ActionRespond)
	slow.Match.Path, slow.Latency = "/slow", fault.Latency{Min: 100 * ms, Max: 100 * ms}
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.calls.Go(func() {
			status, _, _ := get(w.client, w.URL()+"/slow")
			if now := w.rec.Since(time.Now()); now != 100*ms || status != 503 {
				t.Errorf("a latency that had begun ended with %d at %v", status, now)
			}
		})
		synctest.Wait()
		w.call()
		w.at(40 * ms)
		w.Enter("next")
		synctest.Wait()
		w.want(t, "released", 40*ms)
		w.call()
		w.calls.Wait()
		w.want(t, "the new phase is healthy", 40*ms, 40*ms)
		if diff := cmp.Diff([]int{503, 200}, w.status); diff != "" {
			t.Error("status (-want +got):\n" + diff)
		}
		var phases []string
		for _, a := range w.attempts(t) {
			phases = append(phases, a.Phase+":"+a.Rule)
		}
		if diff := cmp.Diff([]string{"p:p/1", "p:p/2", "next:"}, phases); diff != "" {
			t.Error("phases (-want +got):\n" + diff)
		}
	}, slow, held(fault.Hold{Probes: 3, Rejected: 10, Max: time.Hour}))
}

// Callers who leave while they still send, too.
func TestHoldForgetsCallersWhoBreakOff(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		conn, err := w.net.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request("POST", 1000)[:500]); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		w.at(10 * ms)
		w.call()
		w.at(20 * ms)
		w.reject(1, 15*ms)
		w.want(t, "one of two probes", -1)
		w.Enter("next")
	}, held(fault.Hold{Probes: 2, Rejected: 1, Max: time.Hour}))
}

// Callers who leave, leave the hold: the next group has its own probes.
func TestHoldForgetsCallersWhoLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.calls.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.URL(), nil)
			if _, err := w.client.Do(req); err == nil {
				t.Error("answered")
			}
		})
		synctest.Wait()
		cancel()
		w.at(10 * ms)
		w.call()
		w.at(20 * ms)
		w.reject(1, 15*ms)
		w.want(t, "one of two probes", -1)
		w.call()
		w.at(30 * ms)
		w.reject(1, 25*ms)
		w.want(t, "two of two", 30*ms, 30*ms)
	}, held(fault.Hold{Probes: 2, Rejected: 1, Max: time.Hour}))
}

// In virtual time a latency is what was drawn, to the nanosecond, and adds to
// what the stub takes itself.
func TestLatencyIsExact(t *testing.T) {
	pass := rule(fault.ActionPass)
	pass.Select = fault.Select{Kind: fault.SelectFirst, First: 20}
	pass.Latency = fault.Latency{Min: 10 * ms, Max: 20 * ms}
	player, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {pass}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	drawn := player.Phase("p")
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		d := start(t, injector.Config{Listen: p.listen, Stub: injector.Stub{Latency: 3 * ms}}, pass)
		tr := &http.Transport{DialContext: p.dial}
		defer tr.CloseIdleConnections()
		for range 21 {
			get(&http.Client{Transport: tr}, d.URL())
		}
		for _, a := range d.attempts(t) {
			if want := drawn.Decide(fault.Request{}).Latency + 3*ms; a.Dep-a.Arr != want {
				t.Errorf("attempt %d took %v, want %v", a.Seq, a.Dep-a.Arr, want)
			}
		}
	})
}

// abortable is a connection of a network that knows a reset.
type abortable struct {
	net.Conn
	aborted chan struct{}
}

func (a abortable) Abort() { close(a.aborted); a.Close() }

func TestResetOnOtherNetworks(t *testing.T) {
	for _, able := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p, aborted := newPipes(), make(chan struct{})
			if able {
				p.wrap = func(c net.Conn) net.Conn { return abortable{c, aborted} }
			}
			var log bytes.Buffer
			d := start(t, injector.Config{Listen: p.listen, Logger: slog.New(slog.NewTextHandler(&log, nil))}, rule(fault.ActionReset))
			conn, err := p.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, request("GET", 0))
			if seen, err := io.ReadAll(conn); string(seen) != halfLine || err != nil {
				t.Errorf("%q, %v", seen, err)
			}
			a := d.only(t)
			if able {
				<-aborted
				if a.Outcome != trace.OutcomeReset || log.Len() > 0 {
					t.Errorf("recorded %+v, logged %s", a, &log)
				}
				return
			}
			// What cannot be done is said, and not recorded as done.
			if a.Outcome != trace.OutcomeFIN || !strings.Contains(log.String(), "cannot reset") {
				t.Errorf("recorded %+v, logged %s", a, &log)
			}
		})
	}
}

// A caller who takes nothing keeps neither a sever nor Close waiting.
func TestSeverWithACallerWhoDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		d := start(t, injector.Config{Listen: p.listen}, rule(fault.ActionClose))
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request("GET", 0)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if a := d.only(t); a.Outcome != trace.OutcomeFIN {
			t.Errorf("recorded %+v", a)
		}
	})
}

// newClient returns a client of a network of pipes.
func newClient(p pipes) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.dial}}
}
