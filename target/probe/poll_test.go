package probe_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/probe"
	"github.com/faultline-go/faultline/target/trace"
)

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// told asks a server once, which answers every question with this page, and returns what
// was marked, without the instants and without where the server is.
func told(t *testing.T, page string, r probe.Reading) []trace.Mark {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer srv.Close()
	return asked(t, srv.URL, probe.Config{Pages: []probe.Page{{Path: "/page", Readings: []probe.Reading{r}}}})
}

// asked polls until something is marked.
func asked(t *testing.T, url string, cfg probe.Config) []trace.Mark {
	t.Helper()
	cfg.BaseURL, cfg.Every, cfg.Recorder = url, time.Hour, trace.NewRecorder(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() { probe.Poll(ctx, cfg) })
	for deadline := time.Now().Add(time.Minute); len(cfg.Recorder.Snapshot(trace.Header{}).Marks) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	first := cfg.Recorder.Snapshot(trace.Header{}).Marks
	cancel()
	polling.Wait()
	for i := range first {
		if first[i].Dur <= 0 || first[i].At < first[i].Dur {
			t.Errorf("a mark at %s of %s", first[i].At, first[i].Dur)
		}
		first[i].At, first[i].Dur = 0, 0
		first[i].Text = strings.ReplaceAll(first[i].Text, url, "")
	}
	return first
}

const (
	actuatorPage = `{"circuitBreakers":{"a":{"failureRate":"-1.0%","state":"CLOSED"},"b":{"failureRate":"50.0%","state":"HALF_OPEN","new":1}}}`
	statePage    = "# TYPE resilience4j_circuitbreaker_state gauge\n" +
		"resilience4j_circuitbreaker_state{name=\"a\",state=\"closed\"} 0.0\nresilience4j_circuitbreaker_state{name=\"a\",state=\"half_open\"} 1.0\n" +
		"resilience4j_circuitbreaker_state{group=\"g\",name=\"b\",state=\"open\"} 1.0\nn_total{a=\"1\",b=\"1\"} 3\nn_total{a=\"1\",b=\"2\"} 4.5\nn_total{a=\"2\",b=\"1\"} 8\n" +
		"resilience4j_circuitbreaker_state{name=\"c\",state=\"open\"} 1\nresilience4j_circuitbreaker_state{name=\"c\",state=\"closed\"} 1\nresilience4j_circuitbreaker_state{name=\"d\",state=\"open\"} 0\n" +
		"resilience4j_circuitbreaker_state{name=\"e\",state=\"open\"} 2\n"
	envoyPage = `{"cluster_statuses":[{"name":"one","host_statuses":[{"address":{"socket_address":{"address":"127.0.0.1","port_value":80}},"health_status":{"failed_outlier_check":true,"eds_health_status":"HEALTHY"}}]},` +
		`{"name":"two","host_statuses":[{"address":{"socket_address":{"address":"127.0.0.1","port_value":80}},"health_status":{"eds_health_status":"HEALTHY"}},{"address":{"socket_address":{"address":"127.0.0.1","port_value":81}},"health_status":{"failed_outlier_check":true}}]},{"name":"none"}]}`
)

