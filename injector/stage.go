package injector

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// plan is a script in force. It is replaced as a whole, and only entered changes.
type plan struct {
	version uint64 // from 1
	player  *fault.Player
	phases  []string        // the names, sorted
	text    json.RawMessage // the script, with the rules' IDs
	sum     uint64          // of text; it is asked for far more often than it changes
	answers map[*fault.Rule]answer
	storms  map[*fault.Rule]*storm
	entered map[string]*phase // guarded by Injector.turn
}

// newPlan validates a script and prepares it. That takes its time for a long one, and no
// lock.
func (i *Injector) newPlan(script fault.Script, version uint64) (*plan, error) {
	player, err := fault.NewPlayer(script, i.cfg.Seed)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(i.checkSockets(player.Rules()), i.checkTLS(player.Rules()), i.checkTCP(player.Rules()), i.checkEnvoyRule(player.Rules())); err != nil {
		return nil, err
	}
	p := &plan{
		version: version, player: player, phases: slices.AppendSeq([]string{}, maps.Keys(script.Phases)),
		answers: map[*fault.Rule]answer{}, storms: map[*fault.Rule]*storm{}, entered: map[string]*phase{},
	}
	slices.Sort(p.phases)
	for _, r := range player.Rules() {
		if r.Action == fault.ActionRespond {
			p.answers[r] = newAnswer(r.Respond)
		}
	}
	named := fault.Script{Phases: map[string][]fault.Rule{}}
	for _, name := range p.phases {
		named.Phases[name] = []fault.Rule{}
		for _, r := range player.Phase(name).Rules() {
			named.Phases[name] = append(named.Phases[name], *r)
		}
	}
	if p.text, err = json.Marshal(named); err != nil {
		return nil, fmt.Errorf("write the script as JSON: %w", err)
	}
	h := fnv.New64a()
	_, _ = h.Write(p.text) // never fails
	p.sum = h.Sum64()
	return p, nil
}

// guard puts every rule under the storm guard of its ID. turn is held, or nobody else knows of
// the injector.
func (p *plan) guard(i *Injector) {
	inForce := []*plan{p}
	if current := i.phase.Load(); current != nil {
		inForce = append(inForce, current.plan)
		for _, added := range current.extra {
			inForce = append(inForce, added.plan)
		}
	}
	for _, r := range p.player.Rules() {
		p.storms[r] = i.storms.of(r.ID, inForce)
	}
}

// phase is one entry into a phase of a script, or a fault that was added to one.
type phase struct {
	name    string
	plan    *plan // whose phase it is; an added fault has one of its own
	faults  *fault.Phase
	lots    map[*fault.Rule]*lot
	spared  map[*fault.Rule]*atomic.Uint64 // requests that a limit kept from the rule
	answers map[*fault.Rule]answer
	storms  map[*fault.Rule]*storm
	paces   map[lane]*sharedPace
	door    fault.Action  // what is done to those who connect; empty: they are served
	ended   chan struct{} // closed when its faults end: hangs do, and holds
	cleared chan struct{} // closed when nothing of it may wait any longer

	began time.Time // offset 0 of its ramps
	first *First    // in the place of began; nil: none

	settings bool // it has rules for connections of HTTP/2

	id    string    // of an added fault; empty: the script's own
	until time.Time // when an added fault ends
}

// newPhase enters a phase that a player gave out.
func (p *plan) newPhase(name string, faults *fault.Phase) *phase {
	ph := &phase{
		name: name, plan: p, faults: faults, answers: p.answers, storms: p.storms,
		lots: map[*fault.Rule]*lot{}, spared: map[*fault.Rule]*atomic.Uint64{},
		ended: make(chan struct{}), cleared: make(chan struct{}), paces: paces(faults.Rules()), began: time.Now(),
	}
	for _, r := range faults.Rules() {
		ph.spared[r] = new(atomic.Uint64)
		if r.Hold != nil {
			ph.lots[r] = newLot(*r.Hold)
		}
		if r.Action.Door() {
			ph.door = r.Action
		}
		ph.settings = ph.settings || r.Action == fault.ActionSettings
	}
	return ph
}

