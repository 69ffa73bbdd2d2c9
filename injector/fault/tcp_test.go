package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

func onTCP(tcp fault.TCP) fault.Rule {
	return fault.Rule{Action: fault.ActionTCP, Select: fault.Select{Kind: fault.SelectAll}, TCP: &tcp}
}

func TestValidateTCP(t *testing.T) {
	end := func(after int64, by fault.Action) *fault.Stream {
		return &fault.Stream{End: &fault.StreamEnd{After: after, By: by}}
	}
	late := fault.Latency{Min: time.Second, Max: time.Second}
	for _, c := range []struct {
		name string
		tcp  fault.TCP
		want string // in the only problem; empty: none
	}{
		{"all of it", fault.TCP{
			Up: &fault.Stream{
				Latency: late, Bandwidth: 1, Scope: fault.ScopeRule, Slice: &fault.Slice{Size: 1},
				End: &fault.StreamEnd{After: 1, By: fault.ActionHang},
			},
			Down: end(0, fault.ActionReset), Life: &fault.Life{For: 1, By: fault.ActionClose},
		}, ""},
		{"nothing", fault.TCP{}, "tcp: is empty"},
		{"nothing in a direction", fault.TCP{Up: &fault.Stream{}}, "tcp.up: says nothing"},
		{"no bandwidth", fault.TCP{Up: &fault.Stream{Bandwidth: -1}}, "tcp.up.bandwidth: is -1"},
		{"a scope of nothing", fault.TCP{Up: &fault.Stream{Scope: fault.ScopeRule, Latency: late}}, "tcp.up.bandwidth: is 0"},
		{"another scope", fault.TCP{Down: &fault.Stream{Scope: "x", Bandwidth: 1}}, `tcp.down.scope: "x" is none of`},
		{"slices of nothing", fault.TCP{Down: &fault.Stream{Slice: &fault.Slice{}}}, "tcp.down.slice: is 0 bytes"},
		{"an end before the first byte", fault.TCP{Up: end(-1, fault.ActionReset)}, "tcp.up.end: after -1 bytes"},
		{"an end by an answer", fault.TCP{Up: end(1, fault.ActionRespond)}, `by "respond"`},
		{"no life", fault.TCP{Life: &fault.Life{By: fault.ActionReset}}, "tcp.life: is 0s"},
		{"a life that hangs", fault.TCP{Life: &fault.Life{For: 1, By: fault.ActionHang}}, "reset or close"},
		{"a negative latency", fault.TCP{Up: &fault.Stream{Latency: fault.Latency{Min: -1}}}, "tcp.up.latency.min: -1ns is negative"},
		{"two rates of one thing", fault.TCP{
			Up: &fault.Stream{Bandwidth: 1, Scope: fault.ScopeAll}, Down: &fault.Stream{Bandwidth: 2, Scope: fault.ScopeAll},
		}, "tcp.bandwidth: all share one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {onTCP(c.tcp)}}})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("%v", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Error(), c.want)):
				t.Errorf("%v, want one with %q", got, c.want)
			}
		})
	}
}

// What only requests have is refused, and so is what only TCP has with anything else.
func TestTCPIsApart(t *testing.T) {
	life := fault.TCP{Life: &fault.Life{For: 1, By: fault.ActionReset}}
	for _, c := range []struct {
		edit func(*fault.Rule)
		want string
	}{
		{func(r *fault.Rule) { r.Latency = fault.Latency{Min: 1, Max: 1} }, "latency: has no meaning with action tcp"},
		{func(r *fault.Rule) { r.Match.Method = "GET" }, "match: has no meaning"},
		{func(r *fault.Rule) { r.Action = fault.ActionReset }, "tcp: has no meaning with action reset"},
		{func(r *fault.Rule) { r.Stealth = true }, "stealth: has no meaning"},
		{func(r *fault.Rule) { r.ReadRate = 1 }, "read_rate: has no meaning"},
	} {
		r := onTCP(life)
		c.edit(&r)
		got := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {r}}})
		if len(got) != 1 || !strings.Contains(got[0].Error(), c.want) {
			t.Errorf("%v, want one with %q", got, c.want)
		}
	}
}

// Latencies of the two directions are drawn apart, and of a hundred connections they have
// the law's shares.
func TestThrough(t *testing.T) {
	law := fault.Latency{Min: 0, Max: 100 * time.Second}
	player, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {
		onTCP(fault.TCP{Up: &fault.Stream{Latency: law}, Down: &fault.Stream{Latency: law}}),
	}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := player.Phase("p")
	var seen [2][100]int
	same := 0
	for range 100 {
		v := p.Decide(fault.Request{Layer: fault.LayerTCP})
		up, down := v.Through(v.Rule.TCP.Up, 0), v.Through(v.Rule.TCP.Down, 1)
		if up == down {
			same++
		}
		seen[0][min(99, up/time.Second)]++
		seen[1][min(99, down/time.Second)]++
	}
	for n := range 100 {
		if seen[0][n] != 1 || seen[1][n] != 1 {
			t.Fatalf("%v", seen)
		}
	}
	if same > 5 {
		t.Errorf("%d connections have the same latency in both directions", same)
	}
}
