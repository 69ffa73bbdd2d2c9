package resilience4j

import (
	"math"
	"slices"
	"strings"
	"time"
)

// kind is how a property's text is converted.
type kind int

const (
	text kind = iota
	integer
	float32bit
	float64bit
	truth
	duration
	constant
	class
	classes
)

// property is one key of a module's blocks: how it is read, what Spring's binding takes,
// and what the library uses where it is not given.
type property struct {
	key   string
	kind  kind
	def   string   // normalised; empty: there is none
	words []string // of a constant
	least float64  // of a number, or of a duration in nanoseconds
	most  float64  // of a number; 0: what the type holds
	open  bool     // least itself is too little, or most itself too much
	merge bool     // filled in from the base, in place, when a config is created

	primitive bool // a number that cannot be empty
	nanos     bool // a duration that must fit into nanoseconds
	wholeMS   bool // a duration whose parts of a millisecond do not count for its sign
}

// properties returns the table of a module, in the order in which people think of them.
func properties(m Module) []property {
	switch m {
	case CircuitBreaker:
		return breakerProperties()
	case Retry:
		return retryProperties()
	case Bulkhead:
		return []property{
			{key: "maxConcurrentCalls", kind: integer, def: "25", least: 1},
			{key: "maxWaitDuration", kind: duration, def: "0s"},
			writable(), buffer(), base(),
		}
	case ThreadPoolBulkhead:
		return poolProperties()
	case RateLimiter:
		return []property{
			{key: "limitForPeriod", kind: integer, def: "50", least: 1},
			{key: "limitRefreshPeriod", kind: duration, def: "500ns", least: 1, nanos: true},
			{key: "timeoutDuration", kind: duration, def: "5s", nanos: true},
			writable(),
			{key: "subscribeForEvents", kind: truth, def: "false", merge: true},
			{key: "registerHealthIndicator", kind: truth, def: "false", merge: true},
			{key: "allowHealthIndicatorToFail", kind: truth, def: "false", merge: true},
			buffer(), base(),
		}
	case TimeLimiter:
		return []property{
			{key: "timeoutDuration", kind: duration, def: "1s"},
			{key: "cancelRunningFuture", kind: truth, def: "true"},
			buffer(), base(),
		}
	}
	return nil
}

func base() property { return property{key: "baseConfig", kind: text} }

func buffer() property {
	return property{key: "eventConsumerBufferSize", kind: integer, def: "100", least: 1, merge: true}
}

func writable() property { return property{key: "writableStackTraceEnabled", kind: truth, def: "true"} }

func breakerProperties() []property {
	states := []string{"CLOSED", "OPEN", "HALF_OPEN", "DISABLED", "METRICS_ONLY", "FORCED_OPEN"}
	ms := float64(time.Millisecond)
	return []property{
		{key: "slidingWindowType", kind: constant, def: "COUNT_BASED", words: []string{"COUNT_BASED", "TIME_BASED"}},
		{key: "slidingWindowSize", kind: integer, def: "100", least: 1},
		{key: "minimumNumberOfCalls", kind: integer, def: "100", least: 1},
		{key: "failureRateThreshold", kind: float32bit, def: "50", least: 1, most: 100},
		{key: "slowCallRateThreshold", kind: float32bit, def: "100", least: 1, most: 100},
		{key: "slowCallDurationThreshold", kind: duration, def: "1m", least: 1, nanos: true},
		{key: "waitDurationInOpenState", kind: duration, def: "1m", least: ms},
		{key: "enableExponentialBackoff", kind: truth, def: "false"},
		{key: "exponentialBackoffMultiplier", kind: float64bit, open: true},
		{key: "exponentialMaxWaitDurationInOpenState", kind: duration, least: ms},
		{key: "enableRandomizedWait", kind: truth, def: "false"},
		{key: "randomizedWaitFactor", kind: float64bit, most: 1, open: true},
		{key: "automaticTransitionFromOpenToHalfOpenEnabled", kind: truth, def: "false"},
		{key: "permittedNumberOfCallsInHalfOpenState", kind: integer, def: "10", least: 1},
		{key: "maxWaitDurationInHalfOpenState", kind: duration, def: "0s", wholeMS: true},
		{key: "transitionToStateAfterWaitDuration", kind: constant, def: "OPEN", words: []string{"OPEN", "CLOSED"}},
		{key: "initialState", kind: constant, def: "CLOSED", words: states},
		{key: "recordExceptions", kind: classes},
		{key: "recordFailurePredicate", kind: class},
		{key: "recordResultPredicate", kind: class},
		{key: "ignoreExceptions", kind: classes},
		{key: "ignoreExceptionPredicate", kind: class},
		writable(),
		{key: "registerHealthIndicator", kind: truth, def: "false", merge: true},
		{key: "allowHealthIndicatorToFail", kind: truth, def: "false", merge: true},
		{key: "ignoreClassBindingExceptions", kind: truth, def: "false", merge: true},
		buffer(), base(),
	}
}

