package resilience4j

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// value is a property's value after conversion: text normalised, and the one that is of
// the property's kind.
type value struct {
	text string
	num  float64 // of a number, which all fit; of a duration in nanoseconds
	dur  time.Duration
	yes  bool
	list []string
	null bool // given, but nothing: as good as not given
}

// scalar is a value as it is written.
type scalar struct {
	text string
	yaml yamldoc.Type // what YAML 1.1 makes of it
}

// convert makes a value of what is written, as Spring's binding does. The error says
// what it wants.
func (p property) convert(s scalar) (value, error) {
	switch p.kind {
	case integer:
		return p.number(s, "a whole number", func(n string) (float64, error) {
			i, err := parseInt(n)
			return float64(i), err
		})
	case float32bit:
		return p.number(s, "a number", func(n string) (float64, error) { return parseFloat(n, 32) })
	case float64bit:
		return p.number(s, "a number", func(n string) (float64, error) { return parseFloat(n, 64) })
	case truth:
		return parseTruth(s)
	case duration:
		return p.duration(s)
	case constant:
		return p.constant(s)
	case classes:
		return parseClasses(s), nil
	case class:
		s.text = strings.TrimSpace(s.text)
		return value{text: s.text, null: s.text == ""}, nil
	case text:
	}
	return value{text: s.text}, nil
}

// number writes a number without trailing zeros.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// number reads a number and holds it against the bounds.
func (p property) number(s scalar, noun string, parse func(string) (float64, error)) (value, error) {
	if s.yaml == yamldoc.TypeText && strings.TrimSpace(s.text) == "" && !p.primitive {
		return value{null: true}, nil
	}
	n, err := parse(s.text)
	if s.yaml == yamldoc.TypeFloat && p.kind == integer {
		n, err = truncated(s.text)
	}
	if err != nil || s.yaml == yamldoc.TypeBool || p.outside(n) {
		return value{}, fmt.Errorf("must be %s%s", noun, p.bounds())
	}
	bits := 64
	if p.kind == float32bit {
		bits = 32
	}
	if p.kind == float32bit {
		n = float64(float32(n))
	}
	return value{text: strconv.FormatFloat(n, 'f', -1, bits), num: n}, nil
}

// outside holds no comparison for what is not a number, as Java's does not.
func (p property) outside(n float64) bool {
	switch {
	case n < p.least, p.open && p.most == 0 && n <= p.least:
		return true
	case p.most == 0:
		return false
	}
	return n > p.most || p.open && n >= p.most
}

