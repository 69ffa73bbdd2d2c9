package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// step is a part of what is done: calls with scripted answers, or a rest.
type step struct {
	name  string
	about string // what it is for, in words

	align   time.Duration // begins by the clock
	rest    time.Duration // in place of calls
	calls   int           // most of them
	gap     time.Duration
	refused bool   // it ends when three calls in a row were refused
	script  string // one letter for each request that comes
	atOnce  bool   // all calls are under way together
	hold    int    // requests are kept until so many calls were refused
	lasts   time.Duration
	kept    time.Duration // of hold: at most

	wait time.Duration // of the step, what no faster machine could save
}

// Options of a derivation.
type Options struct {
	Fresh   bool          // the service is started for it, so that its breaker is closed and empty
	Timeout time.Duration // of one call
}

// program is what is done, step after step.
type program struct {
	sys   System
	opt   Options
	steps []step
	row   int // openings in a row
	cycle int
	skips []string // what is not done, each with the reason
	named map[string]int
}

// derive makes the steps that prove a system.
func derive(sys System, opt Options) *program {
	p := &program{sys: sys, opt: opt}
	if sys.Breaker.Initial != breakerref.Closed {
		p.skips = append(p.skips, fmt.Sprintf("initialState %v: only breakers that begin CLOSED are proved", sys.Breaker.Initial))
		return p
	}
	probes := string(good) // The one by which a run sees that the dependency is reached.
	if !opt.Fresh {
		probes = ""
		p.settle()
	}
	fills := sys.fills(probes)
	for i, fill := range fills {
		if i == 0 {
			fill = fill[len(probes):]
		}
		p.closed("closed", "the breaker opens at exactly this call", fill)
		if i == 0 {
			p.visits()
		}
		p.close()
	}
	p.slowCalls()
	p.expiry()
	p.overstay()
	p.add(step{name: "settled", about: "the breaker is closed", calls: sys.Breaker.Permitted + 2, script: strings.Repeat(string(good), sys.Breaker.Permitted+2)})
	return p
}

// add appends a step with a name of its own.
func (p *program) add(s step) {
	if p.cycle > 0 && s.name != "settled" {
		s.name = fmt.Sprintf("%s-%d", s.name, p.cycle)
	}
	if p.named == nil {
		p.named = map[string]int{}
	}
	p.named[s.name]++
	if n := p.named[s.name]; n > 1 {
		s.name = fmt.Sprintf("%s-%c", s.name, 'a'+n-1)
	}
	p.steps = append(p.steps, s)
}

// settle opens and closes a breaker of which nothing is known.
func (p *program) settle() {
	b := p.sys.Breaker
	most := b.Window + b.MinimumCalls + 5
	if b.WindowType == breakerref.TimeBased {
		most = 20*b.MinimumCalls + 100 // Whatever it has counted is a part of the window.
	}
	p.add(step{name: "unknown", about: "the breaker ran before; it is opened, whatever it has counted", calls: most, script: strings.Repeat(string(bad), most), refused: true})
	p.row = 1
	p.close()
}

// closed sends calls that open a closed breaker.
func (p *program) closed(name, about, script string) {
	p.cycle++
	align := time.Duration(0)
	if b := p.sys.Breaker; b.WindowType == breakerref.TimeBased && b.Window == 1 {
		align = time.Second
	}
	p.add(step{name: name, about: about, calls: len(script) + 3, script: script, align: align, wait: p.failing(script)})
	p.row = 1
}

// failing is what the waits between attempts of failing calls take.
func (p *program) failing(script string) time.Duration {
	if p.sys.Retry == nil {
		return 0
	}
	n := strings.Count(script, string(bad))
	if !p.sys.Inside {
		n = n * (p.sys.tries() - 1) / p.sys.tries()
	} else {
		n *= p.sys.tries() - 1
	}
	return time.Duration(n) * p.sys.Retry.Wait
}

// waiting is how long the breaker is open now, at least and at most.
func (p *program) waiting() (least, most time.Duration) {
	w := p.sys.wait(p.row)
	f := p.sys.Breaker.WaitRandom
	return time.Duration(float64(w) * (1 - f)), time.Duration(float64(w) * (1 + f))
}

