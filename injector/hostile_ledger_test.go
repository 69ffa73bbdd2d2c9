package injector_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// sight is what a raw socket saw of one request.
type sight struct {
	path   string
	left   bool // it did not wait for the end
	end    string
	seen   string
	whole  bool // an answer that is complete
	status int
}

// looks calls the injector once, in a way of its own, and may leave before the end.
func looks(addr string, secure bool, n int, r *rand.Rand) sight {
	s := sight{path: fmt.Sprintf("/%d", n)}
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		s.end = err.Error()
		return s
	}
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(patience))
	ends := &ending{Conn: raw} // A kernel tells of a RST once.
	var conn net.Conn = ends
	if secure {
		conn = tls.Client(ends, &tls.Config{InsecureSkipVerify: true})
	}
	size := []int{0, 10, 5000, 300_000}[r.IntN(4)]
	text := strings.Replace(request("POST", size), "/x", s.path, 1)
	if r.IntN(3) == 0 { // In two pieces.
		at := 1 + r.IntN(len(text)-1)
		io.WriteString(conn, text[:at])
		time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
		text = text[at:]
	}
	io.WriteString(conn, text) // The connection may have ended before all is said.
	if s.left = r.IntN(3) == 0; s.left {
		time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
		raw.(*net.TCPConn).SetLinger([]int{0, -1}[r.IntN(2)])
		return s
	}
	var seen strings.Builder
	in := bufio.NewReader(io.TeeReader(conn, &seen))
	if resp, err := http.ReadResponse(in, nil); err == nil {
		_, err := io.Copy(io.Discard, resp.Body)
		s.whole, s.status = err == nil, resp.StatusCode
		if s.whole && !resp.Close {
			s.seen = seen.String()
			return s
		}
	}
	io.Copy(io.Discard, in)
	io.Copy(io.Discard, ends) // TLS ends before the connection does.
	s.end, s.seen = ends.how, seen.String()
	return s
}

// ending notes how what it reads ends.
type ending struct {
	net.Conn
	how string
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	switch {
	case err == nil || e.how != "":
	case errors.Is(err, io.EOF):
		e.how = "FIN"
	case errors.Is(err, syscall.ECONNRESET):
		e.how = "RST"
	default:
		e.how = err.Error()
	}
	return n, err
}

