// Package h2 serves HTTP/2 (RFC 9113) on one connection, frame by frame, so that a
// handler can do to its stream, and to the connection, what net/http keeps it from:
// RST_STREAM with any code, GOAWAY, header fields that are none, no END_STREAM, a FIN or
// a RST under streams that are open.
//
// Guarantees:
//   - A handler gets an ordinary request, and answers through an ordinary
//     http.ResponseWriter, which is a [Stream] as well.
//   - What a handler does goes out in the order in which it does it.
//   - The connection is always read from, whatever handlers do: a client that resets
//     its stream, or leaves, is noticed at once and ends the request's context.
//   - A stream that nobody reads from is held back by its own window, and holds back no
//     other one.
//   - Frames that break the protocol are answered as RFC 9113 says, by RST_STREAM where
//     it asks for a stream error and by GOAWAY and FIN where it asks for one of the connection.
//   - When [Conn.Serve] returns, no goroutine of the connection is left and it is closed.
package h2
