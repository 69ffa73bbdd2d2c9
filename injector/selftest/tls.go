package selftest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// tlsContracts are those of connections with TLS.
func tlsContracts() []contract {
	var all []contract
	for _, group := range [][]contract{handshakes(), certificates(), ends()} {
		all = append(all, group...)
	}
	for i := range all {
		all[i].protocol, all[i].setUp = "TLS", withTLS
	}
	return all
}

// withTLS has the injector speak TLS.
func withTLS(_ context.Context, cfg *injector.Config) (func(), error) {
	cfg.TLS = &injector.TLS{Names: []string{"selftest"}}
	return func() {}, nil
}

// onTLS is a fault of a connection.
func onTLS(do fault.TLSDo) fault.Rule {
	return fault.Rule{Action: fault.ActionTLS, TLS: &fault.TLS{Do: do}}
}

// reach connects to an injector; leave ends the connection, and so does ctx.
func reach(ctx context.Context, in *injector.Injector) (c net.Conn, leave func(), err error) {
	c, err = new(net.Dialer).DialContext(ctx, "tcp", in.Addr())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the injector: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	return c, func() {
		stop()
		_ = c.Close() // What is to be seen was seen.
	}, nil
}

// caller is an observer who makes a handshake as a client of crypto/tls does, and looks at
// what is below.
func caller(change func(*tls.Config)) observer {
	return func(ctx context.Context, in *injector.Injector, request string, patience time.Duration) (Observation, error) {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(in.CA()) {
			return Observation{}, errors.New("the injector's CA is not PEM")
		}
		config := &tls.Config{RootCAs: roots, ServerName: "selftest", MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		change(config)
		c, leave, err := reach(ctx, in)
		if err != nil {
			return Observation{}, err
		}
		defer leave()
		return talk(ctx, &tap{Conn: c}, config, request, patience)
	}
}

// asIs changes nothing.
func asIs(*tls.Config) {}

// tap notes whether the other side has ended the connection below TLS.
type tap struct {
	net.Conn
	first time.Time // when the first byte came
	ended bool
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if n > 0 && t.first.IsZero() {
		t.first = time.Now()
	}
	t.ended = t.ended || errors.Is(err, io.EOF)
	return n, err
}

// talk makes a handshake, sends a request and reads to the end.
func talk(ctx context.Context, below *tap, config *tls.Config, request string, patience time.Duration) (Observation, error) {
	start := time.Now()
	c := tls.Client(below, config)
	if err := below.SetDeadline(start.Add(patience * 10)); err != nil {
		return Observation{}, fmt.Errorf("wait for a handshake: %w", err)
	}
	if err := c.HandshakeContext(ctx); err != nil {
		// The injector knows when it closes the connection, too.
		_, end := listen(below.Conn, start, patience)
		return Observation{End: Broken, Ended: time.Since(start), Err: err}, end
	}
	if _, err := io.WriteString(c, request); err != nil {
		return Observation{}, fmt.Errorf("send the request: %w", err)
	}
	o, err := listen(c, start, patience)
	o.Hello, o.TLS = below.first.Sub(start), new(c.ConnectionState())
	if err != nil || o.End != FIN || below.ended {
		return o, err
	}
	// TLS ended, and TCP has not been seen to: that was close_notify.
	rest, err := listen(below.Conn, start, patience)
	switch {
	case err != nil:
		return o, err
	case rest.End == FIN && len(rest.Bytes) == 0:
		o.End = Notified
	default:
		o.End = End(fmt.Sprintf("close_notify, then %d bytes and %s", len(rest.Bytes), rest.End))
	}
	return o, nil
}

// hello is a ClientHello as a client of crypto/tls writes it.
func hello() string {
	config := &tls.Config{ServerName: "selftest", MinVersion: tls.VersionTLS12}
	var written scribe
	_ = tls.Client(&written, config).HandshakeContext(context.Background()) // Nobody answers.
	return written.String()
}

// scribe is a connection that keeps what is written and on which nothing comes.
type scribe struct {
	net.Conn
	bytes.Buffer
}

func (s *scribe) Read([]byte) (int, error)         { return 0, io.EOF }
func (s *scribe) Write(p []byte) (int, error)      { return s.Buffer.Write(p) }
func (s *scribe) Close() error                     { return nil }
func (s *scribe) SetDeadline(time.Time) error      { return nil }
func (s *scribe) SetWriteDeadline(time.Time) error { return nil }

// handshakes are those that come to nothing; what is seen is bytes of a socket.
func handshakes() []contract {
	now := hello()
	alert := onTLS(fault.TLSAlert)
	alert.TLS.Alert = 40
	warning := onTLS(fault.TLSAlert)
	warning.TLS.Alert = 90
	slow := onTLS(fault.TLSSlow)
	slow.Latency = fault.Latency{Min: 80 * ms, Max: 80 * ms}
	return []contract{
		{
			fault: "tls: stall", expected: "no byte and no end after a ClientHello", request: now,
			rule: onTLS(fault.TLSStall), recorded: trace.OutcomeHang, holds: looks(``, None),
		},
		{
			fault: "tls: stall, and the phase ends", expected: "no byte of a ServerHello; then FIN, when the phase ends", request: now,
			rule: onTLS(fault.TLSStall), recorded: trace.OutcomeHang, ends: true, holds: looks(``, FIN),
		},
		{
			fault: "tls: reset", expected: "RST before any byte", request: now,
			rule: onTLS(fault.TLSReset), recorded: trace.OutcomeReset, holds: looks(``, RST),
		},
		{
			fault: "tls: close", expected: "FIN before any byte", request: now,
			rule: onTLS(fault.TLSClose), recorded: trace.OutcomeFIN, holds: looks(``, FIN),
		},
		{
			fault: "tls: {alert: 40}", expected: "one record, a fatal alert 40, then FIN", request: now,
			rule: alert, recorded: trace.OutcomeFIN, holds: looks(`\x15\x03\x03\x00\x02\x02\x28`, FIN),
		},
		{
			fault: "tls: {alert: 90}", expected: "one record, a warning 90, then FIN", request: now,
			rule: warning, recorded: trace.OutcomeFIN, holds: looks(`\x15\x03\x03\x00\x02\x01\x5a`, FIN),
		},
		{
			fault: "tls: old_version, to a client of TLS 1.2 and 1.3", expected: "one record, a fatal alert 70 (protocol_version), then FIN", request: now,
			rule: onTLS(fault.TLSOldVersion), recorded: trace.OutcomeFIN, holds: looks(`\x15\x03[\x01-\x03]\x00\x02\x02\x46`, FIN),
		},
		{
			fault: "tls: old_version, to a client of TLS 1.0", expected: "a sound handshake of TLS 1.0, and the healthy answer", stub: stub(),
			rule:     onTLS(fault.TLSOldVersion),
			observer: caller(func(c *tls.Config) { c.MinVersion = tls.VersionTLS10; c.MaxVersion = tls.VersionTLS10 }),
			holds:    func(o Observation) bool { return isHealthy(o) && o.TLS.Version == tls.VersionTLS10 },
		},
		{
			fault: "tls: slow, latency: 80ms", expected: "no byte of a ServerHello before 80 ms have passed, then a sound handshake and the healthy answer",
			rule: slow, stub: stub(), observer: caller(asIs),
			holds: func(o Observation) bool { return isHealthy(o) && o.Hello >= 80*ms && o.TLS.Version == tls.VersionTLS13 },
		},
	}
}

// isHealthy reports whether the healthy answer came, and the connection stays open.
func isHealthy(o Observation) bool { return o.End == None && bytes.Contains(o.Bytes, []byte(stubBody)) }

// certificates are those that a client must not accept.
func certificates() []contract {
	broken := func(is func(error) bool) func(Observation) bool {
		return func(o Observation) bool { return o.End == Broken && is(o.Err) }
	}
	return []contract{
		{
			fault: "tls: expired", expected: "a certificate that its client refuses as expired",
			rule: onTLS(fault.TLSExpired), recorded: trace.OutcomeHang, observer: caller(asIs),
			holds: broken(func(err error) bool {
				e, ok := errors.AsType[x509.CertificateInvalidError](err)
				return ok && e.Reason == x509.Expired && e.Cert.NotAfter.Before(time.Now())
			}),
		},
		{
			fault: "tls: wrong_host", expected: "a certificate that its client refuses as one for another host",
			rule: onTLS(fault.TLSWrongHost), recorded: trace.OutcomeHang, observer: caller(asIs),
			holds: broken(func(err error) bool {
				e, ok := errors.AsType[x509.HostnameError](err)
				return ok && slices.Equal(e.Certificate.DNSNames, []string{"wrong.invalid"})
			}),
		},
		{
			fault: "tls: unknown_ca", expected: "a certificate that its client refuses as one of an unknown CA",
			rule: onTLS(fault.TLSUnknownCA), recorded: trace.OutcomeHang, observer: caller(asIs),
			holds: broken(func(err error) bool {
				e, ok := errors.AsType[x509.UnknownAuthorityError](err)
				return ok && e.Cert.VerifyHostname("selftest") == nil
			}),
		},
		{
			fault: "tls: expired, for another name", expected: "a sound handshake and the healthy answer: the name is not the rule's", stub: stub(),
			rule:     fault.Rule{Action: fault.ActionTLS, TLS: &fault.TLS{Do: fault.TLSExpired}, Match: fault.Match{SNI: "*.selftest"}},
			observer: caller(asIs), holds: isHealthy,
		},
	}
}

// ends are those of connections whose handshake succeeded.
func ends() []contract {
	const head = `HTTP/1\.1 200 OK\r\n.*Content-Length: 20\r\n.*\r\n\r\n`
	closing := "GET /charges HTTP/1.1\r\nHost: selftest\r\nConnection: close\r\n\r\n"
	return []contract{
		{
			fault: "tls: no_close_notify", expected: "a complete answer, then FIN without close_notify", stub: stub(), request: closing,
			rule: onTLS(fault.TLSNoCloseNotify), observer: caller(asIs), holds: looks(head+`\{"charged":"twenty"\}`, FIN),
		},
		{
			fault: "no fault, over TLS", expected: "a complete answer, then close_notify and FIN", stub: stub(), request: closing,
			rule: fault.Rule{Action: fault.ActionPass}, observer: caller(asIs), holds: looks(head+`\{"charged":"twenty"\}`, Notified),
		},
		{
			fault: "reset, over TLS", expected: `"HTTP/1.1 ", then RST without close_notify`, recorded: trace.OutcomeReset,
			rule: fault.Rule{Action: fault.ActionReset}, observer: caller(asIs), holds: looks(`HTTP/1\.1 `, RST),
		},
		{
			fault: "reset, stealth, over TLS 1.2", expected: "RST without close_notify", recorded: trace.OutcomeReset,
			rule:     fault.Rule{Action: fault.ActionReset, Stealth: true},
			observer: caller(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), holds: looks(``, RST),
		},
		{
			fault: "close, over TLS", expected: `"HTTP/1.1 ", then close_notify and FIN`, recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose}, observer: caller(asIs), holds: looks(`HTTP/1\.1 `, Notified),
		},
		{
			fault: "cut: {at: body, bytes: 7, by: reset}, over TLS", expected: "7 of the 20 bytes that are announced, then RST without close_notify", recorded: trace.OutcomeReset,
			rule: passing(fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: 7, By: fault.ActionReset}}), stub: stub(),
			observer: caller(asIs), holds: looks(head+`\{"charg`, RST),
		},
		{
			fault: "garbage: 200, over TLS", expected: "200 bytes within TLS that are no HTTP, then close_notify and FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionGarbage, Garbage: 200}, observer: caller(asIs),
			holds: func(o Observation) bool {
				return o.End == Notified && len(o.Bytes) == 200 && !strings.Contains(string(o.Bytes), "HTTP/")
			},
		},
		{
			fault: "connection: half, over TLS", expected: "a complete answer, then close_notify and FIN", stub: stub(),
			rule: passing(fault.Form{After: &fault.After{Do: fault.AfterHalf}}), observer: caller(asIs), holds: looks(`HTTP/1\.1 200 .*\{"charged":"twenty"\}`, Notified),
		},
		{
			fault: "hang, over TLS", expected: "no byte and no end within TLS", recorded: trace.OutcomeHang,
			rule: fault.Rule{Action: fault.ActionHang}, observer: caller(asIs), holds: looks(``, None),
		},
	}
}
