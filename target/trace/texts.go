package trace

import (
	"encoding/binary"
	"strings"
)

// ref is where a text is kept: the number of its chunk, and where it begins there, in units. 0 is
// the empty text.
type ref uint32

// Texts begin at multiples of unit bytes, so that a ref reaches 32 GiB of them.
const (
	unit       = 8
	chunkUnits = 1 << 13
	chunkBytes = chunkUnits * unit
	mostChunks = 1 << 32 / chunkUnits
)

// Of texts that were met before, at most so many are found again, of at most so many bytes. One that
// is not is kept once more, as if there were no finding again; the ids and paths of some services
// are all different, and it would cost more than it saves.
const (
	mostKnown   = 4096
	longestKept = 256
)

// texts keeps texts side by side, without a pointer to each.
type texts struct {
	chunks []*strings.Builder
	known  map[string]ref
	last   [textFields]known // what each field was before, as it mostly is again
}

// known is a text that is kept.
type known struct {
	text string
	at   ref
}

// ref is where a text of a field is kept.
func (t *texts) ref(field int, s string) ref {
	if s == "" {
		return 0
	}
	if last := &t.last[field]; last.text == s {
		return last.at
	}
	return t.keep(field, s)
}

// keep keeps a text of a field, if it is not kept yet.
func (t *texts) keep(field int, s string) ref {
	if field == idField || len(s) > longestKept {
		return t.add(s).at
	}
	at, ok := t.known[s]
	if !ok {
		k := t.add(s)
		at, s = k.at, k.text // Not the caller's, which may be a part of something long.
		if t.known == nil || len(t.known) >= mostKnown {
			t.known = map[string]ref{}
		}
		t.known[s] = at
	}
	t.last[field] = known{s, at}
	return at
}

// add keeps a text: its length and its bytes.
func (t *texts) add(s string) known {
	var room [binary.MaxVarintLen64]byte
	head := binary.AppendUvarint(room[:0], uint64(len(s)))
	size := len(head) + len(s)
	last := len(t.chunks) - 1
	if last < 0 || t.chunks[last].Len()+size > chunkBytes {
		if last++; last >= mostChunks {
			panic("trace: more than 32 GiB of texts were recorded")
		}
		t.chunks = append(t.chunks, new(strings.Builder))
		t.chunks[last].Grow(max(chunkBytes, size))
		if last == 0 {
			t.chunks[0].WriteString("\x00.......") // The empty text.
		}
	}
	c := t.chunks[last]
	from := c.Len()
	c.Write(head)
	c.WriteString(s)
	for c.Len()%unit != 0 && c.Len() < chunkBytes {
		c.WriteByte(0)
	}
	return known{c.String()[from+len(head):][:len(s)], ref(last*chunkUnits + from/unit)}
}

// view reads texts that are kept by now; others may be added meanwhile.
type view []string

func (t *texts) view() view {
	v := make(view, len(t.chunks))
	for n, c := range t.chunks {
		v[n] = c.String()
	}
	return v
}

// text is the one that is kept at a place.
func (v view) text(at ref) string {
	if at == 0 {
		return ""
	}
	return textIn(v[at/chunkUnits], at)
}

// text is the one that is kept at a place.
func (t *texts) text(at ref) string {
	if at == 0 {
		return ""
	}
	return textIn(t.chunks[at/chunkUnits].String(), at)
}

func textIn(chunk string, at ref) string {
	s := chunk[at%chunkUnits*unit:]
	size, shift := 0, 0
	for n := range len(s) {
		size |= int(s[n]&0x7f) << shift
		if shift += 7; s[n] < 0x80 {
			return s[n+1:][:size]
		}
	}
	return "" // No text is kept so.
}
