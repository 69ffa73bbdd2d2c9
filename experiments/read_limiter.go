package experiments

import (
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// readLimiter reads a rate limiter.
func readLimiter(v yamldoc.Value) *RateLimiter {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{kind: token_bucket, limit: 100, burst: 20}")
	defer m.Done()
	l := &RateLimiter{
		Kind:   m.Need("kind").OneOf("", LimiterKinds()...),
		Limit:  m.Need("limit").Count(1, 1),
		Period: m.Get("period").Duration(time.Second),
		Told:   m.Get("told").Bool(false),
	}
	if by := m.Get("by"); by.Exists() {
		l.By = headerName(by)
	}
	l.readKind(m)
	if bucket := l.bucket(); l.Kind != "" && bucket == (l.Burst > 0) {
		if err := l.Config().Validate(); err != nil {
			m.Problemf("%v", err)
		}
	}
	return l
}

// bucket reports whether it is of a kind that has a burst.
func (l *RateLimiter) bucket() bool { return l.Kind == KindTokenBucket || l.Kind == KindGCRA }

// readKind reads what only some kinds have.
func (l *RateLimiter) readKind(m *yamldoc.Map) {
	burst, wait, align := m.Get("burst"), m.Get("wait"), m.Get("align")
	bucket := l.bucket()
	switch {
	case bucket && !burst.Exists():
		m.Lacks(burst, []string{"burst"}, "is missing; it is how many calls pass at one instant")
	case !bucket && burst.Exists() && l.Kind != "":
		burst.Problemf("is of %s and %s; %s has none", KindTokenBucket, KindGCRA, l.Kind)
	case burst.Exists():
		l.Burst = burst.Count(1, 1)
	}
	switch {
	case wait.Exists() && l.Kind != KindResilience4j && l.Kind != "":
		wait.Problemf("is of %s; nobody waits for a %s", KindResilience4j, l.Kind)
	case wait.Exists():
		l.Wait = wait.DurationOrZero(0)
	}
	switch {
	case align.Exists() && l.Kind != KindFixedWindow && l.Kind != "":
		align.Problemf("is of %s; a %s has no window that begins", KindFixedWindow, l.Kind)
	case align.Exists() || l.Kind == KindFixedWindow:
		l.Align = align.OneOf(alignClock, alignClock, alignFirstCall)
	}
}
