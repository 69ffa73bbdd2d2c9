package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// exceptionRules are about which exceptions count.
func exceptionRules() []Rule {
	return []Rule{misspelt(), recordAndIgnore(), ignoreEverything(), recordNarrow(), recordListed()}
}

const (
	recordKey = "recordExceptions"
	ignoreKey = "ignoreExceptions"
	retryKey  = "retryExceptions"
)

func misspelt() Rule {
	return Rule{
		ID: "exception-class-misspelt", Severity: Error,
		Title:  "A class that does not exist",
		Why:    "The application does not start if a class that is listed cannot be found. What is certain is told of Java's and of the library's own exceptions; of some other libraries a name that is nearly known is a warning.",
		Source: "resilience4j#2026",
		Fix:    "correct the name; it needs its package",
		check: func(c *checker) {
			known := classes()
			c.settings(func(b resilience4j.Block, s resilience4j.Setting) {
				if s.Key != recordKey && s.Key != ignoreKey && s.Key != retryKey || c.doubtful(s) {
					return
				}
				for _, class := range items(s.Value) {
					if meant, severity := meantBy(known, class); meant != "" {
						c.add(draft{
							module: b.Module, name: b.Name, config: b.Config, severity: severity, at: s.Origin.Pos,
							what: fmt.Sprintf("%s has %s, which is no class; did you mean %s?", s.Key, class, meant), fix: "write " + meant,
						})
					}
				}
			})
		},
	}
}

// settings goes through what is written in blocks.
func (v *view) settings(each func(resilience4j.Block, resilience4j.Setting)) {
	for _, b := range v.blocks {
		for _, s := range b.Settings {
			each(b, s)
		}
	}
}