// agrees says how the ledger differs from what was seen.
func (s sight) agrees(a trace.Attempt) string {
	ok := false
	switch {
	case s.left: // He cannot tell what he would have seen.
		ok = a.Outcome != trace.OutcomeOpen
	case s.whole:
		ok = a.Outcome == trace.OutcomeAnswered && a.Status == s.status
	case s.end == "RST":
		ok = a.Outcome == trace.OutcomeReset
	case s.end == "FIN":
		ok = a.Outcome == trace.OutcomeFIN || a.Outcome == trace.OutcomeHang && a.Abandon == trace.None
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("saw %.60q (%d bytes), whole %t, status %d, end %s; recorded %s, status %d, abandon %v, rule %s, detail %q", s.seen, len(s.seen), s.whole, s.status, s.end, a.Outcome, a.Status, a.Abandon, a.Rule, a.Detail)
}

func eachNth(n uint64, action fault.Action, form fault.Form) fault.Rule {
	r := fault.Rule{Select: fault.Select{Kind: fault.SelectEvery, Every: n}, Action: action, Form: form}
	if action == fault.ActionRespond {
		r.Respond = fault.Respond{Status: 503, Body: strings.Repeat("b", 3000)}
	}
	if action == fault.ActionGarbage {
		r.Garbage = 100
	}
	r.Latency.Max = 3 * time.Millisecond
	return r
}

func hostileRules() []fault.Rule {
	cut := func(at fault.CutAt, n int64, by fault.Action) fault.Form {
		return fault.Form{Cut: &fault.Cut{At: at, Bytes: n, By: by}}
	}
	slow := eachNth(7, fault.ActionPass, fault.Form{})
	slow.ReadRate = 3 << 20
	held := eachNth(5, fault.ActionPass, fault.Form{})
	held.Latency, held.Hold = fault.Latency{}, &fault.Hold{Probes: 2, Rejected: 1, Max: 5 * time.Millisecond}
	return []fault.Rule{
		eachNth(11, fault.ActionReset, fault.Form{}), stealthy(eachNth(11, fault.ActionReset, fault.Form{})),
		eachNth(10, fault.ActionClose, fault.Form{}), stealthy(eachNth(10, fault.ActionClose, fault.Form{})),
		eachNth(9, fault.ActionHang, fault.Form{}), eachNth(9, fault.ActionGarbage, fault.Form{}),
		eachNth(8, fault.ActionRespond, cut(fault.CutBody, 2000, fault.ActionReset)),
		eachNth(8, fault.ActionRespond, cut(fault.CutHead, 0, fault.ActionClose)),
		slow, held,
		eachNth(6, fault.ActionRespond, fault.Form{Drip: &fault.Drip{Chunks: 3, Over: 3 * time.Millisecond}}),
		eachNth(6, fault.ActionRespond, fault.Form{Slice: &fault.Slice{Size: 1000, Gap: time.Millisecond}}),
		eachNth(5, fault.ActionRespond, fault.Form{Bandwidth: 1 << 20}),
		eachNth(5, fault.ActionRespond, fault.Form{After: &fault.After{Do: fault.AfterReset}}),
		eachNth(4, fault.ActionRespond, fault.Form{After: &fault.After{Do: fault.AfterClose}}),
		eachNth(3, fault.ActionRespond, fault.Form{}),
	}
}

// Whatever a caller does, and whatever is done to him, the ledger has his request once, and says of
// its end what his socket saw.
func TestTheLedgerSaysWhatRawSocketsSaw(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, strings.Repeat("u", 2000))
	})
	for name, cfg := range map[string]injector.Config{
		"stub": {Stub: injector.Stub{Respond: fault.Respond{Body: "hello"}}}, "upstream": {Upstream: up.URL}, "TLS": {TLS: &injector.TLS{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, cfg, hostileRules()...)
			const callers, calls = 16, 30
			sights := make([]sight, callers*calls)
			var all sync.WaitGroup
			for c := range callers {
				all.Go(func() {
					r := rand.New(rand.NewPCG(7, uint64(c)))
					for k := range calls {
						n := c*calls + k
						sights[n] = looks(d.Addr(), cfg.TLS != nil, n, r)
					}
				})
			}
			stop := make(chan struct{})
			var changes sync.WaitGroup
			changes.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(30 * time.Millisecond):
						d.Enter("p") // Which ends what hangs.
					}
				}
			})
			all.Wait()
			close(stop)
			changes.Wait()
			by := map[string][]trace.Attempt{}
			for _, a := range d.attempts(t) {
				by[a.Path] = append(by[a.Path], a)
			}
			for _, s := range sights {
				switch as := by[s.path]; {
				case len(as) == 1:
					if wrong := s.agrees(as[0]); wrong != "" {
						t.Errorf("%s: %s", s.path, wrong)
					}
				case len(as) == 0 && s.left: // His RST may come before his request is read.
				default:
					t.Errorf("%s is there %d times, and saw %+v", s.path, len(as), s)
				}
			}
			if used := d.State(); used.Active != 0 || used.Held != 0 {
				t.Errorf("in use at the end: %+v", used)
			}
		})
	}
}

// Who leaves counts as all others do.
func TestCountsAreExactWhenCallersLeave(t *testing.T) {
	late := ratio(rule(fault.ActionRespond), 3, 10)
	late.Latency.Min, late.Latency.Max = time.Millisecond, 5*time.Millisecond
	d := start(t, injector.Config{}, late)
	const n = 1000
	var all sync.WaitGroup
	for c := range 20 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(c)))
			for range n / 20 {
				conn, err := net.Dial("tcp", d.Addr())
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(conn, request("GET", 0))
				time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
				conn.Close()
			}
		})
	}
	all.Wait()
	until(t, "all are through", func() bool { return d.ended() == n })
	if c := d.Fired("p")[0]; c.Seen != n || c.Hit != 3*n/10 {
		t.Errorf("counted %+v, want %d of %d", c, 3*n/10, n)
	}
	hit := 0
	for _, a := range d.attempts(t) {
		if a.Rule != "" {
			hit++
		}
	}
	if hit != 3*n/10 {
		t.Errorf("%d were hit in the ledger", hit)
	}
}
