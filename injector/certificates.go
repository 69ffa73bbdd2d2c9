package injector

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// certificates are what an injector shows to callers with TLS. All are made when it starts
// and live in memory only.
type certificates struct {
	ca      []byte // PEM of the published one
	right   tls.Certificate
	expired tls.Certificate // its validity ended a day ago
	wrong   tls.Certificate // for wrongHost only
	strange tls.Certificate // for the right names, by a CA that is published nowhere
}

// wrongHost is a name that nobody can have (RFC 6761, section 6.4).
const wrongHost = "wrong.invalid"

const day = 24 * time.Hour

// authority is a CA.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newCertificates makes them for some names besides those of loopback.
func newCertificates(names []string, now time.Time) (*certificates, error) {
	names = append([]string{"localhost", "127.0.0.1", "::1"}, names...)
	ca, err := newAuthority("faultline", now)
	if err != nil {
		return nil, err
	}
	other, err := newAuthority("faultline, another", now)
	if err != nil {
		return nil, err
	}
	c := &certificates{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})}
	for _, leaf := range []struct {
		to    *tls.Certificate
		by    *authority
		names []string
		from  time.Time
		until time.Time
	}{
		{&c.right, ca, names, now.Add(-time.Hour), now.Add(365 * day)},
		{&c.expired, ca, names, now.Add(-2 * day), now.Add(-day)},
		{&c.wrong, ca, []string{wrongHost}, now.Add(-time.Hour), now.Add(365 * day)},
		{&c.strange, other, names, now.Add(-time.Hour), now.Add(365 * day)},
	} {
		if *leaf.to, err = leaf.by.issue(leaf.names, leaf.from, leaf.until); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// newAuthority makes a CA. Its serial number tells CAs of two runs apart, as some clients
// keep certificates by name and number.
func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of a CA: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: fmt.Sprintf("%s test CA %x", name, serial)},
		NotBefore: now.Add(-3 * day), NotAfter: now.Add(10 * 365 * day),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("read the CA that was made: %w", err)
	}
	return &authority{cert: cert, key: key}, nil
}

// issue makes a certificate for names, which may be addresses.
func (a *authority) issue(names []string, from, until time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key of a certificate: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if !slices.Contains(template.DNSNames, name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for %v: %w", names, err)
	}
	// The CA is not sent along: who does not have it does not know it.
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}

// newSerial draws a serial number.
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}
