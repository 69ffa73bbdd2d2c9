package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// Summary is verdicts.json: what a run came to and what shows it. Durations and
// instants are nanoseconds, instants since the run's epoch; only Started is a
// reading of the wall clock.
type Summary struct {
	Experiment string    `json:"experiment"`
	File       string    `json:"file,omitempty"`
	Sets       []string  `json:"set,omitempty"` // what was set otherwise than in the file, each path=value
	Verdict    Outcome   `json:"verdict"`
	ExitCode   int       `json:"exit_code"`
	Policy     Policy    `json:"inconclusive"`     // what undecided assertions count as
	Reason     string    `json:"reason,omitempty"` // why the run could not be carried out
	Remedy     string    `json:"remedy,omitempty"`
	Seed       uint64    `json:"seed"`
	Tool       string    `json:"tool"`           // faultline's version
	Rung       string    `json:"rung,omitempty"` // how attempts were joined with calls
	Started    time.Time `json:"started"`

	Duration time.Duration `json:"duration"`
	Calls    int           `json:"calls"`    // sent to the system under test
	Attempts int           `json:"attempts"` // that arrived at the dependencies

	Phases     []trace.Phase     `json:"phases"`
	Loads      []assert.Load     `json:"loads,omitempty"` // of the measured phases
	Assertions []assert.Verdict  `json:"assertions"`
	Integrity  []assert.Check    `json:"integrity"`
	Breakers   []assert.Timeline `json:"breakers"`
}

// WriteJSON writes the summary as one indented JSON object with a final newline.
// Empty lists are [], never null, so that a script need not ask.
func WriteJSON(w io.Writer, s Summary) error {
	s.Phases = orEmpty(s.Phases)
	s.Assertions = orEmpty(s.Assertions)
	s.Integrity = orEmpty(s.Integrity)
	breakers := make([]assert.Timeline, 0, len(s.Breakers))
	for _, b := range s.Breakers {
		b.Segments = orEmpty(b.Segments)
		breakers = append(breakers, b)
	}
	s.Breakers = breakers

	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("write summary of %s: %w", s.Experiment, err)
	}
	return nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// source is the file that was run, with what was set otherwise, as on a command line.
func (s Summary) source() string {
	var b strings.Builder
	b.WriteString(s.File)
	for _, set := range s.Sets {
		b.WriteString(" --set " + set)
	}
	return b.String()
}