func retryProperties() []property {
	return []property{
		{key: "maxAttempts", kind: integer, def: "3", least: 1},
		{key: "waitDuration", kind: duration, def: "500ms"},
		{key: "enableExponentialBackoff", kind: truth, def: "false", merge: true},
		{key: "exponentialBackoffMultiplier", kind: float64bit, open: true, merge: true},
		{key: "exponentialMaxWaitDuration", kind: duration, merge: true},
		{key: "enableRandomizedWait", kind: truth, def: "false", merge: true},
		{key: "randomizedWaitFactor", kind: float64bit, most: 1, open: true},
		{key: "intervalBiFunction", kind: class},
		{key: "retryExceptions", kind: classes},
		{key: "retryExceptionPredicate", kind: class},
		{key: "ignoreExceptions", kind: classes},
		{key: "resultPredicate", kind: class},
		{key: "consumeResultBeforeRetryAttempt", kind: class},
		{key: "failAfterMaxAttempts", kind: truth, def: "false"},
		buffer(), base(),
	}
}

// poolProperties have no default for the threads: it is the number of processors that
// the JVM sees. A size of 0 or less, and a capacity below 0, count as not given.
func poolProperties() []property {
	return []property{
		{key: "coreThreadPoolSize", kind: integer, least: math.MinInt32, primitive: true},
		{key: "maxThreadPoolSize", kind: integer, least: math.MinInt32, primitive: true},
		{key: "queueCapacity", kind: integer, def: "100", least: math.MinInt32, primitive: true},
		{key: "keepAliveDuration", kind: duration, def: "20ms", wholeMS: true},
		{key: "contextPropagators", kind: classes},
		writable(), buffer(), base(),
	}
}

// find returns the property that a key names, in whatever style.
func find(m Module, key string) (property, bool) {
	all := properties(m)
	i := slices.IndexFunc(all, func(p property) bool { return uniform(p.key) == key })
	if i < 0 {
		return property{}, false
	}
	return all[i], true
}

// keys returns the usual spelling of a module's properties.
func keys(m Module) []string {
	var all []string
	for _, p := range properties(m) {
		all = append(all, p.key)
	}
	return all
}

// sections are what may stand directly below a module, by their uniform names.
func sections(m Module) []string {
	common := []string{"instances", "configs", "tags"}
	switch m {
	case RateLimiter:
		return append(common, "limiters")
	case TimeLimiter:
		return common
	case CircuitBreaker, Retry, Bulkhead, ThreadPoolBulkhead:
	}
	return append(common, "backends")
}

// removed says what has taken the place of a property that is gone, and since when.
func removed(m Module, key string) (since, instead string) {
	type gone struct{ since, instead string }
	all := map[Module]map[string]gone{
		CircuitBreaker: {
			"ringbuffersizeinclosedstate":   {"2.0", "slidingWindowSize and minimumNumberOfCalls"},
			"ringbuffersizeinhalfopenstate": {"2.0", "permittedNumberOfCallsInHalfOpenState"},
			"waitinterval":                  {"1.0", "waitDurationInOpenState"},
			"waitdurationmillis":            {"1.0", "waitDurationInOpenState"},
		},
		Retry:              {"maxretryattempts": {"2.0", "maxAttempts"}, "waitdurationmillis": {"1.0", "waitDuration"}},
		Bulkhead:           {"maxwaittime": {"1.0", "maxWaitDuration"}},
		ThreadPoolBulkhead: {"keepalivetime": {"1.0", "keepAliveDuration"}},
		RateLimiter:        {"limitrefreshperiodinnanos": {"1.0", "limitRefreshPeriod"}, "timeoutinmillis": {"1.0", "timeoutDuration"}},
		TimeLimiter:        {"timeoutinmillis": {"1.0", "timeoutDuration"}},
	}
	if g, ok := all[m][key]; ok {
		return g.since, g.instead
	}
	if cut, ok := strings.CutSuffix(key, "inmillis"); ok {
		if p, ok := find(m, cut); ok {
			return "1.0", p.key
		}
	}
	return "", ""
}