// around is how long before and after the end of a wait calls are sent close together, and
// how close.
func around(wait time.Duration) (margin, gap time.Duration) {
	margin = min(max(wait/20, 120*time.Millisecond), wait/2, time.Second)
	gap = min(max(wait/200, time.Millisecond), 20*time.Millisecond)
	return margin.Round(time.Millisecond), gap.Round(time.Millisecond)
}

// rest has some calls refused and waits until shortly before the end of a wait.
func (p *program) rest(wait, margin time.Duration) {
	calls, each := 3, p.sys.refusal()
	for calls > 1 && time.Duration(calls)*each > wait/4 {
		calls--
	}
	open := step{name: "open", about: "calls are refused while it is open", calls: calls, script: string(bad)}
	if calls == 3 {
		// One that has not opened yet is opened, so that what follows says something of it too.
		open.refused, open.calls = true, 3+p.sure()
		open.script = strings.Repeat(string(bad), open.calls)
	}
	p.add(open)
	rest := wait - margin - time.Duration(calls)*each - each
	if rest <= 0 {
		return
	}
	looks := min(16, rest/(20*time.Millisecond))
	if each > 0 {
		looks = min(looks, rest/(8*each))
	}
	if looks < 2 {
		p.add(step{name: "rest", about: fmt.Sprintf("wait %v", wait), rest: rest, wait: rest})
		return
	}
	p.add(step{
		name: "rest", about: fmt.Sprintf("calls are refused all the while; wait %v", wait), wait: rest,
		calls: int(looks), gap: rest/looks - each, script: string(bad),
	})
}

// sure is how many failures in a row open a closed breaker for sure.
func (p *program) sure() int {
	n := 2*p.sys.Breaker.MinimumCalls + 10
	if p.sys.Breaker.WindowType == breakerref.CountBased {
		n += 2 * p.sys.Breaker.Window
	}
	return n
}

// half waits until the breaker is half-open and sends the calls of the visit.
func (p *program) half(about, script string) {
	least, most := p.waiting()
	margin, gap := around(least)
	p.rest(least, margin)
	polls := int((2*most+margin)/gap) + 20
	p.add(step{
		name: "half-open", about: about, calls: polls + len(script), gap: gap, script: script,
		wait: most - max(0, least-margin) + p.failing(script),
	})
}

// close has the breaker close at the last call of a visit.
func (p *program) close() {
	h := p.sys.decides()
	need := least(h, p.sys.Breaker.FailureRate)
	fails := min(need-1, h-1)
	p.half("successes close it at exactly this call", strings.Repeat(string(bad), fails)+strings.Repeat(string(good), h-fails))
	p.row = 0
}

// mostRow is how many openings in a row are waited for.
const mostRow = 5

// visits are the half-open visits of the first time that it is open: each opens it again.
func (p *program) visits() {
	h := p.sys.decides()
	again := func(about, script string) {
		p.half(about, script)
		p.row++
	}
	again("failures open it again at exactly this call", strings.Repeat(string(bad), h))
	if need := least(h, p.sys.Breaker.FailureRate); need < h && need > 0 {
		again("so many failures open it again, and no less", strings.Repeat(string(good), h-need)+strings.Repeat(string(bad), need))
	}
	p.herd()
	if p.sys.Breaker.WaitMultiplier == 0 {
		return
	}
	for p.row < p.rowWanted() {
		again("it opens again, and waits longer", strings.Repeat(string(bad), h))
	}
}

// rowWanted is how many openings in a row show how the wait grows, and where it ends.
func (p *program) rowWanted() int {
	b := p.sys.Breaker
	const least = 3
	if b.WaitMax == 0 {
		return least
	}
	w := float64(b.Wait)
	for n := 1; n <= mostRow; n++ {
		if w > float64(b.WaitMax) {
			return max(n, least)
		}
		w *= b.WaitMultiplier
	}
	return least
}

