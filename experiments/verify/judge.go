package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Verdict says of a parameter whether the service has the declared value.
type Verdict string

// The verdicts.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	Undecided Verdict = "undecided"
	Untold    Verdict = "cannot be told" // by any traffic of a bearable length
)

// Row is what is said of one parameter.
type Row struct {
	Param     string  `json:"parameter"`
	Declared  string  `json:"declared"`
	Origin    string  `json:"origin"`
	Predicted string  `json:"predicted,omitempty"`
	Observed  string  `json:"observed,omitempty"`
	Verdict   Verdict `json:"verdict"`
	Reason    string  `json:"reason,omitempty"` // of what is undecided
}

// Difference is where the service did something else than the reference.
type Difference struct {
	Call      string   `json:"call"` // the first that shows it
	Phase     string   `json:"phase"`
	Sequence  string   `json:"sequence"` // outcomes since the breaker was last empty
	Says      string   `json:"says"`
	Explained []string `json:"explained,omitempty"` // other values, each of which alone explains all that was seen
}

// Report is what came of a verification.
type Report struct {
	Rows       []Row         `json:"rows"`
	Difference *Difference   `json:"difference,omitempty"`
	Reason     string        `json:"reason,omitempty"` // why nothing could be decided
	Calls      int           `json:"calls"`
	Took       time.Duration `json:"took"`

	Unavoidable time.Duration `json:"unavoidable"` // of Took: waits that no faster machine could save
}

// Judge replays a trace with what was declared and with its neighbours.
func Judge(d Declared, fails match.Failure, t *trace.Trace) Report {
	seen, err := observe(t, fails)
	r := Report{Calls: seen.calls}
	if n := len(t.Phases); n > 0 {
		r.Took = t.Phases[n-1].To - t.Phases[0].From
	}
	j := &judge{d: d, seen: seen}
	switch {
	case err != nil:
		r.Reason = err.Error()
		r.Rows = j.undecided(r.Reason)
	case len(seen.events) == 0:
		r.Reason = "nothing was seen"
		r.Rows = j.undecided(r.Reason)
	default:
		j.decide(&r)
	}
	for _, b := range d.Beside {
		r.Rows = append(r.Rows, b.row())
	}
	return r
}

// judge compares systems with what was seen.
type judge struct {
	d    Declared
	seen observed
}

// explains reports whether a system would have done all that was seen.
func (j *judge) explains(s System) bool {
	r, c := s.play(j.seen)
	return c == nil && !r.lost && r.begun && r.likely()
}

// undecided is a table of nothing.
func (j *judge) undecided(why string) []Row {
	var rows []Row
	for _, p := range params() {
		if j.d.has(p) {
			row := j.row(p)
			row.Verdict, row.Reason = Undecided, why
			rows = append(rows, row)
		}
	}
	return rows
}

func (j *judge) row(p Param) Row {
	return Row{Param: string(p), Declared: show(p, j.d.number(p)), Origin: j.d.Origins[p]}
}

// decide fills in the table.
func (j *judge) decide(r *Report) {
	played, c := j.d.play(j.seen)
	switch {
	case c != nil:
		j.differs(r, c)
		return
	case played.lost || !played.begun:
		r.Reason = "the instants of too many calls are in doubt: the machine was too slow, or the service is"
		if !played.begun {
			r.Reason = "the service ran before, and was never seen to refuse a call: what its breaker had counted is not known; start it anew (--command)"
		}
		r.Rows = j.undecided(r.Reason)
		return
	}
	for _, p := range params() {
		if j.d.has(p) {
			r.Rows = append(r.Rows, j.proved(p, j.d.System, played))
		}
	}
}

// proved says what is known of a parameter of a system that explains all that was seen.
func (j *judge) proved(p Param, s System, played *replay) Row {
	row := j.row(p)
	v := s.number(p)
	row.Predicted = show(p, v)
	below, above := math.Inf(-1), math.Inf(1)
	var same []float64
	all := s.neighbours(p)
	for _, n := range all {
		other, _ := s.with(p, n)
		switch {
		case s.alike(p, n):
		case j.explains(other):
			same = append(same, n)
		case rank(p, n) < rank(p, v):
			below = max(below, rank(p, n))
		default:
			above = min(above, n)
		}
	}
	row.Observed, row.Verdict = j.measured(p, v, below, above, same, played), Pass
	lacks := func(side int, bound float64) bool {
		return math.IsInf(bound, 0) && slices.ContainsFunc(same, func(n float64) bool { return cmp.Compare(rank(p, n), rank(p, v)) == side })
	}
	endless := p == HalfOpenWait && v == 0 && len(same) > 0 // None is longer than any.
	if endless || lacks(-1, below) || lacks(1, above) {
		row.Verdict = Undecided
		row.Reason = j.why(p, same)
		if untellable(p, s) {
			row.Verdict = Untold
		}
	}
	return row
}

