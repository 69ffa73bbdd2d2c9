package limit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// TestKeyedForgetsNothing compares with limiters that are all kept: every answer is
// the same, and a key is turned away only if as many others as may be kept are not
// as good as new.
func TestKeyedForgetsNothing(t *testing.T) {
	eachKind(t, func(t *rapid.T, k kind) {
		most := rapid.IntRange(1, 4).Draw(t, "most keys")
		keyed, err := limit.NewKeyed(most, func(string) (limit.Limiter, error) { return k.fresh(), nil })
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]limit.Limiter{}
		latest := storyStart
		h := begin(k)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			c := h.draw(t, false)
			h.calls = append(h.calls, c)
			if c.now.After(latest) {
				latest = c.now
			}
			key := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key"))
			got, err := keyed.Take(c.now, key, c.n)
			if keyed.Len() > most {
				t.Fatalf("%d keys are kept, %d may be", keyed.Len(), most)
			}
			if err != nil {
				checkFull(t, all, key, latest, most, err)
				continue
			}
			if all[key] == nil {
				all[key] = k.fresh()
			}
			h.last = all[key].Take(c.now, c.n)
			if diff := cmp.Diff(h.last, got); diff != "" {
				t.Fatalf("key %s at %v (-kept +bounded):\n%s", key, c, diff)
			}
		}
	})
}

func checkFull(t *rapid.T, all map[string]limit.Limiter, key string, now time.Time, most int, err error) {
	var full *limit.FullError
	if !errors.As(err, &full) {
		t.Fatalf("want a FullError, got %v", err)
	}
	inUse, first := 0, limit.Never
	for other, l := range all {
		if d := l.Take(now, tooMany); d.Reset > 0 {
			inUse++
			first = min(first, d.Reset)
			if other == key {
				t.Fatalf("key %s is turned away, though it counts", key)
			}
		}
	}
	if inUse != most {
		t.Fatalf("key %s is turned away for %d limiters in use, %d may be kept", key, inUse, most)
	}
	if diff := cmp.Diff(&limit.FullError{Key: key, Most: most, RetryAfter: first}, full); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// TestKeyedClock checks that a clock that steps back stands still for every key.
func TestKeyedClock(t *testing.T) {
	eachKind(t, func(t *rapid.T, k kind) {
		fresh := func(string) (limit.Limiter, error) { return k.fresh(), nil }
		stepping, err := limit.NewKeyed(1, fresh)
		if err != nil {
			t.Fatal(err)
		}
		still := k.fresh()
		var latest time.Time
		h := begin(k)
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			c := h.draw(t, true)
			h.calls = append(h.calls, c)
			if c.now.After(latest) {
				latest = c.now
			}
			got, err := stepping.Take(c.now, "key", c.n)
			if err != nil {
				t.Fatal(err)
			}
			h.last = got
			want := still.Take(latest, c.n)
			behind := latest.Sub(c.now)
			if want.Reset > 0 && want.Reset != limit.Never {
				want.Reset += behind
			}
			if want.RetryAfter > 0 && want.RetryAfter != limit.Never {
				want.RetryAfter += behind
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v, %v behind (-still +stepping):\n%s", c, behind, diff)
			}
		}
	})
}

// TestKeyedFreshFails checks that a key whose limiter cannot be made takes no place,
// also not that of another.
func TestKeyedFreshFails(t *testing.T) {
	bad := errors.New("no plan for this customer")
	keyed, err := limit.NewKeyed(1, func(key string) (limit.Limiter, error) {
		if key == "bad" {
			return nil, bad
		}
		return limit.NewSlidingLog(limit.SlidingLogConfig{Limit: 1, Window: time.Second})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, time.Hour} {
		if _, err := keyed.Take(storyStart.Add(after), "bad", 1); !errors.Is(err, bad) {
			t.Errorf("want the error of the maker, got %v", err)
		} else if want := `make the limiter of key "bad": no plan for this customer`; err.Error() != want {
			t.Errorf("want %q, got %q", want, err)
		}
		if d, err := keyed.Take(storyStart.Add(after), "good", 1); err != nil || !d.Allowed {
			t.Errorf("want the good key to pass, got %+v, %v", d, err)
		}
		if keyed.Len() != 1 {
			t.Errorf("%d keys are kept, want 1", keyed.Len())
		}
	}
}
