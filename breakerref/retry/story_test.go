package retry_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/internal/stories"
)

// TestStories plays the stories in testdata/*.txt:
//
//   - "policy" makes a policy (its settings are those of the recorded cases; result,
//     retry=LETTERS and ignore=LETTERS are its predicates), "call" makes one call a line,
//     by the letters of its attempts' outcomes, and prints what TestRecorded does; "waits
//     n" lists the first n waits of a call that always fails, "bounds n" what they can be;
//   - "budget" and "throttle" make one of those, "do" plays one step a line and prints
//     the answer and the balance.
//
// Run with -rewrite to write the answers anew, then read the difference.
func TestStories(t *testing.T) {
	stories.Play(t, stories.Commands[story]{
		"policy": (*story).newPolicy, "call": (*story).call, "waits": (*story).waits, "bounds": (*story).bounds,
		"budget": (*story).newBudget, "throttle": (*story).newThrottle, "do": (*story).do,
	})
}

type story struct {
	policy   *retry.Policy
	counters retry.Counters
	calls    uint64

	start, now time.Time
	budget     *retry.Budget
	throttle   *retry.Throttle
}

func (s *story) call(_ *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		script := strings.TrimSpace(line)
		fmt.Fprintf(&out, "%-8s %s\n", script, play(s.policy, s.calls, script, &s.counters))
		s.calls++
	}
	return out.String()
}

func (s *story) bounds(t *testing.T, d *datadriven.TestData) string {
	var words []string
	for attempt := 1; attempt <= number(t, d.CmdArgs[0].Key); attempt++ {
		least, most := s.policy.Config().WaitBounds(attempt)
		words = append(words, fmt.Sprintf("%v..%v", least, most))
	}
	return strings.Join(words, " ")
}

func (s *story) newThrottle(t *testing.T, d *datadriven.TestData) string {
	cfg := retry.ThrottleConfig{MaxTokens: 10, TokenRatio: 0.1}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "max":
			cfg.MaxTokens = number(t, arg.Vals[0])
		case "ratio":
			cfg.TokenRatio = decimal(t, arg.Vals[0])
		default:
			d.Fatalf(t, "unknown setting %q", arg.Key)
		}
	}
	*s = story{throttle: must(retry.NewThrottle(cfg))}
	return fmt.Sprint(s.throttle.Tokens())
}

func (s *story) newPolicy(t *testing.T, d *datadriven.TestData) string {
	cfg := retry.Default()
	cfg.Name = "r"
	var ask retry.Predicates
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "max":
			cfg.MaxAttempts = number(t, arg.Vals[0])
		case "fail-after-max":
			cfg.FailAfterMaxAttempts = true
		case "result":
			ask.Result = bad
		case "retry":
			ask.Retry = is(arg.Vals[0])
		case "ignore":
			ask.Ignore = is(arg.Vals[0])
		default:
			setWait(t, &cfg, arg.Key, arg.Vals[0])
		}
	}
	p, err := retry.New(cfg, ask)
	*s = story{policy: p}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func (s *story) waits(t *testing.T, d *datadriven.TestData) string {
	n := number(t, d.CmdArgs[0].Key)
	var words []string
	for attempt := 1; attempt <= n; attempt++ {
		words = append(words, strconv.FormatInt(s.policy.Config().WaitAfter(s.calls, attempt).Milliseconds(), 10))
	}
	s.calls++
	return strings.Join(words, " ")
}

func (s *story) newBudget(t *testing.T, d *datadriven.TestData) string {
	cfg := retry.DefaultBudget()
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "window":
			cfg.Window = duration(t, arg.Vals[0])
		case "min":
			cfg.MinPerSecond = number(t, arg.Vals[0])
		case "ratio":
			cfg.Ratio = decimal(t, arg.Vals[0])
		default:
			d.Fatalf(t, "unknown setting %q", arg.Key)
		}
	}
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	*s = story{start: start, now: start, budget: must(retry.NewBudget(cfg, start))}
	return fmt.Sprint(s.budget.Balance(start))
}

// do runs the steps of a stanza; "deposit x3" is three steps with one line.
func (s *story) do(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		words, times := strings.Fields(line), 1
		if last := words[len(words)-1]; strings.HasPrefix(last, "x") {
			times = number(t, last[1:])
		}
		if words[0] == "wait" {
			s.now = s.now.Add(duration(t, words[1]))
			continue
		}
		answers := map[string]int{}
		for range times {
			if a := s.step(t, words[0]); a != "" {
				answers[a]++
			}
		}
		fmt.Fprintf(&out, "%-14s %v yes, %v no  ", strings.TrimSpace(line), answers["true"], answers["false"])
		if s.throttle != nil {
			fmt.Fprintln(&out, s.throttle.Tokens())
		} else {
			fmt.Fprintf(&out, "%d at %v\n", s.budget.Balance(s.now), s.now.Sub(s.start))
		}
	}
	return out.String()
}

func (s *story) step(t *testing.T, word string) string {
	switch word {
	case "deposit":
		s.budget.Deposit(s.now)
	case "withdraw":
		return fmt.Sprint(s.budget.TryWithdraw(s.now))
	case "look":
	case "failed":
		return fmt.Sprint(s.throttle.Failed())
	case "succeeded":
		s.throttle.Succeeded()
	default:
		t.Fatalf("unknown step %q", word)
	}
	return ""
}
