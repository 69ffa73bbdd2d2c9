package yamldoc_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0B": 0, "200B": 200, "64KiB": 65536, "64 KiB": 65536, "10MB": 10_000_000, "3kB": 3000, "8589934591GiB": 8589934591 << 30,
		"64": -1, "KiB": -1, "-1B": -1, "1.5MiB": -1, "8589934592GiB": -1, "64kib": -1, "": -1, "9223372036854775808B": -1,
	} {
		got, err := yamldoc.ParseSize(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestSizesAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		if got, err := yamldoc.ParseSize(yamldoc.FormatSize(n)); got != n || err != nil {
			t.Fatalf("%d is written %s and read as %d, %v", n, yamldoc.FormatSize(n), got, err)
		}
	})
}
