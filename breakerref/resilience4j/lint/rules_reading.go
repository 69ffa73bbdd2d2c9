package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// readingRules are about what Spring and the library make of the text.
func readingRules() []Rule {
	return []Rule{
		unknownKey(), removedKey(), refusedValue(), bothBackoffs(), unresolved(), baseMissing(), baseCycle(), creationOrder(), nameCharacters(), withoutUnit(),
	}
}

// trouble returns the reader's problems of one kind.
func (v *view) trouble(kind resilience4j.ProblemKind) []resilience4j.Problem {
	return slices.DeleteFunc(slices.Clone(v.problems), func(p resilience4j.Problem) bool { return p.Kind != kind })
}

// item is an index at a key's end, with what is below it.
var item = regexp.MustCompile(`\[\d+\].*$`)

// ownerOf puts the block that a key stands in into a finding.
func ownerOf(key string, d draft) draft {
	m := inBlock.FindStringSubmatch(key)
	if m == nil {
		return d
	}
	for _, module := range resilience4j.Modules() {
		if plain(module.String()) == plain(m[1]) {
			d.module, d.config, d.name = module, strings.EqualFold(m[2], "configs"), strings.Trim(m[3], "[]")
		}
	}
	return d
}

// inBlock takes a key apart that leads into a block.
var inBlock = regexp.MustCompile(`(?i)^resilience4j\.([a-z0-9_-]+)\.(instances|backends|limiters|configs)\.?(\[[^\]]+\]|[^.\[]+)\.`)

func unknownKey() Rule {
	return Rule{
		ID: "unknown-key", Severity: Error,
		Title:  "A key that nobody reads",
		Why:    "Spring passes over keys that it does not know without a word, so the value that was meant to be set is the default. A key that is not even near one that is known is only a warning where the application could have keys of its own.",
		Source: "resilience4j#1586 (ignoreException in YAML)",
		Fix:    "correct the name, or remove the key",
		check: func(c *checker) {
			told := map[string]bool{}
			for _, p := range c.trouble(resilience4j.Unknown) {
				outside := strings.Contains(p.Text, "is not a module of") || strings.Contains(p.Text, "is not a key of")
				// A list that nobody reads is one mistake, and so is all that stands below a
				// section that is none.
				once := item.ReplaceAllString(p.Key, "")
				if outside {
					once = p.Text
				}
				if told[once] {
					continue
				}
				told[once] = true
				d := ownerOf(p.Key, draft{at: p.Pos, what: p.Text})
				if outside && !strings.Contains(p.Text, "did you mean") {
					d.severity = Warning
				}
				c.add(d)
			}
		},
	}
}

func removedKey() Rule {
	return Rule{
		ID: "removed-key", Severity: Error,
		Title:  "A key that the library no longer has",
		Why:    "Resilience4j 2 removed it, and Spring passes over it without a word: after the upgrade the breaker runs on the default, of 100 calls for instance. With Resilience4j 1 the ring buffers still work.",
		Source: "the migration to Resilience4j 2.0; Resilience4j-Spring-Boot2-Demo#29",
		Fix:    "use the key that has taken its place",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Removed) {
				c.add(ownerOf(p.Key, draft{at: p.Pos, what: p.Text}))
			}
		},
	}
}

func refusedValue() Rule {
	return Rule{
		ID: "refused-value", Severity: Error,
		Title:  "A value with which Spring does not start",
		Why:    "Values are converted and checked when the application starts, more strictly than in Java: percentages are 1 to 100 without a sign, a duration is a whole number with one unit, or ISO 8601.",
		Source: "spring-cloud-circuitbreaker#229 (seconds: 4); the library's configuration classes",
		Fix:    "write a value that is allowed",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Refused) {
				d := draft{at: p.Pos, what: p.Text}
				if strings.Contains(p.Text, "removed in Spring Boot 3") {
					d.severity = Warning // It still is what Spring Boot 2 wants.
				}
				if !isBothBackoffs(p) {
					c.add(c.owner(d))
				}
			}
		},
	}
}

// isBothBackoffs tells the problem that has a rule of its own from the others.
func isBothBackoffs(p resilience4j.Problem) bool {
	return strings.Contains(p.Text, "enableRandomizedWait and enableExponentialBackoff")
}

func bothBackoffs() Rule {
	return Rule{
		ID: "both-backoffs", Severity: Error,
		Title:  "A breaker's wait is to grow and to vary",
		Why:    "A circuit breaker takes one of enableExponentialBackoff and enableRandomizedWait; with both in one block the application does not start. A retry takes both.",
		Source: "the library's configuration classes",
		Fix:    "decide for one of them",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Refused) {
				if isBothBackoffs(p) {
					c.findAt(p.Pos, p.Text)
				}
			}
		},
	}
}

func unresolved() Rule {
	return Rule{
		ID: "unresolved-placeholder", Severity: Note,
		Title:  "A placeholder whose value is not known here",
		Why:    "Nothing that depends on it was looked at. Where the application runs the variable is probably set; where it is not, the application does not start.",
		Source: "Spring Boot, externalized configuration",
		Fix:    "write a default, as ${NAME:50}, or set the variable when you lint",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Unresolved) {
				c.findAt(p.Pos, p.Text)
			}
		},
	}
}

func baseMissing() Rule {
	return Rule{
		ID: "base-config-missing", Severity: Error,
		Title:  "A baseConfig that is not there",
		Why:    "The application does not start: \"Configuration with name ... does not exist\". In a file for one profile it is a warning, as the config may stand in the main file.",
		Source: "the library's configuration classes",
		Fix:    "correct the name, or add the config",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Missing) {
				d := draft{at: p.Pos, what: p.Text}
				if c.partial {
					d.severity = Warning
				}
				c.add(c.owner(d))
			}
		},
	}
}

func baseCycle() Rule {
	return Rule{
		ID: "base-config-cycle", Severity: Error,
		Title:  "A config that is based on itself",
		Why:    "The application does not start: a circular reference, or over several configs a StackOverflowError.",
		Source: "the library's configuration classes",
		Fix:    "take one of the baseConfigs out",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Cycle) {
				c.findAt(p.Pos, p.Text)
			}
		},
	}
}

func creationOrder() Rule {
	return Rule{
		ID: "creation-order", Severity: Warning,
		Title:  "A value that depends on which instance is made first",
		Why:    "The library fills some values in where they are first used, in the shared config itself, so what one instance gets depends on which others were made before it.",
		Source: "the library's retry configuration",
		Fix:    "write the value in each block that needs it",
		check: func(c *checker) {
			for _, p := range c.trouble(resilience4j.Undecided) {
				c.findAt(p.Pos, p.Text)
			}
		},
	}
}