// className is what is looked at: a class by its name, perhaps in another one.
var className = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\$[A-Za-z0-9_$]+)?$`)

// meantBy returns the class that a name was probably meant to be, if it is not one
// itself, and how sure that is.
func meantBy(known map[string][]string, class string) (string, Severity) {
	outer, _, _ := strings.Cut(class, "$")
	if !className.MatchString(class) {
		return "", 0
	}
	if outer == "io.github.resilience4j.circuitbreaker.CircuitBreakerOpenException" {
		return notPermitted, Error
	}
	in, name := "", outer
	if i := strings.LastIndexByte(outer, '.'); i >= 0 {
		in, name = outer[:i], outer[i+1:]
	}
	if slices.Contains(known[in], name) {
		return "", 0
	}
	packages := slices.Sorted(maps.Keys(known))
	if in == "" || strings.HasPrefix(in, "java.") && known[in] != nil {
		if p := packageOf(known, name); p != "" {
			return p + "." + name, Error
		}
	}
	if known[in] == nil {
		in = closest(in, packages)
		if slices.Contains(known[in], name) {
			return in + "." + name, certainty(in)
		}
		return "", 0
	}
	if near := closest(name, known[in]); near != "" {
		return in + "." + near, certainty(in)
	}
	return "", 0
}

// packageOf returns the package of Java that has an exception.
func packageOf(known map[string][]string, name string) string {
	for _, p := range slices.Sorted(maps.Keys(known)) {
		if strings.HasPrefix(p, "java.") && slices.Contains(known[p], name) {
			return p
		}
	}
	return ""
}

// certainty is Error for the packages of which all exceptions are known.
func certainty(in string) Severity {
	if strings.HasPrefix(in, "java.") || strings.HasPrefix(in, "io.github.resilience4j.") {
		return Error
	}
	return Warning
}

// closest returns the one name that is but two letters away.
func closest(name string, all []string) string {
	near := yamldoc.Nearest(name, all)
	if near == "" || abs(len(near)-len(name)) > 2 {
		return ""
	}
	// Of the letters of the shorter, all but two stand in the longer in their order.
	if common(name, near) < max(len(name), len(near))-2 {
		return ""
	}
	return near
}

func abs(n int) int { return max(n, -n) }

// common is the length of the longest common subsequence.
func common(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range len(a) {
		diagonal := 0
		for j := range len(b) {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func recordAndIgnore() Rule {
	return Rule{
		ID: "record-and-ignore", Severity: Error,
		Title:  "A class that is to count and to be ignored",
		Why:    "What is ignored is asked first, so the class never counts (and is never retried): its entry in the other list does nothing.",
		Source: "the library's circuit breaker and retry, 2.4.0",
		Fix:    "take it out of one of the lists",
		check: func(c *checker) {
			for _, s := range c.subjects {
				key := recordKey
				if s.module == resilience4j.Retry {
					key = retryKey
				}
				if !s.set(key) || !s.set(ignoreKey) {
					continue
				}
				for _, class := range both(s.list(key), s.list(ignoreKey)) {
					c.findIn(s, s.pos(key), fmt.Sprintf("%s is in %s and in ignoreExceptions, which wins", simple(class), key))
				}
			}
		},
	}
}

// both returns what is in two lists.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func ignoreEverything() Rule {
	return Rule{
		ID: "ignore-everything", Severity: Error,
		Title:  "All exceptions are ignored",
		Why:    "Every exception is a java.lang.Exception: the breaker counts no failure and never opens, the retry retries nothing.",
		Source: "the library's circuit breaker and retry, 2.4.0",
		Fix:    "list the exceptions that are no failure of the dependency, and no more",
		check: func(c *checker) {
			for _, s := range c.subjects {
				if !s.set(ignoreKey) || !everythingIn(s.list(ignoreKey)) {
					continue
				}
				// Results, or slow calls, may still be what it is for.
				if has(s.chain, "recordResultPredicate") || has(s.chain, "resultPredicate") || !s.unset(slowKey) || !s.unset(slowRateKey) {
					continue
				}
				c.findIn(s, s.pos(ignoreKey), "ignoreExceptions has every exception")
			}
		},
	}
}

// ofNetwork is what the names of exceptions look like that a client throws when the
// dependency is not reached, or too late.
var ofNetwork = regexp.MustCompile(`(?i)timeout|ioexception|ioerror|connect|socket|resourceaccess|webclientrequest|webclientexception|restclientexception|retryable|feignexception|unavailable|processingexception|sdkclient|statusruntime|transport|remote|dataaccess|sqlexception|channel|unreachable|network`)

// recorded returns the breakers that count only what is listed.
func (c *checker) recorded(each func(s *subject, network bool)) {
	for _, s := range c.breakers() {
		list := s.list(recordKey)
		if !s.set(recordKey) || len(list) == 0 || covers(list, "") || has(s.chain, "recordFailurePredicate") {
			continue
		}
		each(s, slices.ContainsFunc(list, func(class string) bool { return ofNetwork.MatchString(simple(class)) }))
	}
}

func recordNarrow() Rule {
	return Rule{
		ID: "record-exceptions-narrow", Severity: Warning,
		Title:  "Timeouts and broken connections count as successes",
		Why:    "As soon as recordExceptions is set, every exception that is not in it counts as a success, and makes the failure rate smaller. No class in the list looks like one that a client throws when the dependency is not reached, or answers too late.",
		Source: "resilience4j#1176, #941, #563, #568",
		Fix:    "add what the client throws, as java.io.IOException and java.util.concurrent.TimeoutException; or use ignoreExceptions alone",
		check: func(c *checker) {
			c.recorded(func(s *subject, network bool) {
				if !network {
					c.findIn(s, s.pos(recordKey), "only "+listing(s.list(recordKey))+" counts as a failure; a timeout or a broken connection is a success")
				}
			})
		},
	}
}

func recordListed() Rule {
	return Rule{
		ID: "record-exceptions-listed", Severity: Note,
		Title:  "What is not listed counts as a success",
		Why:    "As soon as recordExceptions is set, every exception that is not in it counts as a success, and makes the failure rate smaller. It is not left out.",
		Source: "resilience4j#1176, #941",
		Fix:    "see that the list has all that the client throws; or use ignoreExceptions alone",
		check: func(c *checker) {
			c.recorded(func(s *subject, network bool) {
				if network {
					c.findIn(s, s.pos(recordKey), "every exception but "+listing(s.list(recordKey))+" counts as a success")
				}
			})
		},
	}
}

// listing names classes in a sentence.
func listing(list []string) string {
	all := make([]string, len(list))
	for i, class := range list {
		all[i] = simple(class)
	}
	return names(all)
}
