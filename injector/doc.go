// Package injector is the misbehaving dependency: a server of HTTP/1.1 and, on the
// same port with prior knowledge or by ALPN, of HTTP/2, that answers from a stub or as a reverse
// proxy, plays a fault.Script, and records every request that reaches it. It may speak
// TLS ([Config.TLS]), or pass connections on byte by byte ([Config.TCP]).
//
// Guarantees:
//   - A request is recorded at its arrival, with the phase of that moment and
//     the rule that hit it; its end is recorded whatever the end is.
//   - A connection that ends with bytes on it that became no request (half a
//     request, garbage, a TLS handshake), or that its caller reset before it sent
//     anything, is recorded as an attempt without an id, at its end, with the instant
//     of the first such byte. A connection that ends otherwise with nothing said on it
//     is none: pools open some in advance and give them up.
//   - What a caller sends behind a request whose connection a fault then ends (pipelining) is no
//     attempt: of what was on its way, or lay in a kernel, nobody can know whether it was to be a
//     request, and what can be known of it would depend on when it came.
//   - Where a call's token may be in the body, its first 64 KiB are waited for before
//     the request is recorded; an upstream still gets all of it.
//   - Arr is taken when the head of the request has been read, so the caller
//     decided to send it earlier. Dep is taken before the bytes that complete
//     the answer (or before the RST, or the FIN), so the caller learnt of it
//     later: nothing that it did because of an answer lies before Dep.
//   - A latency or a hold is never shorter than asked for, unless Clear or the end of
//     the lease ends it. A latency counts from Arr, or from the release of a hold.
//   - A caller who leaves is noticed while the request waits, also when the
//     request has a body: it is read before the wait. Abandon is when it was
//     noticed.
//   - RST is RST and FIN is FIN on the wire. They are preceded by the beginning
//     of a status line, without a status, as some clients resend a request whose
//     reused connection died in silence, and so hide the fault (curl does so all the
//     same); stealth leaves the line out.
//   - Over HTTP/2 a fault hits its own stream where the protocol has a way to say so, and
//     the connection where it has none; other streams that go down with it are recorded
//     as ended by that RST or FIN. What HTTP/2 does not know, and what HTTP/1.1 does not
//     know of HTTP/2, is answered 501, logged, recorded with its reason and told by
//     Misfits, and never played as something else.
//   - Over TLS, RST comes without close_notify, and FIN behind one, unless a rule for the
//     connection says otherwise (fault.TLSNoCloseNotify). Bandwidth and bytes are those within
//     TLS.
//   - A handshake that fails is recorded as an attempt without an id, with its reason, as
//     soon as a fault decides it, or at its end. One on which nothing was said is none, nor is
//     one that only the injector's end cut short.
//   - Of connections that are passed on, no byte is lost, doubled or put elsewhere, however
//     the faults change meanwhile, up to an end that a fault gives them.
//   - Changing the phase, the plan or the faults never waits for a request, and no
//     request meets a part of one plan and a part of another.
//   - Limits are kept exactly. A request beyond one passes as if there were no fault, and
//     is counted and recorded.
//   - When the lease is over, no later arrival meets a fault, and what waits for one ends. Nor does
//     a request meet one that came earlier, and whose body, which decides whether the fault is for
//     it, came later than the end of the lease, a Clear, or the end of an added fault.
//   - A rule that is taken away and comes back, by whatever change, has the rate that it had
//     (Limits.PerSecond).
//   - After Close, no goroutine and no connection of the injector is left, and
//     every attempt has an end.
package injector
