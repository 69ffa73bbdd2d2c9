//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// What cannot be controlled, or bounded, is refused.
func TestInjectControlUsage(t *testing.T) {
	see := "\nSee faultline inject --help\n"
	empty := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(lines, []byte("0123456789abcdef\nand more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, say string }{
		{"--lease 5s", "--lease belongs to the API by which faults are changed; add --control 127.0.0.1:9900\n"},
		{"--control-token-file x", "--control-token-file belongs to the API"},
		{"--control-host x", "--control-host belongs to the API"},
		{"--control=", "--control needs an address, as 127.0.0.1:9900\n"},
		{"--control here", "--control: address here: write host:port, as 127.0.0.1:9900\n"},
		{"--control 0.0.0.0:1", `address 0.0.0.0:1 is not on loopback; whoever reaches it can break what is behind it, so allow "0.0.0.0" by its name`},
		{"--control 0.0.0.0:1 --control-host 0.0.0.0", "--control: address 0.0.0.0:1 is not on loopback and needs a token\nthe name is given by --control-host, the token by --control-token-file\n"},
		{"--control 127.0.0.1:1 --control-token-file testdata/no-such-file", "--control-token-file: open testdata"},
		{"--control 127.0.0.1:1 --control-token-file " + empty, "it is empty; write a long word"},
		{"--control 127.0.0.1:1 --control-token-file=", "--control-token-file names no file; write one, or leave the flag out\n"},
		{"--control 127.0.0.1:1 --control-token-file " + lines, "--control: the token is not one word of printable ASCII, as a header has to be; use letters and digits\n"},
		{"--control 127.0.0.1:1 --control-host=", `--control: host "": write a name or an address alone, without its port, as ci.internal`},
		{"--control 127.0.0.1:1 --control-host ci:1", `--control: host "ci:1": write a name or an address alone, without its port, as ci.internal`},
		{"--control 127.0.0.1:1 --listen 127.0.0.1:1", "--control 127.0.0.1:1: that is where injector dependency listens; choose another port\n"},
		{"--control :1", "--control: address :1 is that of all networks; name the one that it is to be reached by, or 0.0.0.0\n"},
		{"--control 127.0.0.1:65536", "--control: address 127.0.0.1:65536: write host:port, as 127.0.0.1:9900\n"},
		{"--control 127.0.0.1:1 --lease 0s", `invalid argument "0s" for "--lease" flag: write a duration above 0, as 5s` + see},
		{"--control 127.0.0.1:1 --lease 5", `invalid argument "5" for "--lease" flag: 5 has no unit`},
		{"--max-active 0", `invalid argument "0" for "--max-active" flag: write a whole number from 1 on, as 10` + see},
		{"--max-share 0.5", `invalid argument "0.5" for "--max-share" flag: 0.5 has no unit`},
	} {
		code, stdout, stderr := call(append([]string{"inject"}, strings.Fields(tt.args)...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, tt.say) {
			t.Errorf("%s: exit code %d, %q is missing in:\n%s%s", tt.args, code, tt.say, stderr, stdout)
		}
	}
}

// Every flag of a limit ends in the limits of every dependency.
func TestInjectLimits(t *testing.T) {
	var f injectFlags
	args := "--control 127.0.0.1:1 --lease 5s --max-faulted 1 --max-share 12.5% --max-active 2 --max-held 3 --max-rate 4"
	if err := f.set().Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	in := injection{injectors: make([]injector.Config, 2)}
	if err := f.bound(&in); err != nil {
		t.Fatal(err)
	}
	want := injector.Limits{Faulted: 1, Share: injector.Ratio{Num: 1, Den: 8}, Active: 2, Held: 3, PerSecond: 4}
	for _, cfg := range in.injectors {
		if diff := cmp.Diff(want, cfg.Limits); diff != "" || cfg.Lease != 5e9 {
			t.Errorf("lease %v, %s", cfg.Lease, diff)
		}
	}
}

// orders sends a request to the control API and returns its answer.
func orders(t *testing.T, addr, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer a-long-word-that-nobody-guesses")
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status[:3] + " " + string(text)
}

// Faults are watched and changed while they are played, and bounded.
func TestInjectIsControlled(t *testing.T) {
	t.Parallel()
	addr, ctl := vacant(t), vacant(t)
	word := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(word, []byte("a-long-word-that-nobody-guesses\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := begin(t, exec.Command("faultline", "inject", "--listen", addr, "--respond", "503", "--max-faulted", "2",
		"--control", ctl, "--control-token-file", word, "--lease", "10m"))
	listening(t, ctl)
	url := "http://" + addr
	if got := ask(t, 1, http.MethodGet, "http://"+ctl+"/v1/state"); !strings.HasPrefix(got, "401") {
		t.Errorf("without the token: %s", got)
	}
	wants(t, orders(t, ctl, "POST", "/v1/faults", `{"rule":{"select":{"kind":"all"},"action":"respond","respond":{"status":418}},"ttl":"1m"}`), `201 {"id":"added/1"`)
	wants(t, ask(t, 1, http.MethodGet, url), "418")
	wants(t, orders(t, ctl, "POST", "/v1/clear", ""), `200 {"cleared":["dependency"]}`)
	wants(t, ask(t, 1, http.MethodGet, url), "200")
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"name":"inject"}`), "200")
	wants(t, ask(t, 2, http.MethodGet, url), "503 200")
	wants(t, orders(t, ctl, "POST", "/v1/lease", ""), `200 {"until":"`)
	var s control.State
	if err := json.Unmarshal([]byte(strings.TrimPrefix(orders(t, ctl, "GET", "/v1/state", ""), "200 ")), &s); err != nil {
		t.Fatal(err)
	}
	if i := s.Injectors[0]; i.Faulted != 2 || i.Overflow[injector.LimitFaulted] != 1 || i.Requests != 4 || s.Recorded != 4 {
		t.Errorf("%+v", s)
	}
	p.signal(t, syscall.SIGINT)
	out, said := p.ends(t, 130)
	wants(t, out, "control API at http://"+ctl+", described by http://"+ctl+"/openapi.json\n",
		"  all faults end when nobody has sent POST http://"+ctl+"/v1/lease for 10m\n")
	wants(t, said, "in all 4 arrived, 2 hit, 1 spared by a limit | 200:2 418:1 503:1\n")
	if !refused(t, ctl) {
		t.Error("the API listens still")
	}
}

// A jump goes to a phase of the experiment, from where its time goes on, or to none.
func TestInjectJumpsToAPhase(t *testing.T) {
	t.Parallel()
	addr, ctl, file := vacant(t), vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
	long := launched{injector: "listen: " + addr + ", stub: { status: 201 }", phases: `{ name: healthy, duration: 1h, load: { rate: 10/s } }
  - { name: broken, duration: 1h, load: { rate: 10/s }, faults: [ { respond: { status: 503 } } ] }
  - { name: again, duration: 1s, load: { rate: 10/s } }`}.write(t)
	p := begin(t, exec.Command("faultline", "inject", "--trace", file, "--control", ctl, long))
	p.says(t, "phase 1 of 3: healthy")
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"next":true}`), `200 {"phase":"broken"}`)
	wants(t, ask(t, 1, http.MethodGet, "http://"+addr), "503")
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"name":""}`), `200 {"phase":""}`)
	p.says(t, "phase without faults, until the next change")
	wants(t, ask(t, 1, http.MethodGet, "http://"+addr), "201")
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"name":"nowhere"}`), "404")
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"name":"again"}`), `200 {"phase":"again"}`)
	p.says(t, "phase 3 of 3: again")
	p.ends(t, 0)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(text), `"kind":"fault_on","subject":"engine","text":"broken"`, `"kind":"fault_off","subject":"engine","text":"broken"`, `"kind":"phase_end","subject":"broken"`)
}

// Without renewal the faults are over, and faultline goes on.
func TestInjectLease(t *testing.T) {
	t.Parallel()
	addr, ctl := vacant(t), vacant(t)
	p := begin(t, exec.Command("faultline", "inject", "--listen", addr, "--hang", "--control", ctl, "--lease", "2s"))
	listening(t, addr)
	listening(t, ctl) // It comes after the dependency.
	wants(t, ask(t, 1, http.MethodGet, "http://"+addr), "cut")
	wants(t, ask(t, 1, http.MethodGet, "http://"+addr), "200")
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"name":"inject"}`), `409 {"code":"lapsed"`)
	p.signal(t, syscall.SIGINT)
	p.ends(t, 130)
}
