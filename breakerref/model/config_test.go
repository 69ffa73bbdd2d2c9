package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

func TestPresets(t *testing.T) {
	names := model.Presets()
	if len(names) < 12 {
		t.Errorf("%d presets", len(names))
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(names) {
		t.Errorf("a name is there twice: %v", names)
	}
	for _, name := range names {
		cfg, ok := model.Preset(name)
		if !ok || cfg.Name != name {
			t.Errorf("preset %q: %v, named %q", name, ok, cfg.Name)
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("preset %q: %v", name, err)
		}
	}
	if _, ok := model.Preset("resilience4j"); ok {
		t.Error("a preset that is none")
	}
}

// What is refused, by an edit of a preset that makes it so. Each problem names what
// is needed.
func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		preset string
		edit   func(*model.Config)
		want   string
	}{
		{"gobreaker", func(c *model.Config) { c.Trip.Rule = 0 }, "trip.rule is 0, must be from 1 to 3"},
		{"gobreaker", func(c *model.Config) { c.Late = 3 }, "late is 3, must be from 0 to 2"},
		{"gobreaker", func(c *model.Config) { c.Trip.Failures = 0 }, "trip.failures is 0, must be at least 1"},
		{"gobreaker", func(c *model.Config) { c.Trip.Min = 3 }, "trip.min is set, but does nothing without trip.rule Failures or Rate"},
		{"gobreaker", func(c *model.Config) { c.Trip.Rate = 0.5 }, "trip.rate is set, but does nothing without trip.rule Rate"},
		{"gobreaker", func(c *model.Config) { c.Trip.Over = true }, "trip.over is set, but does nothing without trip.rule Rate"},
		{"gobreaker", func(c *model.Config) { c.Window.Size = 5 }, "window.size is set, but does nothing without a window over a count"},
		{"gobreaker", func(c *model.Config) { c.Window.Period = 5 }, "window.period is set, but does nothing without a window over time"},
		{"gobreaker", func(c *model.Config) { c.Window.Buckets = 5 }, "window.buckets is set, but does nothing without window.kind TimeSliding"},
		{"gobreaker", func(c *model.Config) { c.Window.ByStart = true }, "window.byStart is set, but does nothing without window.kind TimeSliding with window.align AlignStart"},
		{"gobreaker", func(c *model.Config) { c.Open.Wait = 0 }, "open.wait is 0s, must be above 0s"},
		{"gobreaker", func(c *model.Config) { c.Open.Interval = 1 }, "open.interval is set, but does nothing without open.exit ExitTick or ExitChecks"},
		{"gobreaker", func(c *model.Config) { c.Open.Rise = 1 }, "open.rise is set, but does nothing without open.exit ExitChecks"},
		{"gobreaker", func(c *model.Config) { c.Open.MaxWait = time.Hour }, "open.maxWait is set, but does nothing without open.growth Linear or Exponential"},
		{"gobreaker", func(c *model.Config) { c.Open.Growth = model.Exponential }, "open.factor is 0, must be above 0"},
		{"gobreaker", func(c *model.Config) { c.Open.Factor = 2 }, "open.factor is set, but does nothing without open.growth Exponential"},
		{"gobreaker", func(c *model.Config) { c.Open.Decay = true }, "open.decay is set, but does nothing without open.exit ExitTick with open.growth Linear"},
		{"gobreaker", func(c *model.Config) { c.HalfOpen.Permits = 0 }, "halfOpen.permits is 0, must be at least 1"},
		{"gobreaker", func(c *model.Config) { c.HalfOpen.Successes = 0 }, "halfOpen.successes is 0, must be at least 1"},
		{"gobreaker", func(c *model.Config) { c.HalfOpen.Results = 2 }, "count.atStart needs a window that is Cumulative, TimeTumbling, or TimeSliding with AlignStart or AlignWall, and no halfOpen.results"},
		{"gobreaker", func(c *model.Config) { c.Clear.OnClose = model.ClearAfter }, "clear.onClose is set, but does nothing without window.scope Shared"},
		{"gobreaker", func(c *model.Config) { c.Late = model.LateByOrigin }, "late LateByOrigin and halfOpen.admit WaitForProbe need one another\nlate LateByOrigin needs trip.judged OnFailure and window.scope Shared"},
		{"gobreaker", func(c *model.Config) { c.Hosts.Count = 2 }, "hosts.count is set, but does nothing without window.kind Gap or open.exit ExitTick"},
		{"gobreaker", func(c *model.Config) { c.Hosts.Panic = 2 }, "hosts.panic is set, but does nothing without open.exit ExitTick and hosts.count"},
		{"gobreaker", func(c *model.Config) { c.Clock = -1 }, "clock -1ns is below 0"},
		{"gobreaker", func(c *model.Config) { c.Count.Timeout = -1 }, "count.timeout is -1ns, must be at least 0s"},
		{"gobreaker", func(c *model.Config) { c.Count.Ignored = model.IgnoredSuccess }, "halfOpen.ignored is set, but does nothing without count.ignored IgnoredDropped"},
		{"gobreaker-rolling", func(c *model.Config) { c.Window.Buckets = 0 }, "window.buckets is 0, must be at least 1 and leave each bucket 1ns of 1m0s"},
		{"gobreaker-rolling", func(c *model.Config) { c.Window.Complete = true }, "window.byStart and window.complete exclude one another"},
		{"failsafe", func(c *model.Config) { c.Count.Rejected = true }, "count.rejected is set, but does nothing without count.atStart"},
		{"failsafe", func(c *model.Config) { c.Trip.Rule = model.Consecutive }, "trip.rule Consecutive looks at no window.size: use Failures"},
		{"failsafe-rate", func(c *model.Config) { c.Trip.Rate = 50 }, "trip.rate is 50, must be from 0 to 1 with trip.arithmetic Rounded"},
		{"failsafe-rate", func(c *model.Config) { c.Trip.Rate = math.NaN() }, "trip.rate is NaN, must be from 0 to 1 with trip.arithmetic Rounded"},
		{"failsafe-rate", func(c *model.Config) { c.HalfOpen.Min = 11 }, "halfOpen.min is 11, must be from 1 to halfOpen.results (10)"},
		{"pgmux", func(c *model.Config) { c.Window.Size = 0 }, "window.size is 0, must be from 1 to 2147483647"},
		{"pgmux", func(c *model.Config) { c.Trip.Judged = model.OnFailure }, "window.kind CountTumbling is judged when it is full: it needs trip.judged OnRecord and no trip.min"},
		{"hystrix-1.5.13", func(c *model.Config) { c.Window.Complete = false }, "trip.judged OnTick needs window.complete\nclear.onClose ClearApart needs window.complete"},
		{"hystrix", func(c *model.Config) { c.Open.OnLook = true }, "halfOpen.admit OnePerWait needs open.exit ExitCall, without open.onLook"},
		{"hystrix-1.5.13", func(c *model.Config) { c.Trip.OnLook = true }, "trip.onLook is set, but does nothing without trip.judged OnAcquire"},
		{"cockatiel-count", func(c *model.Config) { c.Clear.OnClose = model.ClearApart }, "clear.onClose ClearApart needs window.complete"},
		{"cockatiel-count", func(c *model.Config) { c.Serial = true }, "serial leaves nobody to wait for a probe: it excludes halfOpen.admit WaitForProbe"},
		{"cockatiel-count", func(c *model.Config) { c.HalfOpen.Permits = 1 }, "halfOpen.permits is set, but does nothing without halfOpen.admit Total or Concurrent"},
		{"cockatiel-count", func(c *model.Config) { c.HalfOpen.Ignored = model.ProbeHangs }, "halfOpen.admit WaitForProbe needs halfOpen.ignored ProbeCloses or ProbeReopens: others wait for the probe"},
		{"envoy", func(c *model.Config) { c.Open.MaxWait = time.Second }, "open.maxWait is 1s, must be at least open.wait (30s), or 0s for no limit"},
		{"envoy", func(c *model.Config) { c.Open.Interval = 0 }, "open.interval is 0s, must be above 0s"},
		{"envoy", func(c *model.Config) { c.Hosts.MaxEjected = 101 }, "hosts.maxEjected is 101, must be from 0 to 100 (percent)"},
		{"nginx", func(c *model.Config) { c.Open.Wait = time.Second }, "window.kind Gap has one time: window.period (10s) and open.wait (1s) must be equal, and open.growth Constant"},
		{"nginx", func(c *model.Config) { c.Hosts.Count = 0 }, "hosts.count is 0, must be at least 1 with window.kind Gap"},
		{"haproxy", func(c *model.Config) { c.Open.Wait = 1 }, "open.wait is set, but does nothing without open.exit ExitCall, ExitTimer or ExitTick"},
		{"haproxy", func(c *model.Config) { c.Hosts.Merge = 1 }, "hosts.merge is set, but does nothing without open.exit ExitTick and hosts.count"},
		{"envoy", func(c *model.Config) { c.Hosts.Merge = -1 }, "hosts.merge is -1ns, must be at least 0s"},
		{"envoy", func(c *model.Config) { c.Clear.OnCheck = true }, "clear.onCheck is set, but does nothing without open.exit ExitChecks"},
		{"haproxy", func(c *model.Config) { c.Trip.Judged = model.OnTick }, "trip.judged OnTick needs window.complete\nclear.onCheck and trip.judged OnTick exclude one another: there is one kind of tick"},
		{"haproxy", func(c *model.Config) { c.Open.Rise = 0 }, "open.rise is 0, must be at least 1"},
	} {
		t.Run(tt.preset+": "+tt.want, func(t *testing.T) {
			c, _ := model.Preset(tt.preset)
			tt.edit(&c)
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			_, err := model.New(c, time.Time{})
			if err == nil || !strings.Contains(err.Error(), tt.preset) {
				t.Errorf("New does not name the breaker: %v", err)
			}
		})
	}
}

// The settings of the libraries become the family's.
func TestSettings(t *testing.T) {
	c := model.Gobreaker(model.GobreakerSettings{Interval: 2500 * time.Millisecond, BucketPeriod: time.Second})
	if c.Window.Period != 3*time.Second || c.Window.Buckets != 3 {
		t.Errorf("an interval of 2.5s in buckets of 1s is %+v", c.Window)
	}
	c = model.Gobreaker(model.GobreakerSettings{Interval: time.Second, BucketPeriod: 2 * time.Second})
	if c.Window.Kind != model.TimeTumbling || c.Window.Period != 2*time.Second {
		t.Errorf("an interval below the bucket period is %+v", c.Window)
	}
	c = model.CockatielSampling(0.5, 2300*time.Millisecond, 10)
	if c.Window.Buckets != 5 || c.Window.Period != 2300*time.Millisecond || c.Trip.Min != 23 {
		t.Errorf("2.3s at 10 calls a second is %+v, min %d", c.Window, c.Trip.Min)
	}
	c = model.SmallRye(3, 0.5, time.Second, 2)
	if got := c.Trip.Rate * 3; got != 2 {
		t.Errorf("half of 3, rounded up, is %v", got)
	}
}
