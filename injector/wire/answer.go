package wire

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// Answer is what a sound server would send.
type Answer struct {
	Status int
	Reason string // empty: the standard one
	Header http.Header
	Body   []byte
	Fill   int64 // bytes of Filler that follow Body
	Bare   bool  // the answer has no body whatever its head says: to HEAD, or 204 and 304
}

// size is that of the body.
func (a Answer) size() int64 { return int64(len(a.Body)) + a.Fill }

// Length is what the head says of the body, in bytes: its size, or that of the body which the
// answer to a GET would have had, as an upstream tells it in its answer to HEAD (RFC 9110,
// section 9.3.2).
func (a Answer) Length() int64 {
	if n, err := strconv.ParseInt(a.Header.Get("Content-Length"), 10, 64); a.Bare && a.size() == 0 && err == nil && n > 0 {
		return n
	}
	return a.size()
}

// Spoil returns the answer with the malformations that leave its framing sound. draw
// gives the n-th of the answer's random numbers.
func Spoil(a Answer, m fault.Malformed, draw func(n uint64) uint64) Answer {
	a.Header = a.Header.Clone()
	if a.Header == nil {
		a.Header = http.Header{}
	}
	switch m {
	case fault.BadGzip:
		a.Header.Set("Content-Encoding", "gzip")
		a.Body = append([]byte("no gzip: "), a.Body...)
	case fault.BadJSON:
		a.Body, a.Fill = a.Body[:len(a.Body)/2], 0
		if len(a.Body) == 0 {
			a.Body = []byte(`{"`)
		}
	case fault.WrongType:
		a.Header.Set("Content-Type", "text/html; charset=utf-8")
	case fault.FlippedBytes:
		a.Body = slices.Clone(a.Body)
		for n := 0; n*16 < len(a.Body); n++ {
			u := draw(uint64(n))
			place := n*16 + int(u%16)%min(16, len(a.Body)-n*16)
			a.Body[place] ^= byte(1 + (u>>8)%255)
		}
	default:
	}
	return a
}

// HTTP1 returns the steps of an answer over HTTP/1.1 in a form, up to the end of the
// connection. Spoil must have been done.
func HTTP1(a Answer, f fault.Form) []Step {
	c := composer{a: a, f: f, length: a.Length()}
	c.inform()
	c.head()
	c.body()
	c.end()
	if f.Slice != nil {
		return slice(c.steps, f.Slice.Size, f.Slice.Gap)
	}
	return c.steps
}

// composer puts an answer together.
type composer struct {
	a      Answer
	f      fault.Form
	length int64
	at     time.Duration // of what comes next
	steps  []Step
	over   bool // nothing more is sent
}

func (c *composer) send(b []byte) { c.add(Step{Bytes: b}) }

// add sends what a step does.
func (c *composer) add(s Step) {
	if s.size() > 0 {
		s.Do, s.At = Send, c.at
		c.steps = append(c.steps, s)
	}
}

// inform sends what comes before the answer.
func (c *composer) inform() {
	i := c.f.Inform
	if i == nil || c.cutAt(fault.CutStart) || c.cutAt(fault.CutLine) {
		return
	}
	for range i.Times {
		c.send([]byte(statusLine(i.Status, "") + "\r\n"))
		c.at += i.Every
	}
}

// cutAt reports whether the answer is cut at a place.
func (c *composer) cutAt(at fault.CutAt) bool { return c.f.Cut != nil && c.f.Cut.At == at }

// HalfLine begins an answer that never comes. A client that has read any byte cannot
// take the dead connection for one that idled out and resend in silence; Java's
// HttpURLConnection wants eight. There is no status in it: a whole status line, and then
// the end of the connection, is an empty 200 to HttpURLConnection, Python and curl.
const HalfLine = "HTTP/1.1 "

