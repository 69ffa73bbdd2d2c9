package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Form is how an answer is sent, be it a rule's own, the stub's or the upstream's. The
// zero value is as a sound server sends it.
type Form struct {
	Cut       *Cut      `json:"cut,omitempty" yaml:"cut,omitempty"`
	Malformed Malformed `json:"malformed,omitempty" yaml:"malformed,omitempty"`
	Inform    *Inform   `json:"inform,omitempty" yaml:"inform,omitempty"`
	Drip      *Drip     `json:"drip,omitempty" yaml:"drip,omitempty"`
	Slice     *Slice    `json:"slice,omitempty" yaml:"slice,omitempty"`
	Bandwidth int64     `json:"bandwidth,omitempty" yaml:"bandwidth,omitempty"` // bytes a second, head and body; 0: no limit
	After     *After    `json:"after,omitempty" yaml:"after,omitempty"`
}

// Cut ends an answer before its end.
type Cut struct {
	At    CutAt  `json:"at" yaml:"at"`
	Bytes int64  `json:"bytes,omitempty" yaml:"bytes,omitempty"` // of CutBody: of the body that are sent. Of a shorter body, all but its last byte are
	By    Action `json:"by" yaml:"by"`                           // ActionReset, ActionClose or ActionHang
}

// CutAt is a place in an answer.
type CutAt string

// The places. What lies before one is sent.
const (
	CutStart CutAt = "start" // before the first byte; clients that resend a request whose reused connection died hide it
	CutLine  CutAt = "line"  // in the status line, before the status
	CutHead  CutAt = "head"  // after the status line and a header, in the middle of the head
	CutBody  CutAt = "body"  // after the head and Bytes of the body
)

// Malformed is a way in which an answer is not what HTTP or its own head says.
type Malformed string

// The malformations.
const (
	BadStatusLine     Malformed = "status_line"     // HTTP/1.1 abc
	BadHeader         Malformed = "header"          // a header without a colon
	LengthTwice       Malformed = "length_twice"    // two Content-Length that differ
	LengthNegative    Malformed = "length_negative" // Content-Length: -1
	LengthTooLong     Malformed = "length_too_long" // more is announced than is sent before the FIN
	LengthMissing     Malformed = "length_missing"  // neither length nor chunks: half of the body, then FIN, which is a whole answer to most clients
	BadChunk          Malformed = "chunk"           // half of the body, then a chunk whose size is no number
	NoLastChunk       Malformed = "no_last_chunk"   // chunks without the last one, then FIN
	BadGzip           Malformed = "gzip"            // Content-Encoding: gzip, and the body is none
	BadJSON           Malformed = "json"            // half of the body, in sound framing
	WrongType         Malformed = "content_type"    // the body is called text/html
	FlippedBytes      Malformed = "flipped_bytes"   // one byte in 16 has another value, at least one; framing is sound
	ContinueForNobody Malformed = "unsolicited_101" // 101 Switching Protocols that nobody asked for, then FIN
)

// Malformations are all of them.
func Malformations() []Malformed {
	return []Malformed{
		BadStatusLine, BadHeader, LengthTwice, LengthNegative, LengthTooLong, LengthMissing, BadChunk, NoLastChunk,
		BadGzip, BadJSON, WrongType, FlippedBytes, ContinueForNobody,
	}
}

// ends reports whether the connection is over after it, since nobody could tell where a
// next answer begins.
func (m Malformed) ends() bool {
	return m != "" && m != BadGzip && m != BadJSON && m != WrongType && m != FlippedBytes
}

// Inform is answers that are none yet, before the answer (RFC 9110, section 15.2).
type Inform struct {
	Status int           `json:"status" yaml:"status"` // 100, 102 or 103
	Times  int           `json:"times" yaml:"times"`
	Every  time.Duration `json:"every,omitempty" yaml:"every,omitempty"` // between two, and before the answer
}

// Drip sends the body in Chunks of about the same size, the last of which is sent Over
// after the head. The first is sent with the head; one chunk comes Over after it.
type Drip struct {
	Chunks int           `json:"chunks" yaml:"chunks"`
	Over   time.Duration `json:"over" yaml:"over"`
}

// Slice sends head and body in pieces of Size bytes with a Gap between two.
type Slice struct {
	Size int64         `json:"size" yaml:"size"`
	Gap  time.Duration `json:"gap" yaml:"gap"`
}

// After is what becomes of the connection after a complete answer.
type After struct {
	Do   AfterDo       `json:"do" yaml:"do"`
	Wait time.Duration `json:"wait,omitempty" yaml:"wait,omitempty"` // before it
}

// AfterDo is what is done with a connection.
type AfterDo string

// What may be done.
const (
	AfterTell  AfterDo = "tell"  // the answer says Connection: close, and it is closed
	AfterClose AfterDo = "close" // closed (FIN) although the answer did not say so: a request may be on its way
	AfterReset AfterDo = "reset" // the same by RST
	AfterHalf  AfterDo = "half"  // the sending half is closed; what comes is read and not answered
)

// Raw reports whether net/http cannot send the form: the bytes are written by hand, and
// the connection ends with the answer.
func (f Form) Raw() bool {
	return f.Cut != nil || f.Malformed.ends() || f.Slice != nil || f.After != nil && f.After.Do != AfterTell
}

