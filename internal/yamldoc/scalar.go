package yamldoc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Share is an exact part of a whole in lowest terms, such as 333/1000.
type Share struct{ Num, Den uint64 }

// Float is the share as 0..1, the float64 that is nearest to it.
func (s Share) Float() float64 { return float64(s.Num) / float64(s.Den) }

// ParseDuration reads a duration as Go writes it, such as 5s, 250ms or 1m30s. The
// unit is required and there is no sign.
func ParseDuration(s string) (time.Duration, error) {
	if err := leadingZero(s); err != nil {
		return 0, err
	}
	if isNumber(s) {
		return 0, fmt.Errorf("%s has no unit; write %ss, %sms or %sm", s, s, s, s)
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil || s[0] == '+':
		return 0, fmt.Errorf("%q is not a duration; write it as 5s, 250ms or 1m30s", s)
	case s[0] == '-':
		return 0, fmt.Errorf("%s is negative", s)
	}
	return d, nil
}

// FormatDuration writes a duration so that ParseDuration reads it, without the
// zeros that Go adds: 1m, not 1m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ParseShare reads a share from 0% to 100%. At most nine digits may follow the
// point. A number without % is refused, since 0.5 might mean either.
func ParseShare(s string) (Share, error) {
	if err := leadingZero(s); err != nil {
		return Share{}, err
	}
	text, ok := strings.CutSuffix(s, "%")
	switch {
	case !ok && isNumber(s):
		return Share{}, noPercent(s)
	case !ok || !isNumber(text):
		return Share{}, fmt.Errorf("%q is not a share; write it in percent, as 50%% or 0.5%%", s)
	}
	whole, frac, _ := strings.Cut(text, ".")
	num, err := strconv.ParseUint(whole+frac, 10, 64)
	if err != nil || len(frac) > 9 {
		return Share{}, fmt.Errorf("%s has more digits than can be kept; nine after the point are enough", s)
	}
	den := uint64(100)
	for range frac {
		den *= 10
	}
	if num > den {
		return Share{}, fmt.Errorf("%s is more than 100%%", s)
	}
	by := gcd(num, den)
	return Share{num / by, den / by}, nil
}

// noPercent says what a number without % should have been. One up to 1 may have
// been meant as a part of the whole.
func noPercent(s string) error {
	switch f, err := strconv.ParseFloat(s, 64); {
	case err != nil || f > 100:
		return fmt.Errorf("%s is not a share; it is written in percent, from 0%% to 100%%", s)
	case f > 0 && f <= 1:
		return fmt.Errorf("%s has no unit; a share is written in percent: %s, if a part of 1 was meant, or else %s%%", s, FormatShare(f), s)
	}
	return fmt.Errorf("%s has no unit; a share is written in percent: %s%%", s, s)
}

// FormatShare writes a share of 0..1 in percent, with the digits that tell it from
// all other float64.
func FormatShare(share float64) string {
	whole, frac, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	frac += strings.Repeat("0", max(0, 2-len(frac)))
	text := strings.TrimLeft(whole+frac[:2], "0")
	if text == "" {
		text = "0"
	}
	if rest := strings.TrimRight(frac[2:], "0"); rest != "" {
		text += "." + rest
	}
	return text + "%"
}

// Rate is Num per Per; Per is a second, a minute or an hour.
type Rate struct {
	Num int
	Per time.Duration
}

// ParseRate reads a rate such as 100/s, 30/m or 5/h: a whole number per unit of
// time. 0/s is a pause.
func ParseRate(s string) (Rate, error) {
	if err := leadingZero(s); err != nil {
		return Rate{}, err
	}
	text, unit, ok := strings.Cut(s, "/")
	if !ok && isNumber(s) {
		return Rate{}, fmt.Errorf("%s has no unit; write %s/s or %s/m", s, s, s)
	}
	per := perUnit(unit)
	if per == 0 || !isNumber(text) {
		return Rate{}, fmt.Errorf("%q is not a rate; write it as 100/s, 30/m or 5/h", s)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return Rate{}, fmt.Errorf("%s is not a rate; the number is whole (0.5/s is 30/m; 0/s is a pause)", s)
	}
	return Rate{n, per}, nil
}

// String writes the rate as ParseRate reads it.
func (r Rate) String() string {
	for _, unit := range []string{"s", "m", "h"} {
		if perUnit(unit) == r.Per {
			return strconv.Itoa(r.Num) + "/" + unit
		}
	}
	return strconv.Itoa(r.Num) + "/" + FormatDuration(r.Per)
}

func perUnit(unit string) time.Duration {
	switch unit {
	case "s":
		return time.Second
	case "m":
		return time.Minute
	case "h":
		return time.Hour
	}
	return 0
}

// isNumber reports whether the text is digits with at most one point among them.
func isNumber(s string) bool {
	whole, frac, point := strings.Cut(s, ".")
	return isDigits(whole) && (!point || isDigits(frac))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// leadingZero refuses 010, which is 8 to YAML 1.1 and 10 to everybody else.
func leadingZero(s string) error {
	if len(s) > 1 && s[0] == '0' && isDigits(s[1:2]) {
		return fmt.Errorf("%s begins with a zero, which makes an octal number in YAML; leave the zero out", s)
	}
	return nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
