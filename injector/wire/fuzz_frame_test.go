package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/wire"
)

// FuzzWriteFrame writes whatever frame, legal or not: it is read as it was written, whole or
// with filler behind it, and half of it is never taken for a whole one.
func FuzzWriteFrame(f *testing.F) {
	f.Add(true, byte(0), byte(wire.OpText), true, uint32(0x37fa213d), []byte("Hello"), uint16(0))
	f.Add(false, byte(7), byte(15), false, uint32(0), []byte{}, uint16(125))
	f.Add(true, byte(0), byte(wire.OpClose), true, uint32(1), []byte{3, 0xe8}, uint16(65535))
	f.Fuzz(func(t *testing.T, fin bool, rsv, opcode byte, masked bool, key uint32, payload []byte, pad uint16) {
		frame := wire.Frame{Fin: fin, RSV: rsv & 7, Opcode: wire.Opcode(opcode & 15), Masked: masked, Payload: payload}
		if masked {
			frame.Key = [4]byte{byte(key >> 24), byte(key >> 16), byte(key >> 8), byte(key)}
		}
		given := bytes.Clone(payload)
		whole := frame.Append(nil)
		want := frame
		read := func(b []byte) wire.Frame {
			r := bytes.NewReader(b)
			got, err := wire.ReadFrame(r, 1<<20)
			if err != nil || r.Len() > 0 {
				t.Fatalf("%v, %d bytes are left of %+v", err, r.Len(), frame)
			}
			if len(got.Payload) == 0 {
				got.Payload = want.Payload[:0:0]
			}
			return got
		}
		if diff := cmp.Diff(want, read(whole)); diff != "" {
			t.Error("read (-written +got):\n" + diff)
		}
		if _, err := wire.ReadFrame(bytes.NewReader(frame.Half()), 1<<20); err == nil {
			t.Errorf("half of %+v is a whole frame", frame)
		}
		var padded bytes.Buffer
		if err := frame.WritePadded(&padded, int64(pad)); err != nil {
			t.Fatal(err)
		}
		got := read(padded.Bytes())
		filler := strings.Repeat(wire.Filler, int(pad)/len(wire.Filler)+1)[:pad]
		if string(got.Payload) != string(payload)+filler {
			t.Errorf("%d bytes and %d of filler were read as %d others", len(payload), pad, len(got.Payload))
		}
		if !bytes.Equal(given, payload) {
			t.Error("what was given was changed")
		}
	})
}
