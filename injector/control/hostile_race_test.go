package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// span is when something was asked for and when that was answered, as offsets of the trace.
type span struct{ from, to time.Duration }

// turmoil is what some do to an injector at the same time, and what they know of it.
type turmoil struct {
	api
	lease   time.Duration
	mu      sync.Mutex
	expires map[string]time.Duration // an added fault: when it is over at the latest
	renewed []span
	sent    atomic.Int64 // requests that were answered
}

func (m *turmoil) now() time.Duration { return m.rec.Since(time.Now()) }

// rules are faults of many kinds, in some order.
func (m *turmoil) rules(r *rand.Rand) []fault.Rule {
	one := fault.Select{Kind: fault.SelectEvery, Every: 3}
	all := []fault.Rule{
		{ID: "answer", Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}, Select: one},
		{ID: "reset", Action: fault.ActionReset, Select: fault.Select{Kind: fault.SelectEvery, Every: 11}},
		{ID: "hang", Action: fault.ActionHang, Select: fault.Select{Kind: fault.SelectEvery, Every: 17}},
		{ID: "late", Action: fault.ActionPass, Latency: fault.Latency{Min: time.Millisecond, Max: 3 * time.Millisecond}, Select: fault.Select{Kind: fault.SelectEvery, Every: 5}},
		{ID: "share", Action: fault.ActionClose, Select: fault.Select{Kind: fault.SelectRatio, Num: 1, Den: 13}},
	}
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// disturb does one thing that whoever has the API may do.
func (m *turmoil) disturb(r *rand.Rand) {
	i := m.deps[0]
	switch r.IntN(12) {
	case 0, 1, 2:
		slow := m.rules(r)[:2]
		for k := range slow {
			slow[k].ID = "slow " + slow[k].ID
		}
		_, err := i.Replace(fault.Script{Phases: map[string][]fault.Rule{"out": m.rules(r), "slow": slow}})
		if err != nil && !errors.Is(err, injector.ErrLapsed) {
			m.t.Error(err)
		}
	case 3, 4, 5:
		rule, ttl := m.rules(r)[0], time.Duration(1+r.IntN(20))*time.Millisecond
		rule.ID = ""
		if id, err := i.Apply(rule, ttl); err != nil {
			if !errors.Is(err, injector.ErrLapsed) {
				m.t.Error(err)
			}
		} else {
			m.mu.Lock()
			m.expires[id] = m.now() + ttl
			m.mu.Unlock()
		}
	case 6:
		_ = i.Clear()
	case 7:
		m.try("POST", "/v1/phase", `{"next":true}`)
	case 8:
		m.try("POST", "/v1/phase", `{"name":"out"}`)
	case 9:
		m.try("GET", "/v1/state", "")
	case 10:
		m.renew()
	case 11: // The lease may lapse meanwhile.
		time.Sleep(time.Duration(r.IntN(int(m.lease / 4))))
	}
}

// try asks the API; a machine that has too much to do may not answer in time.
func (m *turmoil) try(method, path, body string) {
	req, err := http.NewRequest(method, m.URL()+path, strings.NewReader(body))
	if err != nil {
		m.t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		m.t.Log(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		m.t.Errorf("%s %s: %d", method, path, resp.StatusCode)
	}
}

func (m *turmoil) renew() {
	s := span{from: m.now()}
	_ = m.deps[0].Renew() // That it had lapsed is no news.
	s.to = m.now()
	m.mu.Lock()
	m.renewed = append(m.renewed, s)
	m.mu.Unlock()
}

// look asks for the state, in which nothing may be counted by halves.
func (m *turmoil) look() {
	st := m.deps[0].State()
	if st.Faulted > st.Requests || st.Active < 0 || st.Held < 0 || st.Held > st.Active {
		m.t.Errorf("a state has %+v", st)
	}
	for _, r := range st.Rules {
		every := map[string]uint64{"answer": 3, "reset": 11, "hang": 17, "late": 5}[r.ID]
		if every > 0 && r.Spared == 0 && r.Hit != r.Seen/every { // It is spared when it was cleared in between.
			m.t.Errorf("rule %s has seen %d and hit %d, want every %d", r.ID, r.Seen, r.Hit, every)
		}
	}
}

// call sends requests until it is told to stop; some callers have no patience.
func (m *turmoil) call(c *http.Client, r *rand.Rand, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(20+r.IntN(300))*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.deps[0].URL(), nil)
		if err != nil {
			m.t.Error(err)
		}
		if resp, err := c.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			m.sent.Add(1)
		}
		cancel()
	}
}

