package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// The letters of a script: what the dependency does with a request.
const (
	good     = 'S' // answers at once
	bad      = 'F' // answers with a failure
	slowly   = 'L' // answers well, after more than the threshold of slow calls
	quickly  = 'Q' // answers well, after less than it
	overtime = 'W' // answers well, after more than the longest half-open stay
)

// opensAt is after how many outcomes of a script a closed and empty breaker opens; 0: it
// does not. each is how long an outcome takes to come.
func (s System) opensAt(script string, each time.Duration) int {
	now := time.Unix(1_700_000_000, 0)
	m, err := breakerref.New(s.effective(), now)
	if err != nil {
		return 0
	}
	for i, l := range []byte(script) {
		now = now.Add(each)
		m.Record(now, l == bad, s.took(l))
		if m.State() == breakerref.Open {
			return i + 1
		}
	}
	return 0
}

// took is how long a call of a letter takes, as the breaker sees it.
func (s System) took(l byte) time.Duration {
	switch l {
	case slowly:
		return s.Breaker.SlowDuration + s.margin()
	case quickly:
		return s.Breaker.SlowDuration - s.margin()
	}
	return 0
}

// margin is how far from the threshold of slow calls those are that are just above and
// below it: as much as the noise of a machine allows.
func (s System) margin() time.Duration {
	return max(s.Breaker.SlowDuration/10, min(30*time.Millisecond, s.Breaker.SlowDuration/2))
}

// fills are scripts for a closed and empty breaker that open it with their last outcome,
// and that together tell it from its neighbours in the window, the minimum and the rate.
// probes are calls that were made before.
func (s System) fills(probes string) []string {
	minimum := s.first()
	first, ok := s.until(slowFill{script: probes}, bad, 20*minimum+2)
	if !ok {
		return nil
	}
	all := []string{first.script}
	fixed := []string{strings.Repeat(string(bad), minimum)}
	if need := least(minimum, s.Breaker.FailureRate); need < minimum {
		fixed = append(fixed, strings.Repeat(string(bad), need)+strings.Repeat(string(good), minimum-need))
	}
	rivals := s.apart(systems(s.rivals(Window, Minimum, FailureRate, WindowType)), all[0])
	c := cover{sys: s, rivals: rivals, all: s.rivals(Window, Minimum, FailureRate, WindowType), fixed: fixed}
	c.chance = rand.New(rand.NewPCG(uint64(s.Breaker.Window), uint64(minimum)))
	c.told = make([]string, len(c.all))
	c.tell(all[0])
	const most = 4
	for len(all) < most && len(c.rivals) > 0 {
		best := ""
		if b := s.Breaker; len(all) == 1 && b.WindowType == breakerref.CountBased && b.Window <= mostDoubled {
			best = c.best(2 * b.Window) // So long that a larger window is not as good as one without end.
		}
		if best == "" {
			best = c.best(0)
		}
		if best == "" {
			break
		}
		c.rivals = s.apart(c.rivals, best)
		c.tell(best)
		all = append(all, best)
	}
	if more := c.naming(); more != "" && len(all) < most {
		all = append(all, more)
	}
	return all
}

// naming is a script by which far fewer neighbours of different parameters look alike than
// without it; empty: there is none.
func (c *cover) naming() string {
	const tries = 40
	best, fewest := "", c.alike("")/2
	for range tries {
		script := c.sys.walk(c.chance, 0)
		if script == "" || c.sys.opensAt(script, pace) != len(script) {
			continue
		}
		if n := c.alike(script); n < fewest || n == fewest && best != "" && len(script) < len(best) {
			best, fewest = script, n
		}
	}
	return best
}

// mostDoubled is the largest window that is filled twice.
const mostDoubled = 100

// cover chooses scripts one after another, each the best beside those before it.
type cover struct {
	sys    System
	rivals []System // that no script tells from the system yet
	all    []rival
	told   []string // what the scripts so far show of each
	fixed  []string // scripts to be tried first
	chance *rand.Rand
}

