package model_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// TestNodeBreakers plays random cases on the machine and has opossum and cockatiel
// themselves replay them on Node.
func TestNodeBreakers(t *testing.T) {
	needsZoo(t)
	dir := filepath.Join("..", "..", "target", "zoo", "node-breakers")
	prepare(t, dir, "npm", "ci", "--silent")
	replays(t, runtime{dir: dir, command: []string{"node", "replay.js"}, unit: time.Millisecond, deep: 500_000}, nodePresets())
}

func nodePresets() []replayPreset {
	otherWay := replayMistake{"threshold compared the other way", func(c *model.Config) { c.Trip.Over = !c.Trip.Over }}
	oneMore := replayMistake{"threshold compared the other way", func(c *model.Config) { c.Trip.Failures++ }}
	twoPermits := replayMistake{"two permits", func(c *model.Config) { c.HalfOpen.Permits = 2 }}
	twoProbes := replayMistake{"two permits", func(c *model.Config) {
		c.HalfOpen = model.HalfOpen{Admit: model.Total, Permits: 2, Successes: 1, Failures: 1, Ignored: model.ProbeCloses}
		c.Late = model.LateCounted
	}}
	inWindow := func(c model.Counts) []int { return []int{c.Successes, c.Failures} }
	inARow := func(c model.Counts) []int { return []int{c.ConsecutiveFailures} }
	waits := []string{"HALF_OPEN", "waits"}
	started := func(c model.Counts) []int { return []int{c.Calls, c.Successes, c.Failures} }
	return []replayPreset{
		{"opossum", "opossum", drawOpossum, started, []string{"HALF_OPEN"}, false, []replayMistake{otherWay, twoPermits}},
		{"cockatiel-consecutive", "cockatiel", drawCockatielConsecutive, inARow, waits, false, []replayMistake{oneMore, twoProbes}},
		{"cockatiel-count", "cockatiel", drawCockatielCount, inWindow, waits, false, []replayMistake{otherWay, twoProbes}},
		{"cockatiel-sampling", "cockatiel", drawCockatielSampling, inWindow, waits, false, []replayMistake{otherWay, twoProbes}},
	}
}

// drawOpossum draws settings whose calls the library does not cut.
func drawOpossum(r *rand.Rand) replaySetup {
	cfg, _ := model.Preset("opossum")
	rate := oneOf(r, 10.0, 33, 50, 57, 66, 100)
	volume := oneOf(r, 0, 0, 2, 5)
	reset := oneOf[int64](r, 100, 1000, 2500)
	window, buckets := oneOf[int64](r, 1000, 10_000), oneOf[int64](r, 1, 3, 10)
	bucket := window / buckets // The library, too, rounds down.
	cfg.Count.Timeout = 0
	cfg.Window.Period, cfg.Window.Buckets = milliseconds(bucket*buckets), int(buckets)
	cfg.Trip.Rate, cfg.Trip.Min, cfg.Open.Wait = rate, volume, milliseconds(reset)
	return replaySetup{
		cfg: cfg,
		options: map[string]any{
			"errorThresholdPercentage": rate, "volumeThreshold": volume, "resetTimeout": reset,
			"rollingCountTimeout": window, "rollingCountBuckets": buckets,
		},
		waits: []int64{1, bucket / 2, bucket - 1, bucket, reset - 1, reset, reset + 1, window, 60_000},
	}
}

func drawCockatielConsecutive(r *rand.Rand) replaySetup {
	cfg, _ := model.Preset("cockatiel-consecutive")
	cfg.Trip.Failures = oneOf(r, 1, 2, 3, 5)
	return cockatielSetup(r, cfg, map[string]any{"kind": "ConsecutiveBreaker", "threshold": cfg.Trip.Failures})
}

func drawCockatielCount(r *rand.Rand) replaySetup {
	cfg, _ := model.Preset("cockatiel-count")
	cfg.Trip.Rate, cfg.Window.Size = oneOf(r, 0.07, 0.2, 0.25, 0.5, 0.57, 0.9), oneOf(r, 1, 2, 4, 5, 10)
	cfg.Trip.Min = 1 + r.IntN(cfg.Window.Size)
	return cockatielSetup(r, cfg, map[string]any{
		"kind": "CountBreaker", "threshold": cfg.Trip.Rate, "size": cfg.Window.Size, "minimumNumberOfCalls": cfg.Trip.Min,
	})
}

func drawCockatielSampling(r *rand.Rand) replaySetup {
	threshold, duration, perSecond := oneOf(r, 0.2, 0.5, 0.57), oneOf[int64](r, 1000, 2300, 7000), oneOf(r, 0, 0.5, 1, 3)
	options := map[string]any{"kind": "SamplingBreaker", "threshold": threshold, "duration": duration}
	if perSecond > 0 { // Otherwise the library guesses.
		options["minimumRps"] = perSecond
	}
	cfg := model.CockatielSampling(threshold, milliseconds(duration), perSecond)
	return cockatielSetup(r, cfg, options, 199, 200, 460, 1000)
}

// cockatielSetup adds how long a breaker stays open.
func cockatielSetup(r *rand.Rand, cfg model.Config, options map[string]any, waits ...int64) replaySetup {
	open := oneOf[int64](r, 100, 1000, 2500)
	cfg.Open.Wait = milliseconds(open)
	options["halfOpenAfter"] = open
	return replaySetup{cfg: cfg, options: options, waits: append(waits, 1, open-1, open, open+1, 60_000)}
}
