package model_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// eachPreset checks a property of every preset.
func eachPreset(t *testing.T, property func(*rapid.T, model.Config)) {
	for _, name := range model.Presets() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, drawSmall(t, name)) })
		})
	}
}

// drawSmall returns a preset made small, so that its states are near.
func drawSmall(t *rapid.T, name string) model.Config {
	cfg, _ := model.Preset(name)
	cfg.Trip.Failures = min(cfg.Trip.Failures, 3)
	if cfg.Window.Size > 0 {
		cfg.Window.Size = min(cfg.Window.Size, 4)
	}
	cfg.Trip.Min = min(cfg.Trip.Min, 4)
	if cfg.HalfOpen.Admit == model.Total {
		cfg.HalfOpen.Permits = rapid.IntRange(1, 3).Draw(t, "permits")
		cfg.HalfOpen.Successes = cfg.HalfOpen.Permits
	}
	return cfg
}

func steps(cfg model.Config) []time.Duration {
	return []time.Duration{
		1, time.Millisecond, 500 * time.Millisecond, time.Second, cfg.Open.Interval, cfg.Window.Period / 3, cfg.Window.Period,
		cfg.Open.Wait - 1, cfg.Open.Wait, cfg.Open.Wait + 1, cfg.Open.Wait + time.Millisecond, time.Hour,
	}
}

// play is a run of the machine that operations are applied to.
type play struct {
	m     *model.Machine
	now   time.Time
	calls []model.Token
}

func begin(t *rapid.T, cfg model.Config) *play {
	p := &play{now: time.Unix(1_735_689_600, 123_456_789)}
	m, err := model.New(cfg, p.now)
	if err != nil {
		t.Fatal(err)
	}
	p.m = m
	return p
}

// apply does an operation. answer is that of an acquire.
func (p *play) apply(op operation) (token model.Token, answer model.Answer) {
	switch op.kind {
	case acquire:
		token, answer = p.m.Acquire(p.now)
		if answer == model.Admitted {
			p.calls = append(p.calls, token)
		}
	case success, failure, ignore:
		if len(p.calls) == 0 {
			break
		}
		at := op.which % len(p.calls)
		token = p.calls[at]
		p.calls = append(p.calls[:at:at], p.calls[at+1:]...)
		p.m.Record(p.now, token, op.outcome(), 0)
	case wait:
		p.now = p.now.Add(op.wait)
	case look:
		p.m.Look(p.now)
	}
	return token, answer
}

// What holds for every preset whatever is done to it.
func TestProperties(t *testing.T) {
	visited := map[string]map[breakerref.State]bool{}
	eachPreset(t, func(t *rapid.T, cfg model.Config) {
		p := begin(t, cfg)
		if visited[cfg.Name] == nil {
			visited[cfg.Name] = map[breakerref.State]bool{}
		}
		probes := 0
		for _, op := range drawOperations(t, steps(cfg)) {
			before := p.m.State()
			_, answer := p.apply(op)
			if op.kind == wait {
				holdTime(t, cfg, p, before)
			}
			after := p.m.State()
			visited[cfg.Name][after] = true
			if before != breakerref.HalfOpen || after != breakerref.HalfOpen {
				probes = 0
			}
			if after == breakerref.HalfOpen && answer == model.Admitted {
				probes++
			}
			if op.kind == ignore && cfg.HalfOpen.Ignored == model.ProbeReleased {
				probes--
			}
			if cfg.HalfOpen.Admit == model.Total && probes > cfg.HalfOpen.Permits {
				t.Fatalf("%d probes were admitted, %d are permitted", probes, cfg.HalfOpen.Permits)
			}
			holdCounts(t, p.m.Counts())
		}
	})
	for _, name := range model.Presets() {
		cfg, _ := model.Preset(name)
		want := 3
		if cfg.HalfOpen.Admit == model.AdmitAll || cfg.HalfOpen.Admit == model.OnePerWait {
			want = 2
		}
		if got := len(visited[name]); got != want {
			t.Errorf("%s was seen in %d states, of %d", name, got, want)
		}
	}
}

// holdTime holds what time alone may do: close only where no call is needed to, and
// nothing before NextTimer.
func holdTime(t *rapid.T, cfg model.Config, p *play, before breakerref.State) {
	due, ok := p.m.NextTimer()
	early := p.m.Clone()
	if ok && due.After(p.now) || !ok {
		early.Advance(p.now)
		if early.State() != before {
			t.Fatalf("it went from %v to %v before its timer", before, early.State())
		}
	}
	halves := p.m.Clone()
	p.m.Advance(p.now)
	if after := p.m.State(); after == breakerref.Closed && before != breakerref.Closed {
		if cfg.Open.Exit != model.ExitTick && cfg.Open.Exit != model.ExitChecks {
			t.Fatal("time alone has closed it")
		}
	}
	for { // In steps it comes to the same.
		due, ok := halves.NextTimer()
		if !ok || due.After(p.now) {
			break
		}
		halves.Advance(due)
	}
	halves.Advance(p.now)
	if a, b := halves.State(), p.m.State(); a != b {
		t.Fatalf("it is %v in steps and %v at once", a, b)
	}
	if diff := cmp.Diff(halves.Counts(), p.m.Counts()); diff != "" {
		t.Fatalf("counts in steps (-) and at once (+):\n%s", diff)
	}
}

