package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/fault"
)

// socket is a rule for WebSockets.
func socket(w fault.WebSocket) fault.Rule {
	return fault.Rule{
		Action: fault.ActionPass, Match: fault.Match{WebSocket: true}, Select: fault.Select{Kind: fault.SelectAll}, WebSocket: &w,
	}
}

// lane begins the way of a connection of the index-th handshake that w hits.
func lane(t *testing.T, w fault.WebSocket, to fault.WSDirection, index int) *fault.WSLane {
	t.Helper()
	p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {socket(w)}}}, 7)
	if err != nil {
		t.Fatal(err)
	}
	ph := p.Phase("p")
	var v fault.Verdict
	for range index + 1 {
		v = ph.Decide(handshake())
	}
	return v.Lane(to)
}

func handshake() fault.Request {
	return fault.Request{Method: "GET", Path: "/", Header: func(key string) string {
		return map[string]string{"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket"}[key]
	}}
}

// letters is what becomes of n messages: the first letter of what is done, or a dot.
func letters(l *fault.WSLane, n int, control func(int) bool) string {
	var b strings.Builder
	for i := range n {
		v := l.Next(control(i))
		if v.WSMessage == nil {
			b.WriteByte('.')
			continue
		}
		b.WriteString(string(v.Do)[:1])
	}
	return b.String()
}

func never(int) bool { return false }

func every(n uint64) fault.Select { return fault.Select{Kind: fault.SelectEvery, Every: n} }

func TestLaneCountsMessages(t *testing.T) {
	odd := func(i int) bool { return i%2 == 1 }
	for name, c := range map[string]struct {
		faults  []fault.WSMessage
		to      fault.WSDirection
		control func(int) bool
		want    string
	}{
		"every third":         {[]fault.WSMessage{{To: fault.ToClient, Select: every(3), Do: fault.WSDrop}}, fault.ToClient, never, "..d..d..d."},
		"the other way":       {[]fault.WSMessage{{To: fault.ToClient, Select: every(3), Do: fault.WSDrop}}, fault.ToServer, never, ".........."},
		"first":               {[]fault.WSMessage{{To: fault.ToServer, Select: fault.Select{Kind: fault.SelectFirst, First: 2}, Do: fault.WSCorrupt}}, fault.ToServer, never, "cc........"},
		"a list":              {[]fault.WSMessage{{To: fault.ToServer, At: []uint64{2, 9}, Do: fault.WSReorder}}, fault.ToServer, never, ".r......r."},
		"a ratio":             {[]fault.WSMessage{{To: fault.ToServer, Select: fault.Select{Kind: fault.SelectRatio, Num: 3, Den: 10}, Do: fault.WSDrop}}, fault.ToServer, never, ".d..d...d."},
		"controls are exempt": {[]fault.WSMessage{{To: fault.ToClient, Select: every(2), Do: fault.WSDrop}}, fault.ToClient, odd, "..d...d..."},
		"controls as well":    {[]fault.WSMessage{{To: fault.ToClient, Select: every(2), Do: fault.WSDrop, Control: true}}, fault.ToClient, odd, ".d.d.d.d.d"},
		"the rest": {[]fault.WSMessage{
			{To: fault.ToClient, At: []uint64{1}, Do: fault.WSDrop},
			{To: fault.ToClient, Select: every(4), Do: fault.WSCorrupt},
			{To: fault.ToClient, Select: fault.Select{Kind: fault.SelectAll}, Do: fault.WSFragment, Size: 1},
		}, fault.ToClient, never, "dffcfffcff"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := letters(lane(t, fault.WebSocket{Messages: c.faults}, c.to, 0), 10, c.control); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A ratio is exact at every message of every connection.
func TestLaneRatioIsExact(t *testing.T) {
	for num := range uint64(101) {
		l := lane(t, fault.WebSocket{Messages: []fault.WSMessage{
			{To: fault.ToClient, Select: fault.Select{Kind: fault.SelectRatio, Num: num, Den: 100}, Do: fault.WSDrop},
		}}, fault.ToClient, int(num%3))
		hit := 0.0
		for n := range 300 {
			if l.Next(false).WSMessage != nil {
				hit++
			}
			if off := hit - float64(n+1)*float64(num)/100; off >= 1 || off <= -1 {
				t.Fatalf("%d%%: %v of %d", num, hit, n+1)
			}
		}
	}
}

// Delays are drawn by seed, and other ones for each connection.
func TestLaneDelays(t *testing.T) {
	w := fault.WebSocket{Messages: []fault.WSMessage{{
		To: fault.ToClient, Select: fault.Select{Kind: fault.SelectAll}, Do: fault.WSDelay, Delay: fault.Latency{Min: time.Second, Max: 2 * time.Second},
	}}}
	delays := func(index int) (all []time.Duration) {
		l := lane(t, w, fault.ToClient, index)
		for range 100 {
			all = append(all, l.Next(false).Wait)
		}
		return all
	}
	if diff := cmp.Diff(delays(0), delays(0)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(delays(0), delays(1)) {
		t.Error("two connections have the same delays")
	}
	short := 0
	for _, d := range delays(4) {
		if d < time.Second || d > 2*time.Second {
			t.Error(d)
		}
		if d < 1500*time.Millisecond {
			short++
		}
	}
	if short != 50 {
		t.Errorf("%d of 100 are below the median", short)
	}
}

func TestWebSocketMatch(t *testing.T) {
	m := fault.Match{WebSocket: true}
	plain := fault.Request{Method: "GET", Path: "/", Header: func(string) string { return "" }}
	post := handshake()
	post.Method = "POST"
	if !m.Matches(handshake()) || m.Matches(plain) || m.Matches(post) || m.Everything() || m.MayMatch("POST", "/") || m.String() != "websocket" {
		t.Error(m)
	}
	drop := socket(fault.WebSocket{IgnoreClose: true})
	rest := fault.Rule{Action: fault.ActionReset, Select: fault.Select{Kind: fault.SelectAll}}
	if ps := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {drop, rest}}}); len(ps) > 0 {
		t.Error(ps)
	}
	if ps := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {rest, drop}}}); len(ps) != 1 {
		t.Error("a rule that can never hit is taken:", ps)
	}
}