// herd counts how many calls are let through at once, where fewer decide.
func (p *program) herd() {
	permitted, kept := p.sys.Breaker.Permitted, p.keeps()
	switch {
	case p.sys.Breaker.MinimumCalls > permitted:
		return // Each call of a visit counts, so that the one by which it is decided tells their number.
	case kept > mostHeld:
		p.skips = append(p.skips, fmt.Sprintf("%s: how many calls come at once cannot be counted where each that is refused is tried again for so long", Permitted))
		return
	}
	least, _ := p.waiting()
	margin, _ := around(least)
	// The visit has to be over, and the breaker still open, when the step ends.
	kept = min(kept, least*2/5)
	if kept < shortestHeld+p.sys.refusal() {
		p.skips = append(p.skips, fmt.Sprintf("%s: the breaker is open for too short a time, %v, for calls to be kept waiting; scale its waits up (--wait-scale)", Permitted, least))
		return
	}
	p.rest(least, margin)
	p.add(step{
		kept: kept, name: "herd", about: fmt.Sprintf("%d calls are let through at once, and no more", permitted), hold: permitted,
		script: strings.Repeat(string(bad), 4*permitted+20), lasts: margin + 2*kept, wait: min(least, margin),
	})
	p.row++
}

// keeps is for how long at most requests are kept: until calls that were sent later have
// been refused.
func (p *program) keeps() time.Duration {
	kept := 300 * time.Millisecond
	if p.sys.Retry != nil && !p.sys.Inside {
		kept += 2 * time.Duration(p.sys.tries()-1) * p.sys.Retry.Wait
	}
	return kept
}

// shortestHeld is how long requests have to be kept at least.
const shortestHeld = 75 * time.Millisecond

// mostHeld is how long a request is kept at most: a service that waits no longer for its
// dependency would take it for a failure.
const mostHeld = 900 * time.Millisecond

// slowCalls opens it by slow calls.
func (p *program) slowCalls() {
	fills := p.sys.slowFills()
	slow := p.sys.took(slowly)
	switch {
	case p.sys.Breaker.SlowDuration < shortestSlow:
		p.skips = append(p.skips, fmt.Sprintf("%s, %s: %v is too short to be told from the noise of a machine", SlowDuration, SlowRate, p.sys.Breaker.SlowDuration))
		return
	case slow >= p.opt.Timeout*3/4:
		p.skips = append(p.skips, fmt.Sprintf("%s, %s: a call that takes %v is given up before it is slow; raise --timeout (now %v) if the service waits that long", SlowDuration, SlowRate, slow, p.opt.Timeout))
		return
	case fills == nil:
		p.skips = append(p.skips, fmt.Sprintf("%s, %s: no calls were found that only it would have open the breaker", SlowDuration, SlowRate))
		return
	}
	for i, f := range fills {
		p.slowFill(f)
		if i == len(fills)-1 && p.sys.slowVisits(fills) {
			p.slowHalf(true)
			if f.closing == "" {
				p.slowHalf(false)
				continue
			}
		}
		if f.closing == "" {
			p.close()
			continue
		}
		p.half("calls just below the threshold are not slow, and close it", f.closing)
		p.steps[len(p.steps)-1].wait += time.Duration(strings.Count(f.closing, string(quickly))) * p.sys.took(quickly)
		p.row = 0
	}
}

// slowHalf sends slow calls in a half-open visit: as many as open it again, or one less.
func (p *program) slowHalf(open bool) {
	h := p.sys.decides()
	slow := least(h, p.sys.Breaker.SlowRate)
	about := "so many slow calls open it again, and no less"
	if !open {
		slow--
		about = "one slow call less, and it closes"
	}
	p.half(about, strings.Repeat(string(slowly), slow)+strings.Repeat(string(good), h-slow))
	p.steps[len(p.steps)-1].wait += time.Duration(slow) * p.sys.took(slowly)
	p.row++
	if !open {
		p.row = 0
	}
}

// slowFill sends calls of which some are slow.
func (p *program) slowFill(f slowFill) {
	p.cycle++
	slow := p.sys.took(slowly)
	if f.from > 0 {
		p.add(step{name: "calm", about: "calls that are not slow", calls: f.from, script: f.script[:f.from]})
	}
	if f.to > f.from {
		p.add(step{name: "slow-together", about: "slow calls, less than open it", calls: f.to - f.from, script: f.script[f.from:f.to], atOnce: true, wait: slow})
	}
	last := f.script[f.to:]
	wait := time.Duration(strings.Count(last, string(slowly)))*slow + time.Duration(strings.Count(last, string(quickly)))*p.sys.took(quickly)
	// One that has not opened yet is sent more of them: how many it takes tells the rate.
	more := strings.Repeat(string(slowly), min(p.sure(), mostSlow))
	p.add(step{name: "slow-last", about: "it opens at exactly this call: " + last, calls: len(last) + len(more) + 3, script: last + more, refused: true, wait: wait + p.failing(last)})
	p.row = 1
}

