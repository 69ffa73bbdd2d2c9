package assert_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/target/match"
)

// aside is what a SUT has beside its breaker, that answers calls as well.
type aside struct {
	Bulkhead int  // most calls under way; 0: no limit
	Inside   bool // the breaker is around the bulkhead, and counts its rejections as failures
	Limit    int  // calls a second, in fixed windows; 0: no limit
	Status   int  // of what the limiter rejects
	Cache    time.Duration
	Coalesce bool // a call joins one that is under way
	Tells    bool // answers say why they were given

	Keep    time.Duration // the fallback is the last good answer, if it is at most so old; 0: it is another
	Dated   bool          // it says since when it is so, not for how long
	Ageless int           // every so many of its answers does not say how old it is; 0: none
}

// besides is the state of that.
type besides struct {
	under   int
	window  time.Duration
	used    int
	kept    reply
	keptAt  time.Duration
	has     bool
	served  int
	waiting []func(reply)
	leading bool
}

// kept is the fallback that is a good answer from before, or the bare error if that is too old.
func (s *sut) kept(bare reply) reply {
	b, at := &s.besides, s.Aside
	if !b.has || s.now-b.keptAt > at.Keep {
		return bare
	}
	b.served++
	r := reply{status: 200, class: match.ClassFallback}
	switch {
	case at.Ageless > 0 && b.served%at.Ageless == 0:
	case at.Dated:
		r.ages = map[string]string{"$.as_of": s.epoch.Add(b.keptAt).Format(time.RFC3339Nano)}
	default:
		r.ages = map[string]string{"header:Age": fmt.Sprint(int((s.now - b.keptAt) / time.Second))}
	}
	return r
}

// said adds why an answer was given, if the SUT tells.
func (a aside) said(r reply, reason, by string) reply {
	if a.Tells {
		r.says, r.saysBy = reason, by
	}
	return r
}

// meet is what a call meets before the breaker is asked.
func (s *sut) meet(id string, answer func(reply)) {
	a, b := s.Aside, &s.besides
	switch {
	case a.Cache > 0 && b.has && s.now-b.keptAt < a.Cache:
		s.answer(a.said(b.kept, match.ReasonCached, "Age: 1"), answer)
	case a.Coalesce && b.leading:
		b.waiting = append(b.waiting, answer)
	case a.Limit > 0 && !s.allowed():
		r := reply{status: a.Status, class: match.ClassRejected}
		if a.Status == 429 {
			r.says, r.saysBy = match.ReasonLimited, "status 429"
		}
		s.answer(a.said(r, match.ReasonLimited, "load.reasons.limited"), answer)
	case a.Bulkhead > 0 && !a.Inside && b.under >= a.Bulkhead:
		s.answer(s.full(), answer)
	default:
		b.leading = true
		b.under += one(!a.Inside)
		s.try(id, 1, s.now, func(r reply) {
			b.under -= one(!a.Inside)
			s.keep(r)
			answer(r)
		})
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// full is what the bulkhead answers: what the breaker does, unless it tells.
func (s *sut) full() reply {
	return s.Aside.said(reply{status: 503, class: match.ClassRejected}, match.ReasonBulkhead, "x-envoy-overloaded")
}

// allowed asks the limiter.
func (s *sut) allowed() bool {
	b := &s.besides
	if s.now-b.window >= time.Second {
		b.window, b.used = s.now, 0
	}
	b.used++
	return b.used <= s.Aside.Limit
}

// keep keeps a good answer, and gives it to those who joined.
func (s *sut) keep(r reply) {
	b := &s.besides
	if r.class == match.ClassPrimary {
		b.kept, b.keptAt, b.has = r, s.now, true
	}
	waiting := b.waiting
	b.waiting, b.leading = nil, false
	for _, answer := range waiting {
		s.answer(r, answer)
	}
}

// squeezed is try behind a bulkhead that the breaker is around.
func (s *sut) squeezed(id string, since time.Duration, answer func(reply)) bool {
	if !s.Aside.Inside || s.besides.under < s.Aside.Bulkhead {
		s.besides.under += one(s.Aside.Inside)
		return false
	}
	s.tell(true, s.now-since)
	s.fallback(id, s.full(), answer)
	return true
}
