package injector

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// form is the one that the rule gives to the answer.
func (x *exchange) form() fault.Form {
	if x.verdict.Rule == nil {
		return fault.Form{}
	}
	return x.verdict.Rule.Form
}

// reply sends an answer in the form that the rule gives it.
func (x *exchange) reply(a answer) ending {
	if x.stream != nil {
		return x.replyH2(a)
	}
	if a.grpc != nil {
		return x.misfit("grpc")
	}
	f := x.form()
	if f == (fault.Form{}) {
		return x.answer(a)
	}
	if c, ok := connOf(x.r); ok && f.Bandwidth > 0 {
		c.slow(f.Bandwidth, x.phase.cleared, x.r.Context().Done())
		defer c.slow(0, nil, nil)
	}
	w := wire.Spoil(wire.Answer{
		Status: a.status, Header: a.header, Body: a.body, Fill: a.fill,
		Bare: x.r.Method == http.MethodHead || !mayHaveBody(a.status),
	}, f.Malformed, x.verdict.Draw)
	if f.Raw() {
		return x.byHand(w, f)
	}
	return x.shaped(w, f, a.trailer)
}

// byHand writes the answer's bytes itself.
func (x *exchange) byHand(a wire.Answer, f fault.Form) ending {
	if a.Header.Get("Date") == "" {
		a.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	complete := a.Status
	if f.Ends() != "" {
		complete = 0
	}
	return x.perform(wire.HTTP1(a, f), complete)
}

// shaped has net/http send the answer, piece by piece. Trailers have it sent in chunks, which callers of
// HTTP/1.0 do not know.
func (x *exchange) shaped(a wire.Answer, f fault.Form, trailer http.Header) ending {
	if !x.inform(f.Inform) {
		return x.gone()
	}
	head := x.w.Header()
	maps.Copy(head, a.Header)
	size := int64(0)
	if !a.Bare {
		size = int64(len(a.Body)) + a.Fill
		head.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if len(trailer) > 0 {
		head.Del("Content-Length")
	}
	if f.After != nil {
		head.Set("Connection", "close")
	}
	x.w.WriteHeader(a.Status)
	if !x.pieces(bytes.NewReader(a.Body), wire.Pieces(size, f.Drip)) {
		return x.gone()
	}
	for name, values := range trailer {
		head[http.TrailerPrefix+name] = values
	}
	return ending{outcome: trace.OutcomeAnswered, status: a.Status, at: x.w.last}
}

// inform sends what comes before an answer; false: the caller left.
func (x *exchange) inform(i *fault.Inform) bool {
	if i == nil {
		return true
	}
	for range i.Times {
		x.w.WriteHeader(i.Status) // Sent at once; a flush would begin the answer.
		if !x.sleepUntil(time.Now().Add(i.Every)) {
			return false
		}
	}
	return true
}

// pieces sends head and body, each piece when it is due; false: the caller left.
func (x *exchange) pieces(body *bytes.Reader, pieces []wire.Piece) bool {
	flush := http.NewResponseController(x.w.ResponseWriter).Flush
	start := time.Now()
	for _, p := range pieces {
		if flush() != nil || !x.sleepUntil(start.Add(p.At)) {
			return false
		}
		x.w.sendFrom(body, p.Size)
	}
	return flush() == nil && x.w.err == nil
}

// capture is a ResponseWriter that keeps the answer.
type capture struct {
	header http.Header
	head   http.Header // as it was when the body began; what is added later is trailers
	status int
	body   bytes.Buffer
	over   bool // there was more than is kept

	inform func(status int, h http.Header) // what comes before the answer is passed on by it
}

// mostCaptured is the largest body of an upstream that is kept to be sent in another form.
const mostCaptured = 64 << 20

func (c *capture) Header() http.Header { return c.header }

func (c *capture) WriteHeader(status int) {
	switch {
	case status < http.StatusOK:
		c.inform(status, c.header)
	case c.status == 0:
		c.status, c.head = status, c.header.Clone()
	}
}

// errTooLong ends the reading of an answer that is longer than what is kept: it may have no end.
var errTooLong = fmt.Errorf("the answer is longer than %d bytes", mostCaptured)

func (c *capture) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.over = c.over || c.body.Len()+len(p) > mostCaptured; c.over {
		return 0, errTooLong
	}
	return c.body.Write(p)
}

// answer is what was kept.
func (c *capture) answer() answer {
	a := answer{status: c.status, header: c.head, body: c.body.Bytes(), trailer: http.Header{}}
	for name := range strings.SplitSeq(strings.Join(c.head["Trailer"], ","), ",") {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if values, ok := c.header[name]; ok {
			a.trailer[name] = values
		}
	}
	for key, values := range c.header {
		if name, ok := strings.CutPrefix(key, http.TrailerPrefix); ok {
			a.trailer[name] = values
		}
	}
	a.header.Del("Transfer-Encoding")
	return a
}

// retryAfter writes the header's value at an instant.
func retryAfter(r fault.RetryAfter, now time.Time) string {
	if r.Date {
		return now.Add(r.In).UTC().Format(http.TimeFormat)
	}
	return strconv.FormatInt(int64(r.In/time.Second), 10)
}

// filled is a header value of so many bytes.
func filled(n int64) string {
	text := strings.NewReplacer("\n", "-", " ", "-").Replace(wire.Filler) // Blanks at its end would be cut off.
	return strings.Repeat(text, int(n)/len(text)+1)[:n]
}
