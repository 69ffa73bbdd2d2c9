package wire_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/wire"
)

// The examples of RFC 6455, section 5.7.
func TestFramesOfTheRFC(t *testing.T) {
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	long := strings.Repeat("a", 256)
	huge := strings.Repeat("b", 65536)
	for name, c := range map[string]struct {
		bytes string
		frame wire.Frame
	}{
		"unmasked text": {"\x81\x05Hello", wire.Frame{Fin: true, Opcode: wire.OpText, Payload: []byte("Hello")}},
		"masked text": {
			"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58",
			wire.Frame{Fin: true, Opcode: wire.OpText, Masked: true, Key: key, Payload: []byte("Hello")},
		},
		"first fragment": {"\x01\x03Hel", wire.Frame{Opcode: wire.OpText, Payload: []byte("Hel")}},
		"last fragment":  {"\x80\x02lo", wire.Frame{Fin: true, Payload: []byte("lo")}},
		"ping":           {"\x89\x05Hello", wire.Frame{Fin: true, Opcode: wire.OpPing, Payload: []byte("Hello")}},
		"masked pong": {
			"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58",
			wire.Frame{Fin: true, Opcode: wire.OpPong, Masked: true, Key: key, Payload: []byte("Hello")},
		},
		"256 bytes":      {"\x82\x7e\x01\x00" + long, wire.Frame{Fin: true, Opcode: wire.OpBinary, Payload: []byte(long)}},
		"65536 bytes":    {"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + huge, wire.Frame{Fin: true, Opcode: wire.OpBinary, Payload: []byte(huge)}},
		"close":          {"\x88\x05\x03\xf3bye", wire.CloseFrame(1011, "bye")},
		"close, no code": {"\x88\x00", wire.Frame{Fin: true, Opcode: wire.OpClose, Payload: []byte{}}},
		"reserved":       {"\xf3\x00", wire.Frame{Fin: true, RSV: 7, Opcode: 3, Payload: []byte{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(c.frame.Append(nil)); got != c.bytes {
				t.Errorf("written %q", got)
			}
			r := strings.NewReader(c.bytes)
			got, err := wire.ReadFrame(r, 1<<20)
			if diff := cmp.Diff(c.frame, got); diff != "" || err != nil || r.Len() != 0 {
				t.Errorf("%v, %d left: %s", err, r.Len(), diff)
			}
			for n := range min(len(c.bytes), 12) {
				want := io.ErrUnexpectedEOF
				if n == 0 {
					want = io.EOF
				}
				if _, err := wire.ReadFrame(strings.NewReader(c.bytes[:n]), 1<<20); !errors.Is(err, want) {
					t.Errorf("after %d bytes: %v", n, err)
				}
			}
		})
	}
}

func TestAFrameThatIsTooLong(t *testing.T) {
	for _, head := range []string{"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "\x82\x7e\x01\x00", "\x82\x65"} {
		if _, err := wire.ReadFrame(strings.NewReader(head), 100); !errors.Is(err, wire.ErrTooLong) {
			t.Errorf("%q: %v", head, err)
		}
	}
}

func TestAcceptKey(t *testing.T) {
	if got := wire.AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" { // RFC 6455, section 1.3
		t.Error(got)
	}
}

func TestCloseCode(t *testing.T) {
	if a, b := wire.CloseCode([]byte{3, 0xe8}), wire.CloseCode(nil); a != 1000 || b != 1005 {
		t.Error(a, b)
	}
}

func TestSplit(t *testing.T) {
	message := []wire.Frame{{Opcode: wire.OpText, RSV: 4, Payload: []byte("abc")}, {Fin: true, Payload: []byte("de")}}
	want := []wire.Frame{
		{Opcode: wire.OpText, RSV: 4, Payload: []byte("ab")}, {Payload: []byte("cd")}, {Fin: true, Payload: []byte("e")},
	}
	if diff := cmp.Diff(want, wire.Split(message, 2)); diff != "" {
		t.Error(diff)
	}
	empty := []wire.Frame{{Fin: true, Opcode: wire.OpText}}
	if got := wire.Split(empty, 2); len(got) != 1 || !got[0].Fin {
		t.Errorf("%+v", got)
	}
}

// text is what the frames carry together.
func text(frames []wire.Frame) string {
	var all bytes.Buffer
	for _, f := range frames {
		all.Write(f.Payload)
	}
	return all.String()
}

func TestFlipKeepsText(t *testing.T) {
	message := []wire.Frame{{Opcode: wire.OpText, Payload: []byte("aé€")}, {Fin: true, Payload: []byte("𝄞z")}}
	before := text(message)
	for at := range uint64(40) {
		out, ok := wire.Flip(message, at)
		after := text(out)
		differ := 0
		for i := range len(before) {
			if before[i] != after[i] {
				differ++
			}
		}
		if !ok || differ != 1 || !utf8.ValidString(after) || text(message) != before {
			t.Errorf("%d: %q, %d bytes differ", at, after, differ)
		}
	}
	if _, ok := wire.Flip([]wire.Frame{{Fin: true}}, 3); ok {
		t.Error("a byte of an empty message was changed")
	}
}

// What was read is written as the same frame, and no input takes more memory than it has
// bytes, or panics.
func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{"\x81\x05Hello", "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "\x01\x03Hel\x80\x02lo", "\x88\x02\x03\xf3", "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "\x82\x7e\x00\x01a", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		for r.Len() > 0 {
			before := r.Len()
			frame, err := wire.ReadFrame(r, 1<<16)
			if err != nil {
				if errors.Is(err, io.EOF) {
					t.Error("EOF where bytes were left")
				}
				return
			}
			written := frame.Append(nil)
			if used := before - r.Len(); len(written) > used {
				t.Errorf("%d bytes became %d", used, len(written))
			}
			again, err := wire.ReadFrame(bytes.NewReader(written), 1<<16)
			if diff := cmp.Diff(frame, again); diff != "" || err != nil {
				t.Error(err, diff)
			}
			for _, size := range []int{1, 7} {
				if got := text(wire.Split([]wire.Frame{frame}, size)); got != string(frame.Payload) {
					t.Errorf("split: %q", got)
				}
			}
			if out, ok := wire.Flip([]wire.Frame{frame}, 5); ok && utf8.Valid(frame.Payload) && !utf8.ValidString(text(out)) {
				t.Errorf("%q is no text any more: %q", frame.Payload, text(out))
			}
		}
	})
}

func TestWritePadded(t *testing.T) {
	for _, masked := range []bool{false, true} {
		for _, pad := range []int64{0, 1, 70_000} {
			f := wire.Frame{Fin: true, Opcode: wire.OpText, Masked: masked, Key: [4]byte{1, 2, 3, 4}, Payload: []byte("hello")}
			var b bytes.Buffer
			if err := f.WritePadded(&b, pad); err != nil {
				t.Fatal(err)
			}
			got, err := wire.ReadFrame(&b, 1<<20)
			want := "hello" + strings.Repeat(wire.Filler, 2000)[:pad]
			if err != nil || string(got.Payload) != want || b.Len() != 0 || got.Masked != masked {
				t.Errorf("%v %d: %v, %d bytes, %d left", masked, pad, err, len(got.Payload), b.Len())
			}
		}
	}
}

func TestHalf(t *testing.T) {
	for size, want := range []int{1, 2, 3, 3, 4} {
		f := wire.Frame{Fin: true, Opcode: wire.OpText, Payload: make([]byte, size)}
		if got := len(f.Half()); got != want {
			t.Errorf("of %d bytes of payload, %d bytes", size, got)
		}
	}
}
