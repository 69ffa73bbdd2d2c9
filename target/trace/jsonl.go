package trace

import (
	"bufio"
	"bytes"
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

// stamped is a line with its instant.
type stamped struct {
	at   time.Duration
	line line
}

// Write encodes a trace as JSON lines: the header first, with the format and
// version that this package writes, then every record, sorted by (time, side,
// id). Equal traces give equal bytes, in whatever order their records are.
func Write(w io.Writer, t *Trace) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // so that paths can be read, and a plan comes back as it was
	h := t.Header
	h.Format, h.Version = Format, Version
	if err := enc.Encode(line{Header: &h}); err != nil {
		return fmt.Errorf("write trace header: %w", err)
	}
	for _, s := range t.lines() {
		if err := enc.Encode(s.line); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// lines returns the records in the order of the file. Each side is in order
// before they are merged, and merging keeps that order where instants are equal.
func (t *Trace) lines() []stamped {
	c := Trace{
		Phases: slices.Clone(t.Phases), Calls: slices.Clone(t.Calls),
		Attempts: slices.Clone(t.Attempts), Marks: slices.Clone(t.Marks),
	}
	c.sort()
	all := make([]stamped, 0, len(c.Phases)+len(c.Marks)+len(c.Calls)+len(c.Attempts))
	for i := range c.Phases {
		all = append(all, stamped{c.Phases[i].From, line{Phase: &c.Phases[i]}})
	}
	for i := range c.Marks {
		all = append(all, stamped{c.Marks[i].At, line{Mark: &c.Marks[i]}})
	}
	for i := range c.Calls {
		all = append(all, stamped{c.Calls[i].Send, line{Call: &c.Calls[i]}})
	}
	for i := range c.Attempts {
		all = append(all, stamped{c.Attempts[i].Arr, line{Attempt: &c.Attempts[i]}})
	}
	slices.SortStableFunc(all, func(a, b stamped) int { return cmp.Compare(a.at, b.at) })
	return all
}

// Read decodes what [Write] wrote and sorts it. An error begins with the line,
// counted from 1. A format or version that this package does not know is refused
// rather than half understood, and so are unknown fields. A file that was cut off
// inside a record is refused; one that was cut off between two cannot be told
// from a shorter trace.
func Read(r io.Reader) (*Trace, error) {
	in := bufio.NewReader(r)
	t := &Trace{}
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("line %d: %w", n, err)
		case len(text) == 0 && n == 1:
			return nil, errors.New("line 1: the file is empty; a trace starts with its header")
		case len(text) == 0:
			t.sort()
			return t, nil
		}
		if err := t.take(text, n); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// take adds what one line holds.
func (t *Trace) take(text []byte, n int) error {
	if n == 1 {
		if err := checkHeader(text); err != nil {
			return err
		}
	}
	l, err := decode(text)
	if err != nil {
		return err
	}
	switch {
	case l.Header != nil && n > 1:
		return errors.New("a second header; a file holds one trace")
	case l.Header != nil:
		t.Header = *l.Header
	case l.Phase != nil:
		t.Phases = append(t.Phases, *l.Phase)
	case l.Call != nil:
		t.Calls = append(t.Calls, *l.Call)
	case l.Attempt != nil:
		t.Attempts = append(t.Attempts, *l.Attempt)
	case l.Mark != nil:
		t.Marks = append(t.Marks, *l.Mark)
	}
	return nil
}

// checkHeader looks at the format and the version alone: those of another
// version have fields that this package does not know.
func checkHeader(text []byte) error {
	var l struct {
		Header *struct {
			Format  string `json:"format"`
			Version int    `json:"version"`
		} `json:"header"`
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("this is not the header of a trace: %w", err)
	}
	switch {
	case l.Header == nil:
		return errors.New("the header is missing; a trace starts with it")
	case l.Header.Format != Format:
		return fmt.Errorf("format %q is not %q: this is not a trace", l.Header.Format, Format)
	case l.Header.Version != Version:
		return fmt.Errorf("trace version %d; this faultline reads version %d", l.Header.Version, Version)
	}
	return nil
}

// decode reads one record and refuses a line that holds none, or more.
func decode(text []byte) (line, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&l); {
	case errors.Is(err, io.EOF):
		return line{}, errors.New("the line is empty; each holds one record")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return line{}, errors.New("the record ends too early: the file was cut off, or broken into other lines")
	case err != nil:
		return line{}, err
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return line{}, fmt.Errorf("%.20q follows the record; each line holds one", rest)
	}
	n := 0
	for _, set := range []bool{l.Header != nil, l.Phase != nil, l.Call != nil, l.Attempt != nil, l.Mark != nil} {
		if set {
			n++
		}
	}
	switch n {
	case 0:
		return line{}, errors.New("the line holds no record; known are header, phase, call, attempt and mark")
	case 1:
		return l, nil
	}
	return line{}, fmt.Errorf("the line holds %d records; each holds one", n)
}
