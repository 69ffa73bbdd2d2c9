package yamldoc

import (
	"fmt"
	"slices"
	"strings"
)

// Hint continues a sentence about a word that is not known: with the nearest known
// one, or else with all of them.
func Hint(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return listed(word, known)
}

// listed continues such a sentence with all known words.
func listed(_ string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return "; known are " + list(known)
}

// list writes words in their order, each once.
func list(words []string) string {
	all := slices.Clone(words)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// Nearest returns the known word that the given one was probably meant to be, or
// nothing. Case, hyphens and underscores do not count; of the rest, a third of the
// letters may be wrong. The first of several equally near ones wins.
func Nearest(word string, known []string) string {
	best, least := "", -1
	for _, k := range known {
		a, b := fold(word), fold(k)
		d := distance(a, b)
		if d <= max(len(a), len(b))/3 && (least < 0 || d < least) {
			best, least = k, d
		}
	}
	return best
}

// fold leaves out how a word is spelt: maxInFlight is max_in_flight.
func fold(s string) []rune {
	return []rune(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)))
}

// distance is the number of letters to insert, delete, replace or swap with their
// neighbour to make b of a (optimal string alignment).
func distance(a, b []rune) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
