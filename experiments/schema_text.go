package experiments

import (
	_ "embed"
	"maps"
	"strings"
)

// readme is the reference of the format; what it says of a key is the key's
// description in the schema, so that it is said once.
//
//go:embed README.md
var readme string

// row is what the reference says of a key.
type row struct{ key, standard, meaning string }

// readmeRows returns the rows that begin with a key, by the key's path. The names
// in the heading above a row are where the key stands.
func readmeRows() map[string]row {
	rows := map[string]row{}
	var sections []string
	for line := range strings.Lines(readme) {
		switch {
		case strings.HasPrefix(line, "## The file"):
			sections = []string{""}
		case strings.HasPrefix(line, "#"):
			sections = nil
			for i, part := range strings.Split(line, "`") {
				if i%2 == 1 {
					sections = append(sections, places(part)...)
				}
			}
		case strings.HasPrefix(line, "| `"):
			cells := strings.SplitN(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|", 4)
			r := row{strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])}
			for _, section := range sections {
				rows[section+r.key] = r
			}
		}
	}
	return rows
}

// places are where the keys below a heading stand. LATENCY, as README.md says, is any place
// of a law.
func places(heading string) []string {
	law, isLaw := strings.CutPrefix(heading, "LATENCY.")
	if !isLaw {
		return []string{heading + "."}
	}
	var all []string
	for _, at := range []string{"latency", "tcp.up.latency", "tcp.down.latency", "websocket.messages[].delay"} {
		all = append(all, "phases[].faults[]."+at+"."+law+".")
	}
	return all
}

// text is a row as a description.
func (r row) text() string {
	text := r.meaning
	if r.standard != "-" && r.standard != "required" {
		text = strings.TrimSpace(text + " (default: " + r.standard + ")")
	}
	return text
}

// describe gives each key of a part of the schema its description. Parts that are
// used twice are copied, as their descriptions are not the same.
func describe(s schema, path string, rows map[string]row) {
	for _, group := range []string{"properties", "patternProperties"} {
		props, ok := s[group].(keys)
		if !ok {
			continue
		}
		out := keys{}
		for key, value := range props {
			name := key
			if group == "patternProperties" {
				name = "NAME" + classEnd(key)
			}
			out[key] = described(value, path+name, rows)
		}
		s[group] = out
	}
	if below, ok := s["additionalProperties"].(schema); ok {
		s["additionalProperties"] = described(below, path+"NAME", rows)
	}
	if items, ok := s["items"].(schema); ok {
		s["items"] = described(items, strings.TrimSuffix(path, ".")+"[]", rows)
	}
	for _, group := range []string{"oneOf", "anyOf"} {
		if parts, ok := s[group].([]schema); ok {
			s[group] = describeAll(parts, path, rows)
		}
	}
}

// describeAll describes alternatives.
func describeAll(parts []schema, path string, rows map[string]row) []schema {
	out := make([]schema, len(parts))
	for i, part := range parts {
		out[i] = maps.Clone(part)
		describe(out[i], path, rows)
	}
	return out
}

// described is a part with what the reference says of it.
func described(s schema, path string, rows map[string]row) schema {
	out := maps.Clone(s)
	if r, ok := rows[path]; ok && r.text() != "" {
		out["description"] = r.text()
	}
	describe(out, path+".", rows)
	return out
}

// classEnd is the end of a pattern for keys that begin with the name of a class.
func classEnd(pattern string) string {
	if strings.Contains(pattern, "latency") {
		return ofLatency
	}
	return ofShare
}
