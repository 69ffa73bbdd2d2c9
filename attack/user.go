package attack

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// routine is a script, ready to be followed by any number of users.
type routine struct {
	script  match.Script
	targets []match.Target // of each step, with what the step says in its place
	captors []match.Captor // of each step
}

// routine prepares the script of a phase.
func (a *Attacker) routine(p Phase) (*routine, error) {
	r := &routine{script: p.Sessions.Script}
	for i, step := range r.script.Steps {
		at := slices.IndexFunc(p.Targets, func(t match.Target) bool { return t.Name == step.Target })
		if at < 0 {
			return nil, fmt.Errorf("step %d: the phase has no target %q", i+1, step.Target)
		}
		captor, err := match.Compile(step.Capture)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		t := p.Targets[at]
		if step.Path != "" {
			t.Path = step.Path
		}
		if step.Body != "" {
			t.Body = step.Body
		}
		if len(step.Headers) > 0 {
			t.Headers = maps.Clone(t.Headers)
			if t.Headers == nil {
				t.Headers = map[string]string{}
			}
			maps.Copy(t.Headers, step.Headers)
		}
		r.targets, r.captors = append(r.targets, t), append(r.captors, captor)
	}
	return r, nil
}

// needBody reports whether a step takes a value out of the body of its answer.
func (r *routine) needBody(step int) bool { return r.captors[step].NeedBody() }

// user is one who follows a script. Its calls come one after the other, so that no
// two goroutines use it at once.
type user struct {
	*routine
	n      int // from 1
	rounds int
	jar    http.CookieJar // nil: it keeps none
	sends  func(match.Target) error
	bases  []base

	at     time.Time // when it makes its next call
	round  int       // from 0, as the following
	lap    int
	step   int
	page   int
	values map[string]string
	next   match.Target
	ended  trace.SessionEnd // of the round, by the last call
}

// hire makes a user of a phase.
func (a *Attacker) hire(r *routine, rounds int) func(n int) *user {
	return func(n int) *user {
		u := &user{
			routine: r, n: n, rounds: rounds, bases: a.bases, values: map[string]string{}, next: r.targets[0],
			sends: func(t match.Target) error {
				_, err := a.prepare(t)
				return err
			},
		}
		if r.script.Cookies {
			u.jar, _ = cookiejar.New(nil) // Without options it has no error.
		}
		return u
	}
}

// over reports whether all rounds were made.
func (u *user) over() bool { return u.round == u.rounds }

// dress gives a request the cookies that its user keeps.
func (u *user) dress(req *http.Request) {
	if u.jar == nil {
		return
	}
	for _, c := range u.jar.Cookies(req.URL) {
		req.AddCookie(c)
	}
}

// saw takes in what became of a call and goes to the next step. answer is nil if
// there was none. What it returns goes into the trace.
func (u *user) saw(c *trace.Call, got *received) *trace.Session {
	s := &trace.Session{User: u.n, Round: u.round + 1, Lap: u.lap, Step: u.step + 1, Page: u.page + 1}
	values, readable := u.take(c, got)
	for _, name := range u.script.Record {
		if v, ok := values[name]; ok {
			if s.Values == nil {
				s.Values = map[string][]string{}
			}
			s.Values[name] = v
		}
	}
	if s.End, s.Why = u.stays(c); s.End == "" && u.lap == s.Lap {
		s.End, s.Why = u.advance(got, values, readable)
	}
	u.ended = s.End
	if s.End != "" {
		u.round++
		u.lap, u.step, u.page, u.values, u.next = 0, 0, 0, map[string]string{}, u.targets[0]
	}
	return s
}

// take takes cookies and values out of an answer, if there is a complete one.
func (u *user) take(c *trace.Call, got *received) (values map[string][]string, readable bool) {
	if got == nil || c.Err != trace.ErrNone {
		return nil, true
	}
	set := (&http.Response{Header: got.header}).Cookies()
	if u.jar != nil {
		u.jar.SetCookies(got.url, set)
	}
	cookie := func(name string) string {
		i := slices.IndexFunc(set, func(c *http.Cookie) bool { return c.Name == name })
		if i < 0 {
			return ""
		}
		return set[i].Value
	}
	return u.captors[u.step].Take(got.header.Get, cookie, got.body)
}

