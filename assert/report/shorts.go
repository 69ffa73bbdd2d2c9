package report

import "strings"

// shorts says of each breaker why calls were answered without the dependency, and what shows
// it, where anything but the open breaker was the reason, or may have been.
func (t timeline) shorts(width int) []string {
	var out []string
	for _, b := range t.breakers {
		words, told := make([]string, 0, len(b.Shorts)), false
		for _, s := range b.Shorts {
			told = told || s.Reason != "open"
			words = append(words, thousands(s.Calls)+" "+s.Reason+" ("+oneLine(s.By)+")")
		}
		if !told {
			continue
		}
		for i, l := range wrap(lane(b)+", answered without the dependency: "+strings.Join(words, ", "), width-len(gap)) {
			if i > 0 {
				l = gap + l
			}
			out = append(out, l)
		}
	}
	return out
}
