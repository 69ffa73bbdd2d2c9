// Package resilience4j reads Resilience4j configuration, as a Spring Boot application
// has it in application.yml, into breakerref configuration.
//
// So far it reads circuit breakers: resilience4j.circuitbreaker.instances (or backends)
// and configs. Names are relaxed as Spring's are (slidingWindowSize, sliding-window-size
// and sliding_window_size are one), those of instances and configs are not. Documents
// that are for another profile are left out, ${NAME:default} is filled in.
//
// # Inheritance
//
// What an instance is made of follows CircuitBreaker's rule of Resilience4j 2.4.0, which
// is not that of the other modules: with a baseConfig, that config and what it is based
// on; else a config of the instance's own name; else the config named default; else the
// library's defaults. So default does not flow into other configs.
//
// A wait grows or varies only if the block that says so has waitDurationInOpenState too,
// and a limit of its growth counts only beside a multiplier: that is how the library
// builds its interval function.
//
// # Errors
//
// Values that Spring would refuse at startup are errors with file:line:col, and so are
// keys below resilience4j.circuitbreaker that it would silently pass over.
package resilience4j
