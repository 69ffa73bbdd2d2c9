package retry_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/retry"
)

func drawConfig(t *rapid.T) retry.Config {
	cfg := retry.Default()
	cfg.MaxAttempts = rapid.IntRange(1, 8).Draw(t, "max")
	cfg.FailAfterMaxAttempts = rapid.Bool().Draw(t, "fail after max")
	cfg.Wait = time.Duration(rapid.Int64Range(1, 100_000).Draw(t, "wait in us")) * 10 * time.Microsecond
	cfg.Wait = max(cfg.Wait, time.Millisecond)
	if rapid.Bool().Draw(t, "grows") {
		cfg.Multiplier = rapid.Float64Range(0.01, 10).Draw(t, "multiplier")
		if rapid.Bool().Draw(t, "limited") {
			cfg.MaxWait = time.Duration(rapid.Int64Range(1, 5000).Draw(t, "most")) * time.Millisecond
		}
	}
	if rapid.Bool().Draw(t, "random") {
		cfg.RandomFactor = rapid.Float64Range(0, 1).Draw(t, "factor")
		cfg.Seed = rapid.Uint64().Draw(t, "seed")
	}
	return cfg
}

// TestPolicyProperties makes calls whose attempts end anyhow: there are never more than
// MaxAttempts, none after a good value or an ignored error, each wait is within what can
// be computed by hand, and the same call waits the same again.
func TestPolicyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		p := must(retry.New(cfg, retry.Predicates{Retry: is("RI"), Ignore: is("I"), Result: bad}))
		call := rapid.Uint64().Draw(t, "call")
		var counters retry.Counters
		attempt := 1
		for ; ; attempt++ {
			letter := rapid.SampledFrom([]byte("RRRRBBBBSIO")).Draw(t, "outcome")
			d := p.Next(call, attempt, outcome(letter))
			counters.Add(d.Counts)
			if again := p.Next(call, attempt, outcome(letter)); again != d {
				t.Fatalf("%+v, then %+v", d, again)
			}
			worth := letter == 'R' || letter == 'B'
			if d.Again != (worth && attempt < cfg.MaxAttempts) {
				t.Fatalf("attempt %d of %d ended in %c: %+v", attempt, cfg.MaxAttempts, letter, d)
			}
			if !d.Again {
				if d.Wait != 0 {
					t.Fatalf("a wait without another attempt: %+v", d)
				}
				break
			}
			checkWait(t, cfg, attempt, d.Wait)
		}
		if n := counters.SucceededWithoutRetry + counters.SucceededWithRetry + counters.FailedWithoutRetry + counters.FailedWithRetry; n < 1 || n > 2 || counters.Attempts < attempt {
			t.Fatalf("after one call of %d attempts: %+v", attempt, counters)
		}
	})
}

// checkWait has bounds of its own: growth, without being cut in between, is the most
// there can be, and each cut takes away less than 1 ms, which grows with the rest.
func checkWait(t *rapid.T, cfg retry.Config, attempt int, wait time.Duration) {
	least, most := cfg.WaitBounds(attempt)
	if wait < least || wait > most {
		t.Fatalf("waits %v after attempt %d, which is not in %v..%v", wait, attempt, least, most)
	}
	if wait%time.Millisecond != 0 {
		t.Fatalf("waits %v", wait)
	}
	grown, lost := float64(cfg.Wait)/1e6, 1.0
	for range attempt - 1 {
		if cfg.Multiplier != 0 {
			grown *= cfg.Multiplier
			lost = lost*cfg.Multiplier + 1
		}
	}
	limit := math.Inf(1)
	if cfg.MaxWait != 0 {
		limit = float64(cfg.MaxWait.Milliseconds())
	}
	ms := float64(wait.Milliseconds())
	if high := min(limit, max(1, grown*(1+cfg.RandomFactor)+1)); ms > high*(1+1e-9) {
		t.Fatalf("waits %v ms after attempt %d, at most %v", ms, attempt, high)
	}
	if low := min(limit, (grown-lost)*(1-cfg.RandomFactor)-1); ms < low*(1-1e-9) {
		t.Fatalf("waits %v ms after attempt %d, at least %v", ms, attempt, low)
	}
}