// counts are those of the rules, without the requests that a limit kept from them.
func (ph *phase) counts() []fault.Count {
	counts := ph.faults.Counts()
	for n, r := range ph.faults.Rules() {
		counts[n].Hit -= min(counts[n].Hit, ph.spared[r].Load())
	}
	return counts
}

// stage is all that decides what becomes of a request: it reads the stage once, so that
// no change is seen by halves. A stage does not change, it is replaced.
type stage struct {
	*phase

	plan  *plan
	extra []*phase     // added faults, the newest first
	all   []*phase     // these and the phase: the order in which a request is asked about
	door  fault.Action // of all of them; that of the newest counts
	off   bool         // faults were cleared, also those that requests ask for

	replaced chan struct{} // closed when another stage is in force
}

// with returns a stage with these added faults.
func (s *stage) with(extra []*phase) *stage {
	next := &stage{phase: s.phase, plan: s.plan, extra: extra, door: s.phase.door, off: s.off, replaced: make(chan struct{})}
	next.all = append(slices.Clone(extra), s.phase)
	for _, p := range slices.Backward(extra) {
		if p.door != "" {
			next.door = p.door
		}
	}
	return next
}

// Enter starts a phase: later arrivals meet its faults, whose counts start
// anew, and its ramps begin at this instant. Holds of the phase before end and their requests go on; its hangs end
// with a closed connection, and so do the faults that were added to it; latencies
// that have begun are served to the end. It waits for no request. Before the first
// Enter the phase is that of [Config].
//
// An error (errors.ErrUnsupported) says what this system, or the network of Config.Listen, cannot do to those who
// connect (see fault.Action.Door); the phase has begun all the same. While the lease has lapsed, the phase begins
// without its faults, and the error is [ErrLapsed].
func (i *Injector) Enter(name string) error {
	i.turn.Lock()
	lapsed := i.lapse(time.Now())
	p := i.phase.Load().plan
	if lapsed {
		i.change((&stage{phase: p.healthy(name), plan: p, off: true}).with(nil), false)
	} else {
		next := p.newPhase(name, p.player.Phase(name))
		p.entered[name] = next
		i.change((&stage{phase: next, plan: p}).with(nil), false)
	}
	i.turn.Unlock()
	err := i.settleDoor()
	if lapsed {
		err = errors.Join(ErrLapsed, err)
	}
	if err != nil {
		return fmt.Errorf("injector %s: phase %s: %w", i.cfg.Name, name, err)
	}
	return nil
}

// healthy is a phase without faults.
func (p *plan) healthy(name string) *phase { return p.newPhase(name, p.player.Phase("")) }

// change puts a stage in force and ends what it does not keep; in a hurry, also what waits
// for a time that a fault gave it. turn is held.
func (i *Injector) change(next *stage, hurry bool) {
	i.markShut(next)
	last := i.phase.Swap(next)
	if last == nil {
		return
	}
	defer close(last.replaced)
	i.dismissH2(func(of *phase) bool { return next.outgrows(last, of) })
	for _, p := range last.all {
		if slices.Contains(next.all, p) {
			continue
		}
		if hurry {
			close(p.cleared)
		}
		close(p.ended)
		if p.id != "" {
			i.markOff(p.id)
		}
	}
}

// settleDoor does to those who connect what the stage says. What changes the stage calls
// it afterwards, outside of turn, as a door takes its time; the last caller is right.
func (i *Injector) settleDoor() error {
	if i.door == nil { // It does not listen yet.
		return nil
	}
	i.doorTurn.Lock()
	defer i.doorTurn.Unlock()
	mode := i.phase.Load().door
	err := i.door.set(mode)
	if err == nil && mode == "" {
		i.markOpen()
	}
	if mode != "" {
		i.closeIdle()
		i.dismissH2(func(*phase) bool { return true })
	}
	return err
}
