package yamldoc

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Type is what YAML 1.1, which Spring Boot reads, makes of a scalar without quotes.
type Type int

// The types of a scalar.
const (
	TypeText Type = iota
	TypeInt
	TypeFloat
	TypeBool
)

// The forms of YAML 1.1's numbers, as the reader that Spring Boot uses knows them.
var (
	decimal     = regexp.MustCompile(`^[-+]?(0|[1-9][0-9_]*)$`)
	binary      = regexp.MustCompile(`^[-+]?0b[0-1_]+$`)
	octal       = regexp.MustCompile(`^[-+]?0[0-7_]+$`)
	hexadecimal = regexp.MustCompile(`^[-+]?0x[0-9a-fA-F_]+$`)
	sexagesimal = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$`)
	floating    = regexp.MustCompile(`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?)$`)
)

// resolve reads a scalar without quotes as YAML 1.1 does. Its text is then what Java shows
// of the value.
func resolve(s string) (string, Type) {
	switch s {
	case "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return "true", TypeBool
	case "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return "false", TypeBool
	case "", "~", "null", "Null", "NULL":
		return "", TypeText
	case ".nan", ".NaN", ".NAN":
		return "NaN", TypeFloat
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return "Infinity", TypeFloat
	}
	bare := strings.ReplaceAll(s, "_", "")
	number := func(digits string, base int) (string, Type) {
		n, ok := new(big.Int).SetString(digits, base)
		if !ok {
			return s, TypeText
		}
		return n.String(), TypeInt
	}
	switch {
	case decimal.MatchString(s):
		return number(bare, 10)
	case binary.MatchString(s):
		return number(strings.Replace(bare, "0b", "", 1), 2)
	case octal.MatchString(s):
		return number(bare, 8)
	case hexadecimal.MatchString(s):
		return number(strings.Replace(bare, "0x", "", 1), 16)
	case sexagesimal.MatchString(s):
		return number(sixties(bare), 10)
	case floating.MatchString(s):
		if n, err := strconv.ParseFloat(bare, 64); err == nil {
			return javaDouble(n), TypeFloat
		}
	}
	return s, TypeText
}

// sixties adds up 1:30, which is ninety.
func sixties(s string) string {
	negative := strings.HasPrefix(s, "-")
	sum := new(big.Int)
	for part := range strings.SplitSeq(strings.TrimLeft(s, "+-"), ":") {
		n, _ := new(big.Int).SetString(part, 10) // The pattern has checked it.
		sum.Mul(sum, big.NewInt(60)).Add(sum, n)
	}
	if negative {
		sum.Neg(sum)
	}
	return sum.String()
}

// javaDouble writes a number as Java's Double does, as far as a text that is compared
// with it can tell: with a point.
func javaDouble(n float64) string {
	s := strconv.FormatFloat(n, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eE") {
		s += ".0"
	}
	return s
}
