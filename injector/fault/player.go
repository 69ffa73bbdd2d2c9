package fault

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Player holds a valid script and gives out its phases.
type Player struct {
	phases map[string][]ruled
}

// ruled is a rule with the hash that its latencies are drawn from.
type ruled struct {
	rule *Rule
	hash uint64
}

// NewPlayer copies script, so that nobody changes it under a run, and numbers
// rules without an ID as phase/number from 1. Its error joins all problems that
// [Validate] finds.
func NewPlayer(script Script, seed uint64) (*Player, error) {
	if problems := Validate(script); len(problems) > 0 {
		errs := make([]error, len(problems))
		for i, p := range problems {
			errs[i] = p
		}
		return nil, errors.Join(errs...)
	}
	p := &Player{phases: map[string][]ruled{}}
	for name, rules := range script.Phases {
		for n, r := range rules {
			r.ID = ruleID(name, n, r)
			r.Match.Header = maps.Clone(r.Match.Header)
			r.Respond.Headers = maps.Clone(r.Respond.Headers)
			if r.Hold != nil {
				hold := *r.Hold
				r.Hold = &hold
			}
			p.phases[name] = append(p.phases[name], ruled{rule: &r, hash: seedHash(seed, r.ID)})
		}
	}
	return p, nil
}

// ruleID names a rule in the trace.
func ruleID(phase string, index int, r Rule) string {
	if r.ID != "" {
		return r.ID
	}
	return phase + "/" + strconv.Itoa(index+1)
}

// Rules are all rules of the script, by phase name and then in their order.
func (p *Player) Rules() []*Rule {
	var all []*Rule
	for _, name := range slices.Sorted(maps.Keys(p.phases)) {
		for _, r := range p.phases[name] {
			all = append(all, r.rule)
		}
	}
	return all
}

// Phase starts a phase: all its rules have seen nothing. A name that the script
// does not know is a phase of a healthy dependency.
func (p *Player) Phase(name string) *Phase {
	return &Phase{rules: p.phases[name], seen: make([]atomic.Uint64, len(p.phases[name]))}
}

// Phase decides the requests of one phase. It is safe for concurrent use: each
// rule gives a request its index by one atomic addition and decides by nothing
// but that index.
type Phase struct {
	rules []ruled
	seen  []atomic.Uint64
}

// Decide says what happens to a request that has just arrived. It must be asked
// once per request: asking counts.
func (ph *Phase) Decide(r Request) Verdict {
	for n, ruled := range ph.rules {
		if ruled.rule.Action.Door() || ruled.rule.Action == ActionSettings || !ruled.rule.Match.Matches(r) {
			continue
		}
		index := ph.seen[n].Add(1) - 1
		if ruled.rule.Select.Hit(index) {
			return Verdict{Rule: ruled.rule, Index: index, Latency: ruled.rule.Latency.draw(ruled.hash, index), hash: ruled.hash}
		}
	}
	return Verdict{}
}

// Connect says with which settings a connection of HTTP/2 begins; nil: as a sound server's. Asking counts, by
// the rules of ActionSettings.
func (ph *Phase) Connect() *H2Settings {
	for n, ruled := range ph.rules {
		if ruled.rule.Action == ActionSettings && ruled.rule.Select.Hit(ph.seen[n].Add(1)-1) {
			return ruled.rule.Settings
		}
	}
	return nil
}

// Rules are the phase's rules in their order.
func (ph *Phase) Rules() []*Rule {
	rules := make([]*Rule, len(ph.rules))
	for n, r := range ph.rules {
		rules[n] = r.rule
	}
	return rules
}

// Count is what became of one rule in a phase.
type Count struct {
	Rule string // its ID
	Seen uint64 // requests that matched it and that no earlier rule took
	Hit  uint64 // of these, the selected ones
}

// Counts says of each rule, in their order, what it has seen and hit so far. A
// rule that hit nothing is a fault that never fired.
func (ph *Phase) Counts() []Count {
	counts := make([]Count, len(ph.rules))
	for n, r := range ph.rules {
		seen := ph.seen[n].Load()
		counts[n] = Count{Rule: r.rule.ID, Seen: seen, Hit: r.rule.Select.Hits(seen)}
	}
	return counts
}

// Matches reports whether m selects r.
func (m Match) Matches(r Request) bool {
	if m.Method != "" && !strings.EqualFold(m.Method, r.Method) {
		return false
	}
	if !pathMatches(m.Path, r.Path) {
		return false
	}
	for key, value := range m.Header {
		if r.Header == nil || r.Header(key) != value {
			return false
		}
	}
	return true
}

// pathMatches reports whether path is the pattern, or begins with it when it
// ends in *; an empty pattern matches every path.
func pathMatches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == "" || pattern == path
}

// draw takes the latency of one request: uniform over the nanoseconds from Min
// to Max, both included.
func (l Latency) draw(hash, index uint64) time.Duration {
	if l.Max <= l.Min {
		return l.Min
	}
	// The high word of a product scales a 64-bit number to [0, span] with a
	// bias below span/2^64.
	over, _ := bits.Mul64(mix(hash+(index+1)*golden), uint64(l.Max-l.Min)+1)
	return l.Min + time.Duration(over)
}

// golden is the increment of SplitMix64: 2^64 over the golden ratio, made odd.
const golden = 0x9E3779B97F4A7C15

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// seedHash starts the stream of one rule.
func seedHash(seed uint64, id string) uint64 {
	h := fnv.New64a()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seed)
	h.Write(b[:])
	h.Write([]byte(id))
	return h.Sum64()
}
