package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// raw sends a request with headers as they are, also twice the same or none at all.
func (a api) raw(method, path, body string, headers http.Header) answer {
	a.t.Helper()
	req, err := http.NewRequest(method, a.URL()+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header = headers
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		a.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, text.String()}
}

// planOf is a plan whose only phase has this name.
func planOf(phase string) string { return fmt.Sprintf(`{"phases":{%q:[]}}`, phase) }

// A condition that names no plan, as of a program whose tag is empty, is never met: without one, the update
// of somebody else would be lost.
func TestAnEmptyConditionIsNone(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	current := a.want(200, "", "GET", "/v1/plan", "").header.Get("ETag")
	for _, conditions := range [][]string{{""}, {" "}, {","}, {"", `"1-0"`}, {`"1-0"`, ""}, {"W/" + current}, {current[:len(current)-1]}, {strings.ToUpper(current) + "x"}} {
		got := a.raw("PUT", "/v1/plan", planOf("mine"), http.Header{"Content-Type": {"application/json"}, "If-Match": conditions})
		if got.status != http.StatusPreconditionFailed || got.header.Get("ETag") != current {
			t.Errorf("If-Match %q: %d %s", conditions, got.status, got.body)
		}
	}
	got := a.raw("PUT", "/v1/plan", planOf("mine"), http.Header{"Content-Type": {"application/json"}, "If-Match": {"", current}})
	if got.status != http.StatusOK {
		t.Errorf("the tag of the plan in force: %d %s", got.status, got.body)
	}
}

// Whoever replaces a plan is told the tag of that plan, and not of one that came after it: with that,
// he would next overwrite what he has never seen. The state does not mix two plans either.
func TestATagIsThatOfTheAnswersPlan(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	const writers, rounds = 8, 60
	var all sync.WaitGroup
	var mu sync.Mutex
	told := map[string]string{} // tag: phase
	for w := range writers {
		all.Go(func() {
			for n := range rounds {
				phase := fmt.Sprintf("w%d-%d", w, n)
				got := a.ask("PUT", "/v1/plan", planOf(phase))
				var set control.PlanSet
				if err := json.Unmarshal([]byte(got.body), &set); err != nil {
					t.Error(err)
				}
				tag := got.header.Get("ETag")
				if !strings.HasPrefix(tag, fmt.Sprintf(`"%d-`, set.Plan)) {
					t.Errorf("plan %d has the tag %s", set.Plan, tag)
				}
				mu.Lock()
				if other, ok := told[tag]; ok {
					t.Errorf("%s and %s were both told %s", other, phase, tag)
				}
				told[tag] = phase
				mu.Unlock()
			}
		})
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, i := range a.state().Injectors {
				if !strings.HasPrefix(i.ETag, fmt.Sprintf(`"%d-`, i.Plan)) {
					t.Errorf("the state has plan %d and the tag %s", i.Plan, i.ETag)
				}
			}
		}
	}()
	all.Wait()
	close(stop)
	<-stopped
	if len(told) != writers*rounds {
		t.Errorf("%d tags for %d plans", len(told), writers*rounds)
	}
}

// As many updates by read, change and conditional write are in the plan as were answered 200.
func TestNoConditionalUpdateIsLost(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	const writers, rounds = 8, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			tag, phases := "", map[string]any{}
			for n := 0; n < rounds; {
				if tag == "" {
					got := a.ask("GET", "/v1/plan", "")
					var plan struct{ Phases map[string]any }
					if err := json.Unmarshal([]byte(got.body), &plan); err != nil {
						t.Error(err)
						return
					}
					tag, phases = got.header.Get("ETag"), plan.Phases
				}
				name := fmt.Sprintf("w%d-%d", w, n)
				phases[name] = []any{}
				text, err := json.Marshal(map[string]any{"phases": phases})
				if err != nil {
					t.Error(err)
					return
				}
				switch got := a.ask("PUT", "/v1/plan", string(text), "If-Match", tag); got.status {
				case http.StatusOK:
					tag = got.header.Get("ETag") // The next one builds on what this one wrote.
					n++
				case http.StatusPreconditionFailed:
					tag = ""
				default:
					t.Errorf("%d %s", got.status, got.body)
					return
				}
			}
		})
	}
	all.Wait()
	var plan struct{ Phases map[string]any }
	if err := json.Unmarshal([]byte(a.ask("GET", "/v1/plan", "").body), &plan); err != nil {
		t.Fatal(err)
	}
	if got, want := len(plan.Phases), 2+writers*rounds; got != want {
		t.Errorf("%d phases are there, want %d", got, want)
	}
}

// So many wishes for the next phase go so many phases on, whoever has them at the same time.
func TestEachNextGoesOnePhaseOn(t *testing.T) {
	var order []string
	const most = 40
	for n := range most {
		order = append(order, fmt.Sprintf("p%02d", n))
	}
	a := begin(t, control.Config{Order: order}, injector.Config{}, "a", "b", "c")
	a.want(200, "", "POST", "/v1/phase", `{"name":""}`)
	var all sync.WaitGroup
	var mu sync.Mutex
	entered := map[string]int{}
	for range most {
		all.Go(func() {
			got := a.want(200, "", "POST", "/v1/phase", `{"next":true}`)
			mu.Lock()
			defer mu.Unlock()
			entered[got.body]++
		})
	}
	all.Wait()
	if len(entered) != most {
		t.Errorf("%d phases were entered by %d wishes: %v", len(entered), most, entered)
	}
	for _, i := range a.state().Injectors {
		if i.Phase != order[most-1] {
			t.Errorf("%s is in %s", i.Injector, i.Phase)
		}
	}
	a.want(409, "no_next", "POST", "/v1/phase", `{"next":true}`)
}

// An end of the API does not wait for a reader who takes nothing: until it is over, the faults are on.
func TestCloseDoesNotWaitForAReader(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	deaf, _, err := a.stream(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	a.fill() // Now the writer of the stream waits.
	began := time.Now()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// longPlan is a plan of three megabytes, whose phases a state tells of.
func longPlan(n int) string {
	var phases []string
	for k := range 3000 {
		phases = append(phases, fmt.Sprintf(`"%s%d":[]`, strings.Repeat("x", 1000), k))
	}
	return fmt.Sprintf(`{"phases":{"n%d":[],%s}}`, n, strings.Join(phases, ","))
}

// A key that comes twice is refused in whatever letters: the decoder would take one of them.
func TestTwinsInOtherLetters(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	for _, body := range []string{`{"phases":{},"phases":{}}`, `{"phases":{},"PHASES":{}}`, `{"phases":{},"phaſes":{}}`, `{"pha\u017fes":{},"phases":{}}`} {
		a.want(400, "bad_body", "PUT", "/v1/plan", body)
	}
	a.want(400, "bad_body", "PUT", "/v1/plan", `{"phases":{"kelvin":[{"hold":{"max":1},"Hold":{"max":1}}]}}`)
	a.want(400, "bad_body", "POST", "/v1/faults", `{"rule":{"action":"hang","select":{"kind":"all"}},"ttl":"1s","TTL":"1h"}`)
}
