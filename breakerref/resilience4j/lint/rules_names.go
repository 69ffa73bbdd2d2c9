package lint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// nameBelow finds the name of an instance or a config in a key that has no brackets there.
var nameBelow = regexp.MustCompile(`^resilience4j\.[a-z0-9_-]+\.(?:instances|backends|limiters|configs)\.([^.\[]+)`)

func nameCharacters() Rule {
	return Rule{
		ID: "instance-name-characters", Severity: Error,
		Title:  "A name that Spring changes",
		Why:    "In a key, Spring drops everything that is no letter of ASCII, digit, dash or underscore. The instance then has another name than the one in the code, which gets the defaults. Names of Feign clients, as Client#call(String), are like that.",
		Source: "spring-cloud-circuitbreaker#141, #122",
		Fix:    "put the name in quotes and brackets, as \"[name#call()]\"",
		check: func(c *checker) {
			told := map[string]bool{}
			for _, w := range c.written {
				m := nameBelow.FindStringSubmatch(strings.ReplaceAll(w.key, `\`, ""))
				if m == nil || told[m[1]] {
					continue
				}
				kept := bare(m[1])
				if kept == m[1] {
					continue
				}
				told[m[1]] = true
				c.find(w.at, fmt.Sprintf("Spring makes %q of the name %q", kept, m[1]), fmt.Sprintf("write %q in its place", "["+m[1]+"]"))
			}
		},
	}
}

// bare is what Spring keeps of a name.
func bare(name string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, name), "-")
}

// withoutUnit is about numbers that Spring takes for milliseconds. From a second on
// nobody means anything else.
func withoutUnit() Rule {
	return Rule{
		ID: "duration-without-unit", Severity: Warning,
		Title:  "A duration without a unit that is less than a second",
		Why:    "Without a unit Spring reads milliseconds. Someone set slow-call-duration-threshold to 60 for a minute, and every call was slow.",
		Source: "resilience4j#652",
		Fix:    "write the unit, as 5s or 500ms",
		check: func(c *checker) {
			c.settings(func(b resilience4j.Block, s resilience4j.Setting) {
				w, there := c.as(s.Origin.Pos)
				if !there || !strings.Contains(strings.ToLower(s.Key), "duration") && s.Key != "limitRefreshPeriod" {
					return
				}
				if n, err := strconv.Atoi(strings.TrimSpace(w.value)); err != nil || n <= 0 || n >= 1000 {
					return
				}
				c.add(draft{
					module: b.Module, name: b.Name, config: b.Config, at: s.Origin.Pos,
					what: fmt.Sprintf("%s is %s, which is milliseconds", s.Key, w.value),
					fix:  fmt.Sprintf("write %ss, or %sms if that is what is meant", strings.TrimSpace(w.value), strings.TrimSpace(w.value)),
				})
			})
		},
	}
}
