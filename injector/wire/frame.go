package wire

import (
	"crypto/sha1" //nolint:gosec // RFC 6455 says so; nothing is kept secret by it.
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Opcode is the kind of a frame of WebSocket (RFC 6455, section 5.2).
type Opcode byte

// The opcodes that the protocol defines.
const (
	OpContinue Opcode = 0x0
	OpText     Opcode = 0x1
	OpBinary   Opcode = 0x2
	OpClose    Opcode = 0x8
	OpPing     Opcode = 0x9
	OpPong     Opcode = 0xA
)

// Control reports whether frames of this kind stand between those of messages.
func (o Opcode) Control() bool { return o >= OpClose }

// Frame is a frame of WebSocket. It need not be a legal one: what it says is what is sent.
type Frame struct {
	Fin     bool
	RSV     byte // the three reserved bits, 0 to 7
	Opcode  Opcode
	Masked  bool
	Key     [4]byte // of the mask
	Payload []byte  // without the mask
}

// ErrTooLong says that a frame has more payload than the reader takes.
var ErrTooLong = errors.New("a frame of WebSocket is too long")

// AppendHead appends the head of a frame with so many bytes of payload.
func (f Frame) AppendHead(b []byte, size int64) []byte {
	first := f.RSV&7<<4 | byte(f.Opcode)&0xF
	if f.Fin {
		first |= 0x80
	}
	mask := byte(0)
	if f.Masked {
		mask = 0x80
	}
	switch {
	case size < 126:
		b = append(b, first, mask|byte(size))
	case size < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, first, mask|126), uint16(size))
	default:
		b = binary.BigEndian.AppendUint64(append(b, first, mask|127), uint64(size))
	}
	if f.Masked {
		b = append(b, f.Key[:]...)
	}
	return b
}

// Append appends the bytes of the frame.
func (f Frame) Append(b []byte) []byte {
	b = f.AppendHead(b, int64(len(f.Payload)))
	start := len(b)
	b = append(b, f.Payload...)
	if f.Masked {
		mask(b[start:], f.Key)
	}
	return b
}

// mask puts the mask on, or takes it off.
func mask(p []byte, key [4]byte) {
	for i := range p {
		p[i] ^= key[i&3]
	}
}

// ReadFrame reads the next frame, which has at most so many bytes of payload; a longer one
// is an [ErrTooLong]. The error is io.EOF only between two frames. It takes what is no legal
// frame as long as its end can be told.
func ReadFrame(r io.Reader, most int64) (Frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return Frame{}, err
	}
	f := Frame{Fin: head[0]&0x80 != 0, RSV: head[0] >> 4 & 7, Opcode: Opcode(head[0] & 0xF)}
	if err := readAll(r, head[:1]); err != nil {
		return Frame{}, err
	}
	f.Masked = head[0]&0x80 != 0
	size, err := readSize(r, head[0]&0x7F)
	if err != nil {
		return Frame{}, err
	}
	if size > uint64(max(0, most)) {
		return Frame{}, fmt.Errorf("%w: %d bytes, of which at most %d are taken", ErrTooLong, size, most)
	}
	if f.Masked {
		if err := readAll(r, f.Key[:]); err != nil {
			return Frame{}, err
		}
	}
	if f.Payload, err = readPayload(r, int64(size)); err != nil {
		return Frame{}, err
	}
	if f.Masked {
		mask(f.Payload, f.Key)
	}
	return f, nil
}

// readSize reads the length that the seven bits stand for.
func readSize(r io.Reader, short byte) (uint64, error) {
	var b [8]byte
	switch short {
	case 126:
		err := readAll(r, b[:2])
		return uint64(binary.BigEndian.Uint16(b[:2])), err
	case 127:
		err := readAll(r, b[:])
		return binary.BigEndian.Uint64(b[:]), err
	}
	return uint64(short), nil
}

