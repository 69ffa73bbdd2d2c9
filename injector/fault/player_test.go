package fault_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
)

// play returns a fresh phase "p" of these rules.
func play(t testing.TB, seed uint64, rules ...fault.Rule) *fault.Phase {
	t.Helper()
	p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p.Phase("p")
}

func reset(s fault.Select) fault.Rule { return fault.Rule{Select: s, Action: fault.ActionReset} }

// ids are the rules that hit, - for none.
func ids(ph *fault.Phase, rs ...fault.Request) []string {
	var got []string
	for _, r := range rs {
		if v := ph.Decide(r); v.Rule != nil {
			got = append(got, v.Rule.ID)
		} else {
			got = append(got, "-")
		}
	}
	return got
}

func TestFirstMatchingRuleThatSelectsDecides(t *testing.T) {
	posts := reset(fault.Select{Kind: fault.SelectScript, Pattern: ".X"})
	posts.Match.Method = "post"
	ph := play(t, 1, posts, reset(fault.Select{Kind: fault.SelectFirst, First: 2}))
	post, get := fault.Request{Method: "POST", Path: "/"}, fault.Request{Method: "GET", Path: "/"}
	// The second rule does not count the request that the first one took.
	want := []string{"p/2", "p/1", "p/2", "-"}
	if diff := cmp.Diff(want, ids(ph, post, post, get, get)); diff != "" {
		t.Error("rules (-want +got):\n" + diff)
	}
	counts := []fault.Count{{Rule: "p/1", Seen: 2, Hit: 1}, {Rule: "p/2", Seen: 3, Hit: 2}}
	if diff := cmp.Diff(counts, ph.Counts()); diff != "" {
		t.Error("counts (-want +got):\n" + diff)
	}
}

func TestMatch(t *testing.T) {
	h := http.Header{"X-Tenant": {"a"}}
	r := fault.Request{Method: "POST", Path: "/charges/7", Header: h.Get}
	for _, c := range []struct {
		name  string
		match fault.Match
		want  bool
	}{
		{"empty", fault.Match{}, true},
		{"method", fault.Match{Method: "POST"}, true},
		{"method in lower case", fault.Match{Method: "post"}, true},
		{"other method", fault.Match{Method: "GET"}, false},
		{"path", fault.Match{Path: "/charges/7"}, true},
		{"part of the path", fault.Match{Path: "/charges"}, false},
		{"prefix", fault.Match{Path: "/charges/*"}, true},
		{"every path", fault.Match{Path: "*"}, true},
		{"other prefix", fault.Match{Path: "/refunds/*"}, false},
		{"header", fault.Match{Header: map[string]string{"x-tenant": "a"}}, true},
		{"other value", fault.Match{Header: map[string]string{"x-tenant": "A"}}, false},
		{"absent header", fault.Match{Header: map[string]string{"x-user": "a"}}, false},
		{"all but one", fault.Match{Method: "POST", Path: "/charges/*", Header: map[string]string{"X-Tenant": "b"}}, false},
	} {
		if got := c.match.Matches(r); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if (fault.Match{Header: map[string]string{"a": "b"}}).Matches(fault.Request{}) {
		t.Error("a request without headers has a header")
	}
}

// No interleaving loses, repeats or adds a decision.
func TestConcurrentDecisionsAreExact(t *testing.T) {
	const workers, each = 32, 50_000
	ph := play(t, 7, reset(ratio(37, 100)))
	indexes := make([][]uint64, workers)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for w := range workers {
		wg.Go(func() {
			<-begin
			for range each {
				if v := ph.Decide(fault.Request{}); v.Rule != nil {
					indexes[w] = append(indexes[w], v.Index)
				}
			}
		})
	}
	close(begin)
	wg.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(indexes...)))
	var want []uint64
	for i := range uint64(workers * each) {
		if ratio(37, 100).Hit(i) {
			want = append(want, i)
		}
	}
	if !slices.Equal(want, all) {
		t.Errorf("%d hits of %d; the indexes are not those of the ratio", len(all), len(want))
	}
	counts := []fault.Count{{Rule: "p/1", Seen: workers * each, Hit: workers * each * 37 / 100}}
	if diff := cmp.Diff(counts, ph.Counts()); diff != "" {
		t.Error("counts (-want +got):\n" + diff)
	}
}

