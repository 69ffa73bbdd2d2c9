package model_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// TestPythonBreakers plays random cases on the machine and has pybreaker itself
// replay them on Python.
func TestPythonBreakers(t *testing.T) {
	needsZoo(t)
	dir := filepath.Join("..", "..", "target", "zoo", "python-breakers")
	venv := t.TempDir()
	prepare(t, dir, "python3", "-m", "venv", venv)
	python := filepath.Join(venv, "bin", "python")
	prepare(t, dir, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
	replays(t, runtime{dir: dir, command: []string{python, "replay.py"}, unit: time.Microsecond, deep: 500_000}, pythonPresets())
}

func pythonPresets() []replayPreset {
	inARow := func(c model.Counts) []int { return []int{c.ConsecutiveFailures} }
	return []replayPreset{
		{"pybreaker", "pybreaker", drawPybreaker, inARow, []string{"HALF_OPEN", "waits", "masked"}, false, []replayMistake{
			{"threshold compared the other way", func(c *model.Config) { c.Trip.Failures++ }},
			{"one success closing", func(c *model.Config) { c.HalfOpen.Successes = 1 }},
			{"a wait that is over later", func(c *model.Config) { c.Open.After = true }},
			{"errors of its own hidden", func(c *model.Config) { c.Trip.Masked = false }},
			{"calls side by side", func(c *model.Config) { c.Serial = false }},
			{"an excluded error counted as nothing", func(c *model.Config) { c.Count.Ignored = model.IgnoredDropped }},
		}},
	}
}

// drawPybreaker draws settings whose times are whole microseconds.
func drawPybreaker(r *rand.Rand) replaySetup {
	cfg, _ := model.Preset("pybreaker")
	cfg.Trip.Failures = oneOf(r, 1, 2, 3, 5)
	cfg.Trip.Masked = r.IntN(3) > 0
	cfg.HalfOpen.Successes = oneOf(r, 1, 1, 2, 3)
	reset := oneOf[int64](r, 1, 100_000, 1_000_000, 2_500_001)
	cfg.Open.Wait = time.Duration(reset) * time.Microsecond
	return replaySetup{
		cfg: cfg,
		options: map[string]any{
			"fail_max": cfg.Trip.Failures, "success_threshold": cfg.HalfOpen.Successes,
			"reset_timeout": cfg.Open.Wait.Seconds(), "throw_new_error_on_trip": cfg.Trip.Masked,
		},
		// Its clock is the wall's, which may be put back.
		waits: []int64{1, -1, reset / 2, reset - 1, reset, reset + 1, -reset, 60_000_000},
	}
}