// stays says how a call has ended the round, if it has; an answer that sends the user
// back begins another lap.
func (u *user) stays(c *trace.Call) (trace.SessionEnd, string) {
	restart := c.Answered() && slices.Contains(u.script.RestartOn, c.Class)
	switch {
	case c.Err == trace.ErrCanceled:
		return trace.SessionCut, "the load was stopped"
	case c.Err != trace.ErrNone:
		return trace.SessionBroken, "no complete answer: " + string(c.Err)
	case restart && u.lap == u.script.Restarts:
		return trace.SessionBroken, fmt.Sprintf("answers of class %s have sent it back %d times", c.Class, u.lap)
	case restart:
		u.lap++
		u.step, u.page, u.values = 0, 0, map[string]string{}
		return u.resolve()
	case c.Status >= http.StatusBadRequest:
		return trace.SessionBroken, fmt.Sprintf("status %d", c.Status)
	}
	return "", ""
}

// advance carries the values of a good answer on and goes to the next step; it says
// how the round has ended, if it has.
func (u *user) advance(got *received, values map[string][]string, readable bool) (trace.SessionEnd, string) {
	step := u.script.Steps[u.step]
	if missing := u.keep(step, values); missing != "" || !readable {
		switch {
		case got.cut:
			return trace.SessionBroken, fmt.Sprintf("the body is longer than %d bytes, and was not read to its end", MaxBody)
		case !readable:
			return trace.SessionBroken, "the body is no JSON"
		}
		return trace.SessionBroken, "the answer has no " + missing
	}
	_, again := values[step.While]
	switch {
	case step.While != "" && again && u.page+1 == step.Most:
		return trace.SessionBroken, fmt.Sprintf("after %d times the answer still has %s", step.Most, step.While)
	case step.While != "" && again:
		u.page++
	default:
		u.step, u.page = u.step+1, 0
	}
	if u.step == len(u.script.Steps) {
		return trace.SessionDone, ""
	}
	return u.resolve()
}

// keep carries values on, and says which one is missing. That by which a step is
// repeated may be: its absence ends the repeating.
func (u *user) keep(step match.Step, values map[string][]string) (missing string) {
	for _, want := range step.Capture {
		v, ok := values[want.Name]
		switch {
		case len(v) > 0:
			u.values[want.Name] = v[0]
		case ok, want.Name == step.While:
			delete(u.values, want.Name) // One of an answer before is not meant.
		case missing == "":
			missing = fmt.Sprintf("%s (%s)", want.Name, want.Source())
		}
	}
	return missing
}

// resolve makes the request of the next step. One that cannot be made ends the
// round.
func (u *user) resolve() (trace.SessionEnd, string) {
	t, err := u.fill(u.targets[u.step])
	if err == nil {
		err = u.sends(t)
	}
	if err != nil {
		return trace.SessionBroken, fmt.Sprintf("step %d cannot be made: %v", u.step+1, err)
	}
	u.next = t
	return "", ""
}

// fill puts a user's values into a target.
func (u *user) fill(t match.Target) (match.Target, error) {
	var errs []error
	value := func(name string) string {
		v, ok := u.values[name]
		if !ok {
			errs = append(errs, fmt.Errorf("no answer gave %s", name))
		}
		return v
	}
	raw := func(name string) string {
		v := value(name)
		if strings.Contains(v, "{{") {
			errs = append(errs, fmt.Errorf("%s has {{ in it, which would be read as a template", name))
		}
		return v
	}
	if words := match.Words(t.Path); len(words) == 1 && match.Fill(t.Path, func(string) string { return "" }) == "" {
		link, err := u.link(raw(words[0]))
		t.Path = link
		errs = append(errs, err)
	} else {
		path, query, asks := strings.Cut(t.Path, "?")
		t.Path = match.Fill(path, func(name string) string { return url.PathEscape(raw(name)) })
		if asks {
			t.Path += "?" + match.Fill(query, func(name string) string { return url.QueryEscape(value(name)) })
		}
	}
	if len(t.Headers) > 0 {
		headers := map[string]string{}
		for k, v := range t.Headers {
			headers[k] = match.Fill(v, raw)
		}
		t.Headers = headers
	}
	t.Body = match.Fill(t.Body, raw)
	return t, errors.Join(errs...)
}

// link reads a value that is a whole address. One that leads away from the SUT is
// not followed: nobody agreed to be sent load there.
func (u *user) link(address string) (string, error) {
	to, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	if to.Host != "" && !slices.ContainsFunc(u.bases, func(b base) bool { return b.url.Scheme == to.Scheme && b.url.Host == to.Host }) {
		return "", fmt.Errorf("the link %s leads away from the system under test", address)
	}
	if !strings.HasPrefix(to.Path, "/") {
		return "", fmt.Errorf("the link %q is not a path that begins with /", address)
	}
	to.Scheme, to.Host, to.User, to.Fragment, to.RawFragment = "", "", nil, "", ""
	return to.String(), nil
}
