package resilience4j

import (
	"cmp"
	"fmt"
	"strconv"
)

// Module is a kind of Resilience4j's policies.
type Module int

// The modules, in the order of the library's documentation.
const (
	CircuitBreaker Module = iota
	Retry
	Bulkhead
	ThreadPoolBulkhead
	RateLimiter
	TimeLimiter
)

// Modules returns all of them, in their order.
func Modules() []Module {
	return []Module{CircuitBreaker, Retry, Bulkhead, ThreadPoolBulkhead, RateLimiter, TimeLimiter}
}

// String returns the module's name below resilience4j, such as "thread-pool-bulkhead".
func (m Module) String() string {
	switch m {
	case CircuitBreaker:
		return "circuitbreaker"
	case Retry:
		return "retry"
	case Bulkhead:
		return "bulkhead"
	case ThreadPoolBulkhead:
		return "thread-pool-bulkhead"
	case RateLimiter:
		return "ratelimiter"
	case TimeLimiter:
		return "timelimiter"
	}
	return fmt.Sprintf("Module(%d)", int(m))
}

// noun is how a sentence speaks of one of the module's instances.
func (m Module) noun() string {
	switch m {
	case CircuitBreaker:
		return "a circuit breaker"
	case Retry:
		return "a retry"
	case Bulkhead:
		return "a bulkhead"
	case ThreadPoolBulkhead:
		return "a thread pool bulkhead"
	case RateLimiter:
		return "a rate limiter"
	case TimeLimiter:
		return "a time limiter"
	}
	return m.String()
}

// Pos is a place in a file, counted from 1. The zero value is no place.
type Pos struct {
	File      string
	Line, Col int
}

// String returns file:line:col, or only the file where there is no line.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

func (p Pos) compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Source says who gave a value. The zero value is FromLibrary.
type Source int

// The sources of a value.
const (
	FromLibrary  Source = iota // nobody: it is the library's default
	FromInstance               // the instance's own block
	FromConfig                 // a named config
)

// Origin says where a value came from.
type Origin struct {
	Source Source
	Config string // the config's name, with FromConfig
	Pos    Pos    // of the value; none with FromLibrary
}

// String returns such as "application.yml:12:7", "config shared, application.yml:5:7"
// or "library default".
func (o Origin) String() string {
	switch o.Source {
	case FromInstance:
		return o.Pos.String()
	case FromConfig:
		return "config " + o.Config + ", " + o.Pos.String()
	case FromLibrary:
	}
	return "library default"
}

// Setting is a property with its value. Key is the usual spelling (slidingWindowSize).
// Value is normalised: durations as Go writes them without trailing zeros ("1m", "2.5s"),
// numbers without trailing zeros ("50"), constants in capitals ("TIME_BASED"), lists in
// brackets ("[java.io.IOException, a.B]"). An empty Value is no value: the property has no
// default, or is not in force.
type Setting struct {
	Key    string
	Value  string
	Origin Origin
}

// Block is what a file says of one instance or config, as written: in the order of the
// file, what a later document overrides left out.
type Block struct {
	Module   Module
	Config   bool // of a config, not of an instance
	Name     string
	At       Pos       // of its first property
	Settings []Setting // Key as the table of the module spells it, Value normalised, else as written
}

// ProblemKind says what is wrong.
type ProblemKind int

// The kinds of problems.
const (
	Unknown    ProblemKind = iota // a key that Spring passes over in silence
	Removed                       // one that an older version of the library knew
	Refused                       // Spring would not start
	Unresolved                    // a placeholder without a value; Spring would not start
	Missing                       // a baseConfig that is not there; Spring would not start
	Cycle                         // a config that is based on itself; Spring would not start
	Undecided                     // the value depends on the order in which the library creates things
)

// String returns the kind's name, such as "refused".
func (k ProblemKind) String() string {
	names := []string{"unknown", "removed", "refused", "unresolved", "missing", "cycle", "undecided"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("ProblemKind(%d)", int(k))
	}
	return names[k]
}

// StopsSpring reports whether an application with such a problem does not start.
func (k ProblemKind) StopsSpring() bool {
	return k == Refused || k == Unresolved || k == Missing || k == Cycle
}

// Problem is something that is wrong with a file, or surprising. Key is the whole key as
// written; Text a sentence without its place.
type Problem struct {
	Pos  Pos
	Kind ProblemKind
	Key  string
	Text string
}

// Error returns file:line:col: text, with the key between them where the text does not
// name it.
func (p Problem) Error() string {
	if p.Key == "" || p.Kind != Unknown && p.Kind != Removed && p.Kind != Unresolved {
		return p.Pos.String() + ": " + p.Text
	}
	return p.Pos.String() + ": " + p.Key + ": " + p.Text
}
