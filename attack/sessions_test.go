package attack_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// shop is a service with a login and a list of seven items in pages of two.
func shop(rw http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Millisecond)
	switch r.URL.Path {
	case "/login":
		http.SetCookie(rw, &http.Cookie{Name: "sid", Value: "s1", Path: "/"})
		rw.Header().Set("X-Token", "t/1 +")
	case "/items":
		cookie, err := r.Cookie("sid")
		if err != nil || cookie.Value != "s1" || r.Header.Get("X-Token") != "t/1 +" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "at &"))
		var items []string
		for i := from; i < min(from+2, 7); i++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, i+1))
		}
		next := "null"
		if from+2 < 7 {
			next = fmt.Sprintf(`"at &%d"`, from+2)
		}
		_, _ = fmt.Fprintf(rw, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
	}
}

// browsing is a phase of users who log in and page through the list.
func browsing(users, rounds int) attack.Phase {
	page := []match.Capture{{Name: "next", JSONPath: "$.next"}, {Name: "ids", JSONPath: "$.items[*].id", List: true}}
	head := map[string]string{"X-Token": "{{.token}}"}
	return attack.Phase{
		Name: "one", Seed: 3,
		Targets: []match.Target{{Name: "login", Path: "/login"}, {Name: "items", Path: "/items"}},
		Sessions: &attack.Sessions{Users: users, Rounds: rounds, ThinkMin: 10 * time.Millisecond, ThinkMax: 20 * time.Millisecond, Script: match.Script{
			Cookies: true, Record: []string{"ids"},
			Steps: []match.Step{
				{Target: "login", Capture: []match.Capture{{Name: "token", Header: "X-Token"}}},
				{Target: "items", Headers: head, Capture: page},
				{Target: "items", Path: "/items?cursor={{.next}}", Headers: head, Capture: page, While: "next", Most: 10},
			},
		}},
	}
}

// told is what a trace tells of a user's sessions, a call a line.
func told(calls []trace.Call, user int) []string {
	var out []string
	for _, c := range calls {
		s := c.Session
		if s == nil || s.User != user {
			continue
		}
		line := fmt.Sprintf("%d.%d.%d/%d %s %d", s.Round, s.Lap, s.Step, s.Page, c.Target, c.Status)
		if ids, ok := s.Values["ids"]; ok {
			line += " " + strings.Join(ids, ",")
		}
		out = append(out, strings.TrimSpace(strings.Join([]string{line, string(s.End), s.Why}, " ")))
	}
	return out
}

// TestSessions shows users who carry a header, a cookie and a cursor from answer to
// answer, each at its own pace, until all have made their rounds.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, shop)
		out := w.run(t, browsing(3, 2))
		tr := w.finish(t)
		if out.Sent != 3*2*5 || out.Planned != out.Sent || out.OpenLoop || len(tr.Calls) != out.Sent {
			t.Errorf("%+v of %d calls", out, len(tr.Calls))
		}
		if diff := cmp.Diff(&trace.Rounds{Done: 6}, out.Rounds); diff != "" {
			t.Error(diff)
		}
		round := func(n int) []string {
			return []string{
				fmt.Sprintf("%d.0.1/1 login 200", n), fmt.Sprintf("%d.0.2/1 items 200 1,2", n), fmt.Sprintf("%d.0.3/1 items 200 3,4", n),
				fmt.Sprintf("%d.0.3/2 items 200 5,6", n), fmt.Sprintf("%d.0.3/3 items 200 7 done", n),
			}
		}
		for user := 1; user <= 3; user++ {
			if diff := cmp.Diff(append(round(1), round(2)...), told(tr.Calls, user)); diff != "" {
				t.Errorf("user %d: want -, got +:\n%s", user, diff)
			}
		}
		for _, c := range tr.Calls {
			for _, v := range c.Session.Values {
				if strings.Contains(strings.Join(v, ""), "t/1") {
					t.Error("the trace has a token that nobody asked it to record")
				}
			}
		}
		if n := underWay(tr.Calls); n > 3 {
			t.Errorf("%d calls under way, of 3 users", n)
		}
	})
}

