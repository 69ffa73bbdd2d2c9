package injector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// upstreamURL reads the address of a real dependency.
func upstreamURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read upstream: %w", err)
	}
	if !slices.Contains([]string{"http", "https", "h2c"}, u.Scheme) || u.Host == "" {
		return nil, fmt.Errorf("upstream %q is not of the form http://host:port, or h2c://host:port for HTTP/2", text)
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
		return nil, fmt.Errorf("upstream %q has the port %s, which is none; write one from 1 to 65535", text, u.Port())
	}
	return u, nil
}

// useUpstream makes the real dependency at u answer healthy requests.
func (i *Injector) useUpstream(u *url.URL) {
	to := i.roadsTo(u)
	if u.Scheme == "h2c" {
		h2c := *u
		h2c.Scheme = "http"
		u = &h2c
	}
	i.rest = to.closeIdle
	i.healthy = &httputil.ReverseProxy{
		Transport:     to,
		Rewrite:       func(p *httputil.ProxyRequest) { rewrite(p, u) },
		FlushInterval: -1, // a stream stays a stream
		ErrorHandler:  unreachable,

		ModifyResponse: answered,
		ErrorLog:       slog.NewLogLogger(i.log.Handler(), slog.LevelDebug),
	}
}

// rewrite addresses a request to the upstream and undoes what a proxy that wants
// to be seen would change.
func rewrite(p *httputil.ProxyRequest, u *url.URL) {
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Trailer = p.In.Trailer // The same map: its values come behind the body, which is still to be read.
	p.SetURL(u)
	for _, key := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[key]; ok {
			p.Out.Header[key] = values
		}
	}
	// An upgrade to HTTP/2 would carry later requests past the injector.
	if strings.EqualFold(p.Out.Header.Get("Upgrade"), "h2c") {
		p.Out.Header.Del("Upgrade")
		p.Out.Header.Del("Connection")
	}
}

// asking is where the proxy leaves for the exchange what came of asking the upstream.
type asking struct {
	h2  bool           // the caller speaks HTTP/2
	err error          // why there is no answer to pass on
	got *http.Response // its trailers come with the end of its body
}

// askingKey is the context key of an *asking.
type askingKey struct{}

// unreachable notes that the upstream gave no answer.
func unreachable(_ http.ResponseWriter, r *http.Request, err error) {
	if n, ok := r.Context().Value(askingKey{}).(*asking); ok {
		n.err = err
	}
}

// noteAnswer notes that it did.
func noteAnswer(res *http.Response) error {
	if n, ok := res.Request.Context().Value(askingKey{}).(*asking); ok {
		n.got = res
		if n.trailersOnly() {
			return errTaken
		}
	}
	return takeUpgrade(res)
}

// trailersOnly reports whether the answer is one of gRPC that is a head and nothing else. Its head
// has to end the stream, or clients look for the status in trailers and find none; of a proxy's
// answer, the end comes apart.
func (n *asking) trailersOnly() bool {
	return n.h2 && n.got != nil && n.got.ContentLength == 0 && len(n.got.Trailer) == 0 && n.got.Header.Get("Grpc-Status") != ""
}

// forward has the upstream answer.
func (x *exchange) forward() (e ending) {
	asked := asking{h2: x.stream != nil}
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			e = x.broken()
		default:
			panic(p)
		}
	}()
	// A tunnel must not keep the injector from its end: neither side of it may say a word, or read one.
	x.w.taken = func(nc net.Conn) {
		context.AfterFunc(x.r.Context(), func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	}
	r := x.r.WithContext(context.WithValue(x.r.Context(), askingKey{}, &asked))
	if x.socketRule() != nil {
		r, socket := x.askForSocket(x.answerLate(r))
		x.healthy.ServeHTTP(x.w, r)
		if socket.conn != nil {
			return x.relay(socket.conn, socket.header)
		}
	} else if x.form() == (fault.Form{}) && !x.resetsInAnswer() {
		x.healthy.ServeHTTP(x.w, x.answerLate(r))
	} else {
		kept := x.keepAnswer(r)
		if asked.err == nil && x.r.Context().Err() == nil && !x.body.failed.Load() {
			return x.replyKept(kept)
		}
	}
	if asked.trailersOnly() {
		if !x.ripen() {
			return x.gone()
		}
		return x.reply(answer{status: asked.got.StatusCode, header: asked.got.Header})
	}
	return x.passedOn(&asked)
}

