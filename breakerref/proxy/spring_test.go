package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

// What the breakers of both are set to, beside the zoo's own profile: what a client takes
// less time for than springSlow is no slow call, and whoever asks within springWait of a
// trip finds it open.
const (
	springSlow = 500 * time.Millisecond
	springWait = 4 * time.Second
)

// TestActuatorAgreesWithSpring plays one story to the zoo's Spring Boot application with
// Resilience4j and to the proxy, and compares what their actuators answer: the status, the
// type, what is allowed, and the text to the letter, but for times and for what the package
// says that differs.
func TestActuatorAgreesWithSpring(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real systems are asked with FAULTLINE_ZOO=1")
	}
	jar := buildSpring(t)
	// The story depends on two times that a machine may be too slow for.
	for range 3 {
		if playToBoth(t, jar) || t.Failed() {
			return
		}
		t.Log("the machine was too slow for the story, which begins anew")
	}
	t.Error("the machine was too slow three times")
}

// buildSpring builds the application and returns its jar. It does so in a folder of its own,
// as another package's tests may be running the one in the zoo.
func buildSpring(t *testing.T) (jar string) {
	t.Helper()
	zoo, dir := filepath.Join("..", "..", "target", "zoo", "spring-resilience4j"), t.TempDir()
	pom, err := os.ReadFile(filepath.Join(zoo, "pom.xml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "pom.xml"), pom, 0o600)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join(zoo, "src")))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-DskipTests", "package")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the Spring application: %v\n%s", err, out)
	}
	return filepath.Join(dir, "target", "search.jar")
}

// startSpring runs the application until stop is called and returns its URL.
func startSpring(t *testing.T, jar, primary string) (url string, stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Duser.timezone=UTC", "-jar", jar)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	const breaker = "RESILIENCE4J_CIRCUITBREAKER_INSTANCES_PRIMARY_"
	cmd.Env = append(os.Environ(), "PORT=0", "PRIMARY_URL="+primary, "SPRING_PROFILES_ACTIVE=good",
		"MANAGEMENT_HEALTH_CIRCUITBREAKERS_ENABLED=true", "MANAGEMENT_ENDPOINT_HEALTH_SHOWDETAILS=always", breaker+"REGISTERHEALTHINDICATOR=true",
		fmt.Sprintf("%sSLOWCALLDURATIONTHRESHOLD=%dms", breaker, springSlow.Milliseconds()),
		fmt.Sprintf("%sWAITDURATIONINOPENSTATE=%dms", breaker, springWait.Milliseconds()))
	log, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(log, &said))
	for url == "" && lines.Scan() {
		if port := regexp.MustCompile(`Tomcat started on port (\d+)`).FindStringSubmatch(lines.Text()); port != nil {
			url = "http://127.0.0.1:" + port[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, log) // Or it would wait for a reader one day.
	}()
	stop = func() {
		_ = cmd.Cancel() // It may have ended by itself, which Wait reports.
		<-drained
		if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok && exit.ExitCode() != 128+int(syscall.SIGTERM) {
			t.Errorf("the Spring application ended with %v", exit)
		}
	}
	if url == "" {
		stop()
		t.Fatalf("the Spring application did not start:\n%s", said.String())
	}
	return url, stop
}

// pair is both of them.
type pair struct {
	*world
	spring string        // its URL
	late   bool          // a time has passed that the story depends on
	longer time.Duration // what the next call takes at least
}

// playToBoth plays the story and reports whether the machine was fast enough for it.
func playToBoth(t *testing.T, jar string) (inTime bool) {
	t.Helper()
	cfg := good()
	cfg.Actuator, cfg.Breaker.Name = true, "primary"
	cfg.Breaker.SlowDuration, cfg.Breaker.SlowRate, cfg.Breaker.Wait = springSlow, 80, springWait
	w := loopback(t, cfg)
	url, stop := startSpring(t, jar, w.depURL)
	defer stop()
	p := &pair{world: w, spring: url}
	p.answers(200, 0)
	p.poll(t)
	p.trip(t)
	p.recover(t)
	p.operate(t)
	p.err(t)
	p.negotiate(t)
	return !p.late
}

