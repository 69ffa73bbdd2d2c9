package model_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/model"
)

// A preset with its own values as settings is the preset: what a library makes of a
// setting is made of it here, too.
func TestPresetWithItsOwnSettings(t *testing.T) {
	for name, s := range map[string]model.Settings{
		"gobreaker":             {Failures: 6, Wait: time.Minute, Permitted: 1},
		"gobreaker-fixed":       {Period: time.Minute, Rate: 0.6, Minimum: 3},
		"gobreaker-rolling":     {Period: time.Minute, Rate: 0.6, Minimum: 3},
		"failsafe":              {Failures: 1, Wait: time.Minute},
		"failsafe-consecutive":  {Failures: 3},
		"failsafe-count":        {Failures: 5, Calls: 10},
		"failsafe-period":       {Failures: 5, Period: 10 * time.Second},
		"failsafe-rate":         {Rate: 0.5, Minimum: 10, Period: 10 * time.Second},
		"hystrix":               {Period: 10 * time.Second, Rate: 0.5, Minimum: 20, Wait: 5 * time.Second},
		"hystrix-1.5.13":        {Period: 10 * time.Second, Rate: 0.5, Minimum: 20, Wait: 5 * time.Second},
		"smallrye":              {Calls: 20, Rate: 0.5, Wait: 5 * time.Second, Permitted: 1},
		"polly":                 {Period: 30 * time.Second, Rate: 0.1, Minimum: 100, Wait: 5 * time.Second},
		"opossum":               {Period: 10 * time.Second, Rate: 0.5, Wait: 30 * time.Second},
		"cockatiel-consecutive": {Failures: 5, Wait: 10 * time.Second},
		"cockatiel-count":       {Calls: 100, Rate: 0.2},
		"cockatiel-sampling":    {Period: 30 * time.Second, Rate: 0.2, Wait: 10 * time.Second},
		"pybreaker":             {Failures: 5, Wait: time.Minute},
		"envoy":                 {Failures: 5, Wait: 30 * time.Second},
		"nginx":                 {Failures: 1, Wait: 10 * time.Second},
		"haproxy":               {Failures: 10},
		"pgmux":                 {Rate: 0.5, Wait: 10 * time.Second, Permitted: 3, Calls: 10},
	} {
		want, _ := model.Preset(name)
		got, err := model.PresetWith(name, s)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestPresetWithOtherSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      model.Settings
		change func(c *model.Config)
	}{
		{"hystrix", model.Settings{Period: 5 * time.Second}, func(c *model.Config) { c.Window.Period, c.Window.Buckets = 5*time.Second, 10 }},
		{"opossum", model.Settings{Minimum: 5, Rate: 0.7}, func(c *model.Config) { c.Trip.Min, c.Trip.Rate = 5, 70 }},
		{"smallrye", model.Settings{Calls: 10, Rate: 0.35}, func(c *model.Config) { c.Window.Size, c.Trip.Min, c.Trip.Rate = 10, 10, 0.4 }},
		{"cockatiel-count", model.Settings{Calls: 10}, func(c *model.Config) { c.Window.Size, c.Trip.Min = 10, 10 }},
		{"cockatiel-sampling", model.Settings{Period: 10 * time.Second}, func(c *model.Config) { c.Window.Period, c.Window.Buckets, c.Trip.Min = 10*time.Second, 10, 250 }},
		{"nginx", model.Settings{Wait: time.Second}, func(c *model.Config) { c.Window.Period, c.Open.Wait = time.Second, time.Second }},
		{"gobreaker", model.Settings{Permitted: 4}, func(c *model.Config) { c.HalfOpen.Permits, c.HalfOpen.Successes = 4, 4 }},
	} {
		want, _ := model.Preset(c.name)
		c.change(&want)
		got, err := model.PresetWith(c.name, c.s)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestPresetWithRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		s    model.Settings
		want string
	}{
		"haproxy":   {model.Settings{Wait: time.Second, Rate: 0.5}, "haproxy has no failure rate, no wait"},
		"opossum":   {model.Settings{Calls: 5, Period: time.Second}, "opossum has no window of calls"},
		"pybreaker": {model.Settings{Permitted: 1, Minimum: 2}, "no minimum of calls, no number of permitted calls"},
		"envoy":     {model.Settings{Period: time.Second}, "no window of time"},
		"pgmux":     {model.Settings{Failures: 5}, "no number of failures"},
		"hystrix":   {model.Settings{Period: 700 * time.Millisecond}, "hystrix: a window of 700ms is not of whole buckets of 500ms"},
		"opposum":   {model.Settings{Calls: 5}, `there is no breaker "opposum", only gobreaker, `},
	} {
		if _, err := model.PresetWith(name, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
