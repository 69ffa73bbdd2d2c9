package attack_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// TestTemplatesAreFilledIn looks at what each call carries of its identity outside
// the headers that always do.
func TestTemplatesAreFilledIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		w := newBubbleWorld(t, func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s host %s order %s length %d body %s", r.RequestURI, r.Host, r.Header.Get("X-Order"), r.ContentLength, b))
		})
		p := calls(2, 1)
		p.Targets = []match.Target{{
			Name: "order", Method: http.MethodPost, Path: "/a%2Fb/{{.ID}}/x?id={{.UUID}}&q=%20",
			Headers: map[string]string{"x-order": "web-{{.ID}}", "Host": "{{.ID}}.example"},
			Body:    `{"id":"{{.UUID}}","in":{"x":{}}}`,
		}}
		w.run(t, p)
		tr := w.finish(t)
		var want []string
		for seq := range uint64(2) {
			id := w.corr.TraceID(0, seq)
			want = append(want, fmt.Sprintf("/a%%2Fb/%s/x?id=%s&q=%%20 host %s.example order web-%s length 59 body %s",
				id, match.UUID(id), id, id, `{"id":"`+match.UUID(id)+`","in":{"x":{}}}`))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(tr.Attempts) != 2 || tr.Attempts[1].ID != "one/1" {
			t.Errorf("attempts %+v", tr.Attempts)
		}
	})
}

// Two targets of one name do not take each other's place.
func TestTargetsOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[string]int{}
		var mu sync.Mutex
		w := newBubbleWorld(t, func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			seen[r.Method+r.URL.Path+r.Header.Get("X")+string(b)]++
		})
		p := calls(200, 4)
		p.Targets = []match.Target{
			{Name: "x", Method: "PUT", Path: "/a"}, // The others differ from it in one thing each.
			{Name: "x", Method: "GET", Path: "/a"},
			{Name: "x", Method: "PUT", Path: "/b"},
			{Name: "x", Method: "PUT", Path: "/a", Body: "1"},
			{Name: "x", Method: "PUT", Path: "/a", Headers: map[string]string{"X": "2"}},
		}
		w.run(t, p)
		w.finish(t)
		var kinds []string
		for _, kind := range []string{"GET/a", "PUT/b", "PUT/a", "PUT/a1", "PUT/a2"} {
			if seen[kind] < 10 {
				kinds = append(kinds, kind)
			}
		}
		if len(seen) != 5 || len(kinds) > 0 {
			t.Errorf("sent %v", seen)
		}
	})
}

// TestReplicasTakeTurns has three replicas, one of which is not there.
func TestReplicasTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		var mu sync.Mutex
		paths := map[string][]string{}
		var servers []*http.Server
		for _, addr := range []string{"a:80", "b:80"} {
			ln, err := n.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Instance", "other")
				mu.Lock()
				defer mu.Unlock()
				paths[addr] = append(paths[addr], r.URL.Path)
			})}
			servers = append(servers, s)
			go func() { _ = s.Serve(ln) }()
		}
		rec := trace.NewRecorder(time.Now())
		a, err := attack.New(attack.Config{
			Replicas:   []attack.Replica{{"a", "http://a:80/api/"}, {"b", "http://b:80"}, {"c", "http://c:80"}},
			Recorder:   rec,
			Correlator: match.Correlator{Run: 7, Phases: []string{"one"}}, Timeout: time.Second, Dial: n.DialContext, InstanceHeader: "X-Instance",
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), calls(9, 1)); err != nil {
			t.Fatal(err)
		}
		if c, err := a.Once(t.Context(), 0, 100, match.Target{Name: "probe", Path: "/p"}); err != nil || c.Instance != "b" {
			t.Errorf("call 100 went to %q, %v; want b", c.Instance, err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		for _, s := range servers {
			_ = s.Close()
		}
		want := map[string][]string{"a:80": {"/api/search", "/api/search", "/api/search"}, "b:80": {"/search", "/search", "/search", "/p"}}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Errorf("paths (-want +got):\n%s", diff)
		}
		for _, c := range rec.Snapshot(trace.Header{}).Calls[:9] {
			seq := c.ID[strings.LastIndexByte(c.ID, '/')+1:][0] - '0'
			wantErr := trace.ErrNone
			if seq%3 == 2 {
				wantErr = trace.ErrRefused
			}
			if c.Instance != string("abc"[seq%3]) || c.Err != wantErr {
				t.Errorf("call %s: instance %q, error %q; want %c, %q", c.ID, c.Instance, c.Err, "abc"[seq%3], wantErr)
			}
		}
	})
}

// What cannot be sent is refused before anything is.
func TestTargetsAndReplicasThatCannotBe(t *testing.T) {
	cfg := func(change func(*attack.Config)) attack.Config {
		c := attack.Config{
			BaseURL: "http://sut:80", Recorder: trace.NewRecorder(time.Now()), Timeout: time.Second,
			Correlator: match.Correlator{Run: 7, Phases: []string{"one"}},
		}
		change(&c)
		return c
	}
	for want, change := range map[string]func(*attack.Config){
		"a base URL and replicas": func(c *attack.Config) { c.Replicas = []attack.Replica{{"a", "http://a"}} },
		`"a" is none`: func(c *attack.Config) {
			c.BaseURL, c.Replicas = "", []attack.Replica{{"a", "http://a"}, {"a", "http://b"}}
		},
		`"" is none`:          func(c *attack.Config) { c.BaseURL, c.Replicas = "", []attack.Replica{{"", "http://a"}} },
		"replica b: base URL": func(c *attack.Config) { c.BaseURL, c.Replicas = "", []attack.Replica{{"a", "http://a"}, {"b", "b"}} },
		"class bad":           func(c *attack.Config) { c.Classes = match.Classes{{Name: "bad", Regex: []string{"("}}} },
	} {
		if _, err := attack.New(cfg(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	a, err := attack.New(cfg(func(*attack.Config) {}))
	if err != nil {
		t.Fatal(err)
	}
	for where, target := range map[string]match.Target{
		"path: {{.Nope}} is not a template":      {Name: "x", Path: "/{{.Nope}}"},
		"header X-A: {{.Nope}} is not":           {Name: "x", Headers: map[string]string{"X-A": "{{.Nope}}"}},
		"body: {{ .ID }} is not":                 {Name: "x", Method: "POST", Body: "{{ .ID }}"},
		"header \"X-A\": \"\\n\" cannot be sent": {Name: "x", Headers: map[string]string{"X-A": "\n"}},
	} {
		p := calls(1, 1)
		p.Targets = []match.Target{target}
		if _, err := a.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("error %v, want %q", err, where)
		}
	}
}