func TestWebSocketProblems(t *testing.T) {
	all := fault.Select{Kind: fault.SelectAll}
	message := func(m ...fault.WSMessage) fault.Rule { return socket(fault.WebSocket{Messages: m}) }
	end := func(c fault.WSClose) fault.Rule { return socket(fault.WebSocket{Close: &c}) }
	drop := fault.WSMessage{To: fault.ToClient, Select: all, Do: fault.WSDrop}
	change := func(f func(*fault.Rule)) fault.Rule {
		r := message(drop)
		f(&r)
		return r
	}
	with := func(f func(*fault.WSMessage)) fault.Rule {
		m := drop
		f(&m)
		return message(m)
	}
	for want, r := range map[string]fault.Rule{
		"":                                      message(drop),
		"websocket":                             socket(fault.WebSocket{}),
		"websocket: no action":                  change(func(r *fault.Rule) { r.Action = fault.ActionHang }),
		"match.websocket: not asked":            change(func(r *fault.Rule) { r.Match.WebSocket = false }),
		"match.websocket: POST":                 change(func(r *fault.Rule) { r.Match.Method = "POST" }),
		"form":                                  change(func(r *fault.Rule) { r.Form.Bandwidth = 1 }),
		"read_rate":                             change(func(r *fault.Rule) { r.ReadRate = 1 }),
		"websocket.accept":                      socket(fault.WebSocket{Accept: "late"}),
		"websocket.messages.1.to":               with(func(m *fault.WSMessage) { m.To = fault.BothWays }),
		"websocket.messages.1.do":               with(func(m *fault.WSMessage) { m.Do = "eat" }),
		"websocket.messages.1.delay":            with(func(m *fault.WSMessage) { m.Do = fault.WSDelay }),
		"websocket.messages.1.delay: of a drop": with(func(m *fault.WSMessage) { m.Delay = fault.Latency{Min: 1, Max: 1} }),
		"websocket.messages.1.size":             with(func(m *fault.WSMessage) { m.Do = fault.WSOversize }),
		"websocket.messages.1.size: of a drop":  with(func(m *fault.WSMessage) { m.Size = 1 }),
		"websocket.messages.1.by":               with(func(m *fault.WSMessage) { m.Do = fault.WSCut }),
		"websocket.messages.1.by: of a drop":    with(func(m *fault.WSMessage) { m.By = fault.ActionReset }),
		"websocket.messages.1.by: to server":    with(func(m *fault.WSMessage) { m.Do, m.To, m.By = fault.WSCut, fault.ToServer, fault.ActionReset }),
		"websocket.messages.1.control":          with(func(m *fault.WSMessage) { m.Do, m.Control = fault.WSReorder, true }),
		"websocket.messages.1.at":               with(func(m *fault.WSMessage) { m.At = []uint64{1} }),
		"websocket.messages.1.at: 0":            with(func(m *fault.WSMessage) { m.Select, m.At = fault.Select{}, []uint64{0} }),
		"websocket.messages.1.at: twice":        with(func(m *fault.WSMessage) { m.Select, m.At = fault.Select{}, []uint64{2, 2} }),
		"websocket.messages.1.select":           with(func(m *fault.WSMessage) { m.Select.Kind = fault.SelectRandom }),
		"websocket.messages.1.select: 0":        with(func(m *fault.WSMessage) { m.Select = every(0) }),
		"websocket.messages.2":                  message(drop, drop),
		"websocket.messages.2: met": message(
			fault.WSMessage{To: fault.ToClient, Select: every(2), Do: fault.WSDrop}, fault.WSMessage{To: fault.ToClient, Select: every(3), Do: fault.WSCorrupt}),
		"websocket.messages.2: met far away": message(
			fault.WSMessage{To: fault.ToClient, Select: every(1_000_003), Do: fault.WSDrop}, fault.WSMessage{To: fault.ToClient, At: []uint64{1_000_003}, Do: fault.WSCorrupt}),
		"websocket.messages.2: other counts": message(
			fault.WSMessage{To: fault.ToClient, At: []uint64{1}, Do: fault.WSDrop, Control: true}, fault.WSMessage{To: fault.ToClient, At: []uint64{2}, Do: fault.WSDrop}),
		"websocket.stall.to":           socket(fault.WebSocket{Stall: &fault.WSStall{}}),
		"websocket.no_pong":            socket(fault.WebSocket{NoPong: &fault.Select{Kind: fault.SelectBurst, Length: 1, Gap: 1}}),
		"websocket.close.code":         end(fault.WSClose{}),
		"websocket.close.code: TLS":    end(fault.WSClose{Code: 1015}),
		"websocket.close.reason":       end(fault.WSClose{Code: 1006, Reason: "why"}),
		"websocket.close.reason: long": end(fault.WSClose{Code: 1000, Reason: strings.Repeat("x", 124)}),
		"websocket.close.by":           end(fault.WSClose{Code: 1000, By: fault.ActionHang}),
		"websocket.close.of":           end(fault.WSClose{Code: 1000, Of: "all"}),
	} {
		field, _, _ := strings.Cut(want, ":")
		ps := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {r}}})
		var got []string
		for _, p := range ps {
			got = append(got, p.Field)
		}
		if fmt.Sprint(got) != "["+field+"]" {
			t.Errorf("%s: %v", want, ps)
		}
	}
}
