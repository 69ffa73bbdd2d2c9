package injector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// useUpstream makes the real dependency at u answer healthy requests.
func (i *Injector) useUpstream(u *url.URL) {
	transport := &http.Transport{
		// No Proxy: what the environment names is not between SUT and
		// dependency, so it must not be between injector and dependency.
		DialContext:        i.cfg.DialUpstream,
		DisableCompression: true, // bodies pass as they are
		// Many, so that load does not use up the machine's ports; briefly, as a
		// server that closes an idle connection just then would look broken.
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     time.Second,
	}
	if u.Scheme == "h2c" {
		h2c := *u
		h2c.Scheme = "http"
		u = &h2c
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	i.rest = transport.CloseIdleConnections
	i.healthy = &httputil.ReverseProxy{
		Transport:     transport,
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

// noAnswer is where unreachable leaves its error for the exchange.
type noAnswer struct{ error }

// noAnswerKey is the context key of a *noAnswer.
type noAnswerKey struct{}

// unreachable notes that the upstream gave no answer.
func unreachable(_ http.ResponseWriter, r *http.Request, err error) {
	if n, ok := r.Context().Value(noAnswerKey{}).(*noAnswer); ok {
		n.error = err
	}
}

// forward has the upstream answer.
func (x *exchange) forward() (e ending) {
	var failed noAnswer
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			e = x.broken()
		default:
			panic(p)
		}
	}()
	asked := x.r.WithContext(context.WithValue(x.r.Context(), noAnswerKey{}, &failed))
	if x.socketRule() != nil {
		asked, socket := x.askForSocket(x.answerLate(asked))
		x.healthy.ServeHTTP(x.w, asked)
		if socket.conn != nil {
			return x.relay(socket.conn, socket.header)
		}
	} else if x.form() == (fault.Form{}) && !x.resetsInAnswer() {
		x.healthy.ServeHTTP(x.w, x.answerLate(asked))
	} else {
		kept := &capture{header: http.Header{}}
		x.healthy.ServeHTTP(kept, asked)
		if failed.error == nil && x.r.Context().Err() == nil && !x.body.failed.Load() {
			return x.replyKept(kept)
		}
	}
	switch {
	case failed.error == nil && x.w.err == nil:
		return ending{outcome: trace.OutcomeAnswered, status: x.w.status, at: x.w.last}
	case x.r.Context().Err() != nil || x.body.failed.Load() || failed.error == nil:
		return x.gone()
	}
	return x.unreached(failed.error)
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

// watchedBody notes that the caller's body broke off, which the upstream's
// client reports like a fault of the upstream.
type watchedBody struct {
	io.ReadCloser
	head   *bytes.Reader // what was looked at already, to be read again; nil: nothing
	failed atomic.Bool
	ended  atomic.Bool // all of it was read
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
	}
	return n, err
}
