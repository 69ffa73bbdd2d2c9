// Package resilience4j reads Resilience4j configuration, as a Spring Boot application
// has it in application.yml or application.properties, into the configuration of the
// references, and knows of every effective value where it came from.
//
//	f, err := resilience4j.Read("application.yml", src, resilience4j.Options{Profiles: []string{"prod"}})
//	f.Problems()                                   // what is wrong or surprising, each with its place and kind
//	f.Effective(resilience4j.Retry, "pay")         // every property, its value and its origin
//	f.CircuitBreaker("pay")                        // what breakerref runs on
//
// What it says of 500 files is what the real Spring Boot 3.5 and Resilience4j 2.4.0 say:
// TestZooEffective of cmd/faultline asks them.
//
// # What is read
//
// Documents, profiles (spring.config.activate.on-profile with & | ! and parentheses;
// spring.profiles.active, include and group), ${NAME:default} nested, names in any of
// Spring's spellings (slidingWindowSize, sliding-window-size, SLIDING_WINDOW_SIZE), those of
// instances as map keys ("[a.b#c]" for what is no letter, digit or hyphen), lists as
// sequences, with commas or item by item, numbers as YAML 1.1 sees them (010 is 8), escapes,
// continued lines and #--- of properties files.
//
// Where one document says a thing twice, in two spellings, Spring takes the one with
// hyphens, else one by its hash. A list of a later document takes the place of the
// earlier one's. instances and backends (limiters) are one map, in which the later of
// the alphabet replaces all that the other says of a name.
//
// # Inheritance
//
// Of a circuit breaker: with a baseConfig, that config and what it is based on; else a
// config of the instance's own name, whose baseConfig is then passed over; else the
// config named default; else the library's defaults. So default does not flow into other
// configs. Of the other modules, it does: into every config and instance without a
// baseConfig. Hence a default that is based on one is a cycle there.
//
// A wait grows or varies only if the block that says so has the wait too, and a limit of
// its growth counts only beside a multiplier, where it also varies only beside a factor: that
// is how the library builds its interval function. A retry's block is first
// filled in with the switches, multiplier and limit of what it is based on, but not with
// its factor.
//
// That filling in, which also concerns buffers of events and flags of health, changes the
// blocks themselves: what a chain of three gives depends on which of them was created
// first, which is the order of a HashMap. Then the value is that of Java 17, and a problem
// of the kind [Undecided] says so.
//
// # Problems
//
// Values that Spring refuses at startup are problems of a kind that StopsSpring, wherever
// they stand: one bad block keeps the whole application from starting. Keys that it passes
// over in silence are problems too (Unknown, Removed).
//
// # Where it departs from Spring
//
//   - A duration beyond 292 years is 292 years, unless the library refuses it.
//   - A negative part of a millisecond, where the library takes it, is 0.
//   - Whether a class exists is not known: a name that is none keeps Spring from starting.
//   - NaN as a threshold passes the binding, and is an error of the typed configuration.
//   - What environment variables override (RESILIENCE4J_...), imports and other files of a
//     profile is not in the file and not read. A key that is null keeps Spring from starting.
package resilience4j