// answers has the primary answer after d.
func (p *pair) answers(code int, d time.Duration) {
	p.longer = d
	p.dep.answers(func(w http.ResponseWriter, r *http.Request) {
		if d > 0 { // A call has to be slow by the clock of another process.
			select {
			case <-time.After(d):
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"results":["a"]}`)
	})
}

// call has both call the primary. It is late if the call may have been slow without
// being meant to.
func (p *pair) call(t *testing.T, times int) {
	t.Helper()
	for range times {
		for _, base := range []string{p.spring, p.URL()} {
			start := time.Now()
			p.ask(t, base, http.MethodGet, "/search?q=a", nil, "")
			if p.longer == 0 && time.Since(start) >= springSlow {
				p.late = true
			}
		}
	}
}

// poll compares all that can be read.
func (p *pair) poll(t *testing.T) {
	t.Helper()
	for _, path := range []string{
		"/circuitbreakers", "/health", "/health/circuitBreakers", "/prometheus",
		"/circuitbreakerevents", "/circuitbreakerevents/primary", "/circuitbreakerevents/primary/state_transition",
	} {
		p.same(t, http.MethodGet, path, nil, "")
	}
}

// trip opens both.
func (p *pair) trip(t *testing.T) {
	t.Helper()
	p.longer = 1 // The first calls of a fresh JVM may be slow. They are forgotten at once.
	p.call(t, 3)
	p.longer = 0
	p.update(t, "DISABLE")
	p.call(t, 1)
	p.poll(t)
	p.update(t, "CLOSE")
	p.call(t, 4)
	p.answers(200, springSlow+springSlow/5)
	p.call(t, 1)
	p.answers(503, 0)
	p.call(t, 1)
	p.poll(t)
	p.answers(200, 0)
	p.call(t, 100) // So that the oldest events are forgotten.
	p.poll(t)
	p.answers(503, 0)
	p.call(t, 4)
	p.poll(t)
	start := time.Now()
	p.call(t, 3) // The fifth of ten fails, and the next two are refused.
	p.late = p.late || time.Since(start) >= springWait
	p.poll(t)
}

// recover lets the wait pass, which a machine that is slow makes longer only.
func (p *pair) recover(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(springWait + 100*time.Millisecond)
	defer timer.Stop()
	<-timer.C
	p.poll(t) // Still open, as nobody has called.
	p.call(t, 1)
	p.poll(t)
	p.answers(200, 0)
	p.call(t, 2)
	p.poll(t)
}

// update posts a state to both.
func (p *pair) update(t *testing.T, state string) {
	t.Helper()
	p.same(t, http.MethodPost, "/circuitbreakers/primary", http.Header{"Content-Type": {"application/json"}}, `{"updateState":"`+state+`"}`)
}

// operate posts what an operator may, and what an operator may get wrong.
func (p *pair) operate(t *testing.T) {
	t.Helper()
	for _, state := range []string{
		"DISABLE", "DISABLE", "FORCE_OPEN", "FORCE_OPEN", "CLOSE", "CLOSE",
		"disable", "force-open", " Close ", "", " ", "-", "OPEN", "DISABLED", "METRICS_ONLY",
	} {
		p.update(t, state)
		p.call(t, 1)
		p.same(t, http.MethodGet, "/circuitbreakers", nil, "")
	}
	p.poll(t)
	const one = "/circuitbreakers/primary"
	for _, body := range []string{
		`{}`, `null`, `xx`, ``, `[]`, `"CLOSE"`, `{"updateState":null}`, `{"updateState":0}`, `{"updateState":["CLOSE"]}`,
		`{"updatestate":"CLOSE"}`, `{"updateState":"CLOSE","x":1}`, `{"updateState":"CLOSE","x":{}}`, `{"updateState":"CLOSE"} rest`,
		`{"updateState":"CLOSE","name":null}`,
	} {
		p.same(t, http.MethodPost, one, http.Header{"Content-Type": {"application/json"}}, body)
	}
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/problem+json", "Application/JSON; charset=utf-8", "application/vnd.spring-boot.actuator.v2+json"} {
		p.same(t, http.MethodPost, one, http.Header{"Content-Type": {media}}, `{"updateState":"CLOSE"}`)
	}
	p.same(t, http.MethodPost, one+"?updateState=DISABLE", http.Header{"Content-Type": {"application/json"}}, `{"updateState":"CLOSE"}`)
	p.same(t, http.MethodPost, "/circuitbreakers/nobody", http.Header{"Content-Type": {"application/json"}}, `{"updateState":"BAD"}`)
	p.poll(t)
}

// err asks for what there is not.
func (p *pair) err(t *testing.T) {
	t.Helper()
	for _, path := range []string{
		"/nothing", "/circuitbreakers/", "/circuitbreakerevents/", "/circuitbreakerevents/primary/",
		"/circuitbreakerevents/nobody", "/circuitbreakerevents/primary/NONSENSE", "/circuitbreakerevents/nobody/NONSENSE",
		"/circuitbreakerevents/primary/FORCED_OPEN", "/circuitbreakerevents/primary/ERROR/x",
		"/health/", "/health/ping", "/health/liveness", "/health/readinessState", "/prometheus/",
	} {
		p.same(t, http.MethodGet, path, nil, "")
	}
	for _, method := range []string{http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodPost} {
		for _, path := range []string{"/circuitbreakers", "/circuitbreakerevents/primary", "/health", "/prometheus", "/nothing"} {
			p.same(t, method, path, nil, "")
		}
	}
	p.same(t, http.MethodGet, "/circuitbreakers/primary", nil, "")
	p.same(t, http.MethodHead, "/circuitbreakers/primary", nil, "")
}

// negotiate asks for other types.
func (p *pair) negotiate(t *testing.T) {
	t.Helper()
	for _, accept := range []string{
		"*/*", "application/json", "application/json, text/plain, */*", "*/*, application/json", "*/*, application/json;q=0.5",
		"application/*", "application/*+json, application/json", "application/json;q=0", "application/vnd.spring-boot.actuator.v2+json", "text/plain", "text/html",
	} {
		p.same(t, http.MethodGet, "/circuitbreakers", http.Header{"Accept": {accept}}, "")
	}
	for _, accept := range []string{
		"*/*", "text/plain", "application/json", "application/openmetrics-text", "text/plain, application/openmetrics-text;q=0.1",
		"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", "*/*, application/openmetrics-text",
	} {
		p.same(t, http.MethodGet, "/prometheus", http.Header{"Accept": {accept}}, "")
	}
}

// same asks both actuators and compares their answers.
func (p *pair) same(t *testing.T, method, path string, header http.Header, body string) {
	t.Helper()
	if p.late {
		return // What differs then may have to.
	}
	want := p.ask(t, p.spring, method, proxy.ActuatorPath+path, header, body)
	got := p.ask(t, p.URL(), method, proxy.ActuatorPath+path, header, body)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s %v %s (-Spring +ours):\n%s", method, path, header, body, diff)
	}
}

// ask returns an answer's status, headers and body, a line for each, without what differs
// from one time to the next or on purpose.
func (p *pair) ask(t *testing.T, base, method, path string, header http.Header, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	kind := resp.Header.Get("Content-Type")
	if resp.StatusCode == http.StatusNotAcceptable {
		kind, text = "", nil // Ours is JSON all the same.
	}
	return fmt.Sprintf("%d\n%s\nAllow: %s\n%s", resp.StatusCode, kind, resp.Header.Get("Allow"), masked(string(text)))
}

// masked is a text without what is not compared, on many lines.
func masked(text string) string {
	if strings.HasPrefix(text, "#") {
		return maskedSeries(text)
	}
	const quoted = `"(?:[^"\\]|\\.)*"`
	for _, m := range []struct{ from, to string }{
		{`"creationTime":"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{3}(\d{3}){0,2})?)?Z\[UTC\]"`, `"creationTime":AT`},
		{`"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"`, `"timestamp":AT`},
		{`"durationInMs":\d+`, `"durationInMs":MS`},
		{`"errorMessage":` + quoted, `"errorMessage":TEXT`},
		{`("error":` + quoted + `),"message":` + quoted, `$1`}, // An error's reason is told by ours only.
		{`"diskSpace":\{.*?\}\},`, ``},
		{`,"ssl":\{.*?\}\}`, ``},
		{`,"`, ",\n\""},
		{`\n$`, ``},
	} {
		text = regexp.MustCompile(m.from).ReplaceAllString(text, m.to)
	}
	return text
}

// maskedSeries is what there is of circuit breakers, without words of help and durations.
func maskedSeries(text string) string {
	var kept []string
	duration := regexp.MustCompile(`^(resilience4j_circuitbreaker_calls_seconds_(?:sum|max)\S+) [0-9.E-]*[1-9][0-9.E-]*$`)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "# EOF" || strings.Contains(line, "resilience4j_circuitbreaker_") && !strings.HasPrefix(line, "# HELP") {
			kept = append(kept, duration.ReplaceAllString(line, "$1 S"))
		}
	}
	return strings.Join(kept, "\n")
}