func TestEveryPhaseStartsAnew(t *testing.T) {
	p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{
		"p": {reset(fault.Select{Kind: fault.SelectFirst, First: 1})},
	}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if diff := cmp.Diff([]string{"p/1", "-"}, ids(p.Phase("p"), fault.Request{}, fault.Request{})); diff != "" {
			t.Error("rules (-want +got):\n" + diff)
		}
	}
	if got := ids(p.Phase("another"), fault.Request{}); got[0] != "-" {
		t.Errorf("a phase without faults hit by %s", got[0])
	}
}

func latencies(t testing.TB, seed uint64, id string, l fault.Latency, n int) []time.Duration {
	r := fault.Rule{ID: id, Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass, Latency: l}
	ph := play(t, seed, r)
	var ds []time.Duration
	for range n {
		ds = append(ds, ph.Decide(fault.Request{}).Latency)
	}
	return ds
}

func TestLatency(t *testing.T) {
	l := fault.Latency{Min: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	a := latencies(t, 42, "p/1", l, 1000)
	if !slices.Equal(a, latencies(t, 42, "p/1", l, 1000)) {
		t.Error("the same seed gives other latencies")
	}
	if slices.Equal(a, latencies(t, 43, "p/1", l, 1000)) {
		t.Error("another seed gives the same latencies")
	}
	if slices.Equal(a, latencies(t, 42, "p/2", l, 1000)) {
		t.Error("another rule gives the same latencies")
	}
	if lo, hi := slices.Min(a), slices.Max(a); lo < l.Min || hi > l.Max {
		t.Errorf("latencies from %v to %v", lo, hi)
	}
	// Uniform, in strata: each tenth of the range holds its tenth of each hundred.
	for hundred := range slices.Chunk(a, 100) {
		var bins [10]int
		for _, d := range hundred {
			bins[min(9, int((d-l.Min)/time.Millisecond))]++
		}
		if bins != [10]int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10} {
			t.Errorf("tenths of the range: %v", bins)
		}
	}
	for _, d := range latencies(t, 1, "p/1", fault.Latency{Min: 5, Max: 5}, 10) {
		if d != 5 {
			t.Errorf("a fixed latency of 5ns is %v", d)
		}
	}
}

func TestLatencyStaysWithinItsEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Min(0).Draw(t, "min")
		l := fault.Latency{Min: time.Duration(lo), Max: time.Duration(rapid.Int64Min(lo).Draw(t, "max"))}
		p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": {
			{Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass, Latency: l},
		}}}, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if d := p.Phase("p").Decide(fault.Request{}).Latency; d < l.Min || d > l.Max {
				t.Fatalf("%v is not within %+v", d, l)
			}
		}
	})
}

// The player keeps its own copy.
func TestScriptChangedAfterwards(t *testing.T) {
	rules := []fault.Rule{{
		Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionRespond,
		Match:   fault.Match{Header: map[string]string{"A": "b"}},
		Respond: fault.Respond{Status: 503, Headers: map[string]string{"Retry-After": "1"}},
		Hold:    &fault.Hold{Probes: 1, Rejected: 1, Max: 1},
	}}
	p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rules[0].Match.Header["A"], rules[0].Respond.Headers["Retry-After"], rules[0].Hold.Max = "c", "2", 2
	r := p.Rules()[0]
	if r.Match.Header["A"] != "b" || r.Respond.Headers["Retry-After"] != "1" || r.Hold.Max != 1 {
		t.Errorf("the player's rule followed the caller's: %+v", r)
	}
}

// Nothing that can be changed is shared, however deep.
func TestNothingIsShared(t *testing.T) {
	all := fault.Select{Kind: fault.SelectAll}
	rules := []fault.Rule{
		{Select: all, Action: fault.ActionSettings, Settings: &fault.H2Settings{MaxStreams: 1}},
		{Select: all, Action: fault.ActionRespond, Match: fault.Match{Path: "/a"}, Respond: fault.Respond{GRPC: &fault.GRPC{Messages: []string{"aGk="}}}},
		{Select: all, Action: fault.ActionPass, Match: fault.Match{Path: "/b"}, H2: &fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutStart}}},
		{Select: all, Action: fault.ActionPass, Match: fault.Match{Path: "/c"}, H2: &fault.H2{GoAway: &fault.GoAway{Code: "CANCEL", Last: fault.LastThis}}},
		{Select: all, Action: fault.ActionPass, Match: fault.Match{Path: "/d"}, Form: fault.Form{
			Inform: &fault.Inform{Status: 103, Times: 1}, Drip: &fault.Drip{Chunks: 1, Over: 1}, After: &fault.After{Do: fault.AfterTell},
		}},
		{Select: all, Action: fault.ActionPass, Match: fault.Match{Path: "/e"}, Form: fault.Form{
			Slice: &fault.Slice{Size: 1}, Cut: &fault.Cut{At: fault.CutStart, By: fault.ActionReset},
		}},
		{Select: all, Action: fault.ActionRespond, Respond: fault.Respond{Status: 503, RetryAfter: &fault.RetryAfter{In: time.Second}}, Hold: &fault.Hold{Probes: 1, Rejected: 1, Max: 1}},
	}
	p, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": rules}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n, r := range p.Rules() {
		apart(t, r.ID, reflect.ValueOf(rules[n]), reflect.ValueOf(*r))
	}
}

