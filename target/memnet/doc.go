// Package memnet is a network inside this process, made for testing/synctest
// bubbles: everything waits on channels and timers only, and a run with the
// same seed has the same instants to the nanosecond.
//
// A [Network] is made inside the bubble that uses it. Its contract:
//   - Every hop (each half of a dial, each write, a close, a reset) is delivered
//     1 to 999 ns after it left. The offset is drawn from the seed, the address,
//     the number of the dial to it and the number of the hop, and no two hops of
//     a network are delivered at the same instant: with a zero-latency network
//     many events share an instant and their order is up to the scheduler.
//   - A connection keeps the order of its bytes, works in both directions at
//     once and honours deadlines. A write does not wait for its reader until
//     [Buffer] bytes are unread.
//   - Close gives the peer io.EOF after what was written before. After
//     SetLinger(0), which connections have like *net.TCPConn, it gives the peer
//     syscall.ECONNRESET. So does a write that reaches a closed peer.
//   - A dial to an address where nobody listens is syscall.ECONNREFUSED.
//   - No goroutine is left behind: hops are timers.
package memnet
