package injector_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// What a client with gorilla/websocket reports of each fault. The dependency
// says aa, bb and cc; the client reads at most three messages of 1000 bytes, and waits a
// second for each. Where a name ends in an echo, the client says a ping and these messages:
// a client that writes while the RST comes may be told of that by either.
func TestZooGorillaSees(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("gorilla/websocket asks with FAULTLINE_ZOO=1")
	}
	program := filepath.Join(t.TempDir(), "gorilla")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "testdata/gorilla"
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, text)
	}
	second := func(m fault.WSMessage) fault.WebSocket {
		m.To, m.At = fault.ToClient, []uint64{2}
		return fault.WebSocket{Messages: []fault.WSMessage{m}}
	}
	end := func(c fault.WSClose) fault.WebSocket { c.After = 1; return fault.WebSocket{Close: &c} }
	refused := fault.Rule{Action: fault.ActionRespond, Match: fault.Match{WebSocket: true}, Select: fault.Select{Kind: fault.SelectAll}, Respond: fault.Respond{Status: 503}}
	const aa, all = "message aa\n", "message aa\nmessage bb\nmessage cc\n"
	for name, c := range map[string]struct {
		rule fault.Rule
		want string
	}{
		"fragment, echo":  {socketRule(second(fault.WSMessage{Do: fault.WSFragment, Size: 1})), all + "pongs 1"},
		"respond 503":     {refused, "handshake: websocket: bad handshake (503)"},
		"accept wrong":    {socketRule(fault.WebSocket{Accept: fault.AcceptWrong}), "handshake: websocket: bad handshake (101)"},
		"accept missing":  {socketRule(fault.WebSocket{Accept: fault.AcceptMissing}), "handshake: websocket: bad handshake (101)"},
		"close 1011":      {socketRule(end(fault.WSClose{Code: 1011, Reason: "broken"})), aa + "close 1011 \"broken\"\npongs 0"},
		"close 4000, RST": {socketRule(end(fault.WSClose{Code: 4000, By: fault.ActionReset})), aa + "close 4000 \"\"\npongs 0"},
		"close 1005":      {socketRule(end(fault.WSClose{Code: 1005})), aa + "close 1005 \"\"\npongs 0"},
		"close 1006, FIN": {socketRule(end(fault.WSClose{Code: 1006})), aa + "close 1006 \"unexpected EOF\"\npongs 0"},
		"close 1006, RST": {socketRule(end(fault.WSClose{Code: 1006, By: fault.ActionReset})), aa + "error: read tcp ADDR: read: connection reset by peer\npongs 0"},
		"close 999":       {socketRule(end(fault.WSClose{Code: 999})), aa + "error: websocket: bad close code 999\npongs 0"},
		"drop":            {socketRule(second(fault.WSMessage{Do: fault.WSDrop})), "message aa\nmessage cc\ni/o timeout\npongs 0"},
		"duplicate":       {socketRule(second(fault.WSMessage{Do: fault.WSDuplicate})), "message aa\nmessage bb\nmessage bb\npongs 0"},
		"reorder":         {socketRule(second(fault.WSMessage{Do: fault.WSReorder})), "message aa\nmessage cc\nmessage bb\npongs 0"},
		"late":            {socketRule(second(fault.WSMessage{Do: fault.WSDelay, Delay: fault.Latency{Min: 5 * time.Second, Max: 5 * time.Second}})), aa + "i/o timeout\npongs 0"},
		"cut, FIN":        {socketRule(second(fault.WSMessage{Do: fault.WSCut, By: fault.ActionClose})), aa + "close 1006 \"unexpected EOF\"\npongs 0"},
		"cut, RST":        {socketRule(second(fault.WSMessage{Do: fault.WSCut, By: fault.ActionReset})), aa + "error: read tcp ADDR: read: connection reset by peer\npongs 0"},
		"oversize":        {socketRule(second(fault.WSMessage{Do: fault.WSOversize, Size: 2000})), aa + "read limit\npongs 0"},
		"stall":           {socketRule(fault.WebSocket{Stall: &fault.WSStall{After: 1, To: fault.ToClient}}), aa + "i/o timeout\npongs 0"},
		"no pong, echo":   {socketRule(fault.WebSocket{NoPong: &fault.Select{Kind: fault.SelectAll}}), all + "pongs 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stub, more := &injector.WebSocketStub{Open: []string{"aa", "bb", "cc"}}, []string(nil)
			if strings.HasSuffix(name, "echo") {
				stub.Open, more = nil, []string{"talk"}
			}
			d := start(t, injector.Config{Stub: injector.Stub{WebSocket: stub}}, c.rule)
			args := append([]string{"ws" + strings.TrimPrefix(d.URL(), "http") + "/feed"}, more...)
			text, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			got := strings.TrimSpace(string(text))
			if before, after, ok := strings.Cut(got, "read tcp "); ok { // Ports differ.
				_, after, _ = strings.Cut(after, ": ")
				got = before + "read tcp ADDR: " + after
			}
			if got != c.want {
				t.Errorf("it reports\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
