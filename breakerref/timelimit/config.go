package timelimit

import (
	"errors"
	"fmt"
	"time"
)

// Work says what the method that is limited returns. The zero value is Future.
type Work int

// The kinds of work.
const (
	Future      Work = iota // a thread that can be interrupted
	Completable             // a CompletionStage, whose computation cannot be
	Reactive                // a Mono, whose subscription is always cancelled
)

// String returns the name of the Java type.
func (w Work) String() string {
	switch w {
	case Future:
		return "Future"
	case Completable:
		return "CompletionStage"
	case Reactive:
		return "Mono"
	}
	return fmt.Sprintf("Work(%d)", int(w))
}

// Config describes a Limiter. It is plain data: two equal configurations behave alike.
// The name that Resilience4j gives a property stands in parentheses.
type Config struct {
	Name                string        // in errors only
	Timeout             time.Duration // (timeoutDuration) in whole ms, the rest is cut off
	CancelRunningFuture bool          // (cancelRunningFuture)
	Work                Work          // what is limited, which no property says
}

// Default returns what Resilience4j uses where nothing is configured, for a Future.
func Default() Config {
	return Config{Timeout: time.Second, CancelRunningFuture: true}
}

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the property as Resilience4j does, its value and what is allowed. The
// ranges are those of Resilience4j's Spring Boot properties; its builder does not check.
func (c Config) Validate() error {
	var timeout, work error
	if c.Timeout < 0 {
		timeout = fmt.Errorf("timeoutDuration is %v, must be at least 0s", c.Timeout)
	}
	if c.Work < Future || c.Work > Reactive {
		work = fmt.Errorf("work is %v, must be Future, CompletionStage or Mono", c.Work)
	}
	return errors.Join(timeout, work)
}

// Cancels says whether work that is too late is told to stop.
func (c Config) Cancels() bool {
	return c.Work == Reactive || c.Work == Future && c.CancelRunningFuture
}
