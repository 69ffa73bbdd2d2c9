package lint

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// Severity says how much a finding weighs.
type Severity int

// The severities, the lightest first.
const (
	Note    Severity = iota + 1 // worth knowing
	Warning                     // most likely not what is wanted
	Error                       // certain: Spring does not start, or what is written does nothing
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("Severity(%d)", int(s))
}

// MarshalText implements encoding.TextMarshaler, for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, known := range []Severity{Note, Warning, Error} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("%q is no severity; there are note, warning and error", text)
}

// Rule is one thing that files are held to.
type Rule struct {
	ID       string
	Severity Severity // of its findings; one that another file could mend may be lighter
	Title    string   // one line, no full stop
	Why      string   // what happens, and to whom it happened
	Source   string   // where that is known from
	Fix      string   // what to do
	// Whole says that the rule is about what is not written. In a file for one profile,
	// which says only what differs, it is not applied.
	Whole bool
	check func(*checker)
}

// Options say what is known beside the file.
type Options struct {
	Profiles []string                         // active ones of Spring
	Env      func(name string) (string, bool) // what ${NAME} stands for; nil: nothing is set
	// Rate is how many calls a second one instance of the service sends through each
	// circuit breaker; 0: not known.
	Rate float64
	// ClientTimeout is after how long the client that the breaker is around gives up; 0:
	// not known.
	ClientTimeout time.Duration
}

// Finding is one thing that was found.
type Finding struct {
	Rule     string           `json:"rule"`
	Severity Severity         `json:"severity"`
	At       resilience4j.Pos `json:"-"`
	About    string           `json:"about,omitempty"` // such as "circuitbreaker payments"
	What     string           `json:"what"`
	Why      string           `json:"why"`
	Fix      string           `json:"fix"`
	// Suppressed is the reason for which a comment takes the finding back.
	Suppressed string `json:"suppressed,omitempty"`
}

// String returns file:line:col: severity: about: what [rule].
func (f Finding) String() string {
	about := f.About
	if about != "" {
		about += ": "
	}
	return fmt.Sprintf("%v: %v: %s%s [%s]", f.At, f.Severity, about, f.What, f.Rule)
}

//go:embed rules
var examples embed.FS

// Bad returns a file of which the rule, and no other, has something to say. Its first
// line may have flags for it, as in "# faultline lint --rate 5".
func (r Rule) Bad() string { return r.example("bad.yml") }

// Good returns the same file, mended.
func (r Rule) Good() string { return r.example("good.yml") }

func (r Rule) example(name string) string {
	text, err := examples.ReadFile("rules/" + r.ID + "/" + name)
	if err != nil {
		return "" // A test sees to it that each rule has both.
	}
	return string(text)
}

// Rules returns all rules, in the order of the documentation.
func Rules() []Rule {
	return slices.Concat(readingRules(), inheritanceRules(), windowRules(), slowRules(), halfOpenRules(),
		waitRules(), exceptionRules(), aroundRules(), moduleRules(), suppressionRules())
}

// Find returns the rule with an id.
func Find(id string) (Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// IDs returns the ids of all rules, sorted.
func IDs() []string {
	var ids []string
	for _, r := range Rules() {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// names lists names, and says how many more there are.
func names(all []string) string {
	const most = 4
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}