// TestSessionsBreak shows that a round ends where a step does not get what the next
// one needs, and that the trace says so.
func TestSessionsBreak(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("cursor") {
				rw.WriteHeader(status)
				_, _ = io.WriteString(rw, body)
				return
			}
			shop(rw, r)
		}
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		change  func(*match.Script)
		want    string
		status  int
	}{
		"status":           {answer(503, `{"items":[],"next":"x"}`), nil, "broken status 503", 503},
		"no JSON":          {answer(200, "oops"), nil, "broken the body is no JSON", 200},
		"never ends":       {answer(200, `{"items":[],"next":"x"}`), func(s *match.Script) { s.Steps[2].Most = 1 }, "broken after 1 times the answer still has next", 200},
		"an empty list":    {answer(200, `{"items":[]}`), nil, "done", 200},
		"no capture":       {answer(200, `{"items":[]}`), func(s *match.Script) { s.Steps[2].While = "" }, "broken the answer has no next ($.next)", 200},
		"a long body":      {answer(200, `{"x":"`+strings.Repeat("x", attack.MaxBody)+`"}`), nil, fmt.Sprintf("broken the body is longer than %d bytes, and was not read to its end", attack.MaxBody), 200},
		"leads away":       {answer(200, `{"items":[],"next":"http://elsewhere/items"}`), link, "broken step 4 cannot be made: the link http://elsewhere/items leads away from the system under test", 200},
		"no link":          {answer(200, `{"items":[],"next":"items"}`), link, `broken step 4 cannot be made: the link "items" is not a path that begins with /`, 200},
		"no header of it":  {answer(200, `{"items":[],"next":"a\nb"}`), header, `broken step 4 cannot be made: header "X-At": "a\nb" cannot be sent`, 200},
		"a template in it": {answer(200, `{"items":[],"next":"{{.ID}}"}`), header, "broken step 4 cannot be made: next has {{ in it, which would be read as a template", 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBubbleWorld(t, tc.handler)
				p := browsing(1, 1)
				if tc.change != nil {
					tc.change(&p.Sessions.Script)
				}
				out := w.run(t, p)
				lines := told(w.finish(t).Calls, 1)
				last := lines[len(lines)-1]
				if !strings.HasSuffix(last, tc.want) || !strings.Contains(last, strconv.Itoa(tc.status)) {
					t.Errorf("%q, want %q", last, tc.want)
				}
				if done := strings.HasPrefix(tc.want, "done"); out.Rounds.Done != one(done) || out.Rounds.Broken != one(!done) {
					t.Errorf("%+v", out.Rounds)
				}
			})
		})
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// link is followed as it is after the third step.
func link(s *match.Script) {
	s.Steps[2].While = ""
	s.Steps = append(s.Steps, match.Step{Target: "items", Path: "{{.next}}"})
}

func header(s *match.Script) {
	s.Steps[2].While = ""
	s.Steps = append(s.Steps, match.Step{Target: "items", Headers: map[string]string{"X-At": "{{.next}}"}})
}

// TestSessionsFollowLinks shows a value that is a whole address, with and without a
// host, and one in a body.
func TestSessionsFollowLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = append(asked, r.RequestURI+" "+string(body))
			_, _ = fmt.Fprintf(rw, `{"a":"/x%%2Fy/2?q=1%%262","b":"http://%s/z","c":"1\"2"}`, r.Host)
		})
		capture := []match.Capture{{Name: "a", JSONPath: "$.a"}, {Name: "b", JSONPath: "$.b"}, {Name: "c", JSONPath: "$.c"}}
		w.run(t, attack.Phase{
			Name: "one", Targets: []match.Target{{Name: "any", Path: "/any"}},
			Sessions: &attack.Sessions{Users: 1, Rounds: 1, Script: match.Script{Steps: []match.Step{
				{Target: "any", Capture: capture},
				{Target: "any", Path: "{{.a}}"},
				{Target: "any", Path: "{{ .b }}"},
				{Target: "any", Path: "/p/{{.a}}?q={{.a}}&r=1", Body: "[{{.c}}]"},
			}}},
		})
		w.finish(t)
		want := []string{"/any ", "/x%2Fy/2?q=1%262 ", "/z ", "/p/%2Fx%252Fy%2F2%3Fq=1%25262?q=%2Fx%252Fy%2F2%3Fq%3D1%25262&r=1 [1\"2]"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}

