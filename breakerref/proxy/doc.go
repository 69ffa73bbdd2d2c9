// Package proxy runs a reference breaker as a service: an HTTP server that asks one
// dependency behind a [breakerref.Machine], or another [model], and answers from a
// fallback. It is the known-good system under test, and a bad one by configuration.
//
// # A request
//
// The request's body is read to its end. Then the breaker is asked. If it permits
// the call, method, path, query, body and headers (all but the hop-by-hop ones and
// Expect) go to the dependency, and its answer is read to its end before a byte of
// it is passed on: an answer that breaks off halfway is a failure, and the client
// does not see half of it. Trailers are not passed on. The header
// X-Faultline-Source says where an answer comes from:
//
//	primary    the dependency; status, headers and body are as it sent them
//	secondary  the second source, passed on in the same way
//	cache      the dependency, earlier
//	fallback   the configured fallback
//	none       nobody: 503 when the breaker or the bulkhead refused the call, 429 when
//	           the rate limiter did (with Retry-After and X-RateLimit-Limit, -Remaining
//	           and -Reset, in whole seconds), 502 when the call failed without an
//	           answer; the body is JSON with the reason
//
// With Instance the header X-Faultline-Instance says which instance has answered, in
// every answer, also where the dependency's own says otherwise.
//
// # Fallbacks
//
// They are asked when the call was refused, had no complete answer, or counts as a
// failure, after the last attempt. The first that has an answer gives it:
//
//   - Secondary, a second source. It gets the same request: method, path, query, body and
//     headers, traceparent among them, which goes through as every header does. It has a
//     timeout and connections of its own. No breaker is asked about it and none hears of
//     it, and it is asked once. It has no answer if that is not complete, or has a status
//     that counts as a failure; a slow one will do.
//   - CacheGood, the dependency's last answer to the same method, path and query that did
//     not count as a failure, as it was sent, whatever the request's headers and body. The
//     header Age says how many whole seconds it has been kept, and past CacheMaxAge it is not
//     given. What was kept longest ago makes room. The secondary's answers are not kept.
//   - Fallback, a canned answer, after FallbackDelay.
//
// Without any of them an answer that counts as a failure is passed on as it came, as
// primary.
//
// # What counts
//
// Every permitted call is recorded exactly once, with the time from the permission
// to the end of the answer. It failed if [match.Failure] says so of its status, its
// duration, or its lack of an answer. A refused or unreachable connection counts
// as a reset, although the reason names it as what it is; a broken answer, and any
// error without a better name, as eof; the proxy's own timeout as a timeout, also when
// it ran out while waiting for a connection of the pool. What [match.Failure] does not
// list is a success, as an exception is that recordExceptions does not list.
//
// A client that leaves changes nothing: the call goes on, and its outcome counts.
// So it is in a blocking service whose method carries Resilience4j's annotation,
// since nobody interrupts its thread. With Cancels it ends the call, whose permission
// is released, without an outcome, as Resilience4j's operators for Reactor do when a
// subscriber cancels; work that a TimeLimiter cannot cancel runs on. Close cancels all
// calls in the same way.
//
// # Policies
//
// They nest as Resilience4j's annotations do, Retry(CircuitBreaker(RateLimiter(
// TimeLimiter(Bulkhead(call))))), or in the Order that is given. Timeout, the patience of
// the client that makes the call, lies inside of all of them.
//
//   - Retry: each attempt passes all that is inside. A refusal of the breaker ends the
//     retrying, as with a retry that ignores CallNotPermittedException; one of rate
//     limiter or bulkhead does not. What is no good answer is tried again. Retried says
//     otherwise: which failures and refusals are, of which methods, and whether a Retry-After
//     of the dependency is heeded.
//   - RateLimiter: who has to wait is held, and so is who is refused by an
//     AtomicRateLimiter, for all of its timeoutDuration. With RateLimitTold all answers to
//     calls that have asked it tell its state.
//   - TimeLimiter: the time runs from when there would be a future, so that waiting for a
//     Bulkhead (but not in the queue of a ThreadPool) does not count. Work that is not
//     cancelled runs on, holds its place, and nobody hears of what comes of it.
//   - Bulkhead, ThreadPool: one of them.
//
// What rate limiter and bulkhead refuse inside of the breaker is neither a success nor a
// failure, as in a service that lists their exceptions under ignoreExceptions, so that the
// actuator tells of it as IGNORED_ERROR; with RejectionsFail it is a failure, which is the
// library's default, and a crowd opens the breaker of a healthy dependency.
//
// # Other breakers
//
// With Model another breaker decides in place of Resilience4j's. A call that it makes wait
// for another one (cockatiel, pybreaker) waits; a call that it answers with its own error
// although it was made (pybreaker) is answered as one that was refused; a call that it
// gives so much time (Hystrix, opossum) is cut then at the latest. What a breaker
// of hosts (Envoy, nginx, HAProxy) refuses would have gone to another host: give that host
// as Secondary. There are no slow calls, and no actuator.
//
// # Workers, routes, instances
//
// Workers bounds the requests of an instance, whatever their route: who finds none free
// waits, from when its body was read. A route has a dependency, a breaker and policies of
// its own, or an answer that needs none of them. Several Instances share nothing but the
// address and the dependency; they serve in turn, except a request whose header
// X-Faultline-Instance names one. A [Defect] makes a service wrong in one way, and is
// refused where it would not show.
//
// # Nothing is hidden
//
// Go's HTTP client sends a request again when a reused connection dies, so that a
// breaker behind it never learns of the failure. Here it cannot: requests carry a
// body that cannot be rewound, also when it is empty. An empty POST is therefore
// sent chunked. There is no HTTP/2, no compression, no redirect, no cookie and no
// proxy from the environment.
//
// GET /-/healthz (200 while the proxy runs) and GET /-/state (JSON, of the breaker that
// is asked where no route matches, of the instance whose turn it is to be looked at) are answered at once, with all workers busy too,
// without asking a breaker or a dependency.
//
// # Actuator
//
// With Actuator so are all paths below /actuator, as Spring Boot 3 with Resilience4j 2.4
// answers them. Without it they are the dependency's as all others.
//
//	GET  /actuator/circuitbreakers                      what each breaker shows of its state
//	POST /actuator/circuitbreakers/{name}               {"updateState":"CLOSE|FORCE_OPEN|DISABLE"}
//	GET  /actuator/circuitbreakerevents                 events of all breakers, by time
//	GET  /actuator/circuitbreakerevents/{name}          of one, as it published them
//	GET  /actuator/circuitbreakerevents/{name}/{type}   of one type, such as NOT_PERMITTED
//	GET  /actuator/health[/{component}]                 circuitBreakers, ping, liveness, readiness
//	GET  /actuator/prometheus                           resilience4j_circuitbreaker_*
//
// TestActuatorAgreesWithSpring plays a story to both and compares what they answer to the
// letter: the status, the type, the order of fields and labels, the form of numbers.
//
// What surprises there does so here:
//
//   - The last 100 events of a breaker are kept, of all types: refusals drive out the
//     transition that they came of.
//   - notPermittedCalls is the state's own and begins anew with it; the counter
//     not_permitted_calls_total is not. That counter and the timers calls_seconds go by
//     events, so they stand still in DISABLED and FORCED_OPEN.
//   - A longest call (calls_seconds_max) is forgotten after two to three minutes.
//   - Health is UP and 200 whatever the breakers do: CIRCUIT_OPEN and CIRCUIT_HALF_OPEN
//     are in no order of severity.
//   - A name that nobody has has no events, and that is no error, nor is an unknown type
//     then. An unknown type of a breaker that there is is answered with 500.
//   - An update is read leniently: force-open and " Close " will do, what follows the JSON
//     is not looked at, and a field name or a parameter ?updateState= comes before what it
//     stands beside. Without a Content-Type of JSON it is answered with 415, which is what
//     curl -d gets. An empty state is answered with 500, any other wrong one with 400.
//   - A CLOSE of a closed breaker empties its window, and publishes nothing.
//   - Who accepts application/json gets it, others application/vnd.spring-boot.actuator.v3+json,
//     and who accepts neither gets 406. /actuator/prometheus answers in OpenMetrics to who
//     names it, as a Prometheus server does, however low its quality.
//
// Here only:
//
//   - An update of a name that nobody has is answered with 404, where the library makes a
//     breaker of that name: in a test it is a slip.
//   - The words of errorMessage are the proxy's, not those of a Java exception. An error has
//     a message, which Spring Boot leaves out unless told otherwise, and is JSON whatever
//     was accepted, where Spring Boot has a page for browsers and nothing for others.
//   - An event's time is that of the breaker's clock, in UTC: a timer's is when it was due.
//     Events of one cause, such as a failure and the transition, have the same time.
//   - Health shows all details, and all breakers, as with show-details=always,
//     health.circuitbreakers.enabled, registerHealthIndicator and probes.enabled. It has no
//     diskSpace and no ssl.
//   - Only series of breakers are told to Prometheus, with other words of help, never in
//     protobuf, and all of them: includedNames is not read.
//   - There is no list of links at /actuator itself, no OPTIONS, no CORS, no ;parameters in
//     a path. A slash in a breaker's name is written %2F, which Tomcat refuses.
//   - Of Accept only types and q are read, and what is malformed is left out. An update's
//     body has at most 64 KiB, or 413 is the answer.
package proxy
