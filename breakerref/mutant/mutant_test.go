package mutant_test

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/target/match"
)

// TestTheRegistry has a name, words and a base of its own for each mutant.
func TestTheRegistry(t *testing.T) {
	all := mutant.All()
	if len(all) < 60 {
		t.Errorf("%d mutants, want at least 60", len(all))
	}
	name := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	names, says := map[string]bool{}, map[string]bool{}
	bases := append([]string{mutant.Resilience4j}, model.Presets()...)
	for _, m := range all {
		switch {
		case !name.MatchString(m.Name) || names[m.Name]:
			t.Errorf("the name %q is no word, or another's", m.Name)
		case m.Says == "" || says[m.Says]:
			t.Errorf("%s says %q, as another does", m.Name, m.Says)
		case !slices.Contains(bases, m.Base):
			t.Errorf("%s has the base %q, which is no model", m.Name, m.Base)
		case len(m.Caught) == 0:
			t.Errorf("no rule names %s", m.Name)
		case m.Part == "":
			t.Errorf("%s is of no part", m.Name)
		}
		names[m.Name], says[m.Says] = true, true
		if found, ok := mutant.Find(m.Name); !ok || found.Says != m.Says {
			t.Errorf("%s is not found by its name", m.Name)
		}
	}
	if _, ok := mutant.Find("harmless"); ok {
		t.Error("a mutant is found that is not there")
	}
}

// operation is one call or outcome, by chance.
type operation struct {
	at        time.Duration
	end       int // which of the calls under way ends; -1: a call begins
	failed    bool
	took      time.Duration
	abandoned bool
}

// play carries out what chance says and returns what a breaker answered.
func play(t *testing.T, b mutant.Breaker, seed uint64) []string {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 1))
	start := time.Unix(1_700_000_000, 0).UTC()
	now := start
	var said []string
	var under []mutant.Permit
	for range 600 {
		o := operation{at: time.Duration(chance.IntN(60)) * time.Millisecond, end: -1}
		if chance.IntN(40) == 0 {
			o.at += time.Duration(chance.IntN(3000)) * time.Millisecond
		}
		if len(under) > 0 && chance.IntN(2) == 0 {
			o.end = chance.IntN(len(under))
		}
		failing := seed%3 == 0 || now.Sub(start)/(4*time.Second)%2 == 1
		o.failed = failing && chance.IntN(4) > 0
		o.took = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 150 * time.Millisecond}[chance.IntN(3)]
		o.abandoned = o.failed && chance.IntN(2) == 0
		now = now.Add(o.at)
		if o.end < 0 {
			p, answer := b.Acquire(now)
			if answer == model.Admitted {
				under = append(under, p)
			}
			said = append(said, answer.String())
		} else {
			b.Record(now, under[o.end], mutant.Outcome{Failed: o.failed, Took: o.took, Abandoned: o.abandoned})
			under = slices.Delete(under, o.end, o.end+1)
		}
		b.Advance(now)
		said = append(said, b.Told().String())
	}
	return said
}

// configs are breakers in which something or other can go wrong.
func configs() []breakerref.Config {
	base := breakerref.Default()
	base.Window, base.MinimumCalls, base.Wait, base.Permitted = 10, 8, 400*time.Millisecond, 4
	timed, slow := base, base
	timed.WindowType, timed.Window = breakerref.TimeBased, 2
	slow.SlowRate, slow.SlowDuration, slow.FailureRate = 50, 100*time.Millisecond, 100
	return []breakerref.Config{base, timed, slow}
}

// fits reports whether a configuration has room for a mutant.
func fits(m mutant.Mutant, c breakerref.Config) bool {
	return (!m.Needs.TimeWindow || c.WindowType == breakerref.TimeBased) && (!m.Needs.CallWindow || c.WindowType == breakerref.CountBased)
}

// TestARightBreakerIsTheModel in every answer, though calls come and go by chance.
func TestARightBreakerIsTheModel(t *testing.T) {
	for _, cfg := range configs() {
		for seed := range uint64(20) {
			start := time.Unix(1_700_000_000, 0).UTC()
			right, err := mutant.Right(mutant.Resilience4j).Build(cfg, nil, start)
			if err != nil {
				t.Fatal(err)
			}
			machine, err := breakerref.New(cfg, start)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(play(t, right, seed), play(t, plain{machine}, seed)) {
				t.Fatalf("with %+v and seed %d they differ", cfg, seed)
			}
		}
	}
}

// plain is a machine, with nothing of package mutant but the form.
type plain struct{ *breakerref.Machine }

func (p plain) Acquire(now time.Time) (mutant.Permit, model.Answer) {
	if p.Machine.Acquire(now) {
		return mutant.Permit{}, model.Admitted
	}
	return mutant.Permit{}, model.Rejected
}

func (p plain) Record(now time.Time, _ mutant.Permit, o mutant.Outcome) bool {
	p.Machine.Record(now, o.Failed, o.Took)
	return false
}
func (p plain) Ignore(now time.Time, _ mutant.Permit)  { p.Machine.Ignore(now) }
func (p plain) Release(now time.Time, _ mutant.Permit) { p.Machine.Release(now) }
func (p plain) Close(now time.Time)                    { p.Reset(now) }
func (p plain) Told() breakerref.State                 { return p.State() }

// TestEveryMutantDiffers from its base where calls come and go by chance, or in what it
// counts, or around its breaker.
func TestEveryMutantDiffers(t *testing.T) {
	for _, m := range mutant.All() {
		t.Run(m.Name, func(t *testing.T) {
			if m.Breaker.Failure != nil {
				if !countsOtherwise(m) {
					t.Error("it counts what it should")
				}
				return
			}
			if !reflect.ValueOf(m.Around).IsZero() {
				return // Packages proxy and predict have its effect.
			}
			for _, cfg := range configs() {
				for seed := range uint64(40) {
					if fits(m, cfg) && differs(t, m, cfg, seed) {
						return
					}
				}
			}
			t.Error("it does what its base does")
		})
	}
}

// countsOtherwise reports whether some failure counts otherwise with a mutant.
func countsOtherwise(m mutant.Mutant) bool {
	for _, declared := range []match.Failure{match.DefaultFailure(), {Statuses: []int{503}}} {
		wrong := declared
		m.Breaker.Failure(&wrong)
		if !reflect.DeepEqual(declared, wrong) {
			return true
		}
	}
	return false
}

// differs reports whether a mutant answers otherwise than its base.
func differs(t *testing.T, m mutant.Mutant, cfg breakerref.Config, seed uint64) bool {
	t.Helper()
	start := time.Unix(1_700_000_000, 0).UTC()
	base := mutant.Right(m.Base)
	right, err := base.Build(cfg, base.BaseModel(cfg), start)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := m.Build(cfg, m.BaseModel(cfg), start)
	if err != nil {
		t.Fatal(err)
	}
	return !slices.Equal(play(t, right, seed), play(t, wrong, seed))
}

// TestBuildSaysWhatIsWrong with numbers that no breaker has.
func TestBuildSaysWhatIsWrong(t *testing.T) {
	for _, name := range []string{"leak", "per_instance", "late_success_closes"} {
		m, _ := mutant.Find(name)
		cfg := breakerref.Default()
		cfg.Window, cfg.Wait = 0, 0
		other := m.BaseModel(cfg)
		if other != nil {
			other.Open.Wait = -1
		}
		if _, err := m.Build(cfg, other, time.Unix(0, 0)); err == nil {
			t.Errorf("%s: a breaker without a window was built", name)
		}
	}
}
