package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// None is the instant of something that did not happen: a call without a first
// byte, an attempt that nobody abandoned.
const None time.Duration = -1

// ErrKind says why a call has no complete answer; empty means it has one.
type ErrKind string

// The kinds of failure that a client of the SUT can see.
const (
	ErrNone     ErrKind = ""
	ErrRefused  ErrKind = "refused"  // nobody listens
	ErrReset    ErrKind = "reset"    // RST from the SUT
	ErrEOF      ErrKind = "eof"      // connection closed before the answer was complete
	ErrTimeout  ErrKind = "timeout"  // the client gave up
	ErrCanceled ErrKind = "canceled" // faultline stopped the load
	ErrTLS      ErrKind = "tls"      // no sound TLS: the certificate, an alert, a peer that speaks none; Detail has the text
	ErrProtocol ErrKind = "protocol" // what came is no HTTP/1.1, such as HTTP/2, or only the beginning of a status line, after which net/http does not tell how the connection ended; Detail has the text
	ErrOther    ErrKind = "other"    // anything else; Detail has the text
)

// Detailed reports whether the kind alone does not say what happened, so that Call.Detail has the text.
func (k ErrKind) Detailed() bool { return k == ErrTLS || k == ErrProtocol || k == ErrOther }

// Call is one client request as its sender saw it (a front span).
type Call struct {
	ID       string        `json:"id"` // phase/seq
	Phase    string        `json:"phase"`
	Target   string        `json:"target"`
	Sched    time.Duration `json:"t_sched"` // when it was due; equals Send in calls mode
	Send     time.Duration `json:"t_send"`
	First    time.Duration `json:"t_first"` // first byte of the answer, or None
	End      time.Duration `json:"t_end"`   // end of the body, or of the failure
	Status   int           `json:"status"`  // 0 when there was no answer
	Err      ErrKind       `json:"error,omitempty"`
	Detail   string        `json:"detail,omitempty"`
	Class    string        `json:"class"`
	Instance string        `json:"instance,omitempty"`
	Session  *Session      `json:"session,omitempty"` // nil: it is of none
	Told     *Told         `json:"told,omitempty"`    // what the answer says of itself; nil: nothing that is looked for

	RetryAfter string `json:"retry_after,omitempty"` // that header of the answer
	Port       int    `json:"port,omitempty"`        // of the client's end of the connection that it was sent on; 0: not known
}

// Told is what an answer says of itself.
type Told struct {
	Reason string            `json:"reason,omitempty"` // why it was given, if without the dependency: one of match.Reasons
	By     string            `json:"by,omitempty"`     // what of the answer says so
	Ages   map[string]string `json:"ages,omitempty"`   // how old what it holds is, by the place where it stands: a match.AgeFrom
}

// Says returns why an answer was given, if without the dependency, and what of it says so.
func (c Call) Says() (reason, by string) {
	if c.Told == nil {
		return "", ""
	}
	return c.Told.Reason, c.Told.By
}

// Age returns what the answer says of its age at a place, or nothing.
func (c Call) Age(from string) string {
	if c.Told == nil {
		return ""
	}
	return c.Told.Ages[from]
}

// Answered reports whether the SUT answered completely.
func (c Call) Answered() bool { return c.Status != 0 && c.Err == ErrNone }

// Outcome says how an attempt ended at the dependency.
type Outcome string

// How the dependency ended an attempt.
const (
	OutcomeOpen     Outcome = ""         // not ended when the trace was taken
	OutcomeAnswered Outcome = "answered" // a complete HTTP answer; Status has the code
	OutcomeReset    Outcome = "reset"    // RST
	OutcomeFIN      Outcome = "eof"      // closed without a complete answer
	OutcomeHang     Outcome = "hang"     // never answered; ended by the caller or by the end of the fault
	OutcomeUpstream Outcome = "upstream" // the real dependency behind the injector could not be reached; 502 was sent
)

// What is recorded of an answer to a caller of gRPC in the place of a status. Of neither is known
// which status a client makes of it, as libraries differ.
const (
	GRPCNoStatus   = "no_status"  // there was none: no trailers, or an answer that is none of gRPC
	GRPCUnreadable = "unreadable" // there was one, with messages or a head that clients may not be able to read
	GRPCNoMessage  = "no_message" // there was OK and no message, which is a failure to most clients that wait for one
)

// Attempt is one request that reached the dependency, or what came of one (a back
// span).
type Attempt struct {
	Seq      int           `json:"seq"` // arrival number at this injector, from 1
	Injector string        `json:"injector"`
	ID       string        `json:"id,omitempty"` // the call it belongs to, or empty
	By       string        `json:"by,omitempty"` // what it was identified by: traceparent, header:NAME, template, template:NAME, single_flight
	Phase    string        `json:"phase,omitempty"`
	Peer     string        `json:"peer,omitempty"`
	Method   string        `json:"method"`
	Path     string        `json:"path"`
	Arr      time.Duration `json:"t_arr"`
	Dep      time.Duration `json:"t_dep"`     // end of the answer, or None
	Abandon  time.Duration `json:"t_abandon"` // when the caller closed before the answer, or None
	Outcome  Outcome       `json:"outcome"`
	Status   int           `json:"status"`
	GRPC     string        `json:"grpc,omitempty"`   // the status of an answer of gRPC by its name, as UNAVAILABLE, or by its number if that has none; GRPCNoStatus, GRPCUnreadable, GRPCNoMessage; empty: not gRPC
	Rule     string        `json:"rule,omitempty"`   // the fault rule that hit it
	Action   string        `json:"action,omitempty"` // what that rule does
	Delay    time.Duration `json:"delay,omitempty"`  // the latency that it drew
	Detail   string        `json:"detail,omitempty"` // what came instead of a request that could be read; for a WebSocket, what faults did to its messages; why a fault was not played
	Late     bool          `json:"late,omitempty"`   // it waited behind a door that was deaf until that opened: it came some time before Arr
	// Stream says that it is a connection on which any call may be talked about: one whose
	// bytes are passed on, or a WebSocket; as long as it has not ended, also one that is asked for.
	Stream    bool          `json:"stream,omitempty"`
	Closed    time.Duration `json:"t_closed,omitempty"`   // of a stream: when it was over; 0: not when the trace was taken
	BytesUp   int64         `json:"bytes_up,omitempty"`   // of a connection that is passed on: to the upstream
	BytesDown int64         `json:"bytes_down,omitempty"` // and to the caller

	Spared string `json:"spared,omitempty"` // the fault rule that would have hit it, and the limit that had it pass
}