func TestReadings(t *testing.T) {
	state, counter, untold := trace.MarkReported, trace.MarkCounter, trace.MarkUntold
	reading := func(form probe.Form, name string) probe.Reading { return probe.Reading{Form: form, Name: name} }
	for name, c := range map[string]struct {
		page    string
		reading probe.Reading
		kind    trace.MarkKind
		text    string
	}{
		"actuator":               {actuatorPage, reading(probe.FormActuator, "b"), state, "HALF_OPEN"},
		"actuator, not there":    {actuatorPage, reading(probe.FormActuator, "c"), untold, `the page has no circuit breaker "c"; it has a, b`},
		"actuator, old":          {`{"circuitBreakers":["a"]}`, reading(probe.FormActuator, "a"), untold, "the page has no states of circuit breakers; Resilience4j 2 and Spring Boot tell them"},
		"actuator, other page":   {`{"status":"UP"}`, reading(probe.FormActuator, "a"), untold, "the page has no states of circuit breakers; Resilience4j 2 and Spring Boot tell them"},
		"actuator, stateless":    {`{"circuitBreakers":{"a":{}}}`, reading(probe.FormActuator, "a"), untold, `the page has no state of circuit breaker "a"`},
		"actuator, cut off":      {actuatorPage[:40], reading(probe.FormActuator, "a"), untold, "the page is not the actuator's: unexpected end of JSON input"},
		"gauge":                  {statePage, reading(probe.FormPrometheus, "a"), state, "HALF_OPEN"},
		"gauge, other labels":    {statePage, reading(probe.FormPrometheus, "b"), state, "OPEN"},
		"gauge, two at once":     {statePage, reading(probe.FormPrometheus, "c"), untold, `resilience4j_circuitbreaker_state says that "c" is OPEN and CLOSED at once`},
		"gauge, none":            {statePage, reading(probe.FormPrometheus, "d"), untold, `resilience4j_circuitbreaker_state has no state of "d" with the value 1`},
		"gauge, neither":         {statePage, reading(probe.FormPrometheus, "e"), untold, `resilience4j_circuitbreaker_state of "e" has the value 2, which is neither 0 nor 1`},
		"gauge, not there":       {statePage, reading(probe.FormPrometheus, "z"), untold, `the page has no resilience4j_circuitbreaker_state of "z"; it has a, b, c, d, e`},
		"gauge, cut off":         {statePage[:90], reading(probe.FormPrometheus, "a"), untold, "line 2: it has no end; the page was cut off"},
		"counter":                {statePage, probe.Reading{Form: probe.FormCounter, Name: "n_total", Labels: map[string]string{"a": "1", "b": "2"}}, counter, "4.5"},
		"counter, summed":        {statePage, probe.Reading{Form: probe.FormCounter, Name: "n_total", Labels: map[string]string{"a": "1"}}, counter, "7.5"},
		"counter, all":           {statePage, reading(probe.FormCounter, "n_total"), counter, "15.5"},
		"counter, absent":        {statePage, reading(probe.FormCounter, "m_total"), counter, ""},
		"counter, other label":   {statePage, probe.Reading{Form: probe.FormCounter, Name: "n_total", Labels: map[string]string{"c": ""}}, counter, ""},
		"envoy":                  {envoyPage, reading(probe.FormEnvoy, "one"), state, probe.Ejected},
		"envoy, host":            {envoyPage, probe.Reading{Form: probe.FormEnvoy, Name: "two", Host: "127.0.0.1:80"}, state, probe.Healthy},
		"envoy, other host":      {envoyPage, probe.Reading{Form: probe.FormEnvoy, Name: "two", Host: "127.0.0.1:81"}, state, probe.Ejected},
		"envoy, which host":      {envoyPage, reading(probe.FormEnvoy, "two"), untold, `cluster "two" has more than one host, name one of 127.0.0.1:80, 127.0.0.1:81`},
		"envoy, no such host":    {envoyPage, probe.Reading{Form: probe.FormEnvoy, Name: "one", Host: "h:1"}, untold, `cluster "one" has no host "h:1"; it has 127.0.0.1:80`},
		"envoy, no host":         {envoyPage, reading(probe.FormEnvoy, "none"), untold, `cluster "none" has no host ""; it has none`},
		"envoy, no such cluster": {envoyPage, reading(probe.FormEnvoy, "three"), untold, `the page has no cluster "three"; it has one, two, none`},
		"too long":               {strings.Repeat("#\n", probe.MaxPage/2+1), reading(probe.FormCounter, "x"), untold, "/page is longer than 1 MiB"},
		"just not too long":      {strings.Repeat("#\n", probe.MaxPage/2), reading(probe.FormCounter, "x"), counter, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.reading.Subject = "it"
			want := []trace.Mark{{Kind: c.kind, Subject: "it", Text: c.text}}
			if diff := cmp.Diff(want, told(t, c.page, c.reading)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServerThatRefusesTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"status":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "/page was answered with status 404"},
		"redirection": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/checkout", http.StatusFound) }, "/page was answered with status 302"},
	} {
		srv := httptest.NewServer(c.serve)
		marks := asked(t, srv.URL, probe.Config{Instance: "one", Pages: []probe.Page{{Path: "/page", Readings: []probe.Reading{{Form: probe.FormActuator, Subject: "it"}}}}})
		srv.Close()
		if diff := cmp.Diff([]trace.Mark{{Kind: trace.MarkUntold, Subject: "it", Instance: "one", Text: c.want}}, marks); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// bubble polls a server in virtual time for so long and returns the marks and when it was
// asked.
func bubble(t *testing.T, long time.Duration, cfg probe.Config, serve http.HandlerFunc) (marks []trace.Mark, at []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		l, err := n.Listen("tcp", "127.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		rec := trace.NewRecorder(time.Now())
		var under, most atomic.Int32
		var conns atomic.Int32
		srv := &http.Server{ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			at = append(at, rec.Since(time.Now()).Round(time.Millisecond))
			serve(w, r)
		})}
		var running sync.WaitGroup
		running.Go(func() { _ = srv.Serve(l) })
		cfg.BaseURL, cfg.Recorder, cfg.Dial = "http://127.0.0.1:80", rec, n.DialContext
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		probe.Poll(ctx, cfg)
		_ = srv.Close()
		running.Wait()
		if most.Load() > 1 || conns.Load() > 1 {
			t.Errorf("%d requests at once over %d connections", most.Load(), conns.Load())
		}
		marks = rec.Snapshot(trace.Header{}).Marks
	})
	return marks, at
}

func every(n int, d time.Duration) []time.Duration {
	var all []time.Duration
	for i := range n {
		all = append(all, time.Duration(i)*d)
	}
	return all
}

