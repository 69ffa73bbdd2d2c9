package wire

import (
	"io"
	"strings"
	"time"
)

// Do is what a step does.
type Do int

// What steps do.
const (
	Send  Do = iota // Bytes, then Fill bytes more
	FIN             // the connection is closed; what the caller sent has been read
	Half            // the sending half is closed; what comes is read and dropped until the caller closes
	RST             // the connection is reset
	Quiet           // nothing more, until the caller leaves or the fault ends
)

// String returns send, FIN, half, RST or quiet.
func (d Do) String() string {
	if d < Send || d > Quiet {
		return "unknown"
	}
	return [...]string{"send", "FIN", "half", "RST", "quiet"}[d]
}

// Step is one thing that is done on a connection.
type Step struct {
	Do    Do
	Bytes []byte
	// Fill is how many bytes of Filler follow, from the From-th on, so that large answers
	// need no memory.
	Fill, From int64
	// At is when at the earliest, counted from when the first step was begun.
	At time.Duration
}

// Write writes a step's bytes.
func (s Step) Write(w io.Writer) error {
	if len(s.Bytes) > 0 {
		if _, err := w.Write(s.Bytes); err != nil {
			return err
		}
	}
	return WriteFill(w, s.From, s.Fill)
}

// WriteFill writes n bytes of Filler, from a place on.
func WriteFill(w io.Writer, from, n int64) error {
	const block = 1 << 15 // whole lines, so that every block begins where the last one did
	skip := int(from % int64(len(Filler)))
	text := strings.Repeat(Filler, int(min(n, block))/len(Filler)+2)[skip:]
	for n > 0 {
		size := min(n, block)
		if _, err := io.WriteString(w, text[:size]); err != nil {
			return err
		}
		n -= size
	}
	return nil
}

// Filler is what Fill repeats: lines of text, so that a body of it is a text.
const Filler = "faultline fills this body with sixty-four bytes in every line..\n"

// size is how many bytes a step sends.
func (s Step) size() int64 { return int64(len(s.Bytes)) + s.Fill }

// slice cuts what is sent into pieces of a size, a gap apart.
func slice(steps []Step, size int64, gap time.Duration) []Step {
	var out []Step
	n := 0
	for _, s := range steps {
		if s.Do != Send {
			s.At = max(s.At, time.Duration(max(0, n-1))*gap)
			out = append(out, s)
			continue
		}
		for rest := s; rest.size() > 0; n++ {
			var piece Step
			piece, rest = rest.split(size)
			piece.At = max(piece.At, time.Duration(n)*gap)
			out = append(out, piece)
		}
	}
	return out
}

// split cuts a step after so many bytes.
func (s Step) split(n int64) (first, rest Step) {
	first, rest = s, s
	if n >= s.size() {
		return s, Step{}
	}
	have := int64(len(s.Bytes))
	if n <= have {
		first.Bytes, first.Fill, rest.Bytes = s.Bytes[:n:n], 0, s.Bytes[n:]
		return first, rest
	}
	first.Fill, rest.Bytes, rest.Fill, rest.From = n-have, nil, s.Fill-(n-have), s.From+n-have
	return first, rest
}
