package imports

import (
	"reflect"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// composition puts toxics together to the fault of one connection.
type composition struct {
	tell  func(x toxic, format string, args ...any)
	lanes [2]*laneOf
	life  *fault.Life
}

// laneOf is one direction of it.
type laneOf struct {
	*composition

	shape   fault.Stream
	blocked bool // nothing passes
	fixed   time.Duration
	spread  []spread
}

// spread is a latency with jitter.
type spread struct{ middle, jitter time.Duration }

// add has one more toxic work on what the ones before let through.
func (l *laneOf) add(x toxic) {
	if l.blocked {
		l.tell(x, "nothing gets to it, as a toxic before it in its direction lets nothing through; it is left out")
		return
	}
	ms := func(key string) time.Duration { return time.Duration(x.attrs[key]) * time.Millisecond }
	switch x.at.Value {
	case "latency":
		l.late(x, ms("latency"), ms("jitter"))
	case "bandwidth":
		l.narrow(x, x.attrs["rate"]*1000)
	case "slicer":
		l.slice(x)
	case "limit_data":
		l.limit(x, x.attrs["bytes"])
	case "timeout":
		l.block(x, fault.ActionClose, ms("timeout"))
	case "reset_peer":
		l.block(x, fault.ActionReset, ms("timeout"))
	}
}

func (l *laneOf) late(x toxic, middle, jitter time.Duration) {
	if l.shape.Bandwidth > 0 || l.shape.Slice != nil {
		l.tell(x, "Toxiproxy counts the time that bytes spend in a toxic before this one as a part of the latency; here it comes on top")
	}
	if jitter == 0 {
		l.fixed += middle
		return
	}
	l.spread = append(l.spread, spread{middle, jitter})
	l.tell(x, "is drawn once for each connection here; Toxiproxy draws anew for each piece of at most 32 KiB")
	if len(l.spread) > 1 {
		l.tell(x, "the sum of two latencies with jitter is as often of every length between its ends here; with Toxiproxy those in the middle are more frequent")
	}
}

func (l *laneOf) narrow(x toxic, rate int64) {
	if rate == 0 {
		l.tell(x, "a rate of 0 lets nothing through, as with Toxiproxy (its pull request 764 would make it no limit)")
		l.blocked, l.shape.End = true, &fault.StreamEnd{By: fault.ActionHang}
		return
	}
	if l.shape.Bandwidth > 0 {
		l.tell(x, "of two bandwidths in a direction the smaller one counts")
		rate = min(rate, l.shape.Bandwidth)
	}
	l.shape.Bandwidth = rate
}

func (l *laneOf) slice(x toxic) {
	if l.shape.Slice != nil {
		l.tell(x, "a second slicer in a direction has no equivalent and is left out")
		return
	}
	l.shape.Slice = &fault.Slice{Size: x.attrs["average_size"], Gap: time.Duration(x.attrs["delay"]) * time.Microsecond}
	l.tell(x, "all pieces have average_size bytes here, but for what is left at an end; Toxiproxy halves what comes until a piece has at most so many, give or take size_variation (%d)",
		x.attrs["size_variation"])
}

func (l *laneOf) limit(x toxic, n int64) {
	if n == 0 {
		l.tell(x, "ends the connection as soon as it is made; Toxiproxy waits for the first bytes of this direction")
	}
	if e := l.shape.End; e != nil {
		l.tell(x, "of two limits in a direction the smaller one counts")
		n = min(n, e.After)
	}
	l.shape.End = &fault.StreamEnd{After: n, By: fault.ActionClose}
}

// block lets nothing through any more, and ends the connection after a time; 0: never, or
// at once by a RST.
func (l *laneOf) block(x toxic, by fault.Action, after time.Duration) {
	if l.shape.End != nil {
		l.tell(x, "nothing at all passes in its direction, so that the limit_data before it counts for nothing here; with Toxiproxy the end that it makes would come first")
	}
	l.shape.End, l.blocked = &fault.StreamEnd{By: fault.ActionHang}, true
	switch {
	case after == 0 && by == fault.ActionReset:
		l.shape.End.By = by
		l.tell(x, "resets a connection as soon as it is made, which a caller may even be told while it connects; Toxiproxy waits for the first bytes of this direction")
		return
	case after == 0:
		return
	case by == fault.ActionReset:
		l.tell(x, "its time begins with the connection here; with Toxiproxy it begins with the first bytes of this direction")
	default:
		l.tell(x, "its time begins with the connection here; Toxiproxy begins anew with each piece that comes in this direction")
	}
	switch life := l.life; {
	case life == nil:
		l.life = &fault.Life{For: after, By: by}
	case life.For <= after:
		l.tell(x, "ends nothing, as another toxic of the proxy has ended the connection before")
	default:
		l.tell(x, "ends the connection, before another toxic of the proxy could")
		l.life = &fault.Life{For: after, By: by}
	}
}

// stream is what the direction comes to; nil: all passes as it comes.
func (l *laneOf) stream() *fault.Stream {
	s := l.shape
	if l.blocked {
		s = fault.Stream{End: l.shape.End} // Nothing else could be seen.
	} else {
		s.Latency = l.latency()
	}
	if reflect.DeepEqual(s, fault.Stream{}) {
		return nil
	}
	return &s
}

// latency is the sum of all.
func (l *laneOf) latency() fault.Latency {
	least, most := l.fixed, l.fixed
	for _, s := range l.spread {
		least += max(0, s.middle-s.jitter)
		most += s.middle + s.jitter
	}
	if len(l.spread) == 1 && l.spread[0].jitter > l.spread[0].middle {
		// What would come before it is due comes at once, and so often.
		s := l.spread[0]
		atOnce := float64(s.jitter-s.middle) / float64(2*s.jitter)
		return fault.Latency{Table: &fault.Table{Points: []fault.Point{{At: least}, {Quantile: atOnce, At: least}, {Quantile: 1, At: most}}}}
	}
	return fault.Latency{Min: least, Max: most}
}