// mostSlow is how many slow calls are sent to a breaker that should have opened.
const mostSlow = 25

// expiry shows after which time a window of time forgets.
func (p *program) expiry() {
	b := p.sys.Breaker
	if b.WindowType != breakerref.TimeBased {
		return
	}
	parts := p.sys.expiring()
	if parts == nil {
		p.skips = append(p.skips, fmt.Sprintf("%s: so few calls and so low a rate do not show what a window forgets", Window))
		return
	}
	p.cycle++
	n := time.Duration(b.Window) * time.Second
	rests := []time.Duration{0, 0, max(0, n-2*time.Second)}
	about := []string{"calls of one second", "calls of a later second, the last in which the first still count", "the first do not count any more; it opens at exactly this call"}
	if parts.grouped {
		about[1] = "calls of the next second"
	} else {
		rests = []time.Duration{0, max(0, n-2*time.Second), 0}
	}
	for i, script := range parts.scripts {
		if rest := rests[i]; rest > 0 {
			p.add(step{name: "forget-rest", about: "let time pass", rest: rest + 400*time.Millisecond, wait: rest + 400*time.Millisecond})
		}
		align := time.Second
		if i == 1 && b.Window == 1 {
			align = 0
		}
		more := 3
		if i < 2 {
			more = 0
		}
		p.add(step{name: "forget", about: about[i], align: align, calls: len(script) + more, script: script, wait: p.failing(script) + min(align, time.Second)/2})
	}
	p.row = 1
	p.close()
}

// expiring are the scripts of three seconds: one, the last but one in which its calls
// count, and the first in which they do not.
type expiring struct {
	scripts []string
	grouped bool // the second comes just after the first
}

func (s System) expiring() *expiring {
	b, unit := s.Breaker, 1
	if !s.Inside {
		unit = s.tries()
	}
	if b.Window >= 2 && b.MinimumCalls > 2*unit {
		group := strings.Repeat(string(bad), unit)
		return &expiring{scripts: []string{group, group, strings.Repeat(string(bad), b.MinimumCalls-unit)}, grouped: true}
	}
	if s.Retry != nil && !s.Inside {
		return nil
	}
	many := strings.Repeat(string(bad), b.MinimumCalls)
	for k := b.MinimumCalls; k < 500; k++ {
		calm := strings.Repeat(string(good), k)
		if s.opensAt(calm+many+string(bad), 0) != 0 {
			continue
		}
		last := 1
		if b.Window == 1 {
			last = b.MinimumCalls
		}
		return &expiring{scripts: []string{calm, many, strings.Repeat(string(bad), last)}}
	}
	return nil
}

// overstay shows what a half-open breaker does that gets no results.
func (p *program) overstay() {
	b := p.sys.Breaker
	if b.HalfOpenMaxWait < time.Millisecond {
		return
	}
	h := p.sys.decides()
	over := b.HalfOpenMaxWait + b.HalfOpenMaxWait/10 + 20*time.Millisecond
	if h == 1 && over >= p.opt.Timeout*3/4 {
		p.skips = append(p.skips, fmt.Sprintf("%s: one call decides, and one that takes %v is given up before", HalfOpenWait, over))
		return
	}
	fill := strings.Repeat(string(bad), p.sys.first())
	p.closed("overstay", "the breaker is opened once more", fill)
	script := string(good)
	if h == 1 {
		script = string(overtime)
	}
	p.half("a first call of a visit that gets no other", script)
	if h == 1 {
		p.steps[len(p.steps)-1].wait += over
	} else {
		p.add(step{name: "overstay-rest", about: "no call comes", rest: over, wait: over})
	}
	if b.HalfOpenMaxWaitCloses {
		p.closed("overstayed", "it has closed by itself, and opens as any closed one", fill)
		p.close()
		return
	}
	p.row++
	p.add(step{name: "overstayed", about: "it has opened by itself", calls: 2})
	p.close()
}

// unavoidable is the sum of what no faster machine could save.
func (p *program) unavoidable() time.Duration {
	sum := time.Duration(0)
	for _, s := range p.steps {
		sum += s.wait
	}
	return sum
}
