package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// waitRules are about how long a breaker stays open, and a retry waits.
func waitRules() []Rule {
	return []Rule{backoffWithoutWait(), backoffNotEnabled(), maxIgnored(), backoffLost(), waitUnlimited(), doesNotGrow(), maxBelowWait(), waitTooShort()}
}

const (
	growKey       = "enableExponentialBackoff"
	varyKey       = "enableRandomizedWait"
	multiplierKey = "exponentialBackoffMultiplier"
	factorKey     = "randomizedWaitFactor"
	openWaitKey   = "waitDurationInOpenState"
)

// waitOf is the key of a module's wait, and that of the limit of its growth.
func waitOf(m resilience4j.Module) (wait, most string) {
	if m == resilience4j.Retry {
		return "waitDuration", "exponentialMaxWaitDuration"
	}
	return openWaitKey, "exponentialMaxWaitDurationInOpenState"
}

// breakerBlocks returns the blocks of circuit breakers.
func (v *view) breakerBlocks() []resilience4j.Block {
	return slices.DeleteFunc(slices.Clone(v.blocks), func(b resilience4j.Block) bool { return b.Module != resilience4j.CircuitBreaker })
}

// switched reports whether a block switches something on.
func switched(b resilience4j.Block, key string) bool {
	value, there := said(b, key)
	return there && value == "true"
}

// inBlock notes a finding about a block as it is written.
func (c *checker) inBlock(b resilience4j.Block, at resilience4j.Pos, what string) {
	c.add(draft{module: b.Module, name: b.Name, config: b.Config, at: at, what: what})
}

func backoffWithoutWait() Rule {
	return Rule{
		ID: "backoff-without-wait", Severity: Error, Whole: true,
		Title:  "A wait that would grow or vary, but does not",
		Why:    "The library looks at enableExponentialBackoff and enableRandomizedWait only in a block that has waitDurationInOpenState too. Without it the wait stays what it was, a fixed minute at first. A retry needs its waitDuration for it.",
		Source: "the library's circuit breaker configuration, 2.4.0",
		Fix:    "write waitDurationInOpenState (waitDuration of a retry) in the same block",
		check: func(c *checker) {
			for _, b := range c.breakerBlocks() {
				for _, key := range []string{growKey, varyKey} {
					_, waits := said(b, openWaitKey)
					if s, there := settingIn(b, key); there && s.Value == "true" && !waits {
						c.inBlock(b, s.Origin.Pos, key+" has no effect, because waitDurationInOpenState is not in the same block")
					}
				}
			}
			for _, s := range c.of(resilience4j.Retry) {
				c.waitless(s, growKey)
				c.waitless(s, varyKey)
			}
		},
	}
}

// waitless tells of a retry that switches something on and has no wait. It inherits what
// its base switches on, so what counts is what it comes to.
func (c *checker) waitless(s *subject, key string) {
	if s.config || !s.sure(key) || s.on(key) || has(s.chain, "waitDuration") {
		return
	}
	for _, b := range slices.Backward(s.chain) {
		if last, there := settingIn(b, key); there {
			if last.Value == "true" {
				c.findIn(s, last.Origin.Pos, key+" has no effect, because waitDuration is not set")
			}
			return
		}
	}
}

func backoffNotEnabled() Rule {
	return Rule{
		ID: "backoff-not-enabled", Severity: Error, Whole: true,
		Title:  "How a wait grows, of one that does not grow",
		Why:    "A multiplier, a limit or a factor does nothing where enableExponentialBackoff or enableRandomizedWait is not true; with a circuit breaker that must be in the same block.",
		Source: "the library's configuration classes, 2.4.0",
		Fix:    "switch it on, or remove the key",
		check: func(c *checker) {
			for _, b := range c.breakerBlocks() {
				c.notEnabled(b, func(key string) bool {
					s, there := settingIn(b, key)
					return there && (s.Value == "true" || c.doubtful(s))
				})
			}
			for _, s := range c.of(resilience4j.Retry) {
				for _, b := range s.chain {
					c.notEnabled(b, func(key string) bool {
						return !s.sure(key) || slices.ContainsFunc(s.chain, func(b resilience4j.Block) bool { return switched(b, key) })
					})
				}
			}
		},
	}
}

// notEnabled tells the keys of a block that wait for a switch.
func (c *checker) notEnabled(b resilience4j.Block, enabled func(key string) bool) {
	_, most := waitOf(b.Module)
	for _, of := range []struct{ key, by string }{{multiplierKey, growKey}, {most, growKey}, {factorKey, varyKey}} {
		if s, there := settingIn(b, of.key); there && !c.doubtful(s) && !enabled(of.by) {
			c.inBlock(b, s.Origin.Pos, of.key+" has no effect without "+of.by+": true")
		}
	}
}

func maxIgnored() Rule {
	return Rule{
		ID: "exponential-max-ignored", Severity: Error, Whole: true,
		Title:  "A limit of growth that is ignored",
		Why:    "The library takes the limit only together with exponentialBackoffMultiplier. Without one the wait grows by 1.5 each time, without a limit.",
		Source: "the library's configuration classes, 2.4.0",
		Fix:    "write exponentialBackoffMultiplier beside it",
		check: func(c *checker) {
			const because = "has no effect, because exponentialBackoffMultiplier is not set"
			for _, b := range c.breakerBlocks() {
				_, most := waitOf(b.Module)
				s, there := settingIn(b, most)
				_, multiplied := said(b, multiplierKey)
				_, waits := said(b, openWaitKey)
				if there && waits && !multiplied && switched(b, growKey) && !c.doubtful(s) {
					c.inBlock(b, s.Origin.Pos, most+" "+because+" in the same block")
				}
			}
			for _, s := range c.of(resilience4j.Retry) {
				_, most := waitOf(s.module)
				if has(s.chain, most) && s.sure(most) && !has(s.chain, multiplierKey) && slices.ContainsFunc(s.chain, func(b resilience4j.Block) bool { return switched(b, growKey) }) {
					c.findIn(s, place(s.chain, most), most+" "+because)
				}
			}
		},
	}
}

