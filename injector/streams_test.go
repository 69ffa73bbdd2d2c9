package injector_test

import (
	"net/http"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
)

// A WebSocket is a stream in the ledger for as long as it is open, whoever plays it; a handshake
// that gets another answer is none, and so is any other request.
func TestSocketsAreStreams(t *testing.T) {
	refused := fault.Rule{Action: fault.ActionRespond, Match: fault.Match{WebSocket: true}, Select: fault.Select{Kind: fault.SelectAll}, Respond: fault.Respond{Status: 503}}
	for name, c := range map[string]struct {
		cfg    func() injector.Config
		rules  []fault.Rule
		head   string
		stream bool
	}{
		"stub":               {echo, nil, handshakeHead(), true},
		"stub with a fault":  {echo, []fault.Rule{socketRule(fault.WebSocket{IgnoreClose: true})}, handshakeHead(), true},
		"upstream":           {func() injector.Config { return injector.Config{Upstream: socketUpstream(t).url} }, nil, handshakeHead(), true},
		"refused":            {echo, []fault.Rule{refused}, handshakeHead(), false},
		"a request":          {echo, nil, "GET / HTTP/1.1\r\nHost: dep\r\n\r\n", false},
		"no WebSocket there": {func() injector.Config { return injector.Config{} }, nil, handshakeHead(), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, c.cfg(), c.rules...)
			p := shakeHands(t, d, c.head)
			if c.stream {
				p.text("hello")
				if name != "upstream" {
					p.wants("1:hello")
				}
				if a := d.snapshot()[0]; !a.Stream || a.Closed != 0 {
					t.Errorf("while it is open: %+v", a)
				}
				p.say(wire.OpText, true, "bye")
			}
			p.Close()
			a := d.only(t)
			if a.Stream != c.stream || a.Closed > 0 != c.stream || c.stream && (a.Status != http.StatusSwitchingProtocols || a.Closed < a.Dep) {
				t.Errorf("afterwards: %+v", a)
			}
		})
	}
}
