// Package proxy runs the reference breaker as a service: an HTTP server that asks
// one dependency behind a [breakerref.Machine] and answers from a fallback. It is
// the known-good system under test, and a bad one by configuration.
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
//	primary   the dependency; status, headers and body are as it sent them
//	fallback  the configured fallback
//	none      nobody: 503 when the breaker refused the call, 502 when the call
//	          failed without an answer; the body is JSON with the reason
//
// The fallback answers whenever there is one and the call was refused, had no
// complete answer, or counts as a failure. Without a fallback an answer that counts
// as a failure is passed on as it came, as primary.
//
// # What counts
//
// Every permitted call is recorded exactly once, with the time from the permission
// to the end of the answer. It failed if [match.Failure] says so of its status, its
// duration, or its lack of an answer. A refused or unreachable connection counts
// as a reset, although the reason names it as what it is; a broken answer, and any error without a better name, as eof; the
// proxy's own timeout as a timeout, also when it ran out while waiting for a
// connection of the pool. What [match.Failure] does not list is a success, as an
// exception is that recordExceptions does not list.
//
// A client that leaves changes nothing: the call goes on, and its outcome counts.
// So it is in a blocking service whose method carries Resilience4j's annotation,
// since nobody interrupts its thread. Only Close cancels calls; their permissions
// are released, without an outcome.
//
// # Retry
//
// Retries lie outside the breaker, which is Resilience4j's default order: each
// attempt asks the breaker and is recorded. A refusal of the breaker ends the
// retrying, as with a retry that ignores CallNotPermittedException; one of the
// bulkhead does not.
//
// # Bulkhead, workers, routes
//
// The bulkhead lies inside the breaker, as in Resilience4j's default order, and has no
// queue. A call that it refuses is neither a success nor a failure, as in a service
// that lists BulkheadFullException under ignoreExceptions (the library's default counts
// it as a failure, so that a crowd opens the breaker of a healthy dependency); it is
// answered as one that the breaker refused, with another reason. Workers bounds the
// requests of the whole service, whatever their route: who finds none free waits, from
// when its body was read. A route has a dependency and a breaker of its own, or an
// answer that needs neither. A [Defect] makes a service wrong in one way, and is
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
// is asked where no route matches) are answered at once, with all workers busy too,
// without asking a breaker or a dependency.
package proxy