// rank orders the values of a parameter: no longest stay is longer than any.
func rank(p Param, n float64) float64 {
	if p == HalfOpenWait && n == 0 {
		return math.Inf(1)
	}
	return n
}

// untellable reports whether a parameter is one that no traffic can show.
func untellable(p Param, s System) bool {
	switch p {
	case HalfOpenWait:
		return s.Breaker.HalfOpenMaxWait == 0
	case Random:
		return s.Breaker.WaitRandom != 0
	case Wait, Multiplier, WaitMax:
		return s.Breaker.WaitRandom != 0
	default:
		return false
	}
}

// measured says in words what was seen of a parameter.
func (j *judge) measured(p Param, v, below, above float64, same []float64, played *replay) string {
	if p == Wait && len(played.alive) > 0 && len(played.alive[0].waits) > 0 {
		var words []string
		for _, w := range played.alive[0].waits {
			words = append(words, fmt.Sprintf("%v..%v", w.Lo.Round(time.Millisecond/10), w.Hi.Round(time.Millisecond/10)))
		}
		const most = 4
		if len(words) > most {
			words = append(words[:most], fmt.Sprintf("and %d more", len(words)-most))
		}
		return strings.Join(words, ", ")
	}
	switch {
	case len(same) == 0:
		return show(p, v)
	case p == HalfOpenWait && v == 0:
		return "none, or from " + show(p, same[0]) + " on"
	case math.IsInf(below, -1) && math.IsInf(above, 1):
		return "any"
	case math.IsInf(below, -1):
		return "below " + show(p, above)
	case math.IsInf(above, 1):
		return "above " + show(p, below)
	}
	return fmt.Sprintf("above %s, below %s", show(p, below), show(p, above))
}

// why says why a value could not be told from others.
func (j *judge) why(p Param, same []float64) string {
	var words []string
	for _, n := range same {
		words = append(words, show(p, n))
	}
	const most = 5
	if len(words) > most {
		words = append(words[:most], "...")
	}
	text := "what was sent shows the same with " + strings.Join(words, ", ")
	s := j.d.System
	switch {
	case p == Minimum && s.first() < s.Breaker.MinimumCalls:
		text = fmt.Sprintf("a window of %d calls holds no more, so that a larger minimum is the same", s.Breaker.Window)
	case p == Window && s.Breaker.WindowType == breakerref.CountBased && s.first() == s.Breaker.Window:
		text += "; the minimum is as large"
	case p == HalfOpenWait && s.Breaker.HalfOpenMaxWait == 0:
		text = "that a stay has no end cannot be waited for; one below " + words[0] + " would have shown"
	case p == Random && s.Breaker.WaitRandom != 0, s.Breaker.WaitRandom != 0 && (p == Wait || p == Multiplier || p == WaitMax):
		text = "a wait that varies by chance: " + text
	case p == WaitMax:
		text += "; the wait does not grow so far in the openings that were waited for"
	case p == SlowRate || p == SlowDuration:
		text += "; no slow calls were sent, see what was left out"
	}
	return text
}

