package differential_test

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
)

// shrink returns the smallest case it can find in which the two of a pair still
// differ, in its last operation. The case it is given must be one.
func (p pair) shrink(r run) (run, error) {
	s := &shrinker{pair: p, best: r}
	for s.changed = true; s.changed && s.err == nil; {
		s.changed = false
		s.drop()
		s.simplifyOps()
		s.simplifySetting()
	}
	return s.best, s.err
}

type shrinker struct {
	pair    pair
	best    run
	changed bool
	err     error
}

// try takes a case in place of the best one if the two differ in it. What is not
// valid does not.
func (s *shrinker) try(r run) bool {
	if s.err != nil || r.setting.Validate() != nil {
		return false
	}
	at, err := s.pair.differ(r)
	s.err = err
	if err != nil || at < 0 {
		return false
	}
	r.ops = r.ops[:min(at+1, len(r.ops))]
	s.best = r
	s.changed = true
	return true
}

// drop leaves out operations, many at a time and then ever fewer.
func (s *shrinker) drop() {
	s.try(run{s.best.setting, slices.Clone(s.best.ops)})
	s.changed = false // Only what follows the difference has gone.
	for size := max(1, len(s.best.ops)/2); size > 0; size /= 2 {
		for from := len(s.best.ops) - size; from >= 0; from -= size {
			from = min(from, len(s.best.ops)-size)
			if from >= 0 {
				s.try(run{s.best.setting, slices.Delete(slices.Clone(s.best.ops), from, from+size)})
			}
		}
	}
}

// simplifyOps puts simpler operations in the place of others.
func (s *shrinker) simplifyOps() {
	for i := 0; i < len(s.best.ops); i++ {
		for _, by := range s.best.ops[i].simpler(s.best.setting) {
			if i < len(s.best.ops) && s.try(run{s.best.setting, slices.Replace(slices.Clone(s.best.ops), i, i+1, by...)}) {
				break
			}
		}
	}
}

// simpler lists what may stand in the place of an operation, simplest first. None of
// it is as complex as the operation.
func (o op) simpler(s setting) [][]op {
	switch o.kind {
	case acquire:
		return [][]op{{{kind: tryAcquire}}}
	case failed, returned:
		return o.simplerEnding(s)
	case calls, callFails:
		parts := []op{{kind: tryAcquire}, {kind: advance, wait: o.end.took}, {kind: failed, end: o.end}}
		parts[2].end.wrap = '-'
		if o.kind == calls {
			parts[2].kind = returned
		}
		return [][]op{{{kind: tryAcquire}, parts[2]}, parts}
	case success:
		all := times(o, o.end.took, func(o *op, d time.Duration) { o.end.took = d }, 0, s.SlowDuration+1)
		if o.end.took != 0 {
			all = append(all, []op{{kind: failed, end: ending{class: 'r', wrap: '-', verdict: '-'}}})
		}
		return all
	case advance, openFor, openTill:
		return times(o, o.wait, func(o *op, d time.Duration) { o.wait = d },
			s.Wait, time.Second, o.wait.Round(time.Second), o.wait.Round(time.Millisecond))
	case tryAcquire, release, transition, reset:
	}
	return nil
}

func (o op) simplerEnding(s setting) [][]op {
	plain := ending{class: 'r', wrap: '-', verdict: '-', took: o.end.took}
	all := [][]op{{{kind: success, end: ending{wrap: '-', verdict: '-'}}}}
	if o.kind != failed || o.end != plain {
		all = append(all, []op{{kind: success, end: ending{wrap: '-', verdict: '-', took: o.end.took}}}, []op{{kind: failed, end: plain}})
	}
	if o.end.wrap != '-' && o.kind == failed {
		bare := o
		bare.end.wrap = '-'
		if bare.end.class != 'n' {
			all = append(all, []op{bare})
		}
	}
	return append(all, times(o, o.end.took, func(o *op, d time.Duration) { o.end.took = d }, 0, s.SlowDuration+1)...)
}

// times are an operation with rounder times, in order; only those before the one it
// has, so that no two take turns.
func times(o op, has time.Duration, set func(*op, time.Duration), rounder ...time.Duration) [][]op {
	var all [][]op
	for _, d := range rounder {
		if d == has {
			break
		}
		c := o
		set(&c, d)
		all = append(all, []op{c})
	}
	return all
}

// simplifySetting puts properties back to what a story need not mention, or makes
// their numbers smaller.
func (s *shrinker) simplifySetting() {
	for _, change := range simplerSettings() {
		c := s.best.setting
		change(&c)
		if !cmp.Equal(c, s.best.setting, cmp.AllowUnexported(setting{})) {
			s.try(run{c, slices.Clone(s.best.ops)})
		}
	}
	s.smaller(func(t *setting) *int { return &t.Window })
	s.smaller(func(t *setting) *int { return &t.MinimumCalls })
	s.smaller(func(t *setting) *int { return &t.Permitted })
}

func simplerSettings() []func(*setting) {
	return []func(*setting){
		func(s *setting) { s.start = 0 },
		func(s *setting) {
			s.record, s.ignore, s.results, s.verdicts, s.precedence = '-', '-', false, false, false
		},
		func(s *setting) { s.record = '-' },
		func(s *setting) { s.ignore = '-' },
		func(s *setting) { s.results = false },
		func(s *setting) { s.verdicts = false },
		func(s *setting) { s.precedence = false },
		func(s *setting) { s.LockFree = false },
		func(s *setting) { s.WindowType = breakerref.CountBased },
		func(s *setting) { s.Initial = breakerref.Closed },
		func(s *setting) { s.Waits, s.Wait = nil, time.Second },
		func(s *setting) { s.Waits, s.Wait, s.WaitMultiplier, s.WaitMax = nil, time.Second, 0, 0 },
		func(s *setting) { s.WaitMax = 0 },
		func(s *setting) { s.AutoHalfOpen = false },
		func(s *setting) { s.HalfOpenMaxWait = 0 },
		func(s *setting) { s.HalfOpenMaxWaitCloses = false },
		func(s *setting) { s.SlowRate, s.SlowDuration = 100, time.Minute },
		func(s *setting) { s.SlowRate = 100 },
		func(s *setting) { s.SlowDuration = time.Minute },
		func(s *setting) { s.FailureRate = 50 },
	}
}

// smaller tries the numbers from 1 up.
func (s *shrinker) smaller(of func(*setting) *int) {
	for n := 1; n < *of(&s.best.setting) && n <= 12; n++ {
		c := s.best.setting
		*of(&c) = n
		if s.try(run{c, slices.Clone(s.best.ops)}) {
			return
		}
	}
}