// Takes returns how long a body of so many bytes takes in this form, from the first byte of
// the answer to the last.
func (f Form) Takes(body int64) time.Duration {
	var d time.Duration
	if f.Inform != nil {
		d += time.Duration(f.Inform.Times) * f.Inform.Every
	}
	if f.Drip != nil && body > 0 {
		d += f.Drip.Over
	}
	const head = 150 // About what a head is long.
	if f.Slice != nil {
		d += time.Duration((body+head-1)/f.Slice.Size) * f.Slice.Gap
	}
	if f.Bandwidth > 0 {
		d = max(d, time.Duration(float64(body+head)/float64(f.Bandwidth)*float64(time.Second)))
	}
	return d
}

// Ends returns how an answer in this form ends, if that is not its own end: ActionReset,
// ActionClose or ActionHang; empty: it is complete.
func (f Form) Ends() Action {
	switch {
	case f.Cut != nil:
		return f.Cut.By
	case f.Malformed.ends():
		return ActionClose
	}
	return ""
}

// String says what is not as a sound server sends it, in a few words; empty: all is.
func (f Form) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if i := f.Inform; i != nil {
		add("after %d times %d", i.Times, i.Status)
	}
	switch c := f.Cut; {
	case c != nil && c.At == CutBody:
		add("cut after %d bytes of the body by %s", c.Bytes, c.By)
	case c != nil:
		add("cut at the %s by %s", c.At, c.By)
	}
	if f.Malformed != "" {
		add("malformed %s", f.Malformed)
	}
	if d := f.Drip; d != nil {
		add("dripped in %d parts over %v", d.Chunks, d.Over)
	}
	if s := f.Slice; s != nil {
		add("in slices of %d bytes every %v", s.Size, s.Gap)
	}
	if f.Bandwidth > 0 {
		add("at %d bytes a second", f.Bandwidth)
	}
	if a := f.After; a != nil {
		add("then %s", map[AfterDo]string{
			AfterTell: "the connection is closed, as said", AfterClose: "FIN", AfterReset: "RST", AfterHalf: "half a FIN",
		}[a.Do])
	}
	return strings.Join(parts, ", ")
}

// clone copies what the caller might change.
func (f Form) clone() Form {
	f.Cut, f.Inform, f.Drip, f.Slice, f.After = copied(f.Cut), copied(f.Inform), copied(f.Drip), copied(f.Slice), copied(f.After)
	return f
}

// check looks at each part, and at what cannot go together.
func (f Form) check(ps *problems) {
	if f.Cut != nil {
		f.Cut.check(ps)
	}
	if f.Malformed != "" && !slices.Contains(Malformations(), f.Malformed) {
		ps.add("malformed", "%q is none of %s", f.Malformed, words(Malformations()))
	}
	if f.Cut != nil && f.Malformed.ends() {
		ps.add("cut", "malformed %s ends the answer in its own way; leave one of them out", f.Malformed)
	}
	if f.Inform != nil {
		f.Inform.check(ps)
	}
	if f.Drip != nil && (f.Drip.Chunks < 1 || f.Drip.Over <= 0) {
		ps.add("drip", "is %d chunks over %v; both must be above 0", f.Drip.Chunks, f.Drip.Over)
	}
	if f.Slice != nil && (f.Slice.Size < 1 || f.Slice.Gap < 0) {
		ps.add("slice", "is %d bytes every %v; write at least 1 byte and no negative time", f.Slice.Size, f.Slice.Gap)
	}
	if f.Drip != nil && f.Slice != nil {
		ps.add("slice", "drip already cuts the body into pieces; leave one of them out")
	}
	if f.Bandwidth < 0 {
		ps.add("bandwidth", "is %d bytes a second; must be above 0", f.Bandwidth)
	}
	f.checkAfter(ps)
}

func (f Form) checkAfter(ps *problems) {
	if f.After == nil {
		return
	}
	if !slices.Contains([]AfterDo{AfterTell, AfterClose, AfterReset, AfterHalf}, f.After.Do) {
		ps.add("after.do", "%q is none of tell, close, reset, half", f.After.Do)
	}
	if f.After.Wait < 0 {
		ps.add("after.wait", "%v is negative", f.After.Wait)
	}
	if f.Cut != nil || f.Malformed.ends() {
		ps.add("after", "the answer is not complete, so nothing comes after it; leave it out")
	}
}

func (c Cut) check(ps *problems) {
	switch c.At {
	case CutStart, CutLine, CutHead:
		if c.Bytes != 0 {
			ps.add("cut.bytes", "has no meaning at %s; it belongs to body", c.At)
		}
	case CutBody:
		if c.Bytes < 0 {
			ps.add("cut.bytes", "%d is negative", c.Bytes)
		}
	default:
		ps.add("cut.at", "%q is none of start, line, head, body", c.At)
	}
	if c.By != ActionReset && c.By != ActionClose && c.By != ActionHang {
		ps.add("cut.by", "%q is none of reset, close, hang", c.By)
	}
}

func (i Inform) check(ps *problems) {
	if i.Status != 100 && i.Status != 102 && i.Status != 103 {
		ps.add("inform.status", "%d is none of 100, 102, 103; for an unsolicited 101 write malformed", i.Status)
	}
	if i.Times < 1 {
		ps.add("inform.times", "is %d, must be at least 1", i.Times)
	}
	if i.Every < 0 {
		ps.add("inform.every", "%v is negative", i.Every)
	}
}