// differs names what explains a difference.
func (j *judge) differs(r *Report, c *contradiction) {
	culprits := j.culprits()
	if len(culprits) == 0 && j.alone(c) {
		r.Reason = fmt.Sprintf("call %s was answered without the dependency, and the calls around it were not: what answered it is no open breaker, but a cache, a limit or another policy; "+
			"send calls that nothing answers but the dependency", c.at.call)
		r.Rows = j.undecided(r.Reason)
		return
	}
	r.Difference = j.difference(c)
	var told System
	for _, k := range culprits {
		r.Difference.Explained = append(r.Difference.Explained, k.words())
	}
	named := map[Param][]string{}
	for _, k := range culprits {
		told = k.sys
		for _, p := range k.params {
			named[p] = append(named[p], show(p, k.sys.number(p)))
		}
	}
	for _, p := range params() {
		if !j.d.has(p) && named[p] == nil {
			continue
		}
		row := j.row(p)
		row.Predicted = row.Declared
		switch values := named[p]; {
		case len(culprits) == 0:
			row.Verdict, row.Reason = Undecided, "what was seen is explained by no configuration near the declared one"
		case values != nil && j.always(p, culprits):
			row.Verdict, row.Observed = Fail, oneOf(values)
		case values != nil:
			row.Verdict, row.Observed = Undecided, oneOf(values)
			row.Reason = "this may be the difference, or another parameter is"
		default:
			played, _ := told.play(j.seen)
			row = j.proved(p, told, played)
		}
		r.Rows = append(r.Rows, row)
	}
}

// alone reports whether a call was refused by a breaker that should be closed, and one that
// came soon after it was not: an open breaker refuses several in a row.
func (j *judge) alone(c *contradiction) bool {
	if c.why != "refused" || c.state != breakerref.Closed || c.at.kind != refused {
		return false
	}
	const row = 3
	n := 0
	for _, e := range j.seen.events[c.index:] {
		switch e.kind {
		case refused:
			if n++; n == row {
				return false
			}
		case admitted:
			return true
		default:
		}
	}
	return false
}

// always reports whether every explanation changes a parameter.
func (j *judge) always(p Param, all []culprit) bool {
	return !slices.ContainsFunc(all, func(k culprit) bool { return !slices.Contains(k.params, p) })
}

// culprit is a system that explains what was seen, and in what it differs from the
// declared one.
type culprit struct {
	params []Param
	sys    System
}

func (k culprit) words() string {
	var words []string
	for _, p := range k.params {
		words = append(words, say(p, k.sys.number(p)))
	}
	return strings.Join(words, " and ")
}

// oneOf lists values of which one is meant, the first and the last where there are many.
func oneOf(values []string) string {
	values = slices.Compact(values)
	const most = 3
	if len(values) > most {
		return values[0] + " to " + values[len(values)-1]
	}
	return strings.Join(values, " or ")
}

// culprits are the systems that explain what was seen, with one parameter changed, or if
// none does with two.
func (j *judge) culprits() []culprit {
	var all []culprit
	for _, p := range params() {
		for _, v := range j.candidates(j.d.System, p) {
			if s, ok := j.d.with(p, v); ok && j.explains(s) {
				all = append(all, culprit{[]Param{p}, s})
			}
		}
	}
	if len(all) > 0 {
		return j.probable(all)
	}
	return j.probable(j.pairs())
}

// probable leaves out what explains the waits by chance alone, where something else says
// of each how long it is.
func (j *judge) probable(all []culprit) []culprit {
	const improbable = 0.02
	random := func(k culprit) bool { return slices.Contains(k.params, Random) }
	if !slices.ContainsFunc(all, func(k culprit) bool { return !random(k) }) {
		return all
	}
	return slices.DeleteFunc(all, func(k culprit) bool {
		r, _ := k.sys.play(j.seen)
		return random(k) && r.chance() < improbable
	})
}

// pairs changes two parameters, where the first already explains more than what is
// declared does.
func (j *judge) pairs() []culprit {
	_, c := j.d.play(j.seen)
	var all []culprit
	for i, p := range params() {
		for _, v := range j.candidates(j.d.System, p) {
			s, ok := j.d.with(p, v)
			if !ok {
				continue
			}
			if _, further := s.play(j.seen); further == nil || further.index <= c.index {
				continue
			}
			all = append(all, j.seconds(s, p, i)...)
		}
	}
	return all
}

// seconds are the systems that explain what was seen, with one more parameter changed than
// in one that does not. Of two parameters that explain as much alone, the pair comes once.
func (j *judge) seconds(s System, first Param, i int) []culprit {
	var all []culprit
	for k, q := range params() {
		if q == first {
			continue
		}
		for _, w := range j.candidates(s, q) {
			two, ok := s.with(q, w)
			if !ok || !j.explains(two) {
				continue
			}
			pair := culprit{[]Param{first, q}, two}
			if k < i {
				pair.params = []Param{q, first}
			}
			all = append(all, pair)
		}
	}
	return all
}

