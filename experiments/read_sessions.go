package experiments

import (
	"maps"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// sessions reads the users of a phase and what they do. The phase sends to the targets
// of their steps.
func (r *reader) sessions(p *Phase, phase *yamldoc.Map, v yamldoc.Value) *Sessions {
	m := v.Map("{users: 5, rounds: 20, steps: [{target: list}]}")
	defer m.Done()
	s := &Sessions{Users: m.Need("users").Count(1, 1), Rounds: m.Need("rounds").Count(1, 1)}
	s.ThinkMin, s.ThinkMax = think(m.Get("think"))
	s.Script.Cookies = m.Get("cookies").Bool(false)
	r.restart(&s.Script, m.Get("restart"))
	known := &values{list: map[string]bool{}}
	for _, item := range m.Need("steps").Items() {
		s.Script.Steps = append(s.Script.Steps, r.step(item, known))
	}
	if phase.Get("targets").Exists() {
		phase.Key("targets").Problemf("is not for a phase of sessions, whose steps name their targets")
	}
	p.Targets = nil
	for _, step := range s.Script.Steps {
		if step.Target != "" && !slices.Contains(p.Targets, step.Target) {
			p.Targets = append(p.Targets, step.Target)
		}
	}
	return s
}

// restart reads which answers send a user back to the first step.
func (r *reader) restart(s *match.Script, v yamldoc.Value) {
	if !v.Exists() {
		return
	}
	m := v.Map("{on: restarted, most: 3}")
	defer m.Done()
	s.RestartOn = r.classNames(m.Need("on"))
	s.Restarts = m.Get("most").Count(1, 1)
}

// classNames reads names of classes.
func (r *reader) classNames(v yamldoc.Value) []string {
	var list []string
	for _, item := range v.Items() {
		name := item.NonEmpty()
		switch _, ok := r.plan.Classes.Find(name); {
		case name == "":
		case !ok && !r.noClasses:
			var known []string
			for _, c := range r.plan.Classes {
				known = append(known, c.Name)
			}
			item.Problemf("there is no class %q in load.classify%s", name, yamldoc.Hint(name, known))
		case slices.Contains(list, name):
			item.Problemf("class %q is named twice", name)
		default:
			list = append(list, name)
		}
	}
	return list
}

// values are those that steps capture.
type values struct {
	list  map[string]bool // by name: whether it is a list
	vague bool            // what captures them has problems, so that one that is not among them proves nothing
}

// step reads one step; known are the values of the steps before it, and then of it too.
func (r *reader) step(v yamldoc.Value, known *values) match.Step {
	m := v.Map("{target: page, path: '/items?cursor={{.next}}', capture: {next: {jsonpath: $.next}}}")
	defer m.Done()
	filled := func(v yamldoc.Value, text string) string { return r.filled(v, text, known) }
	s := match.Step{Target: r.targets.refer(m.Need("target"))}
	if path := m.Get("path"); path.Exists() {
		s.Path = r.stepPath(path, filled)
	}
	s.Headers = r.ownHeaders(m.Get("headers"), filled)
	s.Body = m.Get("body").Text("")
	filled(m.Get("body"), s.Body)
	if body := m.Get("body"); body.Exists() && s.Body == "" {
		body.Problemf("is empty, which would leave the target's body as it is")
	}
	repeat, flawed := m.Get("repeat"), r.flawed()
	for _, e := range m.Get("capture").Map("{next: {jsonpath: $.next}}").Entries() {
		s.Capture = append(s.Capture, capture(e))
	}
	for _, c := range s.Capture {
		known.list[c.Name] = c.List
	}
	known.vague = known.vague || flawed() || m.Misspelt("capture")
	if repeat.Exists() {
		rm := repeat.Map("{while: next, most: 100}")
		defer rm.Done()
		while := rm.Need("while")
		s.While, s.Most = while.NonEmpty(), rm.Need("most").Count(1, 1)
		i := slices.IndexFunc(s.Capture, func(c match.Capture) bool { return c.Name == s.While })
		switch {
		case s.While == "", known.vague:
		case i < 0:
			while.Problemf("%q is not among what this step captures, so nothing would end the repeating", s.While)
		case s.Capture[i].List:
			while.Problemf("%q is a list, which is there even when it is empty", s.While)
		}
	}
	return s
}

// stepPath reads a path of a step; one that is a value and nothing else is a link.
func (r *reader) stepPath(v yamldoc.Value, filled func(yamldoc.Value, string) string) string {
	s := v.Text("")
	if words := match.Words(s); len(words) == 1 && match.Fill(s, func(string) string { return "" }) == "" {
		filled(v, s)
		return s
	}
	return urlPath(v, func(v yamldoc.Value, text string) string {
		filled(v, text)
		return match.Fill(text, func(string) string { return "0" })
	})
}

// filled reads a text in which values of the steps before may stand, beside the
// identity of the call.
func (r *reader) filled(v yamldoc.Value, text string, known *values) string {
	for _, name := range match.Words(text) {
		switch list, ok := known.list[name]; {
		case known.vague:
		case !ok:
			v.Problemf("no step before this one captures %q%s", name, yamldoc.Hint(name, slices.Sorted(maps.Keys(known.list))))
		case list:
			v.Problemf("%q is a list, which has no single value", name)
		}
	}
	r.templated(v, match.Fill(text, func(string) string { return "0" }))
	return text
}

// capture reads what is taken out of an answer.
func capture(e yamldoc.Entry) match.Capture {
	c := match.Capture{Name: e.Name}
	if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || c.Name == "ID" || c.Name == "UUID" || c.Name == "" {
		e.Key.Problemf("%q is not a name for a value; it has letters, digits and _, and is not ID or UUID", c.Name)
	}
	m := e.Value.Map("{jsonpath: $.next}")
	defer m.Done()
	list := m.Get("list")
	switch m.Choice("jsonpath", "header", "cookie") {
	case "jsonpath":
		at := m.Get("jsonpath")
		c.JSONPath = at.NonEmpty()
		if err := match.CheckJSONPath(c.JSONPath); c.JSONPath != "" && err != nil {
			at.Problemf("%v", err)
		}
		c.List = list.Bool(false)
	case "header":
		c.Header = token(m.Get("header"), "header")
	case "cookie":
		c.Cookie = token(m.Get("cookie"), "cookie")
	default:
		if m.Exists() {
			m.Lacks(m.Value, []string{"jsonpath", "header", "cookie"}, "says none of jsonpath, header and cookie")
		}
	}
	if list.Exists() && c.JSONPath == "" {
		m.Lacks(list, []string{"jsonpath"}, "goes with jsonpath, which may select many nodes")
	}
	return c
}

// token reads the name of a header or a cookie.
func token(v yamldoc.Value, kind string) string {
	s := v.NonEmpty()
	if s != "" && !isToken(s) {
		v.Problemf("%q is not the name of a %s", s, kind)
		return ""
	}
	return s
}

// continuity reads what users who page through a list must not suffer.
func (a *assertion) continuity(v yamldoc.Value) assert.Rule {
	m := v.Map("{items: ids, told: [restarted]}")
	defer m.Done()
	rule := assert.FallbackContinuity{Breaker: a.onlyBreaker()}
	rule.Items = a.captured(m.Need("items"), true)
	rule.Source = a.captured(m.Get("source"), false)
	if told := m.Get("told"); told.Exists() {
		rule.Told = a.classNames(told)
	}
	if p, ok := a.plan.phase(a.in); ok && p.Sessions == nil && !a.noPhases {
		v.Problemf("phase %s has no sessions, so nobody pages in it", p.Name)
	}
	return rule
}

// captured reads the name of a captured value, and has the trace keep it.
func (a *assertion) captured(v yamldoc.Value, list bool) string {
	name := ""
	if v.Exists() {
		name = v.NonEmpty()
	}
	if name == "" {
		return ""
	}
	found, isList := false, false
	for i := range a.plan.Phases {
		p := &a.plan.Phases[i]
		if c, ok := p.captures(name); ok {
			p.Sessions.record(name)
			found, isList = found || p.Name == a.in, c.List
		}
	}
	switch {
	case a.noPhases:
	case !found:
		if p, ok := a.plan.phase(a.in); !ok || p.Sessions == nil {
			break // The phase is wrong already.
		}
		v.Problemf("no step of phase %s captures %q", a.in, name)
	case found && isList != list && list:
		v.Problemf("%q is a single value; let it be captured with list: true", name)
	case found && isList != list:
		v.Problemf("%q is a list; the source is a single value", name)
	}
	return name
}

// captures finds what a phase's users capture under a name.
func (p *Phase) captures(name string) (match.Capture, bool) {
	if p.Sessions != nil {
		for _, step := range p.Sessions.Script.Steps {
			if i := slices.IndexFunc(step.Capture, func(c match.Capture) bool { return c.Name == name }); i >= 0 {
				return step.Capture[i], true
			}
		}
	}
	return match.Capture{}, false
}

// record has the trace keep a value.
func (s *Sessions) record(name string) {
	if !slices.Contains(s.Script.Record, name) {
		s.Script.Record = append(s.Script.Record, name)
		slices.Sort(s.Script.Record)
	}
}
