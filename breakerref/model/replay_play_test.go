package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// replayCase is a play of the machine for a library to repeat: a line of the input of
// the programs in target/zoo/*-breakers. Times are in the unit of the runtime that
// repeats it.
type replayCase struct {
	Library    string            `json:"library"`
	Options    map[string]any    `json:"options"`
	Start      int64             `json:"start"` // since 1970
	Operations []replayOperation `json:"operations"`
}

// replayOperation is one thing done, and what the machine shows after it.
type replayOperation struct {
	Do    string     `json:"do"` // ask, look, wait, or the outcome of a call that ends
	Of    int64      `json:"of"` // number of the call; length of a wait
	Model replayView `json:"model"`
}

// replayView is what both the machine and a library can show.
type replayView struct {
	Answers []string `json:"answers"` // given by this operation, sorted: "3 admitted"
	Waiting []int64  `json:"waiting"` // calls without an answer, sorted
	State   string   `json:"state"`
	Counts  []int    `json:"counts"` // those that the library shows
}

// replayCall is a call that runs, by its own token, or waits, by that of the call to
// wait for.
type replayCall struct {
	number int64
	token  model.Token
}

// replayPlay plays the machine as the callers of a library would.
type replayPlay struct {
	machine *model.Machine
	unit    time.Duration
	now     time.Time
	asked   int64
	running []replayCall
	waiting []replayCall // in the order in which they asked
	answers []string     // of this operation
	succeed float64      // share of successes among outcomes that are not ignored
}

// playCase plays a case of so many operations on a breaker.
func playCase(r *rand.Rand, preset replayPreset, setup replaySetup, unit time.Duration, operations int) (replayCase, error) {
	start := time.UnixMilli(1_735_689_600_000)
	m, err := model.New(setup.cfg, start)
	if err != nil {
		return replayCase{}, err
	}
	p := &replayPlay{machine: m, unit: unit, now: start, succeed: oneOf(r, 0.2, 0.5, 0.8)}
	c := replayCase{Library: preset.library, Options: setup.options, Start: start.UnixNano() / int64(unit)}
	for range operations {
		op := p.step(r, setup.waits, preset.looks)
		op.Model = p.view(preset.shown)
		c.Operations = append(c.Operations, op)
	}
	return c, nil
}

// step draws an operation and does it.
func (p *replayPlay) step(r *rand.Rand, waits []int64, looks bool) replayOperation {
	p.answers = nil
	switch k := r.IntN(12); {
	case k < 6 && len(p.running) > 0:
		return p.drawEnd(r, k == 0)
	case k < 10:
		number := p.asked
		p.asked++
		p.ask(number)
		return replayOperation{Do: "ask", Of: number}
	case k == 10 && looks:
		p.answers = append(p.answers, fmt.Sprintf("0 %v", p.machine.Look(p.now)))
		return replayOperation{Do: "look"}
	default:
		n := waits[r.IntN(len(waits))]
		p.now = p.now.Add(time.Duration(n) * p.unit)
		p.machine.Advance(p.now)
		return replayOperation{Do: "wait", Of: n}
	}
}

// drawEnd draws which of the running calls ends, and how, and ends it.
func (p *replayPlay) drawEnd(r *rand.Rand, ignored bool) replayOperation {
	at := len(p.running) - 1 // The newest is often the probe.
	if r.IntN(2) == 0 {
		at = r.IntN(len(p.running))
	}
	number, outcome := p.running[at].number, model.Ignore
	switch {
	case ignored:
	case r.Float64() < p.succeed:
		outcome = model.Success
	default:
		outcome = model.Failure
	}
	p.end(at, outcome)
	return replayOperation{Do: outcome.String(), Of: number}
}

func (p *replayPlay) ask(number int64) {
	token, answer := p.machine.Acquire(p.now)
	switch answer {
	case model.Waits:
		p.waiting = append(p.waiting, replayCall{number, token})
		return
	case model.Admitted:
		p.running = append(p.running, replayCall{number, token})
	case model.Rejected:
	}
	p.answers = append(p.answers, fmt.Sprintf("%d %v", number, answer))
}

// end ends a running call. Those who waited for it ask anew, first come first
// served.
func (p *replayPlay) end(at int, o model.Outcome) {
	ended := p.running[at]
	p.running = slices.Delete(p.running, at, at+1)
	if p.machine.Record(p.now, ended.token, o, 0) {
		p.answers = append(p.answers, fmt.Sprintf("%d masked", ended.number))
	}
	waiting := p.waiting
	p.waiting = nil
	for _, w := range waiting {
		if w.token == ended.token {
			p.ask(w.number)
		} else {
			p.waiting = append(p.waiting, w)
		}
	}
}

func (p *replayPlay) view(shown func(model.Counts) []int) replayView {
	v := replayView{Answers: []string{}, Waiting: []int64{}, State: p.machine.State().String(), Counts: shown(p.machine.Counts())}
	v.Answers = append(v.Answers, p.answers...)
	for _, w := range p.waiting {
		v.Waiting = append(v.Waiting, w.number)
	}
	slices.Sort(v.Answers)
	slices.Sort(v.Waiting)
	return v
}
