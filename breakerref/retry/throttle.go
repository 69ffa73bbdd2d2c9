package retry

import (
	"errors"
	"math"
)

// ThrottleConfig describes a Throttle. It is plain data: two equal configurations behave
// alike. gRPC has no defaults for it; its proposal's example is 10 and 0.1. The name that
// gRPC gives a field stands in parentheses.
type ThrottleConfig struct {
	MaxTokens  int     // (maxTokens)
	TokenRatio float64 // (tokenRatio) tokens of a success; in thousandths, the rest is cut off
}

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the field as gRPC does, its value and what is allowed.
func (c ThrottleConfig) Validate() error {
	var p problems
	p.require(c.MaxTokens >= 1 && c.MaxTokens <= 1000, "maxTokens", c.MaxTokens, "from 1 to 1000")
	p.require(c.TokenRatio > 0 && !math.IsInf(c.TokenRatio, 1), "tokenRatio", c.TokenRatio, "above 0")
	return errors.Join(p...)
}

// Throttle stops retries while failures outweigh successes, as gRPC's retry throttling
// does. It must be made by NewThrottle. It needs no time.
type Throttle struct {
	tokens, most, ratio int // in thousandths
}

// NewThrottle returns a throttle with all its tokens. The error is that of Validate.
func NewThrottle(cfg ThrottleConfig) (*Throttle, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	const whole = 1000
	most := cfg.MaxTokens * whole
	// The little more keeps a decimal fraction, such as 1.001, from being cut below its
	// thousandths because binary fractions do not hold it exactly.
	ratio := math.Floor(min(cfg.TokenRatio*whole+1e-6, float64(most)))
	return &Throttle{tokens: most, most: most, ratio: int(ratio)}, nil
}

// Failed takes the outcome of an attempt that failed in a way that is worth a retry, or
// whose server asked for none, and says whether it may be retried.
func (t *Throttle) Failed() bool {
	t.tokens = max(0, t.tokens-1000)
	return t.Allows()
}

// Succeeded takes the outcome of an attempt that succeeded. An attempt that failed in any
// other way is not told.
func (t *Throttle) Succeeded() { t.tokens = min(t.most, t.tokens+t.ratio) }

// Allows says whether a retry may be made now.
func (t *Throttle) Allows() bool { return 2*t.tokens > t.most }

// Tokens returns how many there are.
func (t *Throttle) Tokens() float64 { return float64(t.tokens) / 1000 }
