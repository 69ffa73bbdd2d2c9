package bulkhead

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// SemaphoreConfig describes a Semaphore. It is plain data: two equal configurations
// behave alike. The name that Resilience4j gives a property stands in parentheses.
type SemaphoreConfig struct {
	Name               string        // in errors only
	MaxConcurrentCalls int           // (maxConcurrentCalls)
	MaxWait            time.Duration // (maxWaitDuration) in whole ms, the rest is cut off
	FairCallHandling   bool          // (fairCallHandlingEnabled) nobody overtakes one who waits; fixed for life
}

// DefaultSemaphore returns what Resilience4j uses where nothing is configured.
func DefaultSemaphore() SemaphoreConfig {
	return SemaphoreConfig{MaxConcurrentCalls: 25, FairCallHandling: true}
}

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the property as Resilience4j does, its value and what is allowed. The
// ranges are those of Resilience4j's builder; its Spring Boot properties do not take a
// maxConcurrentCalls of 0.
func (c SemaphoreConfig) Validate() error {
	var p problems
	p.within("maxConcurrentCalls", c.MaxConcurrentCalls, 0)
	p.atLeastZero("maxWaitDuration", c.MaxWait)
	return errors.Join(p...)
}

// ThreadPoolConfig describes a ThreadPool. It is plain data: two equal configurations
// behave alike. The name that Resilience4j gives a property stands in parentheses.
type ThreadPoolConfig struct {
	Name          string        // in errors only
	Core          int           // (coreThreadPoolSize) threads that stay once started
	Max           int           // (maxThreadPoolSize) threads
	QueueCapacity int           // (queueCapacity) 0: calls are handed to an idle thread or not at all
	KeepAlive     time.Duration // (keepAliveDuration) in whole ms, the rest is cut off
}

// DefaultThreadPool returns what Resilience4j uses where nothing is configured, in a JVM
// that sees the given number of processors.
func DefaultThreadPool(processors int) ThreadPoolConfig {
	return ThreadPoolConfig{
		Core:          max(1, processors-1),
		Max:           processors,
		QueueCapacity: 100,
		KeepAlive:     20 * time.Millisecond,
	}
}

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the property as Resilience4j does, its value and what is allowed. The
// ranges are those of Resilience4j's builder.
func (c ThreadPoolConfig) Validate() error {
	var p problems
	p.within("coreThreadPoolSize", c.Core, 1)
	p.within("maxThreadPoolSize", c.Max, 1)
	p.require(c.Max < 1 || c.Core <= c.Max,
		"maxThreadPoolSize", c.Max, fmt.Sprintf("at least coreThreadPoolSize, %d", c.Core))
	p.within("queueCapacity", c.QueueCapacity, 0)
	p.atLeastZero("keepAliveDuration", c.KeepAlive)
	return errors.Join(p...)
}

// problems collects what is wrong with a configuration.
type problems []error

func (p *problems) require(ok bool, property string, value any, allowed string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s is %v, must be %s", property, value, allowed))
	}
}

// within has the upper bound of the 32-bit integers that the library uses.
func (p *problems) within(property string, value, least int) {
	p.require(value >= least && value <= math.MaxInt32, property, value, fmt.Sprintf("from %d to 2147483647", least))
}

func (p *problems) atLeastZero(property string, value time.Duration) {
	p.require(value >= 0, property, value, "at least 0s")
}
