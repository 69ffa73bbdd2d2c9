package retry_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/retry"
)

// The errors and values of the calls that are played: R is on a list of those to retry,
// I is ignored if there is such a list, O is another one; B is an unwanted value, S a
// good one.
type failure byte

func (f failure) Error() string { return string(f) }

// is returns a predicate for some of the errors.
func is(kinds string) func(error) bool {
	return func(err error) bool {
		f, ok := errors.AsType[failure](err)
		return ok && strings.Contains(kinds, f.Error())
	}
}

func outcome(letter byte) retry.Outcome {
	switch letter {
	case 'B':
		return retry.Outcome{Value: "bad"}
	case 'S':
		return retry.Outcome{Value: "good"}
	}
	return retry.Outcome{Err: failure(letter)}
}

func bad(value any) bool { return value == "bad" }

// TestRecorded replays what Resilience4j 2.4.0 did. A line "case" begins a new policy;
// any other line is the outcomes of the attempts of one call, then how many attempts
// there were and what the caller got, the waits in ms, and the counters afterwards.
func TestRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/recorded/retry-2.4.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p *retry.Policy
	var counters retry.Counters
	calls, cases, differences := 0, 0, 0
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if rest, ok := strings.CutPrefix(line, "case "); ok {
			p, counters = recordedPolicy(t, rest), retry.Counters{}
			cases++
			continue
		}
		script, want, _ := strings.Cut(line, " | ")
		calls++
		if got := play(p, 0, script, &counters); got != want {
			differences++
			t.Errorf("line %d: %s: got %q, recorded %q", i+1, script, got, want)
		}
	}
	t.Logf("replayed %d calls of %d cases, %d differences", calls, cases, differences)
	if cases == 0 {
		t.Error("nothing is recorded")
	}
}

func recordedPolicy(t *testing.T, settings string) *retry.Policy {
	t.Helper()
	cfg := retry.Default()
	var ask retry.Predicates
	for word := range strings.FieldsSeq(settings) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "max":
			cfg.MaxAttempts = number(t, value)
		case "fail-after-max":
			cfg.FailAfterMaxAttempts = value == "true"
		case "result":
			if value == "true" {
				ask.Result = bad
			}
		case "list":
			if value != "0" {
				ask.Ignore = is("I")
			}
			if value == "2" {
				ask.Retry = is("RI")
			}
		default:
			setWait(t, &cfg, key, value)
		}
	}
	return must(retry.New(cfg, ask))
}

func setWait(t *testing.T, cfg *retry.Config, key, value string) {
	t.Helper()
	switch key {
	case "wait":
		cfg.Wait = duration(t, value)
	case "growth":
		cfg.Multiplier = decimal(t, value)
	case "wait-max":
		cfg.MaxWait = duration(t, value)
	case "random":
		cfg.RandomFactor = decimal(t, value)
	case "seed":
		cfg.Seed = uint64(number(t, value))
	default:
		t.Fatalf("unknown setting %q", key)
	}
}

// play makes one call whose attempts end as the script says, adds to the counters, and
// writes down what happened as TestRecorded has it.
func play(p *retry.Policy, call uint64, script string, counters *retry.Counters) string {
	var waits []string
	for attempt := 1; ; attempt++ {
		o := outcome(script[attempt-1])
		d := p.Next(call, attempt, o)
		counters.Add(d.Counts)
		if d.Again {
			waits = append(waits, strconv.FormatInt(d.Wait.Milliseconds(), 10))
			continue
		}
		end := o.Value
		if d.Err != nil {
			end = d.Err
		}
		if _, ok := errors.AsType[retry.MaxRetriesError](d.Err); ok {
			end = "exceeded"
		}
		if waits == nil {
			waits = []string{"-"}
		}
		return fmt.Sprintf("%d %v | %s | %d %d %d %d %d", attempt, end, strings.Join(waits, ","),
			counters.SucceededWithoutRetry, counters.SucceededWithRetry,
			counters.FailedWithoutRetry, counters.FailedWithRetry, counters.Attempts)
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func decimal(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must is for what a test has made valid.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
