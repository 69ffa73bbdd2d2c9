package match_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/match"
)

// maxSeq is the greatest number of a call.
const maxSeq = 1<<48 - 1

// run is a correlator of two phases.
func run(carriers ...string) match.Correlator {
	return match.Correlator{Run: 0x0123456789abcdef, Phases: []string{"warmup", "outage"}, Carriers: carriers}
}

// carried are the headers of a call.
func carried(c match.Correlator, phase int, seq uint64) http.Header {
	h := http.Header{}
	c.Carry(h.Set, phase, seq)
	return h
}

func TestCarry(t *testing.T) {
	const id = "0123456789abcdef" + "0001" + "0000000000ff"
	for _, tc := range []struct {
		name     string
		carriers []string
		want     http.Header
	}{
		{"default", nil, http.Header{}},
		{"declared header", []string{"header:x-trace", "traceparent"}, http.Header{"X-Trace": {id}}},
		{"two declared headers", []string{"header:x-trace", "header:X-Other"}, http.Header{"X-Trace": {id}, "X-Other": {id}}},
		{"request id, spelt in its way", []string{"header:X-Request-ID"}, http.Header{}},
		{"what carries nothing", []string{"single_flight", "aggregate"}, http.Header{}},
		{"a declared header does not spoil traceparent", []string{"header:Traceparent"}, http.Header{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Set(match.Traceparent, "00-"+id+"-0000000000000100-01")
			tc.want.Set(match.RequestID, id)
			if diff := cmp.Diff(tc.want, carried(run(tc.carriers...), 1, 255)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestIdentify shows which carrier tells of a call, when some are lost or belong
// to something else.
func TestIdentify(t *testing.T) {
	other := run()
	other.Run++
	foreign := carried(other, 1, 7)
	const ours, foreigns = "ours", "foreign"
	for _, tc := range []struct {
		name     string
		carriers []string
		headers  map[string]string // what each is: ours, foreign, or as it stands
		id, by   string
	}{
		{"all pass", nil, map[string]string{"traceparent": ours, "x-request-id": ours}, "outage/12", "traceparent"},
		{"traceparent passes", nil, map[string]string{"traceparent": ours}, "outage/12", "traceparent"},
		{"request id passes", nil, map[string]string{"x-request-id": ours}, "outage/12", "header:x-request-id"},
		{"nothing passes", nil, nil, "", ""},
		{"the SUT begins a trace of its own", nil, map[string]string{"traceparent": foreigns, "x-request-id": ours}, "outage/12", "header:x-request-id"},
		{"the SUT makes a request id of its own", nil, map[string]string{"traceparent": ours, "x-request-id": "b7ad6b71"}, "outage/12", "traceparent"},
		{"another run", nil, map[string]string{"traceparent": foreigns, "x-request-id": foreigns}, "", ""},
		{"declared header passes", []string{"traceparent", "header:x-trace"}, map[string]string{"x-trace": ours}, "outage/12", "header:x-trace"},
		{"declared header of another run", []string{"traceparent", "header:x-trace"}, map[string]string{"x-trace": foreigns}, "", ""},
		{"the order decides", []string{"header:x-trace", "traceparent"}, map[string]string{"traceparent": ours, "x-trace": ours}, "outage/12", "header:x-trace"},
		{"a name is spelt as declared", []string{"header:X-Request-ID"}, map[string]string{"x-request-id": ours}, "outage/12", "header:X-Request-ID"},
		{"what is not in the order does not count", []string{"traceparent"}, map[string]string{"x-request-id": ours}, "", ""},
		{"a rung without a header is passed over", []string{"single_flight", "aggregate", "traceparent"}, map[string]string{"traceparent": ours}, "outage/12", "traceparent"},
		{"a traceparent is no plain header", []string{"header:traceparent"}, map[string]string{"traceparent": ours}, "", ""},
		{"a plain header is no traceparent", []string{"traceparent"}, map[string]string{"traceparent": run().TraceID(1, 12)}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := run(tc.carriers...)
			own, h := carried(c, 1, 12), http.Header{}
			for k, v := range tc.headers {
				switch v {
				case ours:
					v = own.Get(k)
				case foreigns:
					if v = foreign.Get(k); v == "" {
						v = foreign.Get(match.RequestID)
					}
				}
				h.Set(k, v)
			}
			id, by, ok := c.Identify(match.Request{Header: h})
			if id != tc.id || by != tc.by || ok != (tc.id != "") {
				t.Errorf("identified %q by %q, %t; want %q by %q", id, by, ok, tc.id, tc.by)
			}
		})
	}
}

// TestIdentifyTraceparent shows what a traceparent has to keep: its trace-id.
func TestIdentifyTraceparent(t *testing.T) {
	const id, span = "0123456789abcdef" + "0001" + "00000000000c", "00f067aa0ba902b7"
	for _, tc := range []struct {
		name, header string
		ok           bool
	}{
		{"as sent", "00-" + id + "-000000000000000d-01", true},
		{"the span of the SUT", "00-" + id + "-" + span + "-01", true},
		{"not sampled", "00-" + id + "-" + span + "-00", true},
		{"upper case", "00-" + strings.ToUpper(id) + "-" + strings.ToUpper(span) + "-01", true},
		{"version ff", "ff-" + id + "-" + span + "-01", true},
		{"a later version", "01-" + id + "-" + span + "-01", true},
		{"no span", "00-" + id + "-0000000000000000-01", true},
		{"a digit short", "00-" + id[1:] + "-" + span + "-01", false},
		{"a digit more", "00-" + id + "0-" + span + "-01", false},
		{"half of the trace-id", "00-" + id[16:] + "-" + span + "-01", false},
		{"the trace-id twice", "00-" + id + id + "-" + span + "-01", false},
		{"no digit", "00-" + id[:31] + "g-" + span + "-01", false},
		{"zero trace-id", "00-" + strings.Repeat("0", 32) + "-" + span + "-01", false},
		{"zero but for the call", "00-" + strings.Repeat("0", 16) + id[16:] + "-" + span + "-01", false},
		{"another run", "00-f" + id[1:] + "-" + span + "-01", false},
		{"no such phase", "00-0123456789abcdef0002" + id[20:] + "-" + span + "-01", false},
		{"the last phase that there can be", "00-0123456789abcdefffff" + id[20:] + "-" + span + "-01", false},
		{"three parts", "00-" + id + "-" + span, false},
		{"five parts", "00-" + id + "-" + span + "-01-x", false},
		{"other separators", "00_" + id + "_" + span + "_01", false},
		{"spaces", "00- " + id + "-" + span + "-01", false},
		{"empty", "", false},
		{"separators alone", "---", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, by, ok := run().Identify(match.Request{Header: http.Header{"Traceparent": {tc.header}}})
			if ok != tc.ok || ok && (got != "outage/12" || by != "traceparent") || !ok && (got != "" || by != "") {
				t.Errorf("%q: identified %q by %q, %t", tc.header, got, by, ok)
			}
		})
	}
}

// Whatever the call and the order, each carrier that arrives alone tells of it,
// and of no call to another run.
func TestIdentifyWhatWasCarried(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := []string{"traceparent", "header:x-request-id", "header:x-trace", "header:X-B", "single_flight"}
		c := match.Correlator{
			Run:      rapid.Uint64Min(1).Draw(t, "run"),
			Phases:   rapid.SliceOfNDistinct(rapid.String(), 1, 9, rapid.ID).Draw(t, "phases"),
			Carriers: rapid.Permutation(pool).Draw(t, "order")[:rapid.IntRange(0, len(pool)).Draw(t, "carriers")],
		}
		phase := rapid.IntRange(0, len(c.Phases)-1).Draw(t, "phase")
		seq := rapid.OneOf(rapid.Uint64Range(0, maxSeq), rapid.SampledFrom([]uint64{0, maxSeq})).Draw(t, "seq")
		h, want := carried(c, phase, seq), fmt.Sprintf("%s/%d", c.Phases[phase], seq)
		if got := c.ID(phase, seq); got != want {
			t.Fatalf("id %q, want %q", got, want)
		}
		order := c.Carriers
		if len(order) == 0 {
			order = []string{"traceparent", "header:x-request-id"}
		}
		for _, by := range order {
			name, _ := strings.CutPrefix(by, match.HeaderPrefix)
			alone := http.Header{}
			if v := h.Get(name); v != "" {
				alone.Set(name, v)
			}
			id, got, ok := c.Identify(match.Request{Header: alone})
			if expected := by != "single_flight"; ok != expected || expected && (id != want || got != by) {
				t.Errorf("%s alone: identified %q by %q, %t; want %q", by, id, got, ok, want)
			}
		}
		order = slices.DeleteFunc(slices.Clone(order), func(by string) bool { return by == "single_flight" })
		if id, by, ok := c.Identify(match.Request{Header: h}); ok != (len(order) > 0) || ok && (id != want || by != order[0]) {
			t.Errorf("all: identified %q by %q, %t; want %q by the first of %q", id, by, ok, want, order)
		}
		other := c
		other.Run = rapid.Uint64Min(1).Filter(func(run uint64) bool { return run != c.Run }).Draw(t, "other run")
		if id, by, ok := other.Identify(match.Request{Header: h}); ok {
			t.Errorf("another run recognised %q by %q", id, by)
		}
	})
}

// Of what was not carried nothing is recognised, and nothing panics.
func TestIdentifyAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := run("traceparent", "header:x-trace")
		text := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}`),
			rapid.StringMatching(`[0-9a-f]{32}`),
		).Draw(t, "header")
		if id, by, ok := c.Identify(match.Request{Header: http.Header{"Traceparent": {text}, "X-Trace": {text}}}); ok {
			t.Errorf("%q: identified %q by %q", text, id, by)
		}
	})
}

// TestBounds shows the greatest phase and number, and what lies beyond.
func TestBounds(t *testing.T) {
	c := run()
	c.Phases = make([]string, match.MaxPhases)
	for i := range c.Phases {
		c.Phases[i] = fmt.Sprintf("p%d", i)
	}
	identify := func(phase int, seq uint64) string {
		id, _, _ := c.Identify(match.Request{Header: carried(c, phase, seq)})
		return id
	}
	for _, tc := range []struct {
		phase int
		seq   uint64
		want  string
	}{
		{0, 0, "p0/0"},
		{0, maxSeq, "p0/281474976710655"},
		{match.MaxPhases - 1, 0, "p65535/0"},
		{match.MaxPhases - 1, maxSeq, "p65535/281474976710655"},
	} {
		if got := identify(tc.phase, tc.seq); got != tc.want {
			t.Errorf("call %d of phase %d: identified %q, want %q", tc.seq, tc.phase, got, tc.want)
		}
	}
	// Phase 65536 would be taken for phase 0: with so many, nothing is recognised.
	c.Phases = append(c.Phases, "one too many")
	for _, phase := range []int{0, match.MaxPhases} {
		if got := identify(phase, 3); got != "" {
			t.Errorf("with %d phases a call of phase %d is taken for %q", len(c.Phases), phase, got)
		}
	}
}

// No two calls of a run have the same trace-id or span; no span is zero.
func TestIDsAreDistinct(t *testing.T) {
	seen := map[string]string{}
	c := run()
	for phase := range c.Phases {
		for _, seq := range []uint64{0, 1, 255, 256, 1 << 32, maxSeq - 1, maxSeq} {
			h := carried(c, phase, seq)
			id := c.ID(phase, seq)
			if before, ok := seen[h.Get(match.RequestID)]; ok {
				t.Errorf("%s and %s have the same trace-id", before, id)
			}
			seen[h.Get(match.RequestID)] = id
			parts := strings.Split(h.Get(match.Traceparent), "-")
			if len(parts) != 4 || len(parts[1]) != 32 || len(parts[2]) != 16 || parts[2] == strings.Repeat("0", 16) || strings.ToLower(parts[1]) != parts[1] {
				t.Errorf("%s: traceparent %q is not valid", id, h.Get(match.Traceparent))
			}
		}
	}
}

func TestDepends(t *testing.T) {
	target := match.Target{DependsOn: []string{"payments", "billing"}}
	for injector, want := range map[string]bool{"payments": true, "billing": true, "Payments": false, "": false, "stock": false} {
		if got := target.Depends(injector); got != want {
			t.Errorf("depends on %q: %t", injector, got)
		}
	}
}
