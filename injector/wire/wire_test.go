package wire_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
)

// draw is a poor source of chance, but one.
func draw(n uint64) uint64 { return (n + 1) * 0x9E3779B97F4A7C15 }

// told is what a caller gets of the steps, and how it ends.
func told(steps []wire.Step) (text string, end wire.Do, at time.Duration) {
	var b strings.Builder
	for _, s := range steps {
		if s.Do != wire.Send {
			return b.String(), s.Do, s.At
		}
		if err := s.Write(&b); err != nil {
			panic(err)
		}
	}
	return b.String(), -1, 0
}

// answer is one of 20 bytes of body, of which 8 are filler.
func answer() wire.Answer {
	return wire.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("twelve bytes"), Fill: 8}
}

// A form that breaks nothing is an answer that a strict client reads to its end.
func TestSoundFormsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := wire.Answer{
			Status: rapid.SampledFrom([]int{200, 204, 304, 404, 503}).Draw(t, "status"),
			Header: http.Header{"X-Name": {"value"}},
			Body:   rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body"),
			Fill:   int64(rapid.IntRange(0, 200).Draw(t, "fill")),
		}
		a.Bare = a.Status == 204 || a.Status == 304
		f := fault.Form{After: &fault.After{Do: fault.AfterClose, Wait: time.Second}}
		if rapid.Bool().Draw(t, "drip") {
			f.Drip = &fault.Drip{Chunks: rapid.IntRange(1, 9).Draw(t, "chunks"), Over: time.Second}
		} else if rapid.Bool().Draw(t, "slice") {
			f.Slice = &fault.Slice{Size: int64(rapid.IntRange(1, 50).Draw(t, "size")), Gap: time.Millisecond}
		}
		if rapid.Bool().Draw(t, "inform") {
			f.Inform = &fault.Inform{Status: 103, Times: 2, Every: time.Millisecond}
		}
		steps := wire.HTTP1(a, f)
		text, end, at := told(steps)
		if end != wire.FIN || at < time.Second {
			t.Fatalf("it ends with %v at %v", end, at)
		}
		for i := 1; i < len(steps); i++ {
			if steps[i].At < steps[i-1].At {
				t.Fatalf("step %d comes before the one before it: %v", i, steps)
			}
		}
		r := bufio.NewReader(strings.NewReader(text))
		resp, err := http.ReadResponse(r, nil)
		for err == nil && resp.StatusCode == http.StatusEarlyHints {
			resp, err = http.ReadResponse(r, nil)
		}
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		body, err := io.ReadAll(resp.Body)
		if a.Bare {
			a.Body, a.Fill = nil, 0
		}
		want := append(bytes.Clone(a.Body), strings.Repeat(wire.Filler, 4)[:a.Fill]...)
		if err != nil || resp.StatusCode != a.Status || !bytes.Equal(body, want) || r.Buffered() > 0 {
			t.Fatalf("read %d %q, %v, want %d %q", resp.StatusCode, body, err, a.Status, want)
		}
	})
}

// A cut answer is the beginning of the whole one.
func TestCutsAreBeginnings(t *testing.T) {
	tell := &fault.After{Do: fault.AfterTell}
	whole, _, _ := told(wire.HTTP1(answer(), fault.Form{After: tell}))
	for _, cut := range []fault.Cut{
		{At: fault.CutStart},
		{At: fault.CutLine},
		{At: fault.CutHead},
		{At: fault.CutBody},
		{At: fault.CutBody, Bytes: 1},
		{At: fault.CutBody, Bytes: 15},
		{At: fault.CutBody, Bytes: 1000},
	} {
		for by, end := range map[fault.Action]wire.Do{fault.ActionReset: wire.RST, fault.ActionClose: wire.FIN, fault.ActionHang: wire.Quiet} {
			cut.By = by
			text, got, _ := told(wire.HTTP1(answer(), fault.Form{Cut: &cut}))
			if !strings.HasPrefix(whole, text) || len(text) >= len(whole) || got != end {
				t.Errorf("%+v: %q, then %v", cut, text, got)
			}
			if _, body, _ := strings.Cut(text, "\r\n\r\n"); cut.At == fault.CutBody && len(body) != int(min(cut.Bytes, 19)) {
				t.Errorf("%+v: %d bytes of body", cut, len(body))
			}
		}
	}
}

// An empty body is announced as one byte, or there would be nothing to cut.
func TestAnEmptyBodyIsCut(t *testing.T) {
	text, _, _ := told(wire.HTTP1(wire.Answer{Status: 200}, fault.Form{Cut: &fault.Cut{At: fault.CutBody, By: fault.ActionClose}}))
	if !strings.Contains(text, "Content-Length: 1\r\n") || !strings.HasSuffix(text, "\r\n\r\n") {
		t.Errorf("sent is %q", text)
	}
}