// keepAnswer has the upstream answer, and keeps that. An answer that is too long is not read to its end.
func (x *exchange) keepAnswer(r *http.Request) (kept *capture) {
	kept = &capture{header: http.Header{}, inform: func(status int, h http.Header) {
		maps.Copy(x.w.Header(), h)
		x.w.WriteHeader(status)
		clear(x.w.Header())
	}}
	defer func() {
		if p := recover(); p != nil && !kept.over { // So the proxy tells that it could not pass on all.
			panic(p)
		}
	}()
	x.healthy.ServeHTTP(kept, r)
	return kept
}

// passedOn is the end of an exchange whose answer the proxy sent, or had none to send.
func (x *exchange) passedOn(asked *asking) ending {
	switch {
	case asked.err == nil && x.w.err == nil:
		e := ending{outcome: trace.OutcomeAnswered, status: x.w.status, at: x.w.last}
		if asked.got != nil {
			e.grpc = x.grpcOf(asked.got.Header, asked.got.Trailer, false, false)
		}
		return e
	case x.r.Context().Err() != nil || x.body.failed.Load() || asked.err == nil:
		return x.gone()
	}
	return x.unreached(asked.err)
}

// unreached tells the caller that the upstream gave no answer, when an answer was due.
func (x *exchange) unreached(err error) ending {
	if !x.ripen() {
		return x.gone()
	}
	e := x.answer(newAnswer(fault.Respond{
		Status: http.StatusBadGateway,
		Body:   fmt.Sprintf("faultline: injector %s could not reach its upstream %s: %v\n", x.cfg.Name, x.cfg.Upstream, err),
	}))
	if e.outcome == trace.OutcomeAnswered {
		e.outcome = trace.OutcomeUpstream
	}
	return e
}

// replyKept sends the upstream's answer in the form that the rule gives it.
func (x *exchange) replyKept(kept *capture) ending {
	if !x.ripen() {
		return x.gone()
	}
	if !kept.over {
		return x.reply(kept.answer())
	}
	e := x.answer(newAnswer(fault.Respond{
		Status: http.StatusBadGateway,
		Body: fmt.Sprintf("faultline: injector %s cannot send this answer of its upstream %s in another form: it is longer than %d bytes\n",
			x.cfg.Name, x.cfg.Upstream, mostCaptured),
	}))
	if e.outcome == trace.OutcomeAnswered {
		e.outcome = trace.OutcomeUpstream
	}
	return e
}

// broken is the end of an answer that stopped in the middle: the caller left,
// or the upstream broke off, which the caller sees as a closed connection.
func (x *exchange) broken() ending {
	if x.r.Context().Err() != nil || x.w.err != nil || x.body.failed.Load() {
		return x.gone()
	}
	if x.stream != nil { // What that connection carries besides is left alone.
		return ending{outcome: trace.OutcomeReset, at: time.Now(), cut: true}
	}
	return ending{outcome: trace.OutcomeFIN, at: time.Now(), cut: true}
}

// resetsInAnswer reports whether the rule resets the stream in the middle of an answer.
func (x *exchange) resetsInAnswer() bool {
	rule := x.verdict.Rule
	return rule != nil && rule.H2 != nil && rule.H2.Reset != nil
}

// isWrong reports whether an error of net/http's reading a body is one of what came, and not of
// a caller who left in the middle of it.
func isWrong(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	return !isNet && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, net.ErrClosed)
}

// watchedBody notes that the caller's body broke off, which the upstream's
// client reports like a fault of the upstream.
type watchedBody struct {
	io.ReadCloser
	head   *bytes.Reader // what was looked at already, to be read again; nil: nothing
	failed atomic.Bool
	wrong  atomic.Pointer[error] // it is none: what came is no chunk, or no trailer; nil: it is sound so far
	ended  atomic.Bool           // all of it was read
}

// Read notes an error that is the caller's.
func (b *watchedBody) Read(p []byte) (int, error) {
	if b.head != nil && b.head.Len() > 0 {
		return b.head.Read(p)
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.failed.Store(true)
		if isWrong(err) {
			b.wrong.Store(&err)
		}
	}
	return n, err
}
