package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// TestZooClientsSeeNoAnswer asks with the clients that services have: none may take a
// connection fault for an answer. A whole status line before the end was an empty 200
// to HttpURLConnection.
func TestZooClientsSeeNoAnswer(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real clients ask with FAULTLINE_ZOO=1")
	}
	for name, rule := range map[string]fault.Rule{
		"reset":           {Action: fault.ActionReset},
		"close":           {Action: fault.ActionClose},
		"stealthy reset":  {Action: fault.ActionReset, Stealth: true},
		"stealthy close":  {Action: fault.ActionClose, Stealth: true},
		"none, and it is": {Action: fault.ActionRespond, Respond: fault.Respond{Status: 200, Body: "well"}},
	} {
		t.Run(name, func(t *testing.T) {
			url := faulty(t, rule)
			for _, client := range [][]string{{"java", "testdata/Clients.java", url}, {"node", "testdata/clients.js", url}} {
				text, err := exec.CommandContext(t.Context(), client[0], client[1:]...).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", client[0], err, text)
				}
				want := ": error "
				if rule.Action == fault.ActionRespond {
					want = ": answer 200 well"
				}
				if strings.Count(string(text), want) != 2 {
					t.Errorf("%s, wanted two times %q:\n%s", client[0], want, text)
				}
			}
		})
	}
}

// faulty starts a dependency that answers everything by a rule, and returns its address.
func faulty(t *testing.T, rule fault.Rule) string {
	t.Helper()
	rule.ID, rule.Select.Kind = "asked/1", fault.SelectAll
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "dependency", Addr: "127.0.0.1:0", Recorder: trace.NewRecorder(time.Now()), Seed: 1,
		Correlator: match.Correlator{Run: 1, Phases: []string{"asked"}},
		Script:     fault.Script{Phases: map[string][]fault.Rule{"asked": {rule}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	in.Enter("asked")
	return in.URL()
}
