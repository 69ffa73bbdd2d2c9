package selftest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// End is how a connection ended, as its other side saw it.
type End string

// The ends.
const (
	FIN  End = "FIN"
	RST  End = "RST"
	None End = "nothing more" // it was still open when the observer went

	// Notified is an end of TLS: close_notify, then FIN. FIN over TLS is one without.
	Notified End = "close_notify, then FIN"
	// Broken is a handshake that the observer broke off; Observation.Err says why.
	Broken End = "a handshake that the caller breaks off"

	Refused    End = "connection refused"
	Unanswered End = "no answer to the connection" // within the observer's patience
)

// Observation is what came over a connection.
type Observation struct {
	Bytes []byte
	Parts []Part
	End   End
	Ended time.Duration // since the observer began to send the request
	Sent  time.Duration // when all of the request was taken in
	Begun time.Time
	Over  time.Duration // when the phase was to end, if it did

	Hello time.Duration        // when the first byte of a handshake came
	TLS   *tls.ConnectionState // of a handshake that succeeded
	Err   error                // of one that did not
}

// Part is what one read returned.
type Part struct {
	Bytes []byte
	At    time.Duration // since the request was sent
}

// first is when the first byte came; the end, if none did.
func (o Observation) first() time.Duration {
	if len(o.Parts) == 0 {
		return o.Ended
	}
	return o.Parts[0].At
}

// last is when the last byte came.
func (o Observation) last() time.Duration {
	if len(o.Parts) == 0 {
		return o.Ended
	}
	return o.Parts[len(o.Parts)-1].At
}

// observe sends a request over a connection of its own and reads what comes until the
// connection ends, or nothing has come for so long.
func observe(ctx context.Context, addr, request string, patience time.Duration) (Observation, error) {
	begun := time.Now()
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", addr)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Observation{End: Refused, Ended: time.Since(begun)}, nil
	case errors.Is(err, syscall.ECONNRESET): // It was accepted, and reset before this process was told.
		return Observation{End: RST, Ended: time.Since(begun)}, nil
	case isNet && timeout.Timeout() && ctx.Err() == nil:
		return Observation{End: Unanswered, Ended: time.Since(begun)}, nil
	case err != nil:
		return Observation{}, fmt.Errorf("connect to the injector: %w", err)
	}
	defer func() { _ = c.Close() }() // What is to be seen was seen.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if b, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = b.SetWriteBuffer(64 << 10) // Or the own kernel would hide how slowly it is read.
	}
	start := time.Now()
	_, err = io.WriteString(c, request)
	if errors.Is(err, syscall.ECONNRESET) { // The next read would not say so again.
		return Observation{End: RST, Ended: time.Since(start)}, nil
	}
	if err != nil {
		return Observation{}, fmt.Errorf("send the request: %w", err)
	}
	sent := time.Since(start)
	o, err := listen(c, start, patience)
	o.Sent, o.Begun = sent, start
	return o, err
}

// listen reads until the end.
func listen(c net.Conn, start time.Time, patience time.Duration) (o Observation, err error) {
	buffer := make([]byte, 1<<16)
	for {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return o, fmt.Errorf("wait for the connection: %w", err)
		}
		n, err := c.Read(buffer)
		o.Ended = time.Since(start)
		if n > 0 {
			part := append([]byte(nil), buffer[:n]...)
			o.Bytes = append(o.Bytes, part...)
			o.Parts = append(o.Parts, Part{part, o.Ended})
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			o.End = FIN
			return o, nil
		case errors.Is(err, syscall.ECONNRESET):
			o.End = RST
			return o, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.End = None
			return o, nil
		default:
			return o, fmt.Errorf("read the connection: %w", err)
		}
	}
}

// String tells what came, in a line.
func (o Observation) String() string { return o.told(nil) }

// told is the line with what came as show writes it.
func (o Observation) told(show func(Observation) string) string {
	text := brief(o.Bytes)
	if show != nil {
		text = show(o)
	}
	if len(o.Parts) > 0 {
		text += fmt.Sprintf(", the last byte after %v", o.last().Round(time.Millisecond))
	}
	if o.End == None {
		text += ", then nothing more"
	} else {
		text += fmt.Sprintf(", then %s after %v", o.End, o.Ended.Round(time.Millisecond))
	}
	if o.Err != nil {
		text += ": " + o.Err.Error()
	}
	if o.Sent > 10*time.Millisecond {
		text += fmt.Sprintf("; sending took %v", o.Sent.Round(time.Millisecond))
	}
	return text
}

// brief writes bytes for a reader.
func brief(b []byte) string {
	if len(b) == 0 {
		return "no byte"
	}
	const most = 160
	text := string(b)
	if len(text) > most {
		head, _, _ := strings.Cut(text, "\r\n")
		head = head[:min(len(head), most)]
		return fmt.Sprintf("%q... (%d bytes)", head, len(b))
	}
	return fmt.Sprintf("%q", text)
}
