package assert_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain draws the same cases every time: a gate must not turn red by chance.
// FAULTLINE_DEEP=1, or -rapid.seed, draws others.
func TestMain(m *testing.M) {
	flag.Parse()
	seeded := false
	flag.Visit(func(f *flag.Flag) { seeded = seeded || f.Name == "rapid.seed" })
	if !seeded && os.Getenv("FAULTLINE_DEEP") != "1" {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
