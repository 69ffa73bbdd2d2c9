package control

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/faultline-go/faultline/target/trace"
)

// Line is one line of the ledger: an attempt that reached an injector.
type Line struct {
	N int `json:"n"` // its place in the ledger, from 0, in the order of recording
	trace.Attempt
}

// The ledger's headers.
const (
	// HeaderNext is the place after the last line.
	HeaderNext = "Faultline-Next"
	// HeaderOpen is the place of the first line whose attempt had no end yet, if there is
	// one: ask from there again for its end.
	HeaderOpen = "Faultline-Open"
)

// Lines of an answer at most, and those that are copied at once: who records waits for that.
const (
	mostLines = 10_000
	linesOnce = 512
)

func (s *Server) getLedger(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, refuse(http.StatusBadRequest, "bad_since", "since is the place of a line: a whole number, 0 for the first")
		}
		since = n
	}
	next, open := s.extent(since)
	h := w.Header()
	h.Set(HeaderNext, strconv.Itoa(next))
	if open >= 0 {
		h.Set(HeaderOpen, strconv.Itoa(open))
	}
	head(h, "application/x-ndjson")
	s.writeLines(w, since, next)
	return nil, nil
}

// extent says where an answer ends that begins at a line, and which is its first line whose request has no
// end yet; -1: all have one.
func (s *Server) extent(since int) (next, open int) {
	next, open = since, -1
	for {
		some := s.cfg.Recorder.AttemptsFrom(next, max(0, min(linesOnce, since+mostLines-next)))
		for n, a := range some {
			if a.Outcome == trace.OutcomeOpen && open < 0 {
				open = next + n
			}
		}
		if next += len(some); len(some) == 0 {
			return next, open
		}
	}
}

// writeLines sends lines, some at a time: of those who ask for many and take none, each keeps as many in
// memory. It gives up when the caller has left, or takes too long.
func (s *Server) writeLines(w io.Writer, from, to int) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for from < to {
		for _, a := range s.cfg.Recorder.AttemptsFrom(from, min(linesOnce, to-from)) {
			_ = enc.Encode(Line{N: from, Attempt: a}) // Strings and numbers can be encoded.
			from++
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return
		}
		b.Reset()
	}
}
