package experiments

import (
	"os"
	"strings"
	"testing"
)

// A word of another tool is answered with what it is called here, and with nothing else.
func TestForeignWords(t *testing.T) {
	good, err := os.ReadFile("quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"delay: 200ms":                "delay: unknown key; to answer late, write latency: {fixed: 200ms}",
		"abort: 503":                  "abort: unknown key; to answer otherwise, write respond: {status: 503}",
		"timeout: 5s":                 "timeout: unknown key; to give no answer, write hang: true",
		"reset: true, percentage: 50": "percentage: unknown key; to hit a part of the requests, write ratio: 30%",
		"reset: true, path: /a":       "path: unknown key; to choose the requests, write match: {method: POST, path: /pay}, or match: {header: {X-User: anna}}",
	} {
		text := strings.Replace(string(good), "- { name: baseline, duration: 400ms }", "- { name: baseline, duration: 400ms, faults: [ { "+words+" } ] }", 1)
		_, err := LoadPlan("x.yaml", []byte(text), testSeed)
		if err == nil || !strings.HasSuffix(err.Error(), "phases[0].faults[0]."+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s alone", words, err, want)
		}
	}
}
