package proxy

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// javaNumber writes a number as Java does (Float.toString for 32 bits, Double.toString
// for 64): 50.0, 33.333332, 1.0E-4.
func javaNumber(v float64, bits int) string {
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-3 || size >= 1e7) {
		format = 'e'
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, format, -1, bits), "e")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	if exponent == "" {
		return digits
	}
	sign, power := exponent[:1], strings.TrimLeft(exponent[1:], "0")
	return digits + "E" + strings.TrimPrefix(sign, "+") + power
}

// javaPercent writes a rate as the actuator does: -1.0%.
func javaPercent(rate float32) string { return javaNumber(float64(rate), 32) + "%" }

// javaTime writes an instant in UTC as Java does (ZonedDateTime.toString): seconds are
// left out when they are zero, and fractions have 3, 6 or 9 digits.
func javaTime(t time.Time) string {
	t = t.UTC()
	layout := "2006-01-02T15:04:05.000000000"
	switch ns := t.Nanosecond(); {
	case ns == 0 && t.Second() == 0:
		layout = "2006-01-02T15:04"
	case ns == 0:
		layout = "2006-01-02T15:04:05"
	case ns%int(time.Millisecond) == 0:
		layout = "2006-01-02T15:04:05.000"
	case ns%int(time.Microsecond) == 0:
		layout = "2006-01-02T15:04:05.000000"
	}
	return t.Format(layout) + "Z[UTC]"
}