// head sends the status line and the headers.
func (c *composer) head() {
	switch {
	case c.cutAt(fault.CutStart):
		c.over = true
		return
	case c.cutAt(fault.CutLine):
		c.send([]byte(HalfLine))
		c.over = true
		return
	case c.f.Malformed == fault.ContinueForNobody:
		c.send([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: faultline\r\n\r\n"))
		c.over = true
		return
	}
	var b strings.Builder
	if c.f.Malformed == fault.BadStatusLine {
		b.WriteString("HTTP/1.1 abc Malformed\r\n")
	} else {
		b.WriteString(statusLine(c.a.Status, c.a.Reason))
	}
	if c.f.Malformed == fault.BadHeader {
		b.WriteString("a header without a colon\r\n")
	}
	lines := c.headers()
	if c.cutAt(fault.CutHead) {
		b.WriteString(lines[0])
		c.send([]byte(b.String()))
		c.over = true
		return
	}
	b.WriteString(strings.Join(lines, ""))
	b.WriteString("\r\n")
	c.send([]byte(b.String()))
}

// statusLine is the first line of an answer.
func statusLine(status int, reason string) string {
	if reason == "" {
		reason = http.StatusText(status)
	}
	return fmt.Sprintf("HTTP/1.1 %03d %s\r\n", status, reason)
}

// headers are the lines of the head; there is one at least.
func (c *composer) headers() []string {
	var lines []string
	line := func(name, value string) { lines = append(lines, name+": "+value+"\r\n") }
	for _, name := range slices.Sorted(maps.Keys(c.a.Header)) {
		if name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection" {
			continue // They are said below.
		}
		for _, value := range c.a.Header[name] {
			line(name, value)
		}
	}
	for _, value := range c.framing() {
		name, text, _ := strings.Cut(value, " ")
		line(name, text)
	}
	if c.f.After == nil || c.f.After.Do == fault.AfterTell {
		line("Connection", "close")
	}
	return lines
}

// framing says how long the body is, each as "NAME VALUE".
func (c *composer) framing() []string {
	n := c.length
	if c.cutAt(fault.CutBody) && n == 0 && !c.a.Bare {
		n = 1 // Or there would be nothing to cut.
	}
	length := func(n int64) string { return "Content-Length " + strconv.FormatInt(n, 10) }
	switch c.f.Malformed {
	case fault.LengthTwice:
		return []string{length(n), length(n + 1)}
	case fault.LengthNegative:
		return []string{length(-1)}
	case fault.LengthTooLong:
		return []string{length(2*n + 1)}
	case fault.LengthMissing:
		return nil
	case fault.BadChunk, fault.NoLastChunk:
		return []string{"Transfer-Encoding chunked"}
	default:
	}
	if c.a.Status == http.StatusNoContent {
		return nil
	}
	return []string{length(n)}
}

// body sends what is sent of it.
func (c *composer) body() {
	if c.over || c.a.Bare {
		return
	}
	n := c.length
	switch {
	case c.cutAt(fault.CutBody):
		n = max(0, min(c.f.Cut.Bytes, c.length-1))
	case c.f.Malformed == fault.LengthMissing:
		n = c.length / 2
	case c.f.Malformed == fault.BadChunk:
		first, _ := c.content().split(c.length / 2)
		c.chunk(first)
		c.send([]byte("ZZ\r\n"))
		return
	case c.f.Malformed == fault.NoLastChunk:
		c.chunk(c.content())
		return
	}
	sent, _ := c.content().split(n)
	if n == 0 {
		sent = Step{}
	}
	start := c.at
	for _, p := range Pieces(n, c.f.Drip) {
		var piece Step
		piece, sent = sent.split(p.Size)
		c.at = start + p.At
		c.add(piece)
	}
}

// content is the body as one step.
func (c *composer) content() Step { return Step{Bytes: c.a.Body, Fill: c.a.Fill} }

// chunk sends a chunk, unless it is empty: that would be the last one.
func (c *composer) chunk(s Step) {
	if s.size() == 0 {
		return
	}
	c.send(fmt.Appendf(nil, "%x\r\n", s.size()))
	c.add(s)
	c.send([]byte("\r\n"))
}

// end ends the connection.
func (c *composer) end() {
	do := FIN
	switch {
	case c.f.Cut != nil:
		do = map[fault.Action]Do{fault.ActionReset: RST, fault.ActionClose: FIN, fault.ActionHang: Quiet}[c.f.Cut.By]
	case c.f.After != nil:
		c.at += c.f.After.Wait
		do = map[fault.AfterDo]Do{fault.AfterTell: FIN, fault.AfterClose: FIN, fault.AfterReset: RST, fault.AfterHalf: Half}[c.f.After.Do]
	}
	c.steps = append(c.steps, Step{Do: do, At: c.at})
}

// Piece is a part of a body.
type Piece struct {
	Size int64
	At   time.Duration // since the head was sent
}

// Pieces cuts a body of n bytes as a drip does, into as many chunks as there are bytes at
// most; the first is due at once and the last when the drip is over, and a single one then.
// Without a drip there is one piece, at once. An empty body has none.
func Pieces(n int64, d *fault.Drip) []Piece {
	if n <= 0 {
		return nil
	}
	if d == nil {
		return []Piece{{Size: n}}
	}
	chunks := min(int64(d.Chunks), n)
	if chunks == 1 {
		return []Piece{{Size: n, At: d.Over}}
	}
	pieces := make([]Piece, 0, chunks)
	for i := range chunks {
		size := n/chunks + min(1, max(0, n%chunks-i))
		at := time.Duration(float64(d.Over) * float64(i) / float64(chunks-1))
		pieces = append(pieces, Piece{Size: size, At: at})
	}
	return pieces
}

// Garbage is n random bytes that do not begin as an answer does, and then the end. draw
// gives the n-th random number.
func Garbage(n int, draw func(n uint64) uint64) []Step {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(draw(uint64(i/8)) >> (8 * (i % 8)))
	}
	if n > 0 {
		b[0] |= 0x80 // No letter, so neither HTTP/ nor a blank.
	}
	return []Step{{Do: Send, Bytes: b}, {Do: FIN}}
}
