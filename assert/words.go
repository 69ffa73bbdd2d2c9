package assert

import "fmt"

// nth prints a position, or a range of positions, as an ordinal.
func nth(lo, hi int) string {
	if lo != hi {
		return fmt.Sprintf("%s to %s", nth(lo, lo), nth(hi, hi))
	}
	suffix := "th"
	if lo%100 < 11 || lo%100 > 13 {
		switch lo % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", lo, suffix)
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
