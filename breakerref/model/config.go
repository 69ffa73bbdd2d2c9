package model

import "time"

// Config describes a breaker by what it does at each place where breakers differ.
// It is plain data: two equal configurations behave alike. Start from a preset; the
// zero value is not valid. A field that the rest of the configuration makes
// meaningless has to be zero: Validate refuses it rather than ignore it.
type Config struct {
	Name string // in errors only

	Count    Count
	Window   Window
	Trip     Trip
	Open     Open
	HalfOpen HalfOpen
	Late     Late
	Clear    Clear
	Hosts    Hosts

	// Clock is the grain of the modelled clock: every instant is cut down to a
	// multiple of it. 0: nanoseconds.
	Clock time.Duration
	// Serial lets one call run at a time, in every state; the others wait.
	Serial bool
}

// Count says what counts.
type Count struct {
	// AtStart counts a call when it starts, so that calls under way are part of
	// the calls in a rate. Otherwise a call counts when its outcome is recorded.
	AtStart bool
	// Rejected counts refused calls as calls, too. It needs AtStart.
	Rejected bool
	// Ignored says what an Ignored outcome counts as.
	Ignored Ignored
	// Timeout makes a failure of every call that took so long or longer. The real
	// thing cuts the call there, and its caller records it at that instant.
	// 0: none.
	Timeout time.Duration
}

// Ignored says what an outcome counts as that is neither success nor failure. The
// zero value is IgnoredDropped.
type Ignored int

// What an ignored outcome may count as.
const (
	IgnoredDropped Ignored = iota // as nothing; HalfOpen.Ignored says what becomes of a probe
	IgnoredSuccess                // as a success
)

// Window says over what outcomes are added up.
type Window struct {
	Kind    WindowKind
	Size    int           // of CountSliding and CountTumbling: outcomes
	Period  time.Duration // of TimeSliding, TimeTumbling and Gap
	Buckets int           // of TimeSliding: Period is divided into so many
	Align   Align         // of TimeSliding: when a bucket begins
	// ByStart counts an outcome in the bucket in which its call started, if the
	// window still holds it, and not at all otherwise. Of TimeSliding with
	// AlignStart.
	ByStart bool
	// Complete hides the bucket that is being filled from the trip rule. Of
	// TimeSliding with AlignStart.
	Complete bool
	Scope    Scope
}

// WindowKind is the kind of a window. The zero value is Cumulative.
type WindowKind int

// The kinds of windows.
const (
	Cumulative    WindowKind = iota // everything since the window was cleared
	CountSliding                    // the last Size outcomes
	CountTumbling                   // Size outcomes, judged when they are complete, then cleared
	TimeSliding                     // the last Period, in Buckets
	TimeTumbling                    // a Period, cleared by the first touch after its end
	Gap                             // failures, until a success after a call that came more than Period after the last failure
)

// Align says when a bucket of a sliding window begins. The zero value is
// AlignStart.
type Align int

// The alignments of buckets.
const (
	AlignStart       Align = iota // a bucket's length after another, from when the window was last cleared
	AlignWall                     // at multiples of a bucket's length since 1970; aged by outcomes only
	AlignWrite                    // with the first outcome after the last bucket's end; each forgotten Period after its begin
	AlignOnePerWrite              // as AlignWrite, but an outcome forgets one bucket at most, whatever time has passed
)

// Scope says for how long a window lives. The zero value is PerState.
type Scope int

// The scopes of a window.
const (
	PerState Scope = iota // CLOSED and HALF_OPEN begin with a window of their own; OPEN keeps the one before it
	Shared                // one window sees the outcomes of all states
)

// Trip says when CLOSED ends.
type Trip struct {
	Rule     Rule
	Failures int     // of Consecutive and Failures: so many or more
	Rate     float64 // of Rate: from 0 to 1; in percent if Arithmetic is Percent
	Over     bool    // of Rate: more than Rate, where otherwise Rate is enough
	Min      int     // calls in the window before the rule is asked; 0: none. Not of Consecutive
	// Arithmetic is how a rate is computed, because the last bit decides.
	Arithmetic Arithmetic
	Judged     Judged
	// OnLook lets reading the state ask the rule, as a call does. Of OnAcquire.
	OnLook bool
	// Masked answers the call that opens the breaker with the breaker's own error.
	Masked bool
}

// Rule is what a trip rule looks at. The zero value is no rule.
type Rule int

// The trip rules.
const (
	Consecutive Rule = iota + 1 // failures in a row
	Failures                    // failures in the window
	Rate                        // failures in the window by calls in the window
)

// Arithmetic is how a rate is compared with its threshold. The zero value is
// Quotient.
type Arithmetic int

// The ways to compare f failures of n calls with a threshold r.
const (
	Quotient Arithmetic = iota // f/n with r
	Rounded                    // f/n, rounded to two decimals, with r
	Product                    // f with r*n
	Percent                    // f/n*100 with r
)

// Judged is the moment at which the trip rule is asked. The zero value is
// OnFailure.
type Judged int