// No strict client takes an ending malformation for a whole answer, but for the one that
// is made for that.
func TestMalformedAnswersAreNoticed(t *testing.T) {
	for _, m := range fault.Malformations() {
		form := fault.Form{Malformed: m}
		if !form.Raw() {
			continue
		}
		text, end, _ := told(wire.HTTP1(answer(), form))
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		if err == nil && resp.StatusCode == http.StatusOK {
			_, err = io.ReadAll(resp.Body)
		} else if err == nil {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if unnoticed := err == nil; unnoticed != (m == fault.LengthMissing) || end != wire.FIN {
			t.Errorf("%s: %v, then %v, of %q", m, err, end, text)
		}
	}
}

func TestSpoil(t *testing.T) {
	for m, want := range map[fault.Malformed]string{
		fault.BadGzip:   "no gzip: twelve bytes",
		fault.BadJSON:   "twelve",
		fault.WrongType: "twelve bytes",
		"":              "twelve bytes",
	} {
		a := answer()
		got := wire.Spoil(a, m, draw)
		if diff := cmp.Diff(want, string(got.Body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m, diff)
		}
		if string(a.Body) != "twelve bytes" || len(a.Header) != 1 || a.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s changed the answer itself: %+v", m, a)
		}
	}
	if got := wire.Spoil(wire.Answer{}, fault.BadJSON, draw); string(got.Body) != `{"` {
		t.Errorf("an empty body became %q", got.Body)
	}
}

// One byte in sixteen is another one, in each sixteen.
func TestFlippedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		got := wire.Spoil(wire.Answer{Body: body}, fault.FlippedBytes, draw).Body
		for from := 0; from < len(body); from += 16 {
			differ := 0
			for i := from; i < min(from+16, len(body)); i++ {
				if body[i] != got[i] {
					differ++
				}
			}
			if differ != 1 {
				t.Fatalf("%d bytes from %d on differ", differ, from)
			}
		}
	})
}

// A drip takes its time, to the end and not longer.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1000).Draw(t, "n")
		d := fault.Drip{Chunks: rapid.IntRange(1, 50).Draw(t, "chunks"), Over: time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "over"))}
		pieces := wire.Pieces(n, &d)
		var sum int64
		for i, p := range pieces {
			if sum += p.Size; p.Size < 1 || p.Size > n/int64(len(pieces))+1 || i > 0 && p.At < pieces[i-1].At {
				t.Fatalf("piece %d of %v", i, pieces)
			}
		}
		if last := pieces[len(pieces)-1].At; sum != n || len(pieces) != int(min(n, int64(d.Chunks))) || last != d.Over {
			t.Fatalf("%d bytes in %d pieces until %v, want %d, and %v", sum, len(pieces), last, n, d)
		}
	})
	if wire.Pieces(0, &fault.Drip{Chunks: 3}) != nil || len(wire.Pieces(7, nil)) != 1 {
		t.Error("an empty body has pieces, or a plain one more than one")
	}
}

// Garbage is no HTTP, and the same for the same draws.
func TestGarbage(t *testing.T) {
	for _, n := range []int{1, 7, 200} {
		steps := wire.Garbage(n, draw)
		text, end, _ := told(steps)
		if len(text) != n || end != wire.FIN || text[0] < 0x80 {
			t.Errorf("%d bytes, then %v", len(text), end)
		}
		if diff := cmp.Diff(steps, wire.Garbage(n, draw)); diff != "" {
			t.Errorf("the second time it is (-first +second):\n%s", diff)
		}
	}
}

// Whatever the form, there is one end, at the end, and nothing but bytes before it.
func FuzzHTTP1(f *testing.F) {
	f.Add(200, []byte("body"), int64(3), "body", int64(2), "reset", "", int64(0), uint8(0))
	f.Add(503, []byte(""), int64(0), "", int64(0), "", "chunk", int64(7), uint8(3))
	f.Fuzz(func(t *testing.T, status int, body []byte, fill int64, at string, n int64, by, malformed string, size int64, chunks uint8) {
		form := fault.Form{Malformed: fault.Malformed(malformed)}
		if at != "" {
			form.Cut = &fault.Cut{At: fault.CutAt(at), Bytes: n, By: fault.Action(by)}
		}
		if size > 0 {
			form.Slice = &fault.Slice{Size: size, Gap: time.Millisecond}
		} else if chunks > 0 {
			form.Drip = &fault.Drip{Chunks: int(chunks), Over: time.Second}
		}
		rule := fault.Rule{Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass, Form: form}
		if len(fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {rule}}})) > 0 || status < 200 || status > 599 || fill < 0 || fill > 1<<16 {
			t.Skip()
		}
		if int64(len(body))+fill > 100*max(1, size) && size > 0 {
			t.Skip()
		}
		a := wire.Spoil(wire.Answer{Status: status, Body: body, Fill: fill}, form.Malformed, draw)
		steps := wire.HTTP1(a, form)
		for i, s := range steps {
			if (s.Do != wire.Send) != (i == len(steps)-1) || s.Do == wire.Send && len(s.Bytes) == 0 && s.Fill == 0 {
				t.Fatalf("step %d of %d: %+v", i, len(steps), s)
			}
		}
	})
}
