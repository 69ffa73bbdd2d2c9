package model_test

import (
	"math/rand/v2"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// nodePreset is a preset whose library runs on Node.
type nodePreset struct {
	name    string
	library string
	draw    func(*rand.Rand) nodeSetup
	shown   func(model.Counts) []int // the counts that the library shows
	waits   bool                     // calls may wait
	// wrong are ways to misread the library, each of which a replay has to notice.
	wrong []nodeMistake
}

type nodeMistake struct {
	name string
	make func(*model.Config)
}

// nodeSetup is a breaker, in the words of the model and of the library.
type nodeSetup struct {
	cfg     model.Config
	options map[string]any
	waits   []int64 // milliseconds; those at which something may be about to happen
}

func nodePresets() []nodePreset {
	otherWay := nodeMistake{"threshold compared the other way", func(c *model.Config) { c.Trip.Over = !c.Trip.Over }}
	oneMore := nodeMistake{"threshold compared the other way", func(c *model.Config) { c.Trip.Failures++ }}
	twoPermits := nodeMistake{"two permits", func(c *model.Config) { c.HalfOpen.Permits = 2 }}
	twoProbes := nodeMistake{"two permits", func(c *model.Config) {
		c.HalfOpen = model.HalfOpen{Admit: model.Total, Permits: 2, Successes: 1, Failures: 1, Ignored: model.ProbeCloses}
		c.Late = model.LateCounted
	}}
	inWindow := func(c model.Counts) []int { return []int{c.Successes, c.Failures} }
	inARow := func(c model.Counts) []int { return []int{c.ConsecutiveFailures} }
	started := func(c model.Counts) []int { return []int{c.Calls, c.Successes, c.Failures} }
	return []nodePreset{
		{"opossum", "opossum", drawOpossum, started, false, []nodeMistake{otherWay, twoPermits}},
		{"cockatiel-consecutive", "cockatiel", drawCockatielConsecutive, inARow, true, []nodeMistake{oneMore, twoProbes}},
		{"cockatiel-count", "cockatiel", drawCockatielCount, inWindow, true, []nodeMistake{otherWay, twoProbes}},
		{"cockatiel-sampling", "cockatiel", drawCockatielSampling, inWindow, true, []nodeMistake{otherWay, twoProbes}},
	}
}

// oneOf draws one of several.
func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// drawOpossum draws settings whose calls the library does not cut.
func drawOpossum(r *rand.Rand) nodeSetup {
	cfg, _ := model.Preset("opossum")
	rate := oneOf(r, 10.0, 33, 50, 57, 66, 100)
	volume := oneOf(r, 0, 0, 2, 5)
	reset := oneOf[int64](r, 100, 1000, 2500)
	window, buckets := oneOf[int64](r, 1000, 10_000), oneOf[int64](r, 1, 3, 10)
	bucket := window / buckets // The library, too, rounds down.
	cfg.Count.Timeout = 0
	cfg.Window.Period, cfg.Window.Buckets = milliseconds(bucket*buckets), int(buckets)
	cfg.Trip.Rate, cfg.Trip.Min, cfg.Open.Wait = rate, volume, milliseconds(reset)
	return nodeSetup{
		cfg: cfg,
		options: map[string]any{
			"errorThresholdPercentage": rate, "volumeThreshold": volume, "resetTimeout": reset,
			"rollingCountTimeout": window, "rollingCountBuckets": buckets,
		},
		waits: []int64{1, bucket / 2, bucket - 1, bucket, reset - 1, reset, reset + 1, window, 60_000},
	}
}

func drawCockatielConsecutive(r *rand.Rand) nodeSetup {
	cfg, _ := model.Preset("cockatiel-consecutive")
	cfg.Trip.Failures = oneOf(r, 1, 2, 3, 5)
	return cockatielSetup(r, cfg, map[string]any{"kind": "ConsecutiveBreaker", "threshold": cfg.Trip.Failures})
}

func drawCockatielCount(r *rand.Rand) nodeSetup {
	cfg, _ := model.Preset("cockatiel-count")
	cfg.Trip.Rate, cfg.Window.Size = oneOf(r, 0.07, 0.2, 0.25, 0.5, 0.57, 0.9), oneOf(r, 1, 2, 4, 5, 10)
	cfg.Trip.Min = 1 + r.IntN(cfg.Window.Size)
	return cockatielSetup(r, cfg, map[string]any{
		"kind": "CountBreaker", "threshold": cfg.Trip.Rate, "size": cfg.Window.Size, "minimumNumberOfCalls": cfg.Trip.Min,
	})
}

func drawCockatielSampling(r *rand.Rand) nodeSetup {
	threshold, duration, perSecond := oneOf(r, 0.2, 0.5, 0.57), oneOf[int64](r, 1000, 2300, 7000), oneOf(r, 0, 0.5, 1, 3)
	options := map[string]any{"kind": "SamplingBreaker", "threshold": threshold, "duration": duration}
	if perSecond > 0 { // Otherwise the library guesses.
		options["minimumRps"] = perSecond
	}
	cfg := model.CockatielSampling(threshold, milliseconds(duration), perSecond)
	return cockatielSetup(r, cfg, options, 199, 200, 460, 1000)
}

// cockatielSetup adds how long a breaker stays open.
func cockatielSetup(r *rand.Rand, cfg model.Config, options map[string]any, waits ...int64) nodeSetup {
	open := oneOf[int64](r, 100, 1000, 2500)
	cfg.Open.Wait = milliseconds(open)
	options["halfOpenAfter"] = open
	return nodeSetup{cfg: cfg, options: options, waits: append(waits, 1, open-1, open, open+1, 60_000)}
}