// best is the script that leaves the fewest rivals; of several the one by which fewest of
// different parameters look alike, and then the shortest. It has a length of least or more.
func (c *cover) best(least int) string {
	const tries = 80
	best, left, alike := "", len(c.rivals), 0
	for i := range tries {
		var script string
		if i < len(c.fixed) {
			script = c.fixed[i]
		} else {
			script = c.sys.walk(c.chance, least)
		}
		if len(script) < max(least, 1) || c.sys.opensAt(script, pace) != len(script) {
			continue
		}
		rest := len(c.sys.apart(c.rivals, script))
		if rest > left || rest == len(c.rivals) {
			continue
		}
		same := c.alike(script)
		if rest < left || same < alike || same == alike && len(script) < len(best) {
			best, left, alike = script, rest, same
		}
	}
	return best
}

// shows is what a script shows of each of all rivals, with the failures that follow where
// it has not opened one.
func (c *cover) shows(script string) []int {
	script += strings.Repeat(string(bad), c.sys.first()+c.sys.Breaker.Window)
	var at []int
	for _, r := range c.all {
		at = append(at, r.sys.opensAt(script, pace))
	}
	return at
}

// alike counts the pairs of rivals of different parameters that would show the same.
func (c *cover) alike(script string) int {
	groups := map[string]map[Param]int{}
	for i, at := range c.shows(script) {
		key := fmt.Sprint(c.told[i], at)
		if groups[key] == nil {
			groups[key] = map[Param]int{}
		}
		groups[key][c.all[i].param]++
	}
	pairs := 0
	for _, g := range groups {
		sum, own := 0, 0
		for _, n := range g {
			sum += n
			own += n * n
		}
		pairs += sum*sum - own
	}
	return pairs
}

// tell notes what a script shows.
func (c *cover) tell(script string) {
	for i, at := range c.shows(script) {
		c.told[i] += fmt.Sprint(at, " ")
	}
}

// rival is a neighbour of a system in a parameter.
type rival struct {
	param Param
	sys   System
}

// rivals are the neighbours of a system in some parameters.
func (s System) rivals(ps ...Param) []rival {
	var all []rival
	for _, p := range ps {
		if !s.has(p) {
			continue
		}
		for _, v := range s.neighbours(p) {
			if other, ok := s.with(p, v); ok {
				all = append(all, rival{p, other})
			}
		}
	}
	return all
}

func systems(all []rival) []System {
	var out []System
	for _, r := range all {
		out = append(out, r.sys)
	}
	return out
}

// pace is about how long a call takes in a closed breaker.
const pace = 3 * time.Millisecond

// apart are those of the rivals that do the same as the system with a script.
func (s System) apart(rivals []System, script string) []System {
	at := s.opensAt(script, pace)
	var same []System
	for _, r := range rivals {
		if r.opensAt(script, pace) == at {
			same = append(same, r)
		}
	}
	return same
}

// walk is a script, of a length of least or more, that stays as close to opening the breaker as it can for some time and
// then opens it; empty: it found none.
func (s System) walk(chance *rand.Rand, least int) string {
	now := time.Unix(1_700_000_000, 0)
	m, err := breakerref.New(s.effective(), now)
	if err != nil {
		return ""
	}
	minimum := s.first()
	length := minimum + chance.IntN(minimum+2)
	if s.Breaker.WindowType == breakerref.CountBased {
		length = s.Breaker.Window + chance.IntN(s.Breaker.Window+2)
		if chance.IntN(3) == 0 {
			length = minimum + chance.IntN(max(1, s.Breaker.Window-minimum)+1)
		}
	}
	length = max(length, least)
	often := []float64{0.3, 0.5, 0.7, 1}[chance.IntN(4)]
	var script []byte
	for len(script) < length {
		now = now.Add(pace)
		l := byte(good)
		if chance.Float64() < often && s.safe(m, now, minimum) {
			l = bad
		}
		m.Record(now, l == bad, 0)
		script = append(script, l)
		if m.State() == breakerref.Open {
			return "" // The rate is so low that no success helps.
		}
	}
	for range 2*length + 2 {
		now = now.Add(pace)
		m.Record(now, true, 0)
		script = append(script, bad)
		if m.State() == breakerref.Open {
			return string(script)
		}
	}
	return ""
}

