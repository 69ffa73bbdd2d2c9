package experiments

import (
	"slices"
	"strings"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// names are the things of one kind that a file declares.
type names struct {
	kind  string
	known []string
	at    []string // where each is declared
	// blind: the section that declares them could not be read, so a reference to
	// a name that is not among them proves nothing.
	blind bool
	// vague: declared, but with problems, so that what follows from them proves
	// nothing.
	vague map[string]bool
}

// doubt makes a name vague.
func (n *names) doubt(name string) {
	if n.vague == nil {
		n.vague = map[string]bool{}
	}
	n.vague[name] = true
}

// declare adds a name that stands at v; twice is a problem. An empty name is one
// that was wrong already.
func (n *names) declare(v yamldoc.Value, name string) {
	if name == "" {
		n.blind = true
		return
	}
	if i := slices.Index(n.known, name); i >= 0 {
		v.Problemf("%s %q is already in %s", n.kind, name, n.at[i])
	}
	n.known = append(n.known, name)
	n.at = append(n.at, v.Place())
}

// end notes that a section declares nothing, unless that follows from a problem.
func (n *names) end(section yamldoc.Value, read bool) {
	if len(n.known) == 0 && read && !n.blind {
		section.Problemf("declares no %s; at least one is needed", n.kind)
	}
	n.blind = n.blind || len(n.known) == 0
}

// refer reads a reference. It is empty when there is none, or a wrong one.
func (n *names) refer(v yamldoc.Value) string {
	name := v.NonEmpty()
	if name == "" || slices.Contains(n.known, name) {
		return name
	}
	if !n.blind {
		v.Problemf("there is no %s %q%s", n.kind, name, yamldoc.Hint(name, n.known))
	}
	return ""
}

// referAll reads references, each at most once.
func (n *names) referAll(items []yamldoc.Value) []string {
	list := []string{}
	for _, item := range items {
		name := n.refer(item)
		switch {
		case name == "":
		case slices.Contains(list, name):
			item.Problemf("%s %q is named twice", n.kind, name)
		default:
			list = append(list, name)
		}
	}
	return list
}

// referOr reads a reference that may be left out where only one name is declared.
func (n *names) referOr(v yamldoc.Value) string {
	if v.Exists() {
		return n.refer(v)
	}
	if len(n.known) == 1 {
		return n.known[0]
	}
	if len(n.known) == 0 && !n.blind {
		v.Problemf("is missing, and no %s is declared", n.kind)
	}
	if len(n.known) > 1 {
		v.Problemf("is missing; there is more than one %s: %s", n.kind, strings.Join(n.known, ", "))
	}
	return ""
}

// word reads a name; it is empty when there is none, or a wrong one.
func word(v yamldoc.Value, more string) string { return checkWord(v, v.NonEmpty(), more) }

// checkWord checks a name that stands at v: letters, digits and some more signs, a
// letter or digit first. Names become parts of call ids, templates and file names.
func checkWord(v yamldoc.Value, s, more string) string {
	if s == "" || isWord(s, more) {
		return s
	}
	v.Problemf("%q is not a name; it has letters, digits and %s, and begins with a letter or a digit",
		s, strings.Join(strings.Split(more, ""), " "))
	return ""
}

func isWord(s, more string) bool {
	return isAlnum(rune(s[0])) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !isAlnum(r) && !strings.ContainsRune(more, r) })
}

func isAlnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// isToken reports whether the text can be a header's name or a method (RFC 9110,
// section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !isAlnum(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
