//go:build unix

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestZooDocs runs the commands of a page of the docs, in their order, as somebody who
// copies them does. It needs curl.
func TestZooDocs(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the commands of the docs are run with FAULTLINE_ZOO=1")
	}
	page, err := os.ReadFile("../../docs/live-faults.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.1:9901", vacant(t), "127.0.0.1:9900", vacant(t)).Replace(string(page))
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 7 {
		t.Fatalf("%d blocks of commands, not 7", len(blocks))
	}
	cmd := exec.Command("/bin/sh", "-c", "exec "+blocks[0][1])
	stream, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if begins(t, cmd, stream, "described by") == nil {
		t.Fatal("it never said where its API is")
	}
	want := []string{"", `"id":"added/1"`, `faultline_rule_configured_ratio{injector="dependency",phase="inject",rule="added/1",action="respond"} 0.3333`, `"id":"added/2"`, `"id":"added/3"`, `"cleared":["dependency"]`, `"lapsed":false`}
	for n, b := range blocks[1:] {
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "set -e\n"+b[1]).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want[n+1]) {
			t.Errorf("%v: %s\nsaid %s", err, b[1], out)
		}
	}
}
