package injector

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// TLS has an injector speak TLS 1.2 and 1.3, with certificates of a CA of its own; see
// [Injector.CA]. Sessions are not resumed, so every connection shows a certificate.
type TLS struct {
	Names []string // names and addresses that the certificate is for, besides localhost, 127.0.0.1 and ::1
	// Protocols are those of ALPN (RFC 7301), the preferred first: h2 and http/1.1 are
	// spoken. nil: http/1.1.
	Protocols []string
}

// check says what is wrong with it.
func (t *TLS) check() error {
	var errs []error
	for _, name := range t.Names {
		if name == "" || net.ParseIP(name) == nil && strings.ContainsAny(name, " :/") {
			errs = append(errs, fmt.Errorf("tls: %q is not the name of a host, without a port", name))
		}
	}
	return errors.Join(errs...)
}

// room is what all connections with TLS share.
type room struct {
	ca      []byte
	sound   *tls.Config
	configs map[fault.TLSDo]*tls.Config // of faults that only need another one
}

// newRoom makes the certificates.
func newRoom(t *TLS, now time.Time) (*room, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	certs, err := newCertificates(t.Names, now)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	protocols := t.Protocols
	if protocols == nil {
		protocols = []string{"http/1.1"}
	}
	config := func(cert tls.Certificate) *tls.Config {
		return &tls.Config{
			Certificates: []tls.Certificate{cert}, NextProtos: protocols, MinVersion: tls.VersionTLS12,
			SessionTicketsDisabled: true, // A resumed session would show no certificate.
		}
	}
	r := &room{ca: certs.ca, sound: config(certs.right), configs: map[fault.TLSDo]*tls.Config{
		fault.TLSExpired: config(certs.expired), fault.TLSWrongHost: config(certs.wrong),
		fault.TLSUnknownCA: config(certs.strange), fault.TLSOldVersion: config(certs.right),
	}}
	old := r.configs[fault.TLSOldVersion]
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	r.sound.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		u, ok := h.Conn.(*under)
		if !ok {
			return nil, fmt.Errorf("a connection of type %T", h.Conn)
		}
		return u.greet(h)
	}
	return r, nil
}

// CA is the certificate of the CA that callers must trust to call over TLS, as PEM; nil
// without TLS. Every injector has one of its own.
func (i *Injector) CA() []byte {
	if i.room == nil {
		return nil
	}
	return i.room.ca
}

// checkTLS looks for faults that need TLS where there is none.
func (i *Injector) checkTLS(rules []*fault.Rule) error {
	var errs []error
	for _, r := range rules {
		if r.Action == fault.ActionTLS && i.cfg.TLS == nil {
			errs = append(errs, fmt.Errorf("fault %s: %s needs connections with TLS, which this injector does not speak; configure tls", r.ID, r.TLS.Do))
		}
	}
	return errors.Join(errs...)
}

// alertRecord is one alert in plain (RFC 8446, sections 5.1 and 6).
func alertRecord(code int) []byte {
	const alert, warning, fatal = 21, 1, 2
	const closeNotify, userCanceled, noRenegotiation = 0, 90, 100
	level := byte(fatal)
	if code == closeNotify || code == userCanceled || code == noRenegotiation {
		level = warning
	}
	return []byte{alert, 3, 3, 0, 2, level, byte(code)}
}