// The moments at which a trip rule may be asked.
const (
	OnFailure Judged = iota // when a failure was recorded
	OnRecord                // when any outcome was recorded: a success can trip
	OnAcquire               // when the next call asks; that call is refused
	OnTick                  // when a bucket of the window is complete
)

// Open says how long OPEN lasts.
type Open struct {
	Wait    time.Duration
	Growth  Growth
	Factor  float64       // of Exponential
	MaxWait time.Duration // of Linear and Exponential; 0: no limit
	// Decay shortens the wait by one step at every tick in CLOSED, where otherwise
	// closing forgets all openings. Of ExitTick with Linear.
	Decay bool

	Exit Exit
	// After refuses a call at the very instant at which the wait is over. Of
	// ExitCall.
	After bool
	// OnLook lets reading the state end the wait, as a call does. Of ExitCall.
	OnLook   bool
	Interval time.Duration // of ExitTick and ExitChecks: time between two
	Rise     int           // of ExitChecks: checks in a row that close
}

// Growth says how waits grow from opening to opening. The zero value is Constant.
type Growth int

// The growths of a wait.
const (
	Constant    Growth = iota
	Linear             // Wait times the number of openings
	Exponential        // Wait times Factor for every opening after the first
)

// Exit says what ends OPEN. The zero value is ExitCall.
type Exit int

// What ends OPEN.
const (
	ExitCall   Exit = iota // the first call after the wait
	ExitTimer              // a timer, when the wait is over
	ExitTick               // the first tick of Interval at which the wait is over
	ExitChecks             // Rise active checks, one every Interval; they are taken to succeed. There is no wait
)

// HalfOpen says what follows OPEN, and what decides.
type HalfOpen struct {
	Admit   Admit
	Permits int // of Total and Concurrent

	// Results keeps the last so many outcomes of HALF_OPEN. 0: all.
	Results int
	// Successes that close, Failures that reopen. Closing goes first.
	Successes, Failures int
	// Rate, if not 0, decides instead, once there are Min outcomes: a success rate
	// above 1-Rate closes, a failure rate of Rate reopens. Both are rounded to two
	// decimals.
	Rate float64
	Min  int

	// Ignored says what becomes of a probe whose outcome is ignored, if
	// Count.Ignored drops it.
	Ignored ProbeIgnored
}

// Admit says which calls pass after OPEN. The zero value is AdmitAll.
type Admit int

// What passes after OPEN.
const (
	AdmitAll     Admit = iota // there is no HALF_OPEN: OPEN ends in CLOSED
	Total                     // Permits calls, until something is decided
	Concurrent                // Permits calls at a time; every outcome gives one permit back, whoever had it
	Unlimited                 // every call
	OnePerWait                // there is no HALF_OPEN: OPEN lets one call pass each time its wait is over, and a success closes
	WaitForProbe              // one call; the others wait for its outcome
)

// ProbeIgnored says what becomes of a probe that is ignored. The zero value is
// ProbeHangs.
type ProbeIgnored int

// What may become of an ignored probe.
const (
	ProbeHangs    ProbeIgnored = iota // nothing: its permit is lost
	ProbeReleased                     // its permit is free again
	ProbeCloses                       // it closes, and clears nothing
	ProbeReopens                      // it reopens
)

// Late says what becomes of an outcome whose call was admitted before the last
// change of state. The zero value is LateDropped.
type Late int

// What may become of a late outcome.
const (
	LateDropped  Late = iota // it does not count, nor if a tumbling window ended in between
	LateCounted              // it counts for the state that it finds, as if admitted there
	LateByOrigin             // it counts for the state that admitted its call. Of WaitForProbe
)

// Clear says when the window is cleared.
type Clear struct {
	OnTrip  bool
	OnClose OnClose // of Scope Shared
	// OnCheck clears at every active check, in every state. Of ExitChecks.
	OnCheck bool
}

// OnClose says what closing does to a shared window. The zero value is Keep.
type OnClose int

// What closing may do to a window.
const (
	Keep        OnClose = iota // nothing
	ClearAfter                 // it is cleared, the closing success included
	ClearBefore                // it is cleared, and the closing success is the first in it
	ClearApart                 // as ClearBefore, but the success has a bucket of no length of its own. Of Window.Complete
)

// Hosts describes the pool whose one member the breaker watches. The others are
// taken to be healthy. Of Gap and ExitTick.
type Hosts struct {
	Count int // of the pool, the watched one included
	// MaxEjected is the most of the pool that may be out, in percent; AlwaysOne
	// lets one host be out whatever that says. Of ExitTick.
	MaxEjected int
	AlwaysOne  bool
	// Panic sends calls to all hosts, whatever their state, while less than so
	// many percent of them are healthy. Of ExitTick.
	Panic int
	// Merge is how long the balancer waits for more news before it heeds that the
	// host went out or came back, if it has heeded other news no longer ago than
	// that. Until then calls go where they went before. 0: it heeds all at once. Of
	// ExitTick.
	Merge time.Duration
}