// TestChanceIsUniform looks at many waits of one range: each tenth of it has its tenth of
// them, and neither the next call nor the next attempt follows from the last one.
func TestChanceIsUniform(t *testing.T) {
	cfg := retry.Default()
	cfg.Wait, cfg.RandomFactor = 1000*time.Millisecond, 0.5 // 500..1500 ms
	const calls, attempts = 10_000, 3
	var tenths [attempts + 1][10]int
	var rising, attemptRising int
	last := time.Duration(0)
	for call := range uint64(calls) {
		for attempt := 1; attempt <= attempts; attempt++ {
			w := cfg.WaitAfter(call, attempt)
			tenths[attempt][min(9, (w-500*time.Millisecond)/(100*time.Millisecond))]++
		}
		first := cfg.WaitAfter(call, 1)
		if first > last {
			rising++
		}
		if cfg.WaitAfter(call, 2) > first {
			attemptRising++
		}
		last = first
	}
	for attempt := 1; attempt <= attempts; attempt++ {
		for i, n := range tenths[attempt] {
			if n < calls*85/1000 || n > calls*115/1000 { // Five times the standard deviation of 30.
				t.Errorf("attempt %d: %d of %d waits in tenth %d", attempt, n, calls, i)
			}
		}
	}
	for what, n := range map[string]int{"calls": rising, "attempts": attemptRising} {
		if n < calls*47/100 || n > calls*53/100 {
			t.Errorf("%d of %d %s wait longer than the one before", n, calls, what)
		}
	}
}

// TestBudgetProperties makes calls and retries at any pace, and remembers when. In any
// stretch of 0.9 windows that ends with a retry, retries are at most the share of the
// calls that are less than two windows old, and the burst. (Tenths of a window and
// instants are cut to whole milliseconds.)
func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := retry.BudgetConfig{
			Window:       time.Duration(rapid.Int64Range(1000, 60_000).Draw(t, "window")) * time.Millisecond,
			MinPerSecond: rapid.IntRange(0, 3).Draw(t, "min"),
			Ratio:        rapid.SampledFrom([]float64{0, 0.1, 0.2, 0.3, 0.5, 1, 3}).Draw(t, "ratio"),
		}
		now := time.Unix(1_700_000_000, 0)
		b := must(retry.NewBudget(cfg, now))
		stretch := time.Duration(cfg.Window.Milliseconds()/10*9-1) * time.Millisecond
		burst := float64(cfg.MinPerSecond) * cfg.Window.Seconds()
		var calls, retries []time.Time
		since := func(all []time.Time, d time.Duration) (n float64) {
			for _, at := range all {
				if now.Sub(at) < d {
					n++
				}
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "calls") {
					b.Deposit(now)
					calls = append(calls, now)
				}
			},
			"retry": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "retries") {
					balance := b.Balance(now)
					if got := b.TryWithdraw(now); got != (balance >= 1) {
						t.Fatalf("balance %d, may retry: %v", balance, got)
					}
					if balance < 1 {
						continue
					}
					if left := b.Balance(now); left != balance-1 {
						t.Fatalf("a retry took the balance from %d to %d", balance, left)
					}
					retries = append(retries, now)
				}
				// The cost of a retry is cut to thousandths of a call.
				share := cfg.Ratio * 1.01 * since(calls, 2*cfg.Window)
				if n := since(retries, stretch); n > share+burst {
					t.Fatalf("%v retries, but %v are the share and %v the burst", n, share, burst)
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(1, int64(cfg.Window)/2).Draw(t, "for")))
			},
			"": func(t *rapid.T) {
				if n := float64(b.Balance(now)); n > cfg.Ratio*1.01*since(calls, 2*cfg.Window)+burst {
					t.Fatalf("balance %v", n)
				}
			},
		})
		now = now.Add(2 * cfg.Window)
		if got, want := b.Balance(now), int64(cfg.MinPerSecond)*int64(cfg.Window/time.Second); got != want {
			t.Fatalf("left alone, its balance is %d, want %d", got, want)
		}
	})
}

// TestThrottleProperties: retries are at most half of the tokens and the ratio of the
// successes, and the tokens stay within their bounds.
func TestThrottleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := retry.ThrottleConfig{
			MaxTokens:  rapid.IntRange(1, 20).Draw(t, "max"),
			TokenRatio: rapid.SampledFrom([]float64{0.001, 0.1, 0.5, 1, 7}).Draw(t, "ratio"),
		}
		th := must(retry.NewThrottle(cfg))
		retries, successes := 0, 0
		for range rapid.IntRange(0, 200).Draw(t, "attempts") {
			if rapid.Bool().Draw(t, "fails") {
				if th.Failed() {
					retries++
				}
			} else {
				th.Succeeded()
				successes++
			}
			if n := th.Tokens(); n < 0 || n > float64(cfg.MaxTokens) || th.Allows() != (n > float64(cfg.MaxTokens)/2) {
				t.Fatalf("%v tokens, allows retries: %v", n, th.Allows())
			}
			if share := float64(cfg.MaxTokens)/2 + float64(successes)*cfg.TokenRatio; float64(retries) > share+1e-9 {
				t.Fatalf("%d retries, at most %v", retries, share)
			}
		}
	})
}
