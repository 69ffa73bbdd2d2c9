package fault

import (
	"fmt"
	"strings"
)

// String says what becomes of a connection, in a few words.
func (t *TCP) String() string {
	var parts []string
	for _, way := range []struct {
		name string
		*Stream
	}{{"up", t.Up}, {"down", t.Down}} {
		if way.Stream != nil {
			parts = append(parts, way.name+" "+strings.Join(way.words(), ", "))
		}
	}
	if t.Life != nil {
		parts = append(parts, fmt.Sprintf("%s after %v", t.Life.By, t.Life.For))
	}
	return strings.Join(parts, "; ")
}

// words say what becomes of one direction.
func (s *Stream) words() []string {
	var words []string
	if late := s.Latency.String(); late != "" {
		words = append(words, "+"+late)
	}
	if s.Bandwidth > 0 {
		words = append(words, fmt.Sprintf("at %d bytes a second", s.Bandwidth)+map[Scope]string{
			ScopeRule: " for all that it hits", ScopeAll: " for all connections",
		}[s.Scope])
	}
	if s.Slice != nil {
		words = append(words, fmt.Sprintf("in slices of %d bytes every %v", s.Slice.Size, s.Slice.Gap))
	}
	if s.End != nil {
		words = append(words, fmt.Sprintf("%s after %d bytes", s.End.By, s.End.After))
	}
	return words
}

// String says what becomes of a WebSocket, in a few words.
func (w *WebSocket) String() string {
	var parts []string
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(w.Accept != "", "accept %s", w.Accept)
	for _, m := range w.Messages {
		add(true, "%s %s", m.Do, strings.ReplaceAll(string(m.To), "_", " "))
	}
	if c := w.Close; c != nil {
		add(true, "close %d after %d messages", c.Code, c.After)
	}
	if s := w.Stall; s != nil {
		add(true, "stall after %d messages", s.After)
	}
	add(w.NoPong != nil, "no pong")
	add(w.IgnoreClose, "no answer to a close")
	return strings.Join(parts, ", ")
}
