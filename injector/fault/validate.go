package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Problem is one thing wrong with a script.
type Problem struct {
	Phase string
	Rule  int    // its index in the phase, from 0; -1: the phase itself
	ID    string // the rule's ID, if it has one
	Field string // as the script spells it: select.den
	Text  string // what is wrong and what to write instead
}

// Error implements error.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Phase != "" {
		fmt.Fprintf(&b, "phase %s: ", p.Phase)
	}
	if p.Rule >= 0 && p.Phase != "" {
		fmt.Fprintf(&b, "fault %d: ", p.Rule+1)
	}
	if p.Field != "" {
		fmt.Fprintf(&b, "%s: ", p.Field)
	}
	b.WriteString(p.Text)
	return b.String()
}

// Validate returns all problems of a script, by phase name and rule. A script
// without problems cannot panic, and none of its fields is ignored.
func Validate(s Script) []Problem {
	var all []Problem
	ids := map[string]string{}
	for _, phase := range slices.Sorted(maps.Keys(s.Phases)) {
		if phase == "" {
			all = append(all, Problem{Rule: -1, Field: "phases", Text: "a phase has no name; faults belong to a named phase"})
		}
		rules := s.Phases[phase]
		for n, r := range rules {
			found := r.problems()
			r.among(rules, n, &found)
			id := ruleID(phase, n, r)
			if other, twice := ids[id]; twice {
				found.add("id", "%q already names a fault of phase %s; the trace could not tell them apart", id, other)
			}
			ids[id] = phase
			for _, p := range found {
				p.Phase, p.Rule, p.ID = phase, n, r.ID
				all = append(all, p)
			}
		}
	}
	return all
}

// among looks at the rule beside the others of its phase, of which it is the n-th.
func (r Rule) among(rules []Rule, n int, ps *problems) {
	if text := Against(rules[:n], r, func(i int) string { return "fault " + strconv.Itoa(i+1) }); text != "" {
		ps.add("match", "%s", text)
	}
	r.checkShared(rules[:n], ps)
	if r.Action.Door() && len(rules) > 1 {
		ps.add("action", "%s is for all that connect in its phase; no other fault of it could be seen", r.Action)
	}
}

// problems collects what is wrong with one rule.
type problems []Problem

