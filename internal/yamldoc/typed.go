package yamldoc

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Duration reads a duration above zero.
func (v Value) Duration(def time.Duration) time.Duration {
	d, ok := parsed(v, "a duration such as 5s", ParseDuration)
	switch {
	case !ok:
		return def
	case d == 0:
		v.Problemf("must be above zero")
		return def
	}
	return d
}

// DurationOrZero reads a duration that may be 0s.
func (v Value) DurationOrZero(def time.Duration) time.Duration {
	if d, ok := parsed(v, "a duration such as 5s", ParseDuration); ok {
		return d
	}
	return def
}

// Share reads a share as 0..1.
func (v Value) Share(def float64) float64 {
	if s, ok := v.ExactShare(); ok {
		return s.Float()
	}
	return def
}

// ExactShare reads a share; there is none when it is absent or wrong.
func (v Value) ExactShare() (Share, bool) {
	return parsed(v, "a share such as 50%", ParseShare)
}

// Rate reads a rate; there is none when it is absent or wrong.
func (v Value) Rate() (Rate, bool) {
	return parsed(v, "a rate such as 100/s", ParseRate)
}

// Count reads a whole number from least up, at most 2147483647.
func (v Value) Count(def, least int) int {
	if n, ok := v.number(uint64(least), math.MaxInt32); ok {
		return int(n)
	}
	return def
}

// Uint reads a whole number of 64 bits.
func (v Value) Uint(def uint64) uint64 {
	if n, ok := v.number(0, math.MaxUint64); ok {
		return n
	}
	return def
}

// Bool reads true or false.
func (v Value) Bool(def bool) bool {
	s, ok := v.Scalar("true or false")
	switch {
	case !ok:
		return def
	case v.quoted() || s != "true" && s != "false":
		v.wants("true or false")
		return def
	}
	return s == "true"
}

// JSON reads a scalar as JSON has it: a string, a float64, a bool or nil. What is in
// quotes is a string. What YAML takes for a number that JSON does not know, such as
// 0x10, is a problem.
func (v Value) JSON() any {
	if v.node == nil || v.node.Kind == yaml.ScalarNode && isNull(v.node) && v.node.Value != "" {
		return nil
	}
	s, ok := v.Scalar("text, a number, true, false or null")
	switch {
	case !ok:
		return nil
	case v.quoted():
		return s
	case s == "true" || s == "false":
		return s == "true"
	}
	tag := v.node.ShortTag()
	if tag != "!!int" && tag != "!!float" {
		return s
	}
	var f float64
	if err := json.Unmarshal([]byte(s), &f); err != nil {
		v.Problemf("%s is not a number of JSON; write it in quotes if it is text", s)
	}
	return f
}

// Bound strips the comparison that a bound may be written with, as "<= 1%". Only
// the given one is allowed.
func (v Value) Bound(op string) Value {
	if v.node == nil || v.node.Kind != yaml.ScalarNode {
		return v
	}
	text := strings.TrimLeft(v.node.Value, "<>=!")
	found := v.node.Value[:len(v.node.Value)-len(text)]
	if found == "" {
		return v
	}
	if found != op {
		v.Problemf("%s makes no sense here; the value is a bound with %s", found, op)
	}
	n := *v.node
	n.Value = strings.TrimSpace(text)
	v.node = &n
	return v
}

// number reads an unquoted whole number from least to most.
func (v Value) number(least, most uint64) (uint64, bool) {
	if v.node != nil && v.quoted() {
		v.wants("a whole number without quotes")
		return 0, false
	}
	return parsed(v, "a whole number", func(s string) (uint64, error) {
		if err := leadingZero(s); err != nil {
			return 0, err
		}
		digits, minus := strings.CutPrefix(s, "-")
		if !isDigits(digits) {
			return 0, fmt.Errorf("wants a whole number, not %q", s)
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		switch {
		case minus || err == nil && n < least:
			return 0, fmt.Errorf("%s is too small; it is at least %d", s, least)
		case err != nil || n > most:
			return 0, fmt.Errorf("%s is too large; it is at most %d", s, most)
		}
		return n, nil
	})
}

func (v Value) quoted() bool {
	return v.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// parsed reads a scalar with a parser whose errors are sentences about the text.
func parsed[T any](v Value, want string, parse func(string) (T, error)) (T, bool) {
	var none T
	s, ok := v.Scalar(want)
	if !ok {
		return none, false
	}
	t, err := parse(s)
	if err != nil {
		v.Problemf("%v", err)
		return none, false
	}
	return t, true
}