// apart reports what two values share.
func apart(t *testing.T, name string, a, b reflect.Value) {
	t.Helper()
	switch kind := a.Kind(); kind {
	case reflect.Struct:
		for i, f := range reflect.VisibleFields(a.Type()) {
			apart(t, name+"."+f.Name, a.Field(i), b.Field(i))
		}
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() {
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is the caller's", name)
		}
		if kind == reflect.Pointer {
			apart(t, name, a.Elem(), b.Elem())
		}
	default:
	}
}

// Whatever script comes in, it is either refused or plays without a panic.
func FuzzPlayer(f *testing.F) {
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"ratio","num":1,"den":3},"action":"reset","hold":{"probes":1,"rejected":1,"max":5}}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"script","pattern":"X."},"action":"respond","respond":{"status":503},"latency":{"min":1,"max":9}}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"shuffle","num":1,"den":3,"block":9},"action":"reset"},{"select":{"kind":"shuffle","num":2,"den":3,"block":9},"action":"reset"}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"burst","length":1,"gap":3,"sticky":{"by":"cookie","name":"s"}},"action":"pass","latency":{"normal":{"mean":5,"sd":3}}}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"every","every":1},"action":"pass","latency":{"table":{"points":[{"quantile":0,"at":0},{"quantile":1,"at":9}]}}}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"random","num":1,"den":3},"action":"pass","latency":{"pareto":{"min":1,"alpha":0.1,"cap":9}}}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"match":{"path":"/a/**/*","query":{"a":"b"},"header_regex":{"a":"^b"},"jsonpath":{"$.a":1},"peer":"10.0.0.0/8"},"select":{"kind":"all"},"action":"reset"}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"match":{"grpc":"a.B/*"},"select":{"kind":"all"},"action":"reset"},{"match":{"path_regex":"^/a"},"select":{"kind":"all"},"action":"reset"}]}}`))
	f.Add([]byte(`{"phases":{"p":[{"select":{"kind":"ratio","ramp":{"points":[{"at":0,"num":0,"den":1},{"at":9,"num":1,"den":2}]}},"action":"reset","latency":{"ramp":{"points":[{"at":0,"latency":1},{"at":5,"latency":9}],"stairs":true}}},{"select":{"kind":"ratio","num":1,"den":2},"action":"reset"}]}}`))
	f.Add([]byte(`{"phases":{"":[{"select":{"kind":"ratio"},"latency":{"min":-1,"max":-2}}]}}`))
	f.Fuzz(func(t *testing.T, script []byte) {
		var s fault.Script
		if json.Unmarshal(script, &s) != nil {
			t.Skip("not a script")
		}
		p, err := fault.NewPlayer(s, 1)
		if (err == nil) != (len(fault.Validate(s)) == 0) {
			t.Fatalf("NewPlayer says %v, Validate says %v", err, fault.Validate(s))
		}
		if err != nil {
			return
		}
		for name := range s.Phases {
			ph := p.Phase(name)
			for n := range 3 {
				r := asUser("a/b")
				r.At = time.Duration(n) * 4
				if v := ph.Decide(r); v.Rule == nil && v != (fault.Verdict{}) {
					t.Fatalf("a verdict without a rule: %+v", v)
				}
			}
			ph.Counts()
		}
		for _, r := range p.Rules() {
			if m := r.Latency.Mean(); m < r.Latency.Quantile(0) || m > r.Latency.Longest() {
				t.Fatalf("the mean of %s is %v", r.Latency, m)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	ph := play(b, 1, reset(ratio(1, 5)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ph.Decide(fault.Request{Method: "GET", Path: "/"})
		}
	})
}