// TestSessionsRestart shows an answer that sends the user back to the first step, and
// that this has an end.
func TestSessionsRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("cursor") && asked.Add(1) != 2 {
				rw.WriteHeader(http.StatusOK)
				_, _ = io.WriteString(rw, "ok: gone")
				return
			}
			shop(rw, r)
		})
		p := browsing(1, 1)
		p.Sessions.Script.RestartOn, p.Sessions.Script.Restarts = []string{"primary"}, 1
		p.Sessions.Script.Steps[2].Most = 3
		out := w.run(t, p)
		want := []string{
			"1.0.1/1 login 200", "1.0.2/1 items 200 1,2", "1.0.3/1 items 200",
			"1.1.1/1 login 200", "1.1.2/1 items 200 1,2", "1.1.3/1 items 200 3,4",
			"1.1.3/2 items 200 broken answers of class primary have sent it back 1 times",
		}
		if diff := cmp.Diff(want, told(w.finish(t).Calls, 1)); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
		if out.Rounds.Broken != 1 {
			t.Errorf("%+v", out.Rounds)
		}
	})
}

// TestSessionsStop shows that a phase that is stopped ends at once, with the rounds
// that were under way cut.
func TestSessionsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(time.Second))
		time.AfterFunc(500*time.Millisecond, w.Abort)
		out, err := w.Run(t.Context(), browsing(3, 2))
		if err == nil {
			t.Error("a phase that was stopped says nothing of it")
		}
		if diff := cmp.Diff(&trace.Rounds{Cut: 3}, out.Rounds); diff != "" {
			t.Error(diff)
		}
		for _, c := range w.finish(t).Calls {
			if c.Session.End != trace.SessionCut {
				t.Errorf("%+v", c.Session)
			}
		}
	})
}

// TestSessionsAreChecked refuses what cannot be carried out before anything is sent.
func TestSessionsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, shop)
		for want, change := range map[string]func(*attack.Phase){
			"need a user":              func(p *attack.Phase) { p.Sessions.Users = 0 },
			"no steps":                 func(p *attack.Phase) { p.Sessions.Script.Steps = nil },
			"choose one":               func(p *attack.Phase) { p.Clients = 3 },
			"cannot think":             func(p *attack.Phase) { p.Sessions.ThinkMin = time.Hour },
			`no target "items"`:        func(p *attack.Phase) { p.Targets = p.Targets[:1] },
			"step 3 is made again":     func(p *attack.Phase) { p.Sessions.Script.Steps[2].Most = 0 },
			"begun anew":               func(p *attack.Phase) { p.Sessions.Script.Restarts = -1 },
			"not a path of JSON":       func(p *attack.Phase) { p.Sessions.Script.Steps[1].Capture[0].JSONPath = "next" },
			"step 1: header":           func(p *attack.Phase) { p.Sessions.Script.Steps[0].Headers = map[string]string{"a b": ""} },
			"{{.what}} is not a templ": func(p *attack.Phase) { p.Sessions.Script.Steps[0].Path = "/{{.what}}" },
		} {
			p := browsing(1, 1)
			change(&p)
			if _, err := w.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if calls := w.finish(t).Calls; len(calls) > 0 {
			t.Errorf("%d calls were sent", len(calls))
		}
	})
}
