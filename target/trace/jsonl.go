package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// line is one line of a trace file: exactly one field is set.
type line struct {
	Header  *Header  `json:"header,omitempty"`
	Phase   *Phase   `json:"phase,omitempty"`
	Call    *Call    `json:"call,omitempty"`
	Attempt *Attempt `json:"attempt,omitempty"`
	Mark    *Mark    `json:"mark,omitempty"`
}

// stamped is a line with what it is sorted by.
type stamped struct {
	at   time.Duration
	side int // phases, marks, front, back
	id   string
	line line
}

// Write encodes a trace as JSON lines: the header first, then every record,
// sorted by (time, side, id). Equal traces give equal bytes.
func Write(w io.Writer, t *Trace) error {
	all := make([]stamped, 0, len(t.Phases)+len(t.Calls)+len(t.Attempts)+len(t.Marks))
	for i := range t.Phases {
		all = append(all, stamped{t.Phases[i].From, 0, t.Phases[i].Name, line{Phase: &t.Phases[i]}})
	}
	for i := range t.Marks {
		m := &t.Marks[i]
		all = append(all, stamped{m.At, 1, string(m.Kind) + m.Subject, line{Mark: m}})
	}
	for i := range t.Calls {
		all = append(all, stamped{t.Calls[i].Send, 2, t.Calls[i].ID, line{Call: &t.Calls[i]}})
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		all = append(all, stamped{a.Arr, 3, fmt.Sprintf("%s/%09d", a.Injector, a.Seq), line{Attempt: a}})
	}
	slices.SortStableFunc(all, func(a, b stamped) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.side, b.side), cmp.Compare(a.id, b.id))
	})
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	if err := enc.Encode(line{Header: &t.Header}); err != nil {
		return fmt.Errorf("write trace header: %w", err)
	}
	for i := range all {
		if err := enc.Encode(all[i].line); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// Read decodes what [Write] wrote. Errors name the line. A version that this
// package does not know is refused rather than half understood.
func Read(r io.Reader) (*Trace, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	t := &Trace{}
	for n := 1; ; n++ {
		var l line
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			if n == 1 {
				return nil, errors.New("line 1: the file is empty; a trace starts with its header")
			}
			break
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := t.take(l, n); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	t.sort()
	return t, nil
}

// take adds one decoded line.
func (t *Trace) take(l line, n int) error {
	if (n == 1) != (l.Header != nil) {
		return errors.New("the header comes first, once")
	}
	switch {
	case l.Header != nil:
		if l.Header.Format != Format {
			return fmt.Errorf("format %q is not %q: this is not a trace", l.Header.Format, Format)
		}
		if l.Header.Version != Version {
			return fmt.Errorf("trace version %d; this faultline reads version %d", l.Header.Version, Version)
		}
		t.Header = *l.Header
	case l.Phase != nil:
		t.Phases = append(t.Phases, *l.Phase)
	case l.Call != nil:
		t.Calls = append(t.Calls, *l.Call)
	case l.Attempt != nil:
		t.Attempts = append(t.Attempts, *l.Attempt)
	case l.Mark != nil:
		t.Marks = append(t.Marks, *l.Mark)
	default:
		return errors.New("the line holds no record")
	}
	return nil
}