func TestPollIsNeverALoad(t *testing.T) {
	const ms = time.Millisecond
	answer := func(after time.Duration, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(after)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, actuatorPage)
		}
	}
	cfg := probe.Config{Every: 200 * ms, Pages: []probe.Page{{Path: "/a", Readings: []probe.Reading{{Form: probe.FormActuator, Subject: "it", Name: "a"}}}}}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		long  time.Duration
		want  []time.Duration
	}{
		"quick":                           {answer(0, 200), 900 * ms, append(every(5, 200*ms), 900*ms)},
		"slow":                            {answer(100*ms, 200), 2500 * ms, append(every(3, 1000*ms), 2500*ms)},
		"slow, and over while it answers": {answer(100*ms, 200), 1050 * ms, []time.Duration{0, 1000 * ms, 1100 * ms}},
		// Twice as long each time, up to sixteen intervals, and not once more at the end.
		"silent": {answer(0, 500), 10 * time.Second, []time.Duration{0, 400 * ms, 1200 * ms, 2800 * ms, 6000 * ms, 9200 * ms}},
	} {
		_, at := bubble(t, c.long, cfg, c.serve)
		if diff := cmp.Diff(c.want, at); diff != "" {
			t.Errorf("%s was asked at (-want +got)\n%s", name, diff)
		}
	}
}

func TestPollMarksWhenItAskedAndWho(t *testing.T) {
	const ms = time.Millisecond
	state := "CLOSED"
	marks, _ := bubble(t, 1400*ms, probe.Config{
		Every: 500 * ms, Instance: "either", InstanceHeader: "X-Instance",
		Pages: []probe.Page{
			{Path: "/state", Readings: []probe.Reading{{Form: probe.FormActuator, Subject: "it", Name: "a"}}},
			{Path: "/events", Readings: []probe.Reading{{Form: probe.FormEvents, Subject: "it", Name: "a"}}},
		},
	}, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * ms)
		if r.URL.Path == "/events" {
			event := `{"circuitBreakerName":"a","type":"STATE_TRANSITION","creationTime":"2026-01-01T10:00:00Z","stateTransition":"CLOSED_TO_OPEN"}`
			_, _ = io.WriteString(w, `{"circuitBreakerEvents":[{"circuitBreakerName":"b","type":"STATE_TRANSITION","creationTime":"x","stateTransition":"y"},`+event+`,`+event+`]}`)
			return
		}
		w.Header().Set("X-Instance", "two")
		_, _ = io.WriteString(w, `{"circuitBreakers":{"a":{"state":"`+state+`"}}}`)
		state = "OPEN"
	})
	for i := range marks {
		marks[i].At, marks[i].Dur = marks[i].At.Round(ms), marks[i].Dur.Round(ms)
	}
	reported := func(at time.Duration, text string) trace.Mark {
		return trace.Mark{At: at, Dur: 10 * ms, Kind: trace.MarkReported, Subject: "it", Text: text, Instance: "two"}
	}
	want := []trace.Mark{
		reported(10*ms, "CLOSED"),
		{At: 20 * ms, Dur: 10 * ms, Kind: trace.MarkEvent, Subject: "it", Text: "2026-01-01T10:00:00Z CLOSED_TO_OPEN", Instance: "either"},
		reported(510*ms, "OPEN"), reported(1010*ms, "OPEN"), reported(1410*ms, "OPEN"),
	}
	if diff := cmp.Diff(want, marks); diff != "" {
		t.Errorf("marks (-want +got)\n%s", diff)
	}
}

func TestPollGivesUpOnAServerThatHangs(t *testing.T) {
	cfg := probe.Config{Every: 200 * time.Millisecond, Pages: []probe.Page{{Path: "/a", Readings: []probe.Reading{{Form: probe.FormActuator, Subject: "it", Name: "a"}}}}}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv.Start()
	defer srv.Close()
	want := []trace.Mark{{Kind: trace.MarkUntold, Subject: "it", Text: "/a was not answered within 2s"}}
	if diff := cmp.Diff(want, asked(t, srv.URL, cfg)); diff != "" {
		t.Error(diff)
	}
}

// A service that knows the page of states and passes all others on is asked once for events.
func TestPollLeavesAnAbsentPageAlone(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"something else": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"price":1}`) },
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "welcome") },
		"not found":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
	} {
		asked := 0
		marks, _ := bubble(t, 1400*time.Millisecond, probe.Config{
			Every: 200 * time.Millisecond,
			Pages: []probe.Page{
				{Path: "/state", Readings: []probe.Reading{{Form: probe.FormActuator, Subject: "it", Name: "a"}}},
				{Path: "/events", Readings: []probe.Reading{{Form: probe.FormEvents, Subject: "it", Name: "a"}}},
			},
		}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/events" {
				asked++
				serve(w, r)
				return
			}
			_, _ = io.WriteString(w, actuatorPage)
		})
		if asked != 1 || len(marks) < 5 {
			t.Errorf("%s: asked %d times for events, with %d marks", name, asked, len(marks))
		}
	}
}
