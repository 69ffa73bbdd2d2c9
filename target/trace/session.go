package trace

// Session says which step of a scripted session a call is, and what its answer was
// carried on as.
type Session struct {
	User  int `json:"user"`          // from 1
	Round int `json:"round"`         // of the user in the phase, from 1
	Lap   int `json:"lap,omitempty"` // how often the round was begun anew before
	Step  int `json:"step"`          // of the script, from 1
	Page  int `json:"page"`          // how often the step was made in a row, from 1
	// Values are the captured values that the plan asks to be recorded, by name. One that
	// is there without any value was looked for in an answer that could be read.
	Values map[string][]string `json:"values,omitempty"`
	End    SessionEnd          `json:"end,omitempty"` // of the round, by this call
	Why    string              `json:"why,omitempty"` // it ended so
}

// SessionEnd says how a round of a session has ended; empty means that it goes on.
type SessionEnd string

// How a round ends.
const (
	SessionDone   SessionEnd = "done"   // all steps were made
	SessionBroken SessionEnd = "broken" // a step did not get what the next one needs
	SessionCut    SessionEnd = "cut"    // faultline stopped the load
)

// Rounds are what became of the rounds of a phase of sessions.
type Rounds struct {
	Done   int `json:"done"`
	Broken int `json:"broken"`
	Cut    int `json:"cut,omitempty"`
}

// Count adds the end of a round, if it is one.
func (r *Rounds) Count(end SessionEnd) {
	switch end {
	case SessionDone:
		r.Done++
	case SessionBroken:
		r.Broken++
	case SessionCut:
		r.Cut++
	}
}
