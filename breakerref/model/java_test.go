package model_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// TestJavaBreakers plays random cases on the machine and has SmallRye Fault
// Tolerance and Hystrix themselves replay them on a JVM.
func TestJavaBreakers(t *testing.T) {
	needsZoo(t)
	dir := filepath.Join("..", "..", "target", "zoo", "java-breakers")
	prepare(t, dir, "mvn", "-q", "-B", "-DskipTests", "package")
	java := []string{"java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-jar", filepath.Join("target", "replay.jar")}
	replays(t, runtime{dir: dir, command: java, unit: time.Millisecond, deep: 500_000}, javaPresets())
}

func javaPresets() []replayPreset {
	none := func(model.Counts) []int { return []int{} }
	oneMore := func(c *model.Config) { c.Trip.Min++ }
	morePermits := replayMistake{"one permit more", func(c *model.Config) { c.HalfOpen.Permits++ }}
	later := func(c *model.Config) { c.Open.After = !c.Open.After }
	return []replayPreset{
		{"smallrye", "smallrye", drawSmallRye, none, []string{"HALF_OPEN"}, false, []replayMistake{
			morePermits,
			{"judged by failures only", func(c *model.Config) { c.Trip.Judged = model.OnFailure }},
			{"threshold compared the other way", func(c *model.Config) { c.Trip.Over = true }},
			{"late outcomes counted", func(c *model.Config) { c.Late = model.LateCounted }},
			{"half-open only when called", func(c *model.Config) { c.Open.Exit = model.ExitCall }},
			{"an expected error counted as nothing", func(c *model.Config) { c.Count.Ignored = model.IgnoredDropped }},
		}},
		{"hystrix", "hystrix-1.5.18", drawHystrix("hystrix"), none, nil, true, []replayMistake{
			{"tripped by the health stream", func(c *model.Config) { c.Trip.Judged, c.Trip.OnLook = model.OnTick, false }},
			{"looking that changes nothing", func(c *model.Config) { c.Trip.OnLook = false }},
			{"one call more needed", oneMore},
			{"a wait that is over at its end", later},
			{"the bucket that is being filled seen", func(c *model.Config) {
				c.Window.Complete, c.Clear.OnClose = false, model.ClearBefore
			}},
			{"nothing cleared", func(c *model.Config) { c.Clear.OnClose = model.Keep }},
			{"the closing success in the first bucket", func(c *model.Config) { c.Clear.OnClose = model.ClearBefore }},
		}},
		{"hystrix-1.5.13", "hystrix-1.5.12", drawHystrix("hystrix-1.5.13"), none, []string{"HALF_OPEN"}, false, []replayMistake{
			morePermits,
			{"one call more needed", oneMore},
			{"a wait that is over at its end", later},
			{"late outcomes dropped", func(c *model.Config) { c.Late = model.LateDropped }},
			{"the closing success forgotten", func(c *model.Config) { c.Clear.OnClose = model.ClearAfter }},
		}},
	}
}

func drawSmallRye(r *rand.Rand) replaySetup {
	volume, ratio := oneOf(r, 1, 2, 3, 5, 7, 20), oneOf(r, 0, 0.1, 1.0/3, 0.5, 0.57, 0.6, 1)
	delay, successes := oneOf[int64](r, 1, 100, 5000), oneOf(r, 1, 1, 2, 4)
	cfg, timer := model.SmallRye(volume, ratio, milliseconds(delay), successes), r.IntN(4) > 0
	if !timer { // A call ends the wait if the timer's thread is late.
		cfg.Open.Exit = model.ExitCall
	}
	return replaySetup{
		cfg: cfg,
		options: map[string]any{
			"requestVolumeThreshold": volume, "failureRatio": ratio, "delay": delay, "successThreshold": successes,
			"timer": timer,
		},
		waits: []int64{1, delay / 2, delay - 1, delay, delay + 1, 60_000},
	}
}

// drawHystrix draws settings whose calls the library does not cut. A call that does
// not count is a bad request or was cancelled.
func drawHystrix(preset string) func(*rand.Rand) replaySetup {
	return func(r *rand.Rand) replaySetup {
		cfg, _ := model.Preset(preset)
		percentage, volume := oneOf(r, 0, 1, 29, 33, 50, 57, 100), oneOf(r, 1, 2, 5, 20)
		window, buckets := oneOf[int64](r, 1000, 10_000), oneOf[int64](r, 1, 2, 10, 20)
		sleep := oneOf[int64](r, 1, 100, 1000, 5000)
		bucket, cancels, prompt := window/buckets, r.IntN(2) == 0, r.IntN(4) == 0
		cfg.Count.Timeout = 0
		cfg.Window.Period, cfg.Window.Buckets = milliseconds(window), int(buckets)
		cfg.Trip.Rate, cfg.Trip.Min, cfg.Open.Wait = float64(percentage), volume, milliseconds(sleep)
		if preset == "hystrix-1.5.13" && cancels { // Which 1.5.12 forgot: its probe is out for good.
			cfg.HalfOpen.Ignored = model.ProbeHangs
		}
		if prompt { // RxJava's thread is faster than the call that closes.
			cfg.Clear.OnClose = model.ClearBefore
		}
		return replaySetup{
			cfg: cfg,
			options: map[string]any{
				"window": window, "snapshot": bucket, "volume": volume, "percentage": percentage, "sleep": sleep,
				"cancels": cancels, "prompt": prompt,
			},
			waits: []int64{1, bucket / 2, bucket - 1, bucket, sleep - 1, sleep, sleep + 1, window, 60_000},
		}
	}
}
