package control

import (
	"bytes"
	"encoding/json"
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	next, open := since, -1
	for next < since+mostLines {
		some := s.cfg.Recorder.AttemptsFrom(next, min(linesOnce, since+mostLines-next))
		for _, a := range some {
			if a.Outcome == trace.OutcomeOpen && open < 0 {
				open = next
			}
			_ = enc.Encode(Line{N: next, Attempt: a}) // Strings and numbers can be encoded.
			next++
		}
		if len(some) == 0 {
			break
		}
	}
	w.Header().Set(HeaderNext, strconv.Itoa(next))
	if open >= 0 {
		w.Header().Set(HeaderOpen, strconv.Itoa(open))
	}
	return &result{status: http.StatusOK, text: b.Bytes(), kind: "application/x-ndjson"}, nil
}
