package proxy

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// bufferedEvents is how many events of a breaker the actuator remembers, whatever their
// kind: Resilience4j's default (eventConsumerBufferSize).
const bufferedEvents = 100

// note is what a breaker's event of a call's end tells beside its kind.
type note struct {
	took   time.Duration
	reason string // of a failure, and of an ignored error
}

// entry is an event as the actuator tells it.
type entry struct {
	breakerref.Event
	note
}

// timed reports whether the event is the end of a call.
func (e entry) timed() bool {
	return e.Kind == breakerref.EventSuccess || e.Kind == breakerref.EventFailure || e.Kind == breakerref.EventIgnored
}

// journal is what becomes of a breaker's events: the last of them, and the numbers that
// go by events and not by the window. Its breaker's lock guards it.
type journal struct {
	events                      []entry // oldest first
	successful, failed, ignored timer
	refused                     int
}

// newJournal returns an empty journal.
func newJournal(now time.Time) *journal {
	t := timer{max: decayingMax{rotated: now}}
	return &journal{successful: t, failed: t, ignored: t}
}

// add takes events, of which at most one is the end of a call, which n is of.
func (j *journal) add(events []breakerref.Event, n note) {
	for _, event := range events {
		e := entry{Event: event}
		switch e.Kind {
		case breakerref.EventSuccess:
			e.took = n.took
			j.successful.record(e.At, n.took)
		case breakerref.EventFailure:
			e.note = n
			j.failed.record(e.At, n.took)
		case breakerref.EventIgnored:
			e.note = n
			j.ignored.record(e.At, n.took)
		case breakerref.EventNotPermitted:
			j.refused++
		default:
		}
		if len(j.events) == bufferedEvents {
			j.events = slices.Delete(j.events, 0, 1)
		}
		j.events = append(j.events, e)
	}
}

// timer counts calls, as one of micrometer does.
type timer struct {
	count int
	sum   time.Duration
	max   decayingMax
}

// record leaves a negative duration out, of a clock that has stepped back.
func (t *timer) record(now time.Time, took time.Duration) {
	if took < 0 {
		return
	}
	t.count++
	t.sum += took
	t.max.record(now, took)
}

// decayingMax is the longest duration of the last two to three minutes, by the rule of
// micrometer 1.15 (TimeWindowMax) with the step of its Prometheus registry: three places
// take every duration, and each minute the next one is shown and the one before emptied.
type decayingMax struct {
	places  [3]time.Duration
	shown   int
	rotated time.Time
}

// rotateEvery is how long a place is shown.
const rotateEvery = time.Minute

func (d *decayingMax) record(now time.Time, took time.Duration) {
	d.rotate(now)
	for i := range d.places {
		d.places[i] = max(d.places[i], took)
	}
}

func (d *decayingMax) read(now time.Time) time.Duration {
	d.rotate(now)
	return d.places[d.shown]
}

// rotate does not go on turning when all is empty, however long nobody asked.
func (d *decayingMax) rotate(now time.Time) {
	since := now.Sub(d.rotated)
	if since >= rotateEvery*time.Duration(len(d.places)) {
		*d = decayingMax{rotated: now.Add(-(since % rotateEvery))}
		return
	}
	for ; since >= rotateEvery; since -= rotateEvery {
		d.places[d.shown] = 0
		d.shown = (d.shown + 1) % len(d.places)
		d.rotated = d.rotated.Add(rotateEvery)
	}
}