func holdCounts(t *rapid.T, c model.Counts) {
	for _, n := range []int{c.Calls, c.Successes, c.Failures, c.Ignored, c.ConsecutiveSuccesses, c.ConsecutiveFailures} {
		if n < 0 {
			t.Fatalf("a count is below 0: %+v", c)
		}
	}
	if c.ConsecutiveSuccesses > 0 && c.ConsecutiveFailures > 0 {
		t.Fatalf("two runs at once: %+v", c)
	}
}

// A clone goes its own way, and the original does not notice.
func TestClone(t *testing.T) {
	eachPreset(t, func(t *rapid.T, cfg model.Config) {
		p := begin(t, cfg)
		twin := begin(t, cfg)
		for _, op := range drawOperations(t, steps(cfg)) {
			clone := p.m.Clone()
			spoiled := p.m
			p.m = clone
			for range 3 {
				token, answer := spoiled.Acquire(p.now.Add(time.Hour))
				if answer == model.Admitted {
					spoiled.Record(p.now.Add(2*time.Hour), token, model.Failure, 0)
				}
			}
			tokenA, answerA := p.apply(op)
			tokenB, answerB := twin.apply(op)
			if tokenA != tokenB || answerA != answerB {
				t.Fatalf("%v: the clone says %v, its twin %v", op, answerA, answerB)
			}
			if a, b := p.m.State(), twin.m.State(); a != b {
				t.Fatalf("%v: the clone is %v, its twin %v", op, a, b)
			}
			if diff := cmp.Diff(twin.m.Counts(), p.m.Counts()); diff != "" {
				t.Fatalf("%v: twin (-) and clone (+):\n%s", op, diff)
			}
		}
	})
}

// Whatever passes Validate can be played.
func TestValidConfigsPlay(t *testing.T) {
	valid := 0
	eachPreset(t, func(t *rapid.T, cfg model.Config) {
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			edit(t, &cfg)
		}
		now := time.Unix(1_735_689_600, 0)
		_, err := model.New(cfg, now)
		if (err == nil) != (cfg.Validate() == nil) {
			t.Fatalf("Validate says %v, New says %v", cfg.Validate(), err)
		}
		if err != nil {
			t.Skip()
		}
		valid++
		p := begin(t, cfg)
		for _, op := range drawOperations(t, steps(cfg)) {
			p.apply(op)
			holdCounts(t, p.m.Counts())
		}
	})
	t.Logf("%d edited configurations were valid", valid)
	if valid == 0 {
		t.Error("no edited configuration was valid")
	}
}

// edit changes one thing.
func edit(t *rapid.T, c *model.Config) {
	n := rapid.IntRange(0, 3).Draw(t, "value")
	d := time.Duration(n) * 700 * time.Millisecond
	rapid.SampledFrom([]func(){
		func() { c.Serial = !c.Serial },
		func() { c.Clock = d },
		func() { c.Count.AtStart = !c.Count.AtStart },
		func() { c.Count.Rejected = !c.Count.Rejected },
		func() { c.Count.Ignored = model.Ignored(n % 2) },
		func() { c.Window.Kind, c.Window.Size, c.Window.Period, c.Window.Buckets = model.CountSliding, n, 0, 0 },
		func() { c.Window.Kind, c.Window.Size, c.Window.Period, c.Window.Buckets = model.TimeSliding, 0, d, n+1 },
		func() { c.Window.Kind, c.Window.Size, c.Window.Period, c.Window.Buckets = model.TimeTumbling, 0, d, 0 },
		func() { c.Window = model.Window{Scope: c.Window.Scope} },
		func() { c.Window.Align = model.Align(n) },
		func() { c.Window.Scope = model.Scope(n % 2) },
		func() { c.Window.ByStart = !c.Window.ByStart },
		func() { c.Window.Complete = !c.Window.Complete },
		func() { c.Trip = model.Trip{Rule: model.Consecutive, Failures: n, Judged: c.Trip.Judged} },
		func() { c.Trip = model.Trip{Rule: model.Failures, Failures: n, Judged: c.Trip.Judged} },
		func() {
			c.Trip = model.Trip{Rule: model.Rate, Rate: float64(n) / 3, Min: n, Over: n == 1, Arithmetic: model.Arithmetic(n), Judged: c.Trip.Judged}
		},
		func() { c.Trip.Judged = model.Judged(n) },
		func() { c.Open.Exit, c.Open.Interval, c.Open.Rise = model.Exit(n), d, n },
		func() { c.Open.Wait = d },
		func() { c.Open.Growth, c.Open.Factor = model.Exponential, float64(n)/2+0.5 },
		func() { c.Open.Growth, c.Open.Factor, c.Open.MaxWait = model.Linear, 0, time.Minute },
		func() { c.HalfOpen = model.HalfOpen{} },
		func() { c.HalfOpen = model.HalfOpen{Admit: model.OnePerWait} },
		func() {
			c.HalfOpen = model.HalfOpen{Admit: model.Concurrent, Permits: n, Results: n, Rate: 0.5, Min: n}
		},
		func() { c.HalfOpen = model.HalfOpen{Admit: model.Unlimited, Successes: n, Failures: n} },
		func() { c.HalfOpen.Results = n },
		func() { c.HalfOpen.Ignored = model.ProbeIgnored(n) },
		func() { c.Late = model.Late(n % 2) },
		func() { c.Clear.OnTrip = !c.Clear.OnTrip },
		func() { c.Clear.OnClose = model.OnClose(n % 3) },
		func() { c.Hosts = model.Hosts{Count: n} },
	}).Draw(t, "edit")()
}
