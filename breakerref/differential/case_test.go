package differential_test

import (
	"math"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// run is a case: a configuration, and what happens to a breaker that has it.
type run struct {
	setting setting
	ops     []op
}

// setting is a configuration, with what the library asks of errors and values.
type setting struct {
	breakerref.Config
	start      time.Duration // of the case, from the second that stories begin with
	record     byte          // which errors are failures: '-' all, or the recorded ones, 'c' by class, 'p' by predicate
	ignore     byte          // which errors do not count: '-' none, or the ignored ones, 'c' by class, 'p' by predicate
	results    bool          // recordResult says that bad values are failures
	verdicts   bool          // transitionOnResult says what the operation says
	precedence bool          // ignoreExceptionsPrecedenceEnabled, which must not matter
}

// kind says what an operation does. Its letter is that of the harness.
type kind byte

const (
	tryAcquire kind = 'a'
	acquire    kind = 'A' // the one that throws
	success    kind = 's'
	failed     kind = 'e' // an error, of a class
	returned   kind = 'v' // a value, of a class
	calls      kind = 'k' // a call in the library's hands that returns a value
	callFails  kind = 'K' // one that ends in an error
	release    kind = 'p'
	advance    kind = '+'
	transition kind = 't' // by hand, as are those that follow
	openFor    kind = 'w'
	openTill   kind = 'u'
	reset      kind = 'R'
)

// op is an operation. The zero values of what it does not need are left.
type op struct {
	kind kind
	end  ending
	wait time.Duration // of advance, openFor; of openTill from now
	to   breakerref.State
}

// ending is how a call ends. What it says of transitionOnResult holds only if the setting has verdicts.
type ending struct {
	class   byte // of a value: 'g' good, 'b' bad, 'n' none; of an error: 'r' recorded, 'i' ignored, 'u' neither, 'n' none
	wrap    byte // around an error: '-' nothing, 'c' CompletionException, 'x' ExecutionException
	verdict byte // '-' nothing, 'o' open, 'f' open for wait, 'u' open until now + wait
	took    time.Duration
	wait    time.Duration
}

// epoch is the second that a case begins in, as a story does.
func epoch() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }

func (s setting) begin() time.Time { return epoch().Add(s.start) }

// appendLine appends the line that the harness reads.
func (r run) appendLine(line []byte) []byte {
	line = r.setting.appendTo(line)
	for _, o := range r.ops {
		line = append(line, ' ')
		line = o.appendTo(line)
	}
	return append(line, '\n')
}

func (s setting) appendTo(line []byte) []byte {
	window := byte('C')
	if s.WindowType == breakerref.TimeBased {
		window = 'T'
	}
	line = strconv.AppendInt(line, s.begin().UnixNano(), 10)
	line = append(line, ' ', window)
	line = number(line, flag(s.LockFree), int64(s.Window), int64(s.MinimumCalls),
		int64(math.Float32bits(s.FailureRate)), int64(math.Float32bits(s.SlowRate)), int64(s.SlowDuration))
	line = s.appendWaits(append(line, ' '))
	line = number(line, flag(s.AutoHalfOpen), int64(s.Permitted), int64(s.HalfOpenMaxWait), flag(s.HalfOpenMaxWaitCloses))
	line = append(line, ' ', s.Initial.String()[0], ' ', s.record, ' ', s.ignore)
	return number(line, flag(s.results), flag(s.verdicts), flag(s.precedence))
}

func (s setting) appendWaits(line []byte) []byte {
	switch {
	case len(s.Waits) > 0:
		line = append(line, 't')
		for i, w := range s.Waits {
			if i > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendInt(line, int64(w), 10)
		}
		return line
	case s.WaitMultiplier != 0:
		line = strconv.AppendInt(append(line, 'e'), int64(s.Wait), 10)
		return number(line, int64(math.Float64bits(s.WaitMultiplier)), int64(s.WaitMax))
	}
	return strconv.AppendInt(append(line, 'f'), int64(s.Wait), 10)
}

func (o op) appendTo(line []byte) []byte {
	switch o.kind {
	case success:
		return strconv.AppendInt(append(line, 's'), int64(o.end.took), 10)
	case failed:
		return o.end.appendTo(append(line, 'e', o.end.wrap))
	case returned, calls, callFails:
		return o.end.appendTo(append(line, byte(o.kind)))
	case advance, openFor, openTill:
		return strconv.AppendInt(append(line, byte(o.kind)), int64(o.wait), 10)
	case transition:
		return append(line, o.to.String()[0])
	case tryAcquire, acquire, release, reset:
	}
	return append(line, byte(o.kind))
}

func (e ending) appendTo(line []byte) []byte {
	line = strconv.AppendInt(append(line, e.class, e.verdict), int64(e.took), 10)
	if e.wait != 0 {
		line = strconv.AppendInt(append(line, ','), int64(e.wait), 10)
	}
	return line
}

func number(line []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		line = strconv.AppendInt(append(line, ' '), n, 10)
	}
	return line
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
