package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestZooExperiments loads the experiment of every member, as a run would, and without one.
func TestZooExperiments(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range readZoo(t) {
		if seen[m.name] {
			t.Errorf("%s is there twice", m.name)
		}
		seen[m.name] = true
		if _, err := m.plan(".", "venv"); err != nil {
			t.Errorf("%s: %v\n%s", m.name, err, m.experiment(".", "venv"))
		}
	}
}

// TestZooFileIsStrict wants a wrong truth to be told, and where.
func TestZooFileIsStrict(t *testing.T) {
	const member = `members:
  a:
    title: A
    version: "1"
    settings: "s"
    sources: [ { url: "https://example.org", section: "s" } ]
    folder: a
    launch: { command: [./a], env: { PORT: "1" } }
    counts: "c"
    breaker: { window: 5, minimum_calls: 5, failure_rate: 100%, wait: 1s, permitted_calls: 1 }
    declared:
      trip: { at_call: 5 }
      leak: { max: 0 }
      open_time: { is: 1s }
      probes: { exactly: 1 }
      close: { after_successes: 1 }
      reopen: { on: failed_probe }
      late: { none: "why" }
`
	if _, err := parseZoo("zoo.yaml", []byte(member)); err != nil {
		t.Fatalf("a right one is refused: %v", err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"      leak: { max: 0 }\n", "", "zoo.yaml:12:7: members.a.declared.leak: is missing"},
		{"at_call: 5", "at_cal: 5", "at_cal: unknown key"},
		{"{ is: 1s }", "{ is: 1s, min: 1s }", "members.a.declared.open_time"},
		{"{ after_successes: 1 }", "{ }", "members.a.declared.close"},
		{"{ on: failed_probe }", "{ on: anything }", "members.a.declared.reopen.on"},
		{"    folder: a\n", "", "members.a.folder: is missing"},
		{"section: \"s\"", "section: \"\"", "members.a.sources[0].section"},
	} {
		_, err := parseZoo("zoo.yaml", []byte(strings.Replace(member, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

// TestZooVersions wants the version of each member to be the one that its manifest asks for. The
// proxies of Debian have none: theirs is the machine's.
func TestZooVersions(t *testing.T) {
	for _, m := range readZoo(t) {
		var manifests []string
		for _, name := range []string{"go.mod", "package.json", "requirements.txt", "pom.xml"} {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(zooFile), m.folder, name))
			if err == nil {
				manifests = append(manifests, string(text))
			}
		}
		if len(manifests) == 0 {
			t.Errorf("%s has no manifest", m.name)
		}
		if strings.HasPrefix(m.version, "of Debian") {
			continue
		}
		if !strings.Contains(strings.Join(manifests, "\n"), m.version) {
			t.Errorf("%s: no manifest of %s asks for version %s", m.name, m.folder, m.version)
		}
	}
}
