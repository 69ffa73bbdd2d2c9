package injector

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// errFault ends a handshake that a fault was drawn for. It is told to nobody: by then
// TLS is muted.
var errFault = errors.New("a fault ended the handshake")

// greet decides what becomes of a connection, now that its ClientHello has come.
func (u *under) greet(h *tls.ClientHelloInfo) (*tls.Config, error) {
	i, now := u.injector, time.Now()
	u.sni = h.ServerName
	stage := i.phase.Load()
	u.phase = stage.name
	v, p := i.ask(stage, fault.Request{Layer: fault.LayerTLS, SNI: u.sni, Peer: u.RemoteAddr().String()}, now)
	if v.Rule == nil {
		return nil, nil // It is how crypto/tls is told to go on.
	}
	stalls := v.Rule.TLS.Do == fault.TLSStall
	if i.permit(v.Rule, p, stalls) != "" {
		return nil, nil
	}
	defer i.release(true, stalls)
	u.rule = v.Rule
	if v.Latency > 0 {
		due := now.Add(v.Latency)
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		if !u.wait(timer.C, p.cleared) {
			u.arrive("a TLS handshake whose ServerHello was delayed")
			return u.mute()
		}
		i.meter.waited(due)
	}
	return u.play(p)
}

// play does what the rule says.
func (u *under) play(p *phase) (*tls.Config, error) {
	what := u.rule.TLS
	switch what.Do {
	case fault.TLSStall:
		u.arrive("a TLS handshake that was stalled")
		u.wait(nil, p.ended)
		u.depart(func(a *trace.Attempt) { a.Outcome = trace.OutcomeHang })
	case fault.TLSAlert:
		u.arrive(fmt.Sprintf("a TLS handshake that was answered by alert %d", what.Alert))
		_, _ = u.Conn.Write(alertRecord(what.Alert)) // A caller who is gone is recorded as such.
	case fault.TLSClose:
		u.arrive("a TLS handshake that was answered by FIN")
	case fault.TLSReset:
		u.arrive("a TLS handshake that was answered by RST")
		outcome := u.injector.abort(u.Conn, u.rule)
		u.depart(func(a *trace.Attempt) { a.Outcome = outcome })
	case fault.TLSNoCloseNotify:
		u.quiet.Store(true)
		return nil, nil
	case fault.TLSSlow:
		return nil, nil
	case fault.TLSExpired, fault.TLSWrongHost, fault.TLSUnknownCA, fault.TLSOldVersion:
		return u.injector.room.configs[what.Do], nil
	}
	return u.mute()
}

// mute ends the handshake without a word of TLS.
func (u *under) mute() (*tls.Config, error) {
	u.muted.Store(true)
	return nil, errFault
}
