package limit

import "time"

// Align says where the windows of a FixedWindow begin. The zero value is Clock.
type Align int

// The alignments of fixed windows.
const (
	// Clock cuts time into windows from the Unix epoch on.
	Clock Align = iota
	// FirstCall begins a window with the first call that passes while none is
	// running, as a counter in Redis that expires (INCR, EXPIRE) does.
	FirstCall
)

// String returns the name of the alignment.
func (a Align) String() string {
	switch a {
	case Clock:
		return "clock"
	case FirstCall:
		return "first call"
	}
	return "neither"
}

// FixedWindowConfig describes a FixedWindow.
type FixedWindowConfig struct {
	Limit  int
	Window time.Duration
	Align  Align
}

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c FixedWindowConfig) Validate() error {
	var p problems
	p.atLeastOne("limit", c.Limit)
	p.span("window", c.Window)
	p.require(c.Align == Clock || c.Align == FirstCall, "align", int(c.Align),
		"Clock (0) or FirstCall (1)")
	return p.join()
}

// FixedWindow lets Limit calls through in each window and begins the next one from
// zero. Around the border of two windows, twice the limit can pass in no time.
//
// A window holds its first instant and not its last. While the clock is behind
// where it has been, the limiter stands still.
type FixedWindow struct {
	cfg   FixedWindowConfig
	clock steady
	start int64 // of the window, in Unix nanoseconds
	used  int   // if 0, no window is running
}

// NewFixedWindow returns an unused limiter, or what is wrong with the configuration.
func NewFixedWindow(cfg FixedWindowConfig) (*FixedWindow, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &FixedWindow{cfg: cfg, clock: newSteady()}, nil
}

// Take asks for n calls at once.
func (f *FixedWindow) Take(now time.Time, n int) Decision {
	at, behind := f.clock.advance(now)
	if f.used == 0 || since(f.start, at) >= f.cfg.Window {
		f.used, f.start = 0, f.begin(at)
	}
	d := Decision{Limit: f.cfg.Limit}
	d.Allowed = n >= 0 && n <= f.cfg.Limit-f.used
	if d.Allowed {
		f.used += n
	}
	left := f.cfg.Window - since(f.start, at)
	if f.used > 0 {
		d.Reset = left
	}
	if !d.Allowed {
		d.RetryAfter = left
		if n < 0 || n > f.cfg.Limit {
			d.RetryAfter = Never
		}
	}
	d.Remaining = f.cfg.Limit - f.used
	return d.later(behind)
}

func (f *FixedWindow) begin(at int64) int64 {
	if f.cfg.Align == FirstCall {
		return at
	}
	_, into := cut(at, f.cfg.Window)
	return at - int64(into)
}

// cut returns the number of the window, counted from the Unix epoch, that an
// instant lies in, and how far it lies in it.
func cut(at int64, window time.Duration) (number int64, into time.Duration) {
	w := int64(window)
	number, rest := at/w, at%w
	if rest < 0 {
		number, rest = number-1, rest+w
	}
	return number, time.Duration(rest)
}
