package injector_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table of docs/issues.md has each of its rows, each says where it was asked, and is
// answered by tests and contracts that there are, or by a reason why not.
func TestIssuesAreAnswered(t *testing.T) {
	const table, rows = "../docs/issues.md", 52
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.+) \| (.+) \|$`)
	test := regexp.MustCompile(`\[((?:Test|Fuzz)\w+)\]\(([^)]+)\)`)
	contract := regexp.MustCompile("contract `([^`]+)`")
	contracts := sources(t, "selftest/*.go")
	all := row.FindAllStringSubmatch(string(text), -1)
	for n, r := range all {
		number, asked, answer := r[1], r[2], r[4]
		if number != strconv.Itoa(n+1) {
			t.Errorf("row %d has the number %s", n+1, number)
		}
		if !strings.Contains(asked, "](https://github.com/") {
			t.Errorf("%s: %q has no link to where it was asked", number, asked)
		}
		tests := test.FindAllStringSubmatch(answer, -1)
		if refused := strings.HasPrefix(answer, "refused, because "); refused == (len(tests) > 0) {
			t.Errorf("%s: %d tests, refused %v: %q", number, len(tests), refused, answer)
		}
		for _, found := range tests {
			source, err := os.ReadFile(filepath.Join("../docs", found[2]))
			if err != nil {
				t.Errorf("%s: %v", number, err)
			} else if !strings.Contains(string(source), "\nfunc "+found[1]+"(") {
				t.Errorf("%s: %s is not in %s", number, found[1], found[2])
			}
		}
		// What is named and not linked is a promise that nobody looks at.
		if rest := test.ReplaceAllString(answer, ""); strings.Contains(rest, "Test") || strings.Contains(rest, "Fuzz") {
			t.Errorf("%s: names a test without its file: %q", number, answer)
		}
		for _, found := range contract.FindAllStringSubmatch(answer, -1) {
			if !strings.Contains(contracts, `fault: "`+found[1]+`"`) {
				t.Errorf("%s: there is no contract %s", number, found[1])
			}
		}
	}
	if len(all) != rows {
		t.Errorf("%d rows, want %d", len(all), rows)
	}
}

// sources is the text of some files.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