// safe reports whether a breaker survives a failure that successes follow.
func (s System) safe(m *breakerref.Machine, now time.Time, minimum int) bool {
	c := m.Clone()
	c.Record(now, true, 0)
	for range minimum {
		if c.State() != breakerref.Closed || c.Metrics(now).Buffered >= minimum {
			break
		}
		c.Record(now, false, 0)
	}
	return c.State() == breakerref.Closed
}

// slowFill is a script of which some calls are slow; those from one to another may be sent
// at once.
type slowFill struct {
	script   string
	from, to int
	closing  string // the half-open visit after it; empty: any that closes it
}

// slowFills open a closed and empty breaker, and tell it from its neighbours in what it
// calls slow and how many of those open it; nil: nothing does.
func (s System) slowFills() []slowFill {
	minimum := s.first()
	need := least(minimum, s.Breaker.SlowRate)
	if need > minimum || need < 1 || s.Breaker.SlowDuration < shortestSlow {
		return nil
	}
	calm := strings.Repeat(string(good), minimum-need)
	if n := s.twoSlow(minimum); need == 1 && n > 0 {
		calm, need = strings.Repeat(string(good), n-1), 2
	}
	busy := strings.Repeat(string(slowly), need-1)
	begin := slowFill{script: calm + busy + string(good) + string(quickly), from: len(calm), to: len(calm) + len(busy)}
	if lower, ok := s.with(SlowDuration, float64(s.took(quickly)-1)); !ok || s.opensAt(begin.script, pace) != 0 || lower.opensAt(begin.script, pace) != len(begin.script) {
		// The window does not hold both. So calls just below the threshold are for the visit: as
		// many as would open it again if they were slow.
		begin.script = calm + busy + string(good)
		h := s.decides()
		n := min(h, least(h, s.Breaker.SlowRate))
		begin.closing = strings.Repeat(string(quickly), n) + strings.Repeat(string(good), h-n)
	}
	if s.opensAt(begin.script, pace) != 0 {
		return nil
	}
	const few = 5
	if f, ok := s.until(begin, slowly, few); ok {
		return []slowFill{f}
	}
	// More slow calls would not do soon: one call opens it at the first decision, or failures
	// do later.
	first, ok1 := s.until(slowFill{script: calm + busy, from: begin.from, to: begin.to}, slowly, 1)
	second, ok2 := s.until(begin, bad, 2*(s.Breaker.Window+minimum)+2)
	if !ok1 || !ok2 {
		return nil
	}
	return []slowFill{first, second}
}

// twoSlow is the smallest number of outcomes of which two have to be slow, where one is
// enough of fewer; 0: there is none.
func (s System) twoSlow(from int) int {
	most := s.Breaker.Window
	if s.Breaker.WindowType == breakerref.TimeBased {
		most = 2*from + 120
	}
	for n := from; n <= most; n++ {
		if least(n, s.Breaker.SlowRate) == 2 {
			return n
		}
	}
	return 0
}

// until goes on with calls of a letter until it opens.
func (s System) until(f slowFill, l byte, most int) (slowFill, bool) {
	for range most {
		f.script += string(l)
		if s.opensAt(f.script, pace) != 0 {
			return f, true
		}
	}
	return f, false
}

// shortestSlow is the shortest threshold of slow calls that a machine's noise lets tell.
const shortestSlow = 40 * time.Millisecond

// slowVisits reports whether slow calls in a half-open visit show of a rate what scripts for
// a closed breaker do not.
func (s System) slowVisits(fills []slowFill) bool {
	rivals := systems(s.rivals(SlowRate))
	for _, f := range fills {
		rivals = s.apart(rivals, f.script)
	}
	h := s.decides()
	return slices.ContainsFunc(rivals, func(r System) bool {
		return least(h, r.Breaker.SlowRate) != least(h, s.Breaker.SlowRate)
	})
}
