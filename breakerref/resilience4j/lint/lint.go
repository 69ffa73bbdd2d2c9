package lint

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// Result is what was found in a file.
type Result struct {
	File     *resilience4j.File
	Findings []Finding // by position; those that a comment takes back are among them
}

// File holds a file to all rules. The error says that it cannot be read at all: it is
// not YAML, or not properties.
func File(name string, src []byte, opt Options) (*Result, error) {
	v, err := look(name, src, opt)
	if err != nil {
		return nil, err
	}
	res := &Result{File: v.file}
	partial := forProfile(name)
	for _, r := range Rules() {
		if r.check == nil || r.Whole && partial {
			continue
		}
		c := &checker{view: v, rule: r, opt: opt, partial: partial}
		r.check(c)
		res.Findings = append(res.Findings, c.merged()...)
	}
	res.Findings = suppress(name, src, res.Findings)
	slices.SortStableFunc(res.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col),
			cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.About, b.About), cmp.Compare(a.What, b.What))
	})
	return res, nil
}

// profile is the name of a file that Spring reads only for one profile.
var profile = regexp.MustCompile(`^(application|bootstrap)-.+\.(ya?ml|properties)$`)

// forProfile reports whether a file has only what differs in one profile.
func forProfile(name string) bool {
	return profile.MatchString(path.Base(strings.ReplaceAll(name, `\`, "/")))
}

// checker is one rule at work on one file.
type checker struct {
	*view
	rule    Rule
	opt     Options
	partial bool
	found   []draft
}

// draft is a finding of one instance, before the same ones of others are put together
// with it: twenty instances on one config have one thing to mend, not twenty.
type draft struct {
	module   resilience4j.Module
	name     string // empty: of no instance
	config   bool
	severity Severity
	at       resilience4j.Pos
	what     string
	fix      string
}

// find notes a finding that is about the whole file.
func (c *checker) find(at resilience4j.Pos, what, fix string) {
	c.add(draft{at: at, what: what, fix: fix})
}

// findIn notes a finding about an instance or a config.
func (c *checker) findIn(s *subject, at resilience4j.Pos, what string) {
	c.add(draft{module: s.module, name: s.name, config: s.config, at: at, what: what})
}

// findAt notes a finding about whatever has something written at a place.
func (c *checker) findAt(at resilience4j.Pos, what string) { c.add(c.owner(draft{at: at, what: what})) }

// owner puts the block in which a finding stands into it.
func (c *checker) owner(d draft) draft {
	c.settings(func(b resilience4j.Block, s resilience4j.Setting) {
		if s.Origin.Pos == d.at {
			d.module, d.name, d.config = b.Module, b.Name, b.Config
		}
	})
	return d
}

func (c *checker) add(d draft) {
	if d.severity == 0 {
		d.severity = c.rule.Severity
	}
	if d.fix == "" {
		d.fix = c.rule.Fix
	}
	c.found = append(c.found, d)
}

// merged makes findings of the drafts.
func (c *checker) merged() []Finding {
	var out []Finding
	for len(c.found) > 0 {
		d := c.found[0]
		same := func(o draft) bool {
			return o.at == d.at && o.what == d.what && o.fix == d.fix && o.module == d.module && o.config == d.config && (o.name == "") == (d.name == "")
		}
		var of []string
		for _, o := range c.found {
			if same(o) && o.name != "" && !slices.Contains(of, o.name) {
				of = append(of, o.name)
			}
		}
		c.found = slices.DeleteFunc(c.found, same)
		f := Finding{Rule: c.rule.ID, Severity: d.severity, At: d.at, What: d.what, Why: c.rule.Why, Fix: d.fix}
		if len(of) > 0 {
			f.About = d.module.String() + " "
			if d.config {
				f.About += "config "
			}
			f.About += names(of)
		}
		out = append(out, f)
	}
	return out
}