// readPayload takes memory as the bytes come, so that a head alone costs none.
func readPayload(r io.Reader, size int64) ([]byte, error) {
	const step = 1 << 16
	p := make([]byte, 0, min(size, step))
	for int64(len(p)) < size {
		have := len(p)
		n := int(min(size-int64(have), step))
		p = append(p, make([]byte, n)...)
		if err := readAll(r, p[have:]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// readAll fills p; an end within a frame is an unexpected one.
func readAll(r io.Reader, p []byte) error {
	_, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// CloseFrame is the frame that ends a WebSocket with a code and a reason. Code 1005 stands
// for a frame without a code (RFC 6455, section 7.4.1).
func CloseFrame(code uint16, reason string) Frame {
	f := Frame{Fin: true, Opcode: OpClose}
	if code != 1005 {
		f.Payload = append(binary.BigEndian.AppendUint16(nil, code), reason...)
	}
	return f
}

// CloseCode is the code of a close frame's payload; 1005 if it has none.
func CloseCode(payload []byte) uint16 {
	if len(payload) < 2 {
		return 1005
	}
	return binary.BigEndian.Uint16(payload)
}

// AcceptKey is the Sec-WebSocket-Accept that answers a Sec-WebSocket-Key (RFC 6455, section
// 4.2.2).
func AcceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Split returns a message as frames of at most size bytes of payload each.
func Split(message []Frame, size int) []Frame {
	first, all := message[0], payload(message)
	var out []Frame
	for len(all) > 0 || len(out) == 0 {
		n := min(size, len(all))
		f := first
		f.Payload, all, f.Fin = all[:n:n], all[n:], n == len(all)
		if len(out) > 0 {
			f.Opcode, f.RSV = OpContinue, 0
		}
		out = append(out, f)
	}
	return out
}

// payload is that of all frames of a message.
func payload(message []Frame) []byte {
	var all []byte
	for _, f := range message {
		all = append(all, f.Payload...)
	}
	return all
}

// Flip returns the message with one bit of one byte of its payload changed, and whether
// there is such a byte. UTF-8 stays UTF-8: the bit is the last one of a byte that is ASCII
// or continues a character. at picks the byte.
func Flip(message []Frame, at uint64) ([]Frame, bool) {
	all := payload(message)
	if len(all) == 0 {
		return message, false
	}
	place := int(at % uint64(len(all)))
	for n := range all {
		if i := (place + n) % len(all); all[i] < utf8.RuneSelf || !utf8.RuneStart(all[i]) {
			place = i
			break
		}
	}
	out := make([]Frame, len(message))
	for i, f := range message {
		out[i] = f
		if place >= 0 && place < len(f.Payload) {
			out[i].Payload = append([]byte(nil), f.Payload...)
			out[i].Payload[place] ^= 1
		}
		place -= len(f.Payload)
	}
	return out, true
}

// WritePadded writes the frame with so many bytes of [Filler] behind its payload.
func (f Frame) WritePadded(w io.Writer, pad int64) error {
	b := f.AppendHead(nil, int64(len(f.Payload))+pad)
	start := len(b)
	b = append(b, f.Payload...)
	if f.Masked {
		mask(b[start:], f.Key)
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	if f.Masked && pad > 0 {
		w = &masking{w: w, key: f.Key, at: len(f.Payload)}
	}
	return WriteFill(w, 0, pad)
}

// masking masks what is written, from a place in the payload on.
type masking struct {
	w   io.Writer
	key [4]byte
	at  int
}

// Write implements io.Writer.
func (m *masking) Write(p []byte) (int, error) {
	b := append([]byte(nil), p...)
	for i := range b {
		b[i] ^= m.key[(m.at+i)&3]
	}
	n, err := m.w.Write(b)
	m.at += n
	return n, err
}

// Half is the beginning of the frame: its head and half of its payload, and less than all.
func (f Frame) Half() []byte {
	b := f.Append(nil)
	return b[:min(len(b)-(len(f.Payload)+1)/2, len(b)-1)]
}
