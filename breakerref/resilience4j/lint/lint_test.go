package lint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j/lint"
)

// flagsOf reads the flags that the first line of an example names.
func flagsOf(t *testing.T, src string) lint.Options {
	t.Helper()
	var opt lint.Options
	first, _, _ := strings.Cut(src, "\n")
	rest, is := strings.CutPrefix(first, "# faultline lint ")
	if !is {
		return opt
	}
	words := strings.Fields(rest)
	for i := 0; i+1 < len(words); i += 2 {
		var err error
		switch words[i] {
		case "--rate":
			opt.Rate, err = strconv.ParseFloat(words[i+1], 64)
		case "--client-timeout":
			opt.ClientTimeout, err = time.ParseDuration(words[i+1])
		default:
			t.Fatalf("flag %s", words[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return opt
}

// found returns the rules that have something to say, without what is suppressed.
func found(t *testing.T, name, src string, opt lint.Options) (rules, told []string) {
	t.Helper()
	res, err := lint.File(name, []byte(src), opt)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	for _, f := range res.Findings {
		if f.Suppressed == "" {
			rules, told = append(rules, f.Rule), append(told, f.String())
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules), told
}

// Each rule has a bad file that only it reports, and a good twin.
func TestExamples(t *testing.T) {
	known := map[string]bool{}
	for _, r := range lint.Rules() {
		known[r.ID] = true
		t.Run(r.ID, func(t *testing.T) {
			if r.Bad() == "" || r.Good() == "" || r.Bad() == r.Good() {
				t.Fatal("the rule needs rules/ID/bad.yml and good.yml")
			}
			if rules, told := found(t, "application.yml", r.Bad(), flagsOf(t, r.Bad())); !slices.Equal(rules, []string{r.ID}) {
				t.Errorf("bad.yml: wanted only %s, got\n%s", r.ID, strings.Join(told, "\n"))
			}
			if _, told := found(t, "application.yml", r.Good(), flagsOf(t, r.Good())); len(told) > 0 {
				t.Errorf("good.yml: wanted nothing, got\n%s", strings.Join(told, "\n"))
			}
		})
	}
	dirs, err := os.ReadDir("rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if !known[d.Name()] {
			t.Errorf("%s is of no rule", filepath.Join("rules", d.Name()))
		}
	}
}