// has reports whether a key is written in one of the blocks.
func has(chain []resilience4j.Block, key string) bool { return place(chain, key).Line > 0 }

// place is where the last of the blocks has a key.
func place(chain []resilience4j.Block, key string) resilience4j.Pos {
	for _, b := range slices.Backward(chain) {
		if s, there := settingIn(b, key); there {
			return s.Origin.Pos
		}
	}
	return resilience4j.Pos{}
}

func backoffLost() Rule {
	return Rule{
		ID: "backoff-lost", Severity: Warning,
		Title:  "A breaker's own wait ends the growth it would have inherited",
		Why:    "A block with waitDurationInOpenState makes a new wait, which is fixed unless the same block says otherwise; the growth or variation of its base is gone. A retry keeps it.",
		Source: "the library's circuit breaker configuration, 2.4.0",
		Fix:    "repeat enableExponentialBackoff (or enableRandomizedWait) and its keys in the block",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				for i, b := range s.chain[1:] {
					c.lost(s.chain[i], b)
				}
			}
		},
	}
}

// lost tells of a block that makes a fixed wait of its base's.
func (c *checker) lost(base, b resilience4j.Block) {
	w, waits := settingIn(b, openWaitKey)
	_, grows := said(b, growKey)
	_, varies := said(b, varyKey)
	before, waited := settingIn(base, openWaitKey)
	if waits && !grows && !varies && waited && (switched(base, growKey) || switched(base, varyKey)) {
		c.inBlock(b, w.Origin.Pos, fmt.Sprintf("waitDurationInOpenState makes the wait fixed; the base's, at line %d, would not be", before.Origin.Pos.Line))
	}
}

// grows reports whether a breaker's wait grows, and that nothing of it is in doubt.
func (s *subject) grows() bool {
	_, most := waitOf(s.module)
	return s.set(growKey) && s.on(growKey) && s.sure(openWaitKey, multiplierKey, most) && s.set(openWaitKey)
}

func waitUnlimited() Rule {
	return Rule{
		ID: "wait-grows-without-limit", Severity: Warning, Whole: true,
		Title:  "A wait that grows without a limit",
		Why:    "Each time the probes fail the wait is multiplied. After a night of outage it is hours, and so is the time until the breaker notices that the dependency is back.",
		Source: "resilience4j#2093, #980 (open for hours)",
		Fix:    "set exponentialMaxWaitDurationInOpenState, and exponentialBackoffMultiplier with it",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				_, most := waitOf(s.module)
				if s.grows() && !has(s.chain, most) {
					c.findIn(s, s.pos(growKey), "the wait grows each time the probes fail, without a limit")
				}
			}
		},
	}
}

func doesNotGrow() Rule {
	return Rule{
		ID: "backoff-does-not-grow", Severity: Warning,
		Title:  "A multiplier that does not make the wait longer",
		Why:    "With a multiplier of 1 or less the wait stays, or shrinks each time.",
		Source: "the library's interval functions, 2.4.0",
		Fix:    "set exponentialBackoffMultiplier above 1, as 2",
		check: func(c *checker) {
			for _, s := range c.subjects {
				if s.set(growKey) && s.on(growKey) && s.set(multiplierKey) && s.num(multiplierKey) > 0 && s.num(multiplierKey) <= 1 {
					c.findIn(s, s.pos(multiplierKey), "exponentialBackoffMultiplier is "+s.text(multiplierKey)+": the wait does not grow")
				}
			}
		},
	}
}

func maxBelowWait() Rule {
	return Rule{
		ID: "backoff-max-below-wait", Severity: Warning,
		Title:  "A limit of growth that is below the first wait",
		Why:    "The limit holds for the first wait too, so the wait that is written is never waited.",
		Source: "the library's interval functions, 2.4.0",
		Fix:    "raise the limit above the wait",
		check: func(c *checker) {
			for _, s := range c.subjects {
				wait, most := waitOf(s.module)
				if !s.set(most) || s.dur(most) == 0 || !s.sure(wait, growKey) || !s.on(growKey) || c.partial && s.unset(wait) || s.dur(most) >= s.dur(wait) {
					continue
				}
				c.findIn(s, s.pos(most), fmt.Sprintf("%s is %s, and the first wait %s", most, s.text(most), s.text(wait)))
			}
		},
	}
}

// shortest is below which a wait protects nobody.
const shortest = 500 * time.Millisecond

func waitTooShort() Rule {
	return Rule{
		ID: "wait-too-short", Severity: Warning,
		Title:  "A breaker that is open for a moment only",
		Why:    "After so short a wait the probes meet the same failure, and the dependency gets no rest. What is short because its unit is missing is told by another rule.",
		Source: "resilience4j#652",
		Fix:    "set waitDurationInOpenState to seconds",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if !s.set(openWaitKey) || s.dur(openWaitKey) == 0 || s.dur(openWaitKey) >= shortest {
					continue
				}
				if w, there := c.as(s.pos(openWaitKey)); there && strings.Trim(w.value, "0123456789 ") == "" {
					continue
				}
				c.findIn(s, s.pos(openWaitKey), "waitDurationInOpenState is "+s.text(openWaitKey))
			}
		},
	}
}
