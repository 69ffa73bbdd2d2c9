package fault

import (
	"slices"
	"time"
)

// TCP is what becomes of a connection that is passed on byte by byte, for as long as the
// phase lasts. Connections that are open when a phase begins, or when a fault is added, are
// drawn like new ones. When the phase ends they are passed on soundly again, except those
// that hang: they end by FIN.
type TCP struct {
	Up   *Stream `json:"up,omitempty" yaml:"up,omitempty"`     // from the caller to the upstream
	Down *Stream `json:"down,omitempty" yaml:"down,omitempty"` // from the upstream to the caller
	Life *Life   `json:"life,omitempty" yaml:"life,omitempty"`
}

// Life ends a connection so long after the fault has begun for it, whatever is sent.
type Life struct {
	For time.Duration `json:"for" yaml:"for"`
	By  Action        `json:"by" yaml:"by"` // ActionReset or ActionClose
}

// Stream is what becomes of the bytes of one direction. They keep their order.
type Stream struct {
	// Latency is that of every byte: drawn once for a connection, and added to the time at
	// which the byte came. It makes nothing slower than that.
	Latency   Latency    `json:"latency,omitzero" yaml:"latency,omitempty"`
	Bandwidth int64      `json:"bandwidth,omitempty" yaml:"bandwidth,omitempty"` // bytes a second; 0: no limit
	Scope     Scope      `json:"scope,omitempty" yaml:"scope,omitempty"`         // of Bandwidth
	Slice     *Slice     `json:"slice,omitempty" yaml:"slice,omitempty"`
	End       *StreamEnd `json:"end,omitempty" yaml:"end,omitempty"`
}

// Scope is who shares a bandwidth.
type Scope string

// The scopes.
const (
	ScopeConnection Scope = ""     // nobody: each connection has it for itself
	ScopeRule       Scope = "rule" // all connections that the rule hit, in this direction
	ScopeAll        Scope = "all"  // all connections, of all rules of the phase that say so, both directions together
)

// StreamEnd is what happens when After bytes of a direction were passed on; 0: at once.
type StreamEnd struct {
	After int64 `json:"after" yaml:"after"`
	// By is ActionReset (RST to both sides), ActionClose (FIN to both sides, and what they
	// still send is thrown away) or ActionHang: what comes further in this direction is read
	// and thrown away. A FIN of the upstream is, too; one of the caller is passed on.
	By Action `json:"by" yaml:"by"`
}

// Through returns the latency of one of the directions (0 up, 1 down) for the connection
// that the verdict is about. One that changes with time is that of the instant in
// which the connection was drawn for.
func (v Verdict) Through(s *Stream, direction uint64) time.Duration {
	if s == nil {
		return 0
	}
	return s.Latency.draw(mix(v.hash^(direction+1)*golden), v.nth, v.at)
}

// Hangs reports whether nothing more comes of some direction.
func (t *TCP) Hangs() bool {
	for _, s := range []*Stream{t.Up, t.Down} {
		if s != nil && s.End != nil && s.End.By == ActionHang {
			return true
		}
	}
	return false
}

// checkTCP looks at a rule for connections that are passed on.
func (r Rule) checkTCP(ps *problems) {
	if r.TCP == nil || *r.TCP == (TCP{}) {
		ps.add("tcp", "is empty; write what becomes of a connection: up, down or life")
		return
	}
	r.checkConn(ps)
	if r.Latency.Longest() != 0 {
		ps.add("latency", "has no meaning with action tcp; write it for up or down")
	}
	if l := r.TCP.Life; l != nil && (l.For <= 0 || l.By != ActionReset && l.By != ActionClose) {
		ps.add("tcp.life", "is %v, then %q; write a time above 0, and reset or close", l.For, l.By)
	}
	r.TCP.Up.check("tcp.up", ps)
	r.TCP.Down.check("tcp.down", ps)
}

func (s *Stream) check(field string, ps *problems) {
	if s == nil {
		return
	}
	for _, p := range s.Latency.Problems() {
		ps.add(field+"."+p.Field, "%s", p.Text)
	}
	s.Latency.placeless(field+".latency", "bytes", ps)
	if s.Bandwidth < 0 || s.Bandwidth == 0 && s.Scope != "" {
		ps.add(field+".bandwidth", "is %d bytes a second; must be above 0", s.Bandwidth)
	}
	if !slices.Contains([]Scope{ScopeConnection, ScopeRule, ScopeAll}, s.Scope) {
		ps.add(field+".scope", "%q is none of rule, all; for one of each connection leave it out", s.Scope)
	}
	if s.Slice != nil && (s.Slice.Size < 1 || s.Slice.Gap < 0) {
		ps.add(field+".slice", "is %d bytes every %v; write at least 1 byte and no negative time", s.Slice.Size, s.Slice.Gap)
	}
	if e := s.End; e != nil && (e.After < 0 || e.By != ActionReset && e.By != ActionClose && e.By != ActionHang) {
		ps.add(field+".end", "after %d bytes, by %q; write 0 bytes or more, and reset, close or hang", e.After, e.By)
	}
	if s.Latency.Longest() == 0 && s.Bandwidth == 0 && s.Slice == nil && s.End == nil && len(s.Latency.Problems()) == 0 {
		ps.add(field, "says nothing; leave it out")
	}
}

// shared is the bandwidth that the rule shares with others, if it does.
func (r Rule) shared() []int64 {
	if r.TCP == nil {
		return nil
	}
	var rates []int64
	for _, s := range []*Stream{r.TCP.Up, r.TCP.Down} {
		if s != nil && s.Scope == ScopeAll {
			rates = append(rates, s.Bandwidth)
		}
	}
	return rates
}

// checkShared looks for two rates of what is one.
func (r Rule) checkShared(rules []Rule, ps *problems) {
	own := r.shared()
	for _, e := range rules {
		own = append(own, e.shared()...)
	}
	if slices.ContainsFunc(own, func(rate int64) bool { return rate != own[0] }) {
		ps.add("tcp.bandwidth", "all share one bandwidth with scope all, and it is said to be %d and others; write the same everywhere", own[0])
	}
}

// clone copies what the caller might change.
func (t *TCP) clone() *TCP {
	if t == nil {
		return nil
	}
	c := *t
	c.Up, c.Down = c.Up.clone(), c.Down.clone()
	if c.Life != nil {
		c.Life = new(*c.Life)
	}
	return &c
}

func (s *Stream) clone() *Stream {
	if s == nil {
		return nil
	}
	c := *s
	c.Latency = c.Latency.clone()
	if c.Slice != nil {
		c.Slice = new(*c.Slice)
	}
	if c.End != nil {
		c.End = new(*c.End)
	}
	return &c
}