func (p property) bounds() string {
	show := func(n float64) string {
		if p.kind == duration {
			return yamldoc.FormatDuration(time.Duration(n))
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	switch {
	case p.least == math.MinInt32:
		return ""
	case p.most > 0 && p.open:
		return " from " + show(p.least) + " to below " + show(p.most)
	case p.most == 100:
		return " from 1 to 100, without a % sign"
	case p.open:
		return " above " + show(p.least)
	}
	return " of at least " + show(p.least)
}

// parseInt reads what Spring's number editor takes: blanks do not count, 0x and # begin a
// hexadecimal number.
func parseInt(s string) (int64, error) {
	s = strings.Join(strings.Fields(s), "")
	sign, digits := "", s
	if strings.HasPrefix(s, "-") {
		sign, digits = "-", s[1:]
	}
	for _, prefix := range []string{"0x", "0X", "#"} {
		if hex, ok := strings.CutPrefix(digits, prefix); ok && !strings.HasPrefix(hex, "-") && !strings.HasPrefix(hex, "+") {
			return strconv.ParseInt(sign+hex, 16, 32)
		}
	}
	return strconv.ParseInt(s, 10, 32)
}

// parseFloat reads what Java's Float and Double read: decimal digits, perhaps a suffix.
func parseFloat(s string, bits int) (float64, error) {
	s = strings.Join(strings.Fields(s), "")
	switch strings.TrimLeft(s, "+-") {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1 - 2*strings.Count(s[:1], "-")), nil
	}
	if s != "" && strings.ContainsRune("fFdD", rune(s[len(s)-1])) {
		s = s[:len(s)-1]
	}
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseFloat(s, bits)
	if math.IsInf(n, 0) {
		err = nil // Java makes infinity of what is too large.
	}
	return n, err
}

// truncated is what Java makes of a floating-point number that a whole one is wanted of.
func truncated(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	n = math.Trunc(n)
	if err != nil || n > math.MaxInt32 || n < math.MinInt32 {
		return 0, strconv.ErrRange
	}
	return n, nil
}

func parseTruth(s scalar) (value, error) {
	switch strings.ToLower(strings.TrimSpace(s.text)) {
	case "":
		return value{null: true}, nil
	case "true", "on", "yes", "1":
		if s.yaml == yamldoc.TypeText || s.yaml == yamldoc.TypeBool {
			return value{text: "true", yes: true}, nil
		}
	case "false", "off", "no", "0":
		if s.yaml == yamldoc.TypeText || s.yaml == yamldoc.TypeBool {
			return value{text: "false"}, nil
		}
	}
	return value{}, fmt.Errorf("must be true or false")
}

func (p property) duration(s scalar) (value, error) {
	if s.text == "" {
		return value{null: true}, nil
	}
	n, err := parseDuration(s.text)
	d := clamp(n)
	switch {
	case err != nil:
		return value{}, err
	case s.yaml == yamldoc.TypeBool:
		return value{}, errDuration()
	case p.nanos && math.Abs(n) > math.MaxInt64:
		return value{}, fmt.Errorf("must be below 292 years")
	}
	if p.wholeMS && d < 0 && d > -time.Millisecond {
		d = 0 // The rest of a millisecond is cut off before the sign is looked at.
	}
	if p.outside(float64(d)) {
		return value{}, fmt.Errorf("must be at least %s", yamldoc.FormatDuration(time.Duration(p.least)))
	}
	return value{text: yamldoc.FormatDuration(d), dur: d, num: float64(d)}, nil
}

// constant finds the constant that a value names, relaxed as Spring is.
func (p property) constant(s scalar) (value, error) {
	if strings.TrimSpace(s.text) == "" {
		return value{null: true}, nil
	}
	for _, w := range p.words {
		if uniform(w) == uniform(s.text) && s.yaml == yamldoc.TypeText {
			return value{text: w}, nil
		}
	}
	return value{}, fmt.Errorf("must be one of %s", strings.Join(p.words, ", "))
}

func parseClasses(s scalar) value {
	if strings.TrimSpace(s.text) == "" {
		return listed(nil)
	}
	var list []string
	for part := range strings.SplitSeq(s.text, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return listed(list)
}

func listed(list []string) value {
	return value{text: "[" + strings.Join(list, ", ") + "]", list: list}
}

// The two forms in which Spring Boot takes a duration.
var (
	simple = regexp.MustCompile(`^([+-]?\d+)([a-zA-Z]{0,2})$`)
	iso    = regexp.MustCompile(`(?i)^([+-])?P(?:([+-]?\d+)D)?(T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?$`)
)

// ParseDuration reads a duration as Spring Boot does: a whole number and one unit (ns,
// us, ms, s, m, h, d), milliseconds without a unit, or ISO 8601 as in PT1.5S. What is
// longer than a [time.Duration] can be is an error here.
func ParseDuration(v string) (time.Duration, error) {
	n, err := parseDuration(v)
	if err == nil && math.Abs(n) > math.MaxInt64 {
		err = errDuration()
	}
	return clamp(n), err
}

func errDuration() error {
	return fmt.Errorf("must be a duration: a whole number with ns, us, ms, s, m, h or d, as 500ms, or ISO 8601, as PT1.5S")
}

// clamp makes a duration of nanoseconds, at most as long as one can be.
func clamp(nanos float64) time.Duration {
	switch {
	case nanos >= math.MaxInt64:
		return math.MaxInt64
	case nanos <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(math.Round(nanos))
}

// parseDuration returns nanoseconds.
func parseDuration(v string) (float64, error) {
	if m := simple.FindStringSubmatch(v); m != nil {
		units := map[string]time.Duration{
			"": time.Millisecond, "ns": 1, "us": time.Microsecond, "ms": time.Millisecond,
			"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
		}
		unit, ok := units[strings.ToLower(m[2])]
		n, err := strconv.ParseInt(m[1], 10, 64)
		if ok && err == nil {
			return float64(n) * float64(unit), nil
		}
	}
	if m := iso.FindStringSubmatch(v); m != nil {
		if n, ok := isoDuration(m); ok {
			return n, nil
		}
	}
	return 0, errDuration()
}

// isoDuration adds the parts of ISO 8601 up. At least one must be there, and after a T
// at least one of those that follow it.
func isoDuration(m []string) (nanos float64, ok bool) {
	if m[2] == "" && m[3] == "" || len(m[3]) == 1 {
		return 0, false
	}
	for i, unit := range map[int]time.Duration{2: 24 * time.Hour, 4: time.Hour, 5: time.Minute, 6: time.Second} {
		n, err := strconv.ParseFloat("0"+strings.TrimLeft(m[i], "+-"), 64)
		if err != nil {
			return 0, false
		}
		nanos += sign(m[i]) * n * float64(unit)
	}
	rest, err := strconv.ParseFloat("0."+m[7]+"0", 64)
	if err != nil {
		return 0, false
	}
	nanos += sign(m[6]) * rest * float64(time.Second)
	return sign(m[1]) * nanos, true
}

func sign(s string) float64 {
	if strings.HasPrefix(s, "-") {
		return -1
	}
	return 1
}
