package assert

import (
	"fmt"
	"strings"
	"time"
)

// The subjects of shares and latencies beside the names of classes.
const (
	SubjectAll   = "all"   // every call; of a latency only
	SubjectShort = "short" // rejected, see SetShort
	SubjectError = "error" // no complete answer, or a status of 500 and above that no class but rejected and unclassified claims
)

// Criterion bounds one number of the calls of a stretch of time, such as
// "primary.share >= 99.5%" or "latency.p99 <= 300ms".
type Criterion struct {
	Subject  string        `json:"subject" yaml:"subject"`                       // a class, short, error; all for the latency of every call
	Quantile float64       `json:"quantile,omitempty" yaml:"quantile,omitempty"` // of a latency, see QuantileBound; 0: a share
	AtLeast  bool          `json:"at_least" yaml:"at_least"`                     // >=; else <=
	Share    float64       `json:"share,omitempty" yaml:"share,omitempty"`       // 0..1
	Latency  time.Duration `json:"latency,omitempty" yaml:"latency,omitempty"`
}

// String is the criterion as it is written in an experiment.
func (c Criterion) String() string {
	op := "<="
	if c.AtLeast {
		op = ">="
	}
	if c.Quantile == 0 {
		return fmt.Sprintf("%s.share %s %s", c.Subject, op, percent(c.Share))
	}
	subject := strings.TrimPrefix(c.Subject+".", SubjectAll+".")
	return fmt.Sprintf("%slatency.%s %s %s", subject, quantileName(c.Quantile), op, short(c.Latency))
}

// Share bounds the share of a class, of rejected calls or of errors among all
// calls of the phase to Targets (empty: all). It is about what clients get, so
// that it needs no breaker. A nil bound is not asked.
type Share struct {
	Subject string // a class, SubjectShort or SubjectError
	Breaker string // of SubjectShort: whose rejections
	Targets []string
	Min     *float64 // 0..1
	Max     *float64
}

// Latency bounds the time to answer calls of a subject. It passes by the time
// since a call was due and fails by the time since it was sent, so that what the
// generator was late never fails a SUT.
type Latency struct {
	Subject string // SubjectAll or a class
	Targets []string
	Bounds  []QuantileBound
}

// FallbackForbidden says that no call to certain routes is answered by class
// fallback. Routes and Methods both have to fit; an empty list fits all.
type FallbackForbidden struct {
	Routes  []string // paths of targets, without the query; a * at the end stands for any rest
	Methods []string
}

// RecoveryTime bounds the time from the end of the fault until Target begins to
// hold for a stretch of For.
type RecoveryTime struct {
	Breaker string // whose injector was faulted, and whose wait is reported as the floor
	Max     time.Duration
	Target  Criterion
	For     time.Duration
}

// AbandonedAfter says after which time the SUT gives up an attempt that is not
// answered. One of Equals and Max is asked.
type AbandonedAfter struct {
	Injector  string
	Equals    time.Duration
	Tolerance float64 // share of Equals, 0..1
	Max       time.Duration
}

// DownstreamCalls bounds the attempts at an injector in the phase, all of them or
// those that arrived while a breaker was in a state.
type DownstreamCalls struct {
	Injector string
	Breaker  string // of When
	When     State  // empty: always
	Min      *int
	Max      *int
}

// Kind implements [Rule].
func (r Share) Kind() string { return r.Subject + ".share" }

// Kind implements [Rule].
func (r Latency) Kind() string {
	return strings.TrimPrefix(r.Subject+".latency", SubjectAll+".")
}

// Kind implements [Rule].
func (FallbackForbidden) Kind() string { return "fallback.forbidden" }

// Kind implements [Rule].
func (RecoveryTime) Kind() string { return "recovery.time" }

// Kind implements [Rule].
func (AbandonedAfter) Kind() string { return "downstream.abandoned_after" }

// Kind implements [Rule].
func (DownstreamCalls) Kind() string { return "downstream.calls" }

func (r Share) expected() string { return r.Kind() }

func (r Share) judge(*evidence, Assertion) Verdict {
	return Verdict{Result: Inconclusive, Reason: "not built yet"}
}

func (r Latency) expected() string { return r.Kind() }

func (r Latency) judge(*evidence, Assertion) Verdict {
	return Verdict{Result: Inconclusive, Reason: "not built yet"}
}

func (r FallbackForbidden) expected() string { return r.Kind() }

func (r FallbackForbidden) judge(*evidence, Assertion) Verdict {
	return Verdict{Result: Inconclusive, Reason: "not built yet"}
}

func (r RecoveryTime) expected() string { return r.Kind() }

func (r RecoveryTime) judge(*evidence, Assertion) Verdict {
	return Verdict{Result: Inconclusive, Reason: "not built yet"}
}

func (r AbandonedAfter) expected() string { return r.Kind() }

func (r AbandonedAfter) judge(*evidence, Assertion) Verdict {
	return Verdict{Result: Inconclusive, Reason: "not built yet"}
}

func (r DownstreamCalls) expected() string { return r.Kind() }

func (r DownstreamCalls) judge(*evidence, Assertion) Verdict {
	return Verdict{Result: Inconclusive, Reason: "not built yet"}
}