// Unread reports whether no request could be read: the attempt came no further than
// a connection, or than bytes that are no HTTP. It has no method, path or id, and
// which call made it cannot be told.
func (a Attempt) Unread() bool { return a.Method == "" && a.Detail != "" }

// Done is the outcome time o(d): when the caller abandoned the attempt, else
// when it was answered, else None.
func (a Attempt) Done() time.Duration {
	if a.Abandon != None {
		return a.Abandon
	}
	return a.Dep
}

// MarkKind names an event that is neither a call nor an attempt.
type MarkKind string

// The marks of a run.
const (
	MarkPhaseStart MarkKind = "phase_start"
	MarkPhaseEnd   MarkKind = "phase_end"
	MarkFaultOn    MarkKind = "fault_on"  // Subject is the injector
	MarkFaultOff   MarkKind = "fault_off" // Subject is the injector
	MarkDoorShut   MarkKind = "door_shut" // Subject is the injector, Text what becomes of those who connect; before the door begins to shut
	MarkDoorOpen   MarkKind = "door_open" // Subject is the injector; after it serves all who connect again
	MarkLaunch     MarkKind = "launch"    // the SUT was started by faultline, fresh
	MarkReady      MarkKind = "ready"
	MarkRung       MarkKind = "rung" // Text is the chosen correlation rung
	MarkExit       MarkKind = "sut_exit"
	MarkStall      MarkKind = "stall"        // this process did not run for Dur, ending at At
	MarkPressure   MarkKind = "cpu_pressure" // of Dur, ending at At, something on this machine waited for a CPU for the share that Text is, as 0.75
	MarkNote       MarkKind = "note"
)

// The marks of what the target told of itself when it was asked: it was so at some instant of
// the Dur that ends at At.
const (
	MarkReported MarkKind = "reported_state" // Subject is the breaker, Text its state in the target's own word
	MarkCounter  MarkKind = "counter"        // Subject is a series, Text its value; empty: the page has no such series
	MarkEvent    MarkKind = "reported_event" // Subject is the breaker, Text the instant by the target's own clock, and the change of its state, FROM_TO
	MarkUntold   MarkKind = "untold"         // Subject as of one of these; Text says why nothing was learnt
)

// Mark is one event of a run.
type Mark struct {
	At      time.Duration `json:"t"`
	Kind    MarkKind      `json:"kind"`
	Subject string        `json:"subject,omitempty"`
	Text    string        `json:"text,omitempty"`
	Dur     time.Duration `json:"dur,omitempty"`

	Instance string `json:"instance,omitempty"` // of the target, which told; empty: it is not known, or the only one
}

// Phase says what the load of one phase was meant to be and what it was.
type Phase struct {
	Name      string        `json:"name"`
	From      time.Duration `json:"from"`
	To        time.Duration `json:"to"` // end of the phase, not of its stragglers
	Measure   bool          `json:"measure"`
	OpenLoop  bool          `json:"open_loop"` // a rate was asked for
	Planned   int           `json:"planned"`   // slots that were due, or calls that were asked for
	Sent      int           `json:"sent"`
	Dropped   int           `json:"dropped"`          // slots missed because this process was late
	Saturated int           `json:"saturated"`        // slots missed because the SUT held all allowed calls
	Rounds    *Rounds       `json:"rounds,omitempty"` // of sessions; nil: it has none
}

// Header says where a trace comes from.
type Header struct {
	Format     string          `json:"format"` // always "faultline-trace"
	Version    int             `json:"version"`
	Experiment string          `json:"experiment"`
	Tool       string          `json:"tool"` // faultline's version
	Seed       uint64          `json:"seed"`
	Epoch      time.Time       `json:"epoch"` // wall clock at offset 0
	Plan       json.RawMessage `json:"plan,omitempty"`
}

// Format and Version identify the JSONL encoding that this package writes.
const (
	Format  = "faultline-trace"
	Version = 1
)

// Trace is what was seen in one run, sorted by time.
type Trace struct {
	Header   Header
	Phases   []Phase
	Calls    []Call
	Attempts []Attempt
	Marks    []Mark
}

// sort orders each kind of record by time and then by what identifies it, so
// that the order of recording leaves no mark.
func (t *Trace) sort() {
	slices.SortStableFunc(t.Phases, func(a, b Phase) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(t.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Send, b.Send), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(t.Attempts, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Arr, b.Arr), cmp.Compare(a.Injector, b.Injector), cmp.Compare(a.Seq, b.Seq))
	})
	slices.SortStableFunc(t.Marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject),
			cmp.Compare(a.Text, b.Text), cmp.Compare(a.Dur, b.Dur), cmp.Compare(a.Instance, b.Instance))
	})
}
