package attack_test

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// TestWhatIsSent looks at the request as the SUT gets it.
func TestWhatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *http.Request
		var body string
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got, body = r, string(b)
			http.Redirect(rw, r, "/elsewhere", http.StatusFound)
		})
		p := calls(1, 1)
		p.Targets = []match.Target{{
			Name: "order", Method: http.MethodPut, Path: "/orders/1?x=2", Body: `{"n":1}`,
			Headers: map[string]string{"content-type": "application/json", "Host": "shop.example", "X-Request-Id": "mine"},
		}}
		w.run(t, p)
		tr := w.finish(t)
		want := http.Header{
			"Content-Type":   {"application/json"},
			"Content-Length": {"7"},
			"User-Agent":     {"Go-http-client/1.1"},
			"Traceparent":    {"00-" + w.corr.TraceID(0, 0) + "-0000000000000001-01"},
			"X-Request-Id":   {w.corr.TraceID(0, 0)},
		}
		if diff := cmp.Diff(want, got.Header); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if got.Method != http.MethodPut || got.RequestURI != "/orders/1?x=2" || got.Host != "shop.example" || body != `{"n":1}` {
			t.Errorf("%s %s to %s with %q", got.Method, got.RequestURI, got.Host, body)
		}
		if len(tr.Attempts) != 1 || tr.Attempts[0].ID != "one/0" || tr.Calls[0].Status != http.StatusFound || tr.Calls[0].Class != match.Unclassified {
			t.Errorf("a redirect was recorded as %+v with attempts %+v", tr.Calls, tr.Attempts)
		}
	})
}

// TestAnswersAreRead has bodies around the limit and an end that comes late.
func TestAnswersAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]string{
			"/small":  "ok",
			"/limit":  strings.Repeat("-", attack.MaxBody-2) + "ok",
			"/beyond": strings.Repeat("-", attack.MaxBody) + "ok",
		}
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(rw, answers[r.URL.Path])
			_ = http.NewResponseController(rw).Flush()
			time.Sleep(time.Second)
		})
		for seq, path := range []string{"/small", "/limit", "/beyond"} {
			c, err := w.Once(t.Context(), 2, uint64(seq), match.Target{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			class := "primary"
			if path == "/beyond" {
				class = match.Unclassified
			}
			if c.Class != class || (c.Detail != "") != (path == "/beyond") || c.Err != trace.ErrNone {
				t.Errorf("%s: %+v", path, c)
			}
			if c.First-c.Send > time.Millisecond || c.End-c.Send < time.Second {
				t.Errorf("%s: sent at %v, first byte at %v, last at %v", path, c.Send, c.First, c.End)
			}
		}
		w.finish(t)
	})
}

func TestInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		ln, err := n.Listen("tcp", "sut:80")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Instance", "a7")
		})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(ln)
		}()
		a, err := attack.New(attack.Config{
			BaseURL:        "http://sut/",
			Recorder:       trace.NewRecorder(time.Now()),
			Correlator:     match.Correlator{Run: 1, Phases: []string{"probe"}},
			Timeout:        time.Second,
			InstanceHeader: "x-instance",
			Dial:           n.DialContext,
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.Once(t.Context(), 0, 9, match.Target{Path: "/"})
		if err != nil || c.Instance != "a7" || c.ID != "probe/9" || c.Phase != "probe" {
			t.Errorf("%+v, %v", c, err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		_ = srv.Close()
		<-served
	})
}

// TestTargetsByWeight wants shares near the weights, the same choice for the
// same seed and another one for another.
func TestTargetsByWeight(t *testing.T) {
	choose := func(seed uint64) (names []string) {
		synctest.Test(t, func(t *testing.T) {
			w := newBubbleWorld(t, after(0))
			p := calls(1000, 1)
			p.Seed = seed
			p.Targets = []match.Target{{Name: "a", Weight: 3}, {Name: "never"}, {Name: "b", Weight: 1}}
			w.run(t, p)
			for _, c := range w.finish(t).Calls {
				names = append(names, c.Target)
			}
		})
		return names
	}
	first := choose(1)
	share := map[string]int{}
	for _, name := range first {
		share[name]++
	}
	if math.Abs(float64(share["a"])-750) > 50 || share["never"] != 0 || len(first) != 1000 {
		t.Errorf("shares are %v", share)
	}
	if diff := cmp.Diff(first, choose(1)); diff != "" {
		t.Errorf("the same seed chose otherwise:\n%s", diff)
	}
	if cmp.Equal(first, choose(2)) {
		t.Error("another seed chose the same")
	}
}

func TestPhasesThatCannotBeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(0))
		for want, spoil := range map[string]func(*attack.Phase){
			"not number":          func(p *attack.Phase) { p.Index = 3 },
			"of the correlator's": func(p *attack.Phase) { p.Name = "other" },
			"no targets":          func(p *attack.Phase) { p.Targets = nil },
			"its weight is -1":    func(p *attack.Phase) { p.Targets[0].Weight = -1 },
			"invalid method":      func(p *attack.Phase) { p.Targets[0].Method = "GE T" },
			"path":                func(p *attack.Phase) { p.Targets[0].Path = "/%zz" },
			"cannot be sent":      func(p *attack.Phase) { p.Targets[0].Headers = map[string]string{"X": "a\nb"} },
			"number of calls":     func(p *attack.Phase) { p.Calls = 0 },
			"concurrency":         func(p *attack.Phase) { p.Concurrency = 0 },
			"gap":                 func(p *attack.Phase) { p.Gap = -1 },
			"but a duration":      func(p *attack.Phase) { p.Duration = 1 },
			"choose one":          func(p *attack.Phase) { p.Schedule = pace.Constant{} },
			"its duration":        func(p *attack.Phase) { *p = rate(0, 1) },
			"calls in flight":     func(p *attack.Phase) { *p = rate(1, 0) },
		} {
			p := calls(1, 1)
			spoil(&p)
			if _, err := w.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
		}
		w.run(t, calls(1, 1))
		if _, err := w.Run(t.Context(), calls(1, 1)); err == nil || !strings.Contains(err.Error(), "run before") {
			t.Errorf("running a phase again: %v", err)
		}
		if _, err := w.Once(t.Context(), 3, 0, match.Target{}); err == nil {
			t.Error("a single call in a phase that does not exist was made")
		}
		if tr := w.finish(t); len(tr.Attempts) != 1 {
			t.Errorf("%d requests arrived, want 1", len(tr.Attempts))
		}
	})
}

// TestNoRate is a pause: a phase that lasts and sends nothing.
func TestNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(0))
		p := rate(3*time.Second, 1)
		p.Schedule = pace.Constant{}
		want := trace.Phase{Name: "one", To: 3 * time.Second, OpenLoop: true}
		if diff := cmp.Diff(want, w.run(t, p)); diff != "" {
			t.Errorf("phase (-want +got):\n%s", diff)
		}
		w.finish(t)
	})
}

func TestConfigsThatCannotBeUsed(t *testing.T) {
	good := attack.Config{
		BaseURL:    "http://sut",
		Recorder:   trace.NewRecorder(time.Now()),
		Correlator: match.Correlator{Run: 1},
		Timeout:    time.Second,
	}
	if _, err := attack.New(good); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*attack.Config){
		"want http://":   func(c *attack.Config) { c.BaseURL = "sut:80" },
		"base URL":       func(c *attack.Config) { c.BaseURL = "http://%zz" },
		"targets' paths": func(c *attack.Config) { c.BaseURL = "http://sut/?a=b" },
		"no recorder":    func(c *attack.Config) { c.Recorder = nil },
		"timeout":        func(c *attack.Config) { c.Timeout = 0 },
		"must not be 0":  func(c *attack.Config) { c.Correlator.Run = 0 },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := attack.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
