package report

import "github.com/faultline-go/faultline/assert"

// ANSI colours. Words and glyphs always say the same as the colour does.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

// color wraps text in a colour where colour is wanted.
func (t text) color(code, s string) string {
	if !t.opt.Color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func stateColor(s assert.State) string {
	switch s {
	case assert.StateClosed:
		return green
	case assert.StateOpen, assert.StateEjected:
		return red
	case assert.StateHalfOpen:
		return yellow
	}
	return dim
}

func resultColor(r assert.Result) string {
	switch r {
	case assert.Pass:
		return green
	case assert.Fail:
		return red
	case assert.Inconclusive:
		return yellow
	case assert.Skipped:
		return dim
	}
	return ""
}

func outcomeColor(o Outcome) string {
	switch o {
	case OutcomePass:
		return green
	case OutcomeFail:
		return red
	case OutcomeInconclusive, OutcomeAborted, OutcomeInterrupted:
		return yellow
	}
	return ""
}
