package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Expand replaces every {{name}} in the template by the value that vars has for
// name, such as {{injectors.payments.url}} or {{sut.port}}. Values are not expanded
// again. An error names the placeholder, the nearest known name and all of them.
func Expand(template string, vars map[string]string) (string, error) {
	var out strings.Builder
	rest := template
	for {
		before, after, found := strings.Cut(rest, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inner, next, closed := strings.Cut(after, "}}")
		if !closed {
			return "", fmt.Errorf("%q: {{ is not closed by }}", template)
		}
		name := strings.TrimSpace(inner)
		value, known := vars[name]
		if !known {
			return "", fmt.Errorf("%q: {{%s}} is not known%s", template, name, suggest(name, vars))
		}
		out.WriteString(value)
		rest = next
	}
}

// suggest is what follows after an unknown name: the nearest known one, if it is
// near enough to be meant, and all that are known.
func suggest(name string, vars map[string]string) string {
	known := slices.Sorted(maps.Keys(vars))
	if len(known) == 0 {
		return "; nothing is known here"
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
	hint := "; known are " + strings.Join(known, ", ")
	if distance(name, nearest) <= max(2, len(name)/3) {
		return fmt.Sprintf(", did you mean {{%s}}%s", nearest, hint)
	}
	return hint
}

// distance is how many bytes have to be inserted, removed or replaced to make b
// of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
