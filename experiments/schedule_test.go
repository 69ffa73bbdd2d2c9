package experiments_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/experiments"
)

// TestSchedule: each shape of load is due when its plan says.
func TestSchedule(t *testing.T) {
	per := func(n int) experiments.Rate { return experiments.Rate{Num: n, Per: time.Second} }
	const over = 2 * time.Second
	for _, tc := range []struct {
		name  string
		phase experiments.Phase
		want  int // slots
		at    map[int]time.Duration
	}{
		{"rate", experiments.Phase{Rate: per(10)}, 20, map[int]time.Duration{3: 300 * time.Millisecond}},
		{"pause", experiments.Phase{Rate: per(0)}, 0, nil},
		{
			"ramp",
			experiments.Phase{Ramp: &experiments.Ramp{From: per(0), To: per(100)}},
			100,
			map[int]time.Duration{0: 0, 25: time.Second},
		},
		{
			"steps",
			experiments.Phase{Steps: []experiments.Step{{Rate: per(10), For: time.Second}, {Rate: per(20), For: time.Second}}},
			30,
			map[int]time.Duration{9: 900 * time.Millisecond, 10: time.Second, 11: 1050 * time.Millisecond},
		},
		{
			"burst",
			experiments.Phase{Burst: &experiments.Burst{Calls: 5, Every: 500 * time.Millisecond}},
			20,
			map[int]time.Duration{4: 4, 5: 500 * time.Millisecond},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.phase.Duration = over
			s := tc.phase.Schedule(1)
			if got := s.Count(over); got != tc.want {
				t.Errorf("%d slots, want %d", got, tc.want)
			}
			for n, want := range tc.at {
				if got := s.Due(n); got != want {
					t.Errorf("slot %d is due at %v, want %v", n, got, want)
				}
			}
		})
	}
	for name, p := range map[string]experiments.Phase{
		"calls":   {Calls: &experiments.Calls{N: 3, Concurrency: 1}},
		"clients": {Clients: &experiments.Clients{N: 3}, Duration: over},
	} {
		if s := p.Schedule(1); s != nil {
			t.Errorf("%s: %v, but each call waits for another", name, s)
		}
	}
}

// TestPoissonSchedule depends on the seed and on the phase, and on nothing else.
func TestPoissonSchedule(t *testing.T) {
	phase := func(name string) experiments.Phase {
		return experiments.Phase{Name: name, Rate: experiments.Rate{Num: 100, Per: time.Second}, Poisson: true, Duration: 10 * time.Second}
	}
	one := phase("one").Schedule(7)
	count := one.Count(10 * time.Second)
	if count < 870 || count > 1130 { // four standard deviations
		t.Errorf("%d arrivals", count)
	}
	differ := func(other pace.Schedule) bool {
		for n := range count {
			if one.Due(n) != other.Due(n) {
				return true
			}
		}
		return other.Count(10*time.Second) != count
	}
	if differ(phase("one").Schedule(7)) {
		t.Error("the same phase has other arrivals the second time")
	}
	if !differ(phase("two").Schedule(7)) || !differ(phase("one").Schedule(8)) {
		t.Error("another phase, or another seed, has the same arrivals")
	}
}
