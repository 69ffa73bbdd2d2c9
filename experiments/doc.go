// Package experiments compiles an experiment, written in YAML, into a [Plan]: what
// a run does and is judged by, as data.
//
// [LoadPlan] tells everything that is wrong with a file at once, each problem as
// file:line:col: path: message. Nothing is read and then ignored: a key that is not
// listed here is a problem. [MarshalPlan] writes a plan in the same format with all
// defaults filled in, so that the plan in a run's folder can be run again. [Schema]
// is the format for editors.
//
// # Values
//
//	duration  5s, 250ms, 1m30s     the unit is required
//	share     50%, 0.5%            always in percent
//	rate      100/s, 30/m, 5/h     0/s is a pause: nothing is sent
//	bound     1%, "<= 1%"          a share or duration, its comparison optional
//	name      letters, digits, _ and -
//
// Where a file declares only one injector or one breaker, it need not be named.
//
// # Format
//
// README.md says what each key means, and what evidence each rule needs.
//
// A default stands in parentheses; keys without one must be given, unless they are
// marked with ?.
//
//	apiVersion: faultline/v1
//	kind: Experiment
//	metadata: {name, description?, tags?}
//	seed                                    (the caller's)
//
//	sut:                                    one of four
//	  reference:                            faultline's own service, in this process
//	    injector                            (the only one)
//	    breaker:                            (Resilience4j's defaults)
//	      {window, minimum_calls, failure_rate, wait, permitted_calls, slow_calls}
//	    failure                             ([5xx, reset, eof, timeout])
//	    timeout                             (2s) of its client
//	    fallback?: {status (200), headers?, body?}
//	    pool?, bulkhead?                    most connections, most attempts under way
//	    retry?: {attempts, wait (0s)}
//	    paging?: {items, page, on_switch (continue)}
//	    defect?                             a wrong behaviour, see Defects
//	    workers?                            most requests under way
//	    routes?:                            the first that matches
//	      - path                            may end in *
//	        respond: {status (200), headers?, body?}    or all of the above but
//	                                        workers and routes
//	  launch: {command: [..], dir?, env?, stop (10s)}, with base_url and ready
//	  replicas: {NAME: URL}                 it runs already, more than once
//	  base_url                              alone: it runs already
//	  ready: {get, expect (200), timeout (1m)}
//	  instance_header?                      the answer's header that names an instance
//
//	injectors:                              the dependencies, by name
//	  NAME:
//	    listen                              (127.0.0.1:0) a loopback address
//	    upstream                            either: a real dependency behind it
//	    tcp: {upstream, undialled (reset)}  or: one whose connections are passed on
//	    stub: {status (200), headers?, body?, latency (0s)}      or: its answer
//	      websocket?: {open?, answer?}      what it says to those who ask for one
//
//	correlate:
//	  order                                 ([traceparent, header:x-request-id, single_flight])
//	                                        also template, template:NAME, aggregate
//	  min_join                              (none; integrity.join holds)
//
//	load:
//	  rate?                                 for all phases that have no load
//	  timeout                               (5s)
//	  max_in_flight                         (highest rate x timeout, at least 100)
//	  targets:
//	    - {name, method (GET), path, headers?, body?, weight (1)}    with {{.ID}}, {{.UUID}}
//	      depends_on                        (the only injector) a list, may be empty
//	  classify:                             the first class that matches wins
//	    NAME: {status?, header?, contains?, regex?, jsonpath?}   at least one; lists
//	                                        where there are more
//
//	breakers:                               what is judged, by name
//	  NAME:
//	    injector                            (the only one) where admitted calls arrive
//	    target, targets                     (those that depend on the injector)
//	    unit?                               attempt or call
//	    window: 10 or 10s, minimum_calls, failure_rate, wait, permitted_calls
//	    slow_calls: {rate, over}            any of these numbers declares the breaker;
//	                                        the rest are Resilience4j's defaults
//	    failure                             ([5xx, reset, eof, timeout, grpc])
//
//	phases:                                 one after the other
//	  - name
//	    align                               begins at a whole multiple of this time by the wall clock
//	    pause                               in place of what follows: nothing is sent
//	    duration                            not with calls and steps
//	    measure                             (true)
//	    targets                             (all)
//	    load:                               ({rate: load.rate}) one of
//	      {rate}, {ramp: {from, to}}, {steps: [{rate, for}, ..]}   arrivals (even) or poisson
//	      {burst: {calls, every}}
//	      {clients, think (0s)}             think: a time or {uniform: [least, most]}
//	      {sessions: {users, rounds, think (0s), cookies (false), restart?: {on, most (1)},
//	        steps: [{target, path?, headers?, body?, repeat?: {while, most},
//	          capture?: {NAME: {jsonpath, header or cookie, list (false)}}}, ..]}}
//	      {calls, concurrency (1), gap (0s), until?, breaker, until_arrivals?}
//	                                        until: open or closed
//	    faults:
//	      - injector                        (the only one)
//	        match?: {method?, path?, grpc?, query?, header?, jsonpath?, peer?, websocket?}
//	                                        path and headers also as {regex}
//	        ratio: 30% or {of, draw (even), block (20)}     draw: even, shuffle, random
//	        or first, after, every, script, burst: {length, gap}
//	                                        which of the matching requests; (all)
//	        sticky?: {header}, {cookie}, path or peer
//	        respond: {status, headers?, body?, fill?, header_fill?, retry_after?: 2s or {date}},
//	        reset, close, hang or pass: true, garbage: 200B,
//	        refuse, unreachable or deaf: true       all who connect, alone in its phase
//	        cut?: {at, bytes (0B), by (reset)}              at: start, line, head, body
//	        malformed?, inform?: {status, times (1), every (0s)}, drip?: {chunks, over},
//	        slice?: {size, gap (0s)}, bandwidth?: 100KiB/s, read?: 50KiB/s
//	        connection?: tell, close, reset, half or {then, wait (0s)}
//	        websocket: {accept?, messages?, close?, stall?, no_pong?, ignore_close?}
//	          messages: [{to: client, at or a selection, control?, drop, delay, duplicate,
//	            reorder, corrupt, cut, oversize or fragment}, ..]
//	          close: {code, after (0), of (client), reason?, by (close)}, stall: {to, after (0)}
//	        tcp: {up?, down?, life?: {for, by (reset)}}
//	          up, down: {latency?, bandwidth?: 100KiB/s or {rate, shared}, slice?,
//	            cut?: {after (0B), by (reset)}}
//	        latency?: one of
//	          {fixed}, {uniform: [least, most]}, {normal: {mean, sd, cap?}},
//	          {lognormal: {median, p99 or sigma, cap?}}, {exponential: {mean, cap?}},
//	          {pareto: {min, alpha, cap}}, {table: {points: {p0, .., p100}, scale (linear)}},
//	          {trace: [..] or {file}}
//	        hold?: {rejected (10, or twice the probes if more), max, one_by_one (false)}
//	        stealth                         (false)
//
//	steady_state: [criterion, ..]           before any fault, and in the last phase
//
//	integrity: {dropped (1%), lateness_p99 (10ms), join (99%)}
//
//	assert:                                 each with id, phase and one rule
//	  - breaker.opens: NAME                 at_call or within_calls?, within?, not_before?
//	  - breaker.stays_closed: NAME
//	  - breaker.leak: NAME                  max (0)
//	  - breaker.open_duration: NAME         equals or sequence, tolerance (5%)
//	  - breaker.half_open_probes: NAME      exactly or max
//	  - breaker.reopens_on_failed_probe: NAME
//	  - breaker.closes: NAME                within?, after_successes?
//	  - breaker.never_stuck: NAME           tolerance (10%)
//	  - short.latency: {p50?, p90?, p95?, p99?, max?}    breaker (the only one)
//	  - fallback.share: {min?, max?}        of ([all]): short, failed, open, all; breaker
//	  - CLASS.share, error.share: {min?, max?}              targets (all)
//	  - short.share: {min?, max?}           targets (all); breaker
//	  - latency, CLASS.latency: {p50?, p90?, p95?, p99?, max?}     targets (all)
//	  - fallback.forbidden: {routes (all), methods (all)}
//	  - fallback.continuity: {items, told?, source?}      breaker
//	  - recovery.time: {max, target, for}   target: a criterion; breaker
//	  - downstream.abandoned_after: {injector, equals or max, tolerance (10%)}
//	  - downstream.calls: {injector, min?, max?, when?}     breaker, of when
//	  - retry.max_attempts: {injector, exactly or max, targets (all)}
//	  - retry.amplification: {injector, max, over (calls)}   over: calls or admitted
//	  - retry.spacing: {injector, min?, max?, growth?, jitter?, retry_after?}
//	  - retry.budget: {injector, ratio?, per_second?, burst?, window (10s)}
//	  - retry.forbidden: {injector, methods (all), paths (all), targets (all)}
//	  - cancel.propagates: {injector, within}
//	  - downstream.concurrency: {injector, max, reaches (false)}
//	  - downstream.rate: {injector or of: answers, window, max, burst?, min?, by?,
//	      rejected?: {status (429), retry_after (false), keeps_connection (false)}}
//	      targets (all), of answers
//	  - isolation: {targets, baseline, share?, latency?: {p50?, p90?, p95?, p99?, max?}}
//	  - herd.peak: {max, window, baseline}  breaker
//	  - herd.sync: {max, within}            breaker
//	  - slo: {objective, good?, phases?, burn?: [{long, short?, max}, ..]}    targets (all)
//
// A criterion is one line, as "primary.share >= 99.5%" or "latency.p99 <= 300ms".
//
// The command and env of launch, and base_url, may have {{sut.port}}, a free port;
// command and env may have {{injectors.NAME.url}} and {{injectors.NAME.addr}}.
//
// # Refused, because no run could decide it
//
//   - a fault that could never fire: no target of the phase reaches its injector, a
//     fault before it takes all its requests, or the ratio is 0%;
//   - ratios of more than 100% of the same requests, or that are drawn in two ways;
//   - a hold without a declared breaker at its injector, or one that is so long (with
//     its latency, above 0.6 of the shortest timeout and slow limit) that the held
//     request would itself be a failure;
//   - a SUT that cannot know where an injector or its own port is;
//   - readiness checks that would fill a breaker's window;
//   - an assertion on a phase that is not measured, or whose calls do not ask the
//     breaker, or about numbers that are not declared;
//   - fallback.share and fallback.forbidden without a class fallback that has more
//     than a status;
//   - a time after which an attempt is given up that nothing in the phase, or not
//     faultline's own client, waits for;
//   - retries in a phase whose dependency does not fail, or of answers without Retry-After;
//   - a cancellation of what nothing keeps under way for longer than faultline's own client
//     waits, or that the reference service gives up by itself;
//   - a recovery from no fault, or within a phase that is too short for it;
//   - a breaker, or a count of attempts, at an injector that passes connections on;
//   - a herd without clients that think, or without instances that are told apart;
//   - a key of a limiter that no target sends;
//   - a steady state without a measured phase before the first fault.
package experiments
