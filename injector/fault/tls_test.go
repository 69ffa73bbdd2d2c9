package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

func onTLS(do fault.TLSDo) fault.Rule {
	return fault.Rule{Action: fault.ActionTLS, Select: fault.Select{Kind: fault.SelectAll}, TLS: &fault.TLS{Do: do}}
}

func hello(sni string) fault.Request { return fault.Request{Layer: fault.LayerTLS, SNI: sni} }

func TestValidateTLS(t *testing.T) {
	late := fault.Latency{Min: time.Second, Max: time.Second}
	for _, c := range []struct {
		name string
		edit func(*fault.Rule)
		want string // in the only problem; empty: none
	}{
		{"stall", func(*fault.Rule) {}, ""},
		{"stall after a latency, of a host", func(r *fault.Rule) { r.Latency, r.Match.SNI, r.Match.Peer = late, "*.example.com", "127.0.0.1" }, ""},
		{"nothing", func(r *fault.Rule) { r.TLS = nil }, "tls: is missing"},
		{"something unknown", func(r *fault.Rule) { r.TLS.Do = "x" }, `tls.do: "x" is none of slow, stall`},
		{"an alert of no byte", func(r *fault.Rule) { r.TLS.Do, r.TLS.Alert = fault.TLSAlert, 256 }, "tls.alert: 256 is not the code"},
		{"a code that nobody sends", func(r *fault.Rule) { r.TLS.Alert = 40 }, "tls.alert: has no meaning with stall"},
		{"slow at once", func(r *fault.Rule) { r.TLS.Do = fault.TLSSlow }, "latency: is missing"},
		{"a path", func(r *fault.Rule) { r.Match.Path = "/x" }, "match: has no meaning with action tls"},
		{"a star in a name", func(r *fault.Rule) { r.Match.SNI = "a.*.b" }, `match.sni: "a.*.b" is not a name`},
		{"a key", func(r *fault.Rule) {
			r.Select = fault.Select{Kind: fault.SelectRatio, Num: 1, Den: 2, Sticky: fault.Sticky{By: fault.StickyPeer}}
		}, "select.sticky: has no meaning"},
		{"a hold", func(r *fault.Rule) { r.Hold = &fault.Hold{Probes: 1, Rejected: 1, Max: time.Second} }, "hold: has no meaning"},
		{"an answer", func(r *fault.Rule) { r.Respond.Status = 500 }, "respond: has no meaning"},
		{"a form", func(r *fault.Rule) { r.Form.Bandwidth = 1 }, "form: has no meaning"},
		{"stealth", func(r *fault.Rule) { r.Stealth = true }, "stealth: has no meaning"},
		{"another action", func(r *fault.Rule) { r.Action = fault.ActionHang }, "tls: has no meaning with action hang"},
		{"a name for requests", func(r *fault.Rule) { r.Action, r.TLS, r.Match.SNI = fault.ActionHang, nil, "x" }, "nor has a match by sni"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onTLS(fault.TLSStall)
			c.edit(&r)
			got := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {r}}})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("%v", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Error(), c.want)):
				t.Errorf("%v, want one with %q", got, c.want)
			}
		})
	}
}

// Rules of connections and of requests neither see nor shadow each other, nor share a draw.
func TestLayersAreApart(t *testing.T) {
	half := fault.Select{Kind: fault.SelectShuffle, Num: 6, Den: 10, Block: 10}
	tls, reset := onTLS(fault.TLSStall), fault.Rule{Action: fault.ActionReset}
	tls.Select, reset.Select = half, half
	all := onTLS(fault.TLSClose)
	script := fault.Script{Phases: map[string][]fault.Rule{"p": {tls, reset, all, {Action: fault.ActionHang, Select: all.Select}}}}
	player, err := fault.NewPlayer(script, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := player.Phase("p")
	for range 10 {
		p.Decide(hello("a"))
		for range 10 {
			p.Decide(fault.Request{Method: "GET", Path: "/"})
		}
	}
	for n, want := range []uint64{6, 60, 4, 40} {
		if got := p.Counts()[n].Hit; got != want {
			t.Errorf("rule %d hit %d, want %d", n+1, got, want)
		}
	}
}

func TestMatchSNI(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a.b", true},
		{"", "", true},
		{"a.b", "a.b", true},
		{"a.b", "A.B.", true},
		{"a.b", "x.a.b", false},
		{"a.b", "", false},
		{"*.b", "a.b", true},
		{"*.b", "x.a.b", true},
		{"*.b", "b", false},
		{"*.b", ".b", false},
		{"*.B", "a.b", true},
	} {
		if got := (fault.Match{SNI: c.pattern}).Matches(hello(c.name)); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

// Shares of hosts that exclude each other are not added up, and a wider host takes what a
// narrower one behind it is for.
func TestSNIOverlaps(t *testing.T) {
	of := func(sni string, num uint64) fault.Rule {
		r := onTLS(fault.TLSStall)
		r.Match.SNI, r.Select = sni, fault.Select{Kind: fault.SelectRatio, Num: num, Den: 10}
		return r
	}
	shuffled := func(r fault.Rule) fault.Rule {
		r.Select.Kind, r.Select.Block = fault.SelectShuffle, 10
		return r
	}
	for _, c := range []struct {
		a, b fault.Rule
		ok   bool
	}{
		{of("a.x", 6), shuffled(of("b.x", 6)), true},
		{of("*.x", 1), shuffled(of("b.x", 1)), false},
		{of("a.x", 6), of("b.x", 6), true},
		{of("*.x", 6), of("b.x", 6), false},
		{of("*.x", 6), of("*.y", 6), true},
		{of("*.x", 10), of("b.x", 1), false},
		{of("", 10), of("b.x", 1), false},
	} {
		got := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {c.a, c.b}}})
		if ok := len(got) == 0; ok != c.ok {
			t.Errorf("%q and %q: %v", c.a.Match.SNI, c.b.Match.SNI, got)
		}
	}
}
