package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// nodeCase is a play of the machine for a library to repeat: a line of the input of
// target/zoo/node-breakers/replay.js.
type nodeCase struct {
	Library    string          `json:"library"`
	Options    map[string]any  `json:"options"`
	Start      int64           `json:"start"` // milliseconds since 1970
	Operations []nodeOperation `json:"operations"`
}

// nodeOperation is one thing done, and what the machine shows after it.
type nodeOperation struct {
	Do    string   `json:"do"` // ask, wait, or the outcome of a call that ends
	Of    int64    `json:"of"` // number of the call; milliseconds of a wait
	Model nodeView `json:"model"`
}

// nodeView is what both the machine and a library can show.
type nodeView struct {
	Answers []string `json:"answers"` // given by this operation, sorted: "3 admitted"
	Waiting []int64  `json:"waiting"` // calls without an answer, sorted
	State   string   `json:"state"`
	Counts  []int    `json:"counts"` // those that the library shows
}

// nodeCall is a call that runs, by its own token, or waits, by that of the call to
// wait for.
type nodeCall struct {
	number int64
	token  model.Token
}

// nodePlay plays the machine as callers in Node would.
type nodePlay struct {
	machine *model.Machine
	now     time.Time
	asked   int64
	running []nodeCall
	waiting []nodeCall // in the order in which they asked
	answers []string   // of this operation
	succeed float64    // share of successes among outcomes that are not ignored
}

// playNode plays a case of so many operations on a breaker.
func playNode(r *rand.Rand, preset nodePreset, setup nodeSetup, operations int) (nodeCase, error) {
	start := time.UnixMilli(1_735_689_600_000)
	m, err := model.New(setup.cfg, start)
	if err != nil {
		return nodeCase{}, err
	}
	p := &nodePlay{machine: m, now: start, succeed: oneOf(r, 0.2, 0.5, 0.8)}
	c := nodeCase{Library: preset.library, Options: setup.options, Start: start.UnixMilli()}
	for range operations {
		op := p.step(r, setup.waits)
		op.Model = p.view(preset.shown)
		c.Operations = append(c.Operations, op)
	}
	return c, nil
}

// step draws an operation and does it.
func (p *nodePlay) step(r *rand.Rand, waits []int64) nodeOperation {
	p.answers = nil
	switch k := r.IntN(12); {
	case k < 6 && len(p.running) > 0:
		at := len(p.running) - 1 // The newest is often the probe.
		if r.IntN(2) == 0 {
			at = r.IntN(len(p.running))
		}
		number, outcome := p.running[at].number, model.Ignore
		switch {
		case k == 0:
		case r.Float64() < p.succeed:
			outcome = model.Success
		default:
			outcome = model.Failure
		}
		p.end(at, outcome)
		return nodeOperation{Do: outcome.String(), Of: number}
	case k < 10:
		number := p.asked
		p.asked++
		p.ask(number)
		return nodeOperation{Do: "ask", Of: number}
	default:
		ms := waits[r.IntN(len(waits))]
		p.now = p.now.Add(time.Duration(ms) * time.Millisecond)
		p.machine.Advance(p.now)
		return nodeOperation{Do: "wait", Of: ms}
	}
}

func (p *nodePlay) ask(number int64) {
	token, answer := p.machine.Acquire(p.now)
	switch answer {
	case model.Waits:
		p.waiting = append(p.waiting, nodeCall{number, token})
		return
	case model.Admitted:
		p.running = append(p.running, nodeCall{number, token})
	case model.Rejected:
	}
	p.answers = append(p.answers, fmt.Sprintf("%d %v", number, answer))
}

// end ends a running call. Those who waited for it ask anew, first come first
// served.
func (p *nodePlay) end(at int, o model.Outcome) {
	ended := p.running[at].token
	p.running = slices.Delete(p.running, at, at+1)
	p.machine.Record(p.now, ended, o, 0)
	waiting := p.waiting
	p.waiting = nil
	for _, w := range waiting {
		if w.token == ended {
			p.ask(w.number)
		} else {
			p.waiting = append(p.waiting, w)
		}
	}
}

func (p *nodePlay) view(shown func(model.Counts) []int) nodeView {
	v := nodeView{Answers: []string{}, Waiting: []int64{}, State: p.machine.State().String(), Counts: shown(p.machine.Counts())}
	v.Answers = append(v.Answers, p.answers...)
	for _, w := range p.waiting {
		v.Waiting = append(v.Waiting, w.number)
	}
	slices.Sort(v.Answers)
	slices.Sort(v.Waiting)
	return v
}
