package retry

import (
	"errors"
	"math"
	"time"
)

// BudgetConfig describes a Budget. It is plain data: two equal configurations behave
// alike. The zero value is not valid; start from DefaultBudget. The name that Finagle
// gives a parameter stands in parentheses.
type BudgetConfig struct {
	Window       time.Duration // (ttl) how long deposits and withdrawals count, roughly; in whole ms
	MinPerSecond int           // (minRetriesPerSec) retries that need no deposit, over the whole seconds of Window
	Ratio        float64       // (percentCanRetry) retries for each first call
}

// DefaultBudget returns Finagle's default: a fifth of the calls, and 10 a second.
func DefaultBudget() BudgetConfig {
	return BudgetConfig{Window: 10 * time.Second, MinPerSecond: 10, Ratio: 0.2}
}

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the parameter as Finagle does, its value and what is allowed.
func (c BudgetConfig) Validate() error {
	var p problems
	p.require(c.Window >= time.Second && c.Window < 61*time.Second,
		"ttl", c.Window, "from 1s to 60s (and a part of a second)")
	p.require(c.MinPerSecond >= 0 && c.MinPerSecond <= math.MaxInt32,
		"minRetriesPerSec", c.MinPerSecond, "from 0 to 2147483647")
	p.require(c.Ratio >= 0 && c.Ratio <= deposit, "percentCanRetry", c.Ratio, "from 0 to 1000")
	return errors.Join(p...)
}

const (
	deposit = 1000 // tokens of a first call: Finagle counts in thousandths
	parts   = 10   // of a window, which expire one by one
)

// Budget limits the share of calls that are retries, as Finagle's RetryBudget does. It
// must be made by NewBudget.
//
// It departs from Finagle in that tokens are 64 bits wide, where a large reserve
// overflows Finagle's 32. As there, time counts in whole milliseconds.
type Budget struct {
	deposit int64
	cost    int64 // tokens of a retry
	reserve int64
	slice   time.Duration
	past    [parts - 1]int64 // tokens of the slices that are over; at is the oldest one
	at      int
	current int64
	began   time.Time // when the current slice did
}

// NewBudget returns a budget that holds its reserve. The error is that of Validate.
func NewBudget(cfg BudgetConfig, now time.Time) (*Budget, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Budget{
		deposit: deposit,
		slice:   time.Duration(cfg.Window.Milliseconds()/parts) * time.Millisecond,
		began:   now.Truncate(time.Millisecond),
	}
	if cfg.Ratio == 0 {
		b.deposit, b.cost = 0, 1
	} else {
		b.cost = int64(min(deposit/cfg.Ratio, math.MaxInt32))
	}
	b.reserve = int64(cfg.MinPerSecond) * int64(cfg.Window/time.Second) * b.cost
	return b, nil
}

// Deposit credits the budget for a first call that is made at now. Retries deposit
// nothing.
func (b *Budget) Deposit(now time.Time) {
	b.roll(now)
	b.current += b.deposit
}

// TryWithdraw says whether a retry may be made at now, and if so charges it.
func (b *Budget) TryWithdraw(now time.Time) bool {
	if b.Balance(now) < 1 {
		return false
	}
	b.current -= b.cost
	return true
}

// Balance returns how many retries could be made at now. It is below 0 while withdrawals
// outlive the deposits that they were made from.
func (b *Budget) Balance(now time.Time) int64 {
	b.roll(now)
	sum := b.current + b.reserve
	for _, tokens := range b.past {
		sum += tokens
	}
	return sum / b.cost
}

// roll ends the current slice if it has lasted long enough, and drops as many old ones
// as have been missed. The slice that begins does so now.
func (b *Budget) roll(now time.Time) {
	now = now.Truncate(time.Millisecond)
	elapsed := now.Sub(b.began)
	if elapsed < b.slice {
		return
	}
	b.push(b.current)
	for range min(elapsed/b.slice-1, parts-1) {
		b.push(0)
	}
	b.current, b.began = 0, now
}

// push puts a slice in the place of the oldest one.
func (b *Budget) push(tokens int64) {
	b.past[b.at] = tokens
	b.at = (b.at + 1) % len(b.past)
}