// check compares the ledger with what is known.
func (m *turmoil) check() {
	t := m.t
	slices.SortFunc(m.renewed, func(a, b span) int { return int(a.from - b.from) })
	faulted := uint64(0)
	as := m.rec.Snapshot(trace.Header{}).Attempts
	requests := uint64(0)
	for _, a := range as {
		if a.Unread() {
			continue
		}
		requests++
		if a.Rule == "" {
			continue
		}
		faulted++
		if until, ok := m.expires[a.Rule]; ok && a.Arr >= until {
			t.Errorf("%s was to end at %v, and hit at %v", a.Rule, until, a.Arr)
		}
		leased := slices.ContainsFunc(m.renewed, func(s span) bool { return s.from <= a.Arr && a.Arr < s.to+m.lease })
		if !leased {
			t.Errorf("%s hit at %v, when nobody had renewed the lease", a.Rule, a.Arr)
		}
	}
	st := m.deps[0].State()
	if st.Requests != requests || st.Faulted != faulted || st.Active != 0 || st.Held != 0 {
		t.Errorf("the ledger has %d requests and %d hit; the state is %+v", requests, faulted, st)
	}
	for limit, n := range st.Overflow {
		if n != 0 {
			t.Errorf("%s kept %d", limit, n)
		}
	}
	t.Logf("%d requests, %d hit, %d added faults, %d renewals, plan %d", requests, faulted, len(m.expires), len(m.renewed), st.Plan)
}

// Many change everything at the same time while many send requests and watch. Nothing is counted twice or
// by halves, no fault outlives its time or its lease, none is on after a clear, nothing is left behind.
func TestTurmoil(t *testing.T) {
	lasting := time.Second
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		lasting = 20 * time.Second
	}
	before := runtime.NumGoroutine()
	first := begin(t, control.Config{}, injector.Config{}, "first")
	first.Close() // What is opened once is open.
	first.deps[0].Close()
	until(t, "it has ended", func() bool { return runtime.NumGoroutine() <= before })
	files := openFiles(t)
	const lease = 100 * time.Millisecond
	m := &turmoil{api: begin(t, control.Config{}, injector.Config{Lease: lease}, "dep"), lease: lease, expires: map[string]time.Duration{}}
	m.renew()
	h2c := new(http.Protocols)
	h2c.SetUnencryptedHTTP2(true)
	clients := []*http.Client{{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, {Transport: &http.Transport{Protocols: h2c}}, {Transport: &http.Transport{DisableKeepAlives: true}}}
	for range 8 {
		if _, _, err := m.stream(nil); err != nil { // Some read, and some do not.
			t.Fatal(err)
		}
	}
	for _, c := range (*m.open)[:4] {
		go func() {
			for {
				if _, _, err := c.ReadMessage(); err != nil {
					return
				}
			}
		}()
	}
	stop := make(chan struct{})
	var all, changers sync.WaitGroup
	for k := range 64 {
		all.Go(func() { m.call(clients[k%3], rand.New(rand.NewPCG(1, uint64(k))), stop) })
	}
	for k := range 8 {
		changers.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(k)))
			for end := time.Now().Add(lasting); time.Now().Before(end); m.look() {
				m.disturb(r)
			}
		})
	}
	changers.Wait()
	m.want(200, "", "POST", "/v1/clear", "{}")
	cleared := m.now()
	time.Sleep(20 * time.Millisecond) // Who has sent before may have been read later.
	for before := m.sent.Load(); m.sent.Load() < before+300; {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	all.Wait()
	until(t, "all have ended", func() bool { return m.deps[0].State().Active == 0 })
	for _, a := range m.rec.Snapshot(trace.Header{}).Attempts {
		if a.Rule != "" && a.Arr > cleared {
			t.Errorf("rule %s hit after a clear was answered", a.Rule)
		}
	}
	for _, c := range clients {
		c.CloseIdleConnections()
	}
	until(t, "all are in the ledger", func() bool { return m.deps[0].State().Active == 0 })
	m.hangUp()
	m.Close()
	m.deps[0].Close()
	m.check()
	until(t, fmt.Sprintf("all but %d goroutines have ended", before), func() bool { return runtime.NumGoroutine() <= before })
	until(t, "all files are closed", func() bool { return openFiles(t) <= files })
}