// add notes a problem of one field.
func (ps *problems) add(field, format string, args ...any) {
	*ps = append(*ps, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// problems are those of the rule by itself.
func (r Rule) problems() problems {
	var ps problems
	r.Match.check(&ps)
	r.Select.check(&ps)
	if r.Hold != nil {
		r.Hold.check(&ps)
	}
	r.Latency.check(&ps)
	r.checkLate(&ps)
	r.checkAction(&ps)
	r.checkWebSocket(&ps)
	return ps
}

// check looks at the three numbers that release needs.
func (h Hold) check(ps *problems) {
	if h.Probes < 1 {
		ps.add("hold.probes", "is %d; write how many probes the breaker permits, at least 1", h.Probes)
	}
	if h.Rejected < 1 {
		ps.add("hold.rejected", "is %d; write how many rejections release the held requests, at least 1", h.Rejected)
	}
	if h.Max <= 0 {
		ps.add("hold.max", "is %v; a hold needs the longest time that it may last, as no rejection may ever come", h.Max)
	}
}

// checkAction looks at the action and at what only some actions have.
func (r Rule) checkAction(ps *problems) {
	switch r.Action {
	case ActionRespond:
		*ps = append(*ps, r.Respond.Problems()...)
	case ActionPass, ActionReset, ActionClose, ActionHang, ActionGarbage:
		if !r.Respond.zero() {
			ps.add("respond", "has no meaning with action %s", r.Action)
		}
	case ActionRefuse, ActionUnreachable, ActionDeaf:
		r.checkDoor(ps)
	case ActionTLS:
		r.checkTLS(ps)
	case ActionTCP:
		r.checkTCP(ps)
	case ActionSettings:
		r.checkSettings(ps)
	default:
		ps.add("action", "%q is none of %s", r.Action, words(Actions()))
	}
	answers := r.Action == ActionRespond || r.Action == ActionPass
	if r.Stealth && (answers || r.Action == ActionGarbage || r.Action.Layer() != LayerRequest) {
		ps.add("stealth", "has no meaning with action %s; only reset, close and hang end a connection", r.Action)
	}
	if r.Form != (Form{}) && !answers {
		ps.add("form", "has no meaning with action %s, which gives no answer", r.Action)
	}
	r.Form.check(ps)
	r.checkOthers(ps)
}

// checkOthers looks at what only one action has.
func (r Rule) checkOthers(ps *problems) {
	if garbage := r.Action == ActionGarbage; garbage && (r.Garbage < 1 || r.Garbage > MostGarbage) {
		ps.add("garbage", "is %d bytes; write 1 to %d", r.Garbage, MostGarbage)
	} else if !garbage && r.Garbage != 0 {
		ps.add("garbage", "has no meaning with action %s", r.Action)
	}
	if tls := r.Action == ActionTLS; !tls && (r.TLS != nil || r.Match.SNI != "") {
		ps.add("tls", "has no meaning with action %s, nor has a match by sni", r.Action)
	}
	if r.Action != ActionTCP && r.TCP != nil {
		ps.add("tcp", "has no meaning with action %s", r.Action)
	}
	if r.ReadRate < 0 {
		ps.add("read_rate", "is %d bytes a second; must be above 0", r.ReadRate)
	}
	r.checkH2(ps)
}

// checkDoor looks at what only requests have.
func (r Rule) checkDoor(ps *problems) {
	for _, only := range []struct {
		field string
		set   bool
	}{
		{"match", !r.Match.covers(Match{})},
		{"select", r.Select.Kind != SelectAll},
		{"hold", r.Hold != nil},
		{"latency", r.Latency.Longest() != 0},
		{"respond", !r.Respond.zero()},
		{"read_rate", r.ReadRate != 0},
	} {
		if only.set {
			ps.add(only.field, "has no meaning with action %s, which is for all that connect", r.Action)
		}
	}
}

// MostGarbage is how many random bytes are made at most for one answer.
const MostGarbage = 1 << 20

// words lists names for an error.
func words[S ~string](names []S) string {
	all := make([]string, 0, len(names))
	for _, n := range names {
		all = append(all, string(n))
	}
	return strings.Join(all, ", ")
}

// zero reports whether nothing is said.
func (r Respond) zero() bool {
	return r.Status == 0 && r.Body == "" && len(r.Headers) == 0 && r.Fill == 0 && r.HeaderFill == 0 && r.RetryAfter == nil && r.GRPC == nil
}

// Problems are those of a canned answer; their fields begin with "respond".
func (r Respond) Problems() []Problem {
	var ps problems
	if r.GRPC != nil {
		r.checkGRPC(&ps)
	} else if r.Status < 200 || r.Status > 599 {
		ps.add("respond.status", "%d is not the status of an answer; write 200 to 599", r.Status)
	}
	if (r.Status == 204 || r.Status == 304) && (r.Body != "" || r.Fill != 0) {
		ps.add("respond.body", "an answer with status %d has no body", r.Status)
	}
	if r.Fill < 0 || r.HeaderFill < 0 || r.HeaderFill > MostHeader {
		ps.add("respond.fill", "is %d bytes of body and %d of a header; neither is below 0, and the header at most %d", r.Fill, r.HeaderFill, MostHeader)
	}
	if a := r.RetryAfter; a != nil && (a.In < 0 || a.In%time.Second != 0) {
		ps.add("respond.retry_after", "%v is not a number of whole seconds", a.In)
	}
	r.checkHeaders(&ps)
	return ps
}

// checkHeaders looks at what would break the head, and what the body says.
func (r Respond) checkHeaders(ps *problems) {
	for _, key := range slices.Sorted(maps.Keys(r.Headers)) {
		switch {
		case !isToken(key):
			ps.add("respond.headers", "%q is not the name of a header", key)
		case strings.EqualFold(key, "Content-Length"), strings.EqualFold(key, "Transfer-Encoding"):
			ps.add("respond.headers", "%s is given by the body; leave it out", key)
		}
		if strings.ContainsAny(r.Headers[key], "\r\n\x00") {
			ps.add("respond.headers", "the value of %s holds a line break or a zero byte", key)
		}
	}
}

// MostHeader is how large a header may be made; clients give up long before.
const MostHeader = 64 << 20

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
