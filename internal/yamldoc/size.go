package yamldoc

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are those of sizes, the largest first.
func units() []struct {
	name string
	size int64
} {
	return []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}
}

// ParseSize reads a number of bytes with its unit, as 64KiB, 10MB or 200B: a whole number
// of at least 0.
func ParseSize(s string) (int64, error) {
	for _, u := range units() {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.size {
			return 0, fmt.Errorf("%s is no size; write a whole number and its unit, as 64KiB", s)
		}
		return n * u.size, nil
	}
	return 0, errors.New(s + " has no unit; write B, KiB, MiB, GiB, kB, MB or GB behind it, as 64KiB")
}

// FormatSize writes a number of bytes with the largest binary unit that it is whole in.
func FormatSize(n int64) string {
	for _, u := range units() {
		if n > 0 && n%u.size == 0 && (u.size&(u.size-1) == 0) {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// Size reads a number of bytes of at least so many.
func (v Value) Size(def, least int64) int64 {
	n, ok := parsed(v, "a size such as 64KiB", ParseSize)
	switch {
	case !ok:
		return def
	case n < least:
		v.Problemf("must be at least %s", FormatSize(least))
		return def
	}
	return n
}

// Throughput reads a number of bytes a second, as 100KiB/s.
func (v Value) Throughput(def int64) int64 {
	n, ok := parsed(v, "bytes a second such as 100KiB/s", func(s string) (int64, error) {
		size, ok := strings.CutSuffix(s, "/s")
		if !ok {
			return 0, errors.New(s + " says nothing of time; write /s behind it, as 100KiB/s")
		}
		return ParseSize(size)
	})
	switch {
	case !ok:
		return def
	case n < 1:
		v.Problemf("must be at least 1B/s")
		return def
	}
	return n
}
