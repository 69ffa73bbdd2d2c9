package resilience4j

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// plain is the form in which Spring compares names: letters and digits, in lower case.
// The index of a list's item goes as well.
func plain(key string) string {
	key, _, _ = strings.Cut(key, "[")
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, key)
}

// segments splits a key at its dots. What stands in brackets and is no index is a
// segment, dots and all.
func segments(key string) []string {
	var out []string
	for key != "" {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(key, "["), "]"); ok && key[0] == '[' {
			out = append(out, name)
			key = strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(key, ".[")
		if end >= 0 && key[end] == '[' && index(key[end:]) {
			end += strings.IndexByte(key[end:], ']') + 1
		}
		if end < 0 || end >= len(key) {
			return append(out, key)
		}
		out = append(out, key[:end])
		key = strings.TrimPrefix(key[end:], ".")
	}
	return out
}

// index reports whether a text begins with a number in brackets.
func index(s string) bool {
	digits, _, ok := strings.Cut(s[1:], "]")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// expand fills in the placeholders of a value: from the environment, from the same
// document, or with their default.
func expand(value string, doc []yamldoc.Property, env func(string) (string, bool)) (string, error) {
	for range 20 { // A value may itself have placeholders.
		before, rest, found := strings.Cut(value, "${")
		inner, after, closed := strings.Cut(rest, "}")
		if !found {
			return value, nil
		}
		if !closed {
			return "", fmt.Errorf("%q has a placeholder that is not closed", value)
		}
		name, fallback, hasDefault := strings.Cut(inner, ":")
		with, ok := lookup(name, doc, env)
		switch {
		case ok:
		case hasDefault:
			with = fallback
		default:
			return "", fmt.Errorf("%s is not set and has no default; set it, or write ${%s:VALUE}", name, name)
		}
		value = before + with + after
	}
	return "", fmt.Errorf("the placeholders of %q refer to one another", value)
}

func lookup(name string, doc []yamldoc.Property, env func(string) (string, bool)) (string, bool) {
	if env != nil {
		if v, ok := env(name); ok {
			return v, true
		}
	}
	for _, p := range doc {
		if p.Key == name {
			return p.Value, true
		}
	}
	return "", false
}

// inert are the properties that do not change what a breaker does to the calls of a
// proxy: what counts as a failure there is no exception of Java.
func inert() []string {
	return []string{
		"registerHealthIndicator", "allowHealthIndicatorToFail", "eventConsumerBufferSize", "writableStackTraceEnabled",
		"recordExceptions", "ignoreExceptions", "recordFailurePredicate", "ignoreExceptionPredicate", "recordResultPredicate",
		"ignoreClassBindingExceptions",
	}
}

// names returns the properties of a circuit breaker as they are usually written.
func names() []string {
	all := append(inert(), "baseConfig", "enableExponentialBackoff", "exponentialBackoffMultiplier",
		"exponentialMaxWaitDurationInOpenState", "enableRandomizedWait", "randomizedWaitFactor")
	for _, p := range properties() {
		all = append(all, p.name)
	}
	return all
}

func known(key string) bool {
	return slices.ContainsFunc(names(), func(name string) bool { return plain(name) == key })
}

// replaced says what has taken the place of a property that was removed.
func replaced(key string) string {
	switch key {
	case "ringbuffersizeinclosedstate":
		return "; it was removed in 2.0: use slidingWindowSize and minimumNumberOfCalls"
	case "ringbuffersizeinhalfopenstate":
		return "; it was removed in 2.0: use permittedNumberOfCallsInHalfOpenState"
	case "waitinterval", "waitdurationmillis":
		return "; it was removed in 1.0: use waitDurationInOpenState"
	}
	return ""
}

func sorted(m map[string]block) []string { return slices.Sorted(maps.Keys(m)) }