// candidates are values that a parameter may have instead: its neighbours, and of waits
// what was measured.
func (j *judge) candidates(s System, p Param) []float64 {
	all := s.neighbours(p)
	if p == Wait {
		all = append(all, j.measuredWaits()...)
	}
	if !s.has(p) {
		return nil
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// measuredWaits are roundest numbers within what the first open states lasted.
func (j *judge) measuredWaits() []float64 {
	var all []float64
	for _, w := range j.firstWaits() {
		if v, ok := roundest(w.Lo, w.Hi); ok {
			all = append(all, float64(v))
		}
	}
	return all
}

// firstWaits are the open states of a breaker that was closed before, by what calls were
// refused and let through, whatever any configuration says.
func (j *judge) firstWaits() []waited {
	var all []waited
	var failedLo, failedHi, refusedLo time.Duration
	refusing := false
	for _, e := range j.seen.events {
		switch e.kind {
		case ended:
			failedLo, failedHi = e.lo, e.hi
		case refused:
			refusing, refusedLo = true, e.lo
		case admitted:
			if refusing && failedHi > 0 && refusedLo > failedHi {
				all = append(all, waited{1, refusedLo - failedHi, e.hi - failedLo})
			}
			refusing = false
		default:
		}
	}
	return all
}

// roundest is the duration of the fewest digits in a range.
func roundest(lo, hi time.Duration) (time.Duration, bool) {
	for unit := 10 * time.Minute; unit >= time.Millisecond; unit = smaller(unit) {
		if v := hi / unit * unit; v >= lo && v > 0 {
			return v, true
		}
	}
	return 0, false
}

func smaller(unit time.Duration) time.Duration {
	for _, u := range []time.Duration{
		time.Minute, 10 * time.Second, time.Second, 500 * time.Millisecond, 100 * time.Millisecond,
		50 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond, time.Millisecond,
	} {
		if u < unit {
			return u
		}
	}
	return 0
}

// difference says where the declared system would have done something else.
func (j *judge) difference(c *contradiction) *Difference {
	d := &Difference{Call: c.at.call, Phase: c.at.phase, Sequence: spaced(c.history)}
	n := len(c.history)
	switch {
	case c.ofRetry:
		d.Says = fmt.Sprintf("%s; the reference makes up to %d attempts", c.why, j.d.tries())
	case c.at.kind == gaveUp:
		d.Says = fmt.Sprintf("a call that failed was not tried again after attempt %d; the reference makes %d attempts", c.at.attempt, j.d.tries())
	case c.why == "let through" && c.state == breakerref.Open && c.was.refusedAt == 0 && c.was.before != "":
		d.Sequence = spaced(c.was.before)
		d.Says = fmt.Sprintf("the reference opens at call %d, yours %s", len(c.was.before), j.later(c, len(c.was.before)))
	case c.why == "let through" && c.state == breakerref.Open:
		d.Sequence = spaced(c.was.before)
		d.Says = fmt.Sprintf("yours let a call through %v after it had opened; the reference refuses calls for %v",
			(c.at.hi - c.was.openHi).Round(time.Millisecond), (c.was.untilLo - c.was.openedLo).Round(time.Millisecond))
	case c.why == "let through":
		d.Says = fmt.Sprintf("the reference is %v and permits no more than %d calls; yours let another through", c.state, j.d.Breaker.Permitted)
	case c.state == breakerref.Open:
		d.Sequence = spaced(c.was.before)
		d.Says = fmt.Sprintf("yours refused a call %v after it had opened; the reference does so for %v",
			(c.at.lo - c.was.openHi).Round(time.Millisecond), (c.was.untilHi - c.was.openHi).Round(time.Millisecond))
	case c.state == breakerref.HalfOpen:
		d.Says = fmt.Sprintf("after %d calls of a half-open visit the reference still permits some; yours refuses them", n)
	default:
		d.Says = fmt.Sprintf("the reference stays closed after call %d; yours has opened", n)
	}
	return d
}

func spaced(s string) string { return strings.Join(strings.Split(s, ""), " ") }

// later says after how many outcomes the service refuses, where the reference has opened
// after n.
func (j *judge) later(c *contradiction, n int) string {
	for _, e := range j.seen.events[c.index:] {
		switch e.kind {
		case ended:
			n++
		case refused:
			return fmt.Sprintf("at call %d", n)
		default:
		}
	}
	return fmt.Sprintf("not in %d calls", n)
}
