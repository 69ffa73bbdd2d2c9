//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/faultline-go/faultline/assert/report"
)

// shell runs a command line with $0 as the folder of the run and $1 as the
// experiment.
func shell(t *testing.T, line, dir, file string) *program {
	t.Helper()
	return begin(t, exec.Command("/bin/sh", "-c", line, dir, file))
}

// names are the files of a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// A trace that does not fit on the disk: the verdicts are told, what is missing is
// named, and nobody takes it for a pass. A limit on the size of files stands for the
// disk, since anybody may set one.
func TestTraceThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	out, said := shell(t, `ulimit -f 8; exec faultline run --quiet --out "$0" "$1"`, dir, launched{}.write(t)).ends(t, 3)
	wants(t, said,
		"faultline: write "+filepath.Join(dir, "trace.jsonl")+": file too large; raise the limit on the size of files (ulimit -f)\n",
		"what could be written of this run is in "+dir+"; missing are trace.jsonl; the exit code is 3, since a run without them is no pass\n")
	if got := names(t, dir); got != "junit.xml plan.yaml summary.md sut.log verdicts.json" {
		t.Errorf("the folder has %s", got)
	}
	if s := summary(t, dir); s.Verdict != report.OutcomePass || out != "" {
		t.Errorf("verdicts.json says %s, and standard output %q", s.Verdict, out)
	}
	gone(t, pids(t, dir, "service")...)
}

// A disk that is full before the run has begun.
func TestNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	out, said := shell(t, `ulimit -f 0; exec faultline run --out "$0" "$1"`, dir, launched{}.write(t)).ends(t, 3)
	wants(t, strings.Join(strings.Fields(out), " "), "NOT CARRIED OUT", "plan.yaml: file too large; raise the limit")
	wants(t, said, "missing are junit.xml, summary.md, verdicts.json\n")
	if got := names(t, dir); got != "" {
		t.Errorf("the folder has %s", got)
	}
}

// A disk that fills in the middle, where a small one can be had.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getpagesize() != 4<<10 {
		t.Skip("the disk has five pages of 4 kB: the trace takes four, any other file one")
	}
	const mount = `mount -t tmpfs -o size=20k tmpfs "$0" && mkdir "$0/out" && `
	if out, err := exec.Command("unshare", "-rm", "/bin/sh", "-c", mount+"true", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be had here: %v, %s", err, out)
	}
	disk := t.TempDir()
	p := begin(t, exec.Command("unshare", "-rm", "/bin/sh", "-c", mount+`faultline run --out "$0/out" "$1"; code=$?; ls "$0/out"; exit $code`, disk, launched{}.write(t)))
	out, said := p.ends(t, 3)
	wants(t, said, "trace.jsonl: no space left on device; make room, or choose another folder with --out\n", "missing are trace.jsonl")
	wants(t, out, "PASS  hostile", "verdicts.json")
}

// A folder that goes away during the run.
func TestFolderThatIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	out, said := runOf(t, launched{flags: "--remove=" + dir}, dir).ends(t, 3)
	wants(t, out, "PASS  hostile")
	wants(t, said, "write "+filepath.Join(dir, "trace.jsonl")+": no such file or directory", "missing are trace.jsonl, junit.xml, summary.md, verdicts.json; the exit code is 3")
}

// A folder that may not be written is refused before anything is started. Root may
// write everywhere, so that then somebody else tries.
func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("faultline")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "faultline")
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{mine: binary, filepath.Join(dir, "good.yaml"): experiment} {
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--out sub/out: mkdir sub: permission denied; name a folder that can be made\n": {"--out", "sub/out"},
		"--junit sub/junit.xml: mkdir sub: permission denied; name a file in a folder":  {"--junit", "sub/junit.xml"},
		"--junit junit.xml: cannot be written: permission denied; name a file that can": {"--junit", "junit.xml"},
		"make the folder of the run: mkdir faultline-out: permission denied; choose":    nil,
	} {
		cmd := exec.Command(mine, append(append([]string{"run"}, args...), "good.yaml")...)
		cmd.Dir = dir
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, said := begin(t, cmd).ends(t, 2)
		wants(t, said, want)
		if strings.Contains(said, "phase") || out != "" {
			t.Errorf("something was started:\n%s%s", said, out)
		}
	}
}

// deaf returns a file that nobody reads.
func deaf(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// A reader that went away, as of faultline run ... | head, loses the report and not
// the run; one of what is said on the way loses nothing.
func TestReaderThatWentAway(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	junit := filepath.Join(t.TempDir(), "junit.xml")
	cmd := exec.Command("faultline", "run", "--out", dir, "--junit", junit, launched{}.write(t))
	cmd.Stdout = deaf(t)
	_, said := begin(t, cmd).ends(t, 3)
	wants(t, said, "faultline: write the report: ", "broken pipe", "everything of this run is in "+dir)
	if _, err := os.Stat(junit); err != nil || summary(t, dir).Verdict != report.OutcomePass {
		t.Errorf("the run was lost with its reader: %v", err)
	}

	dir = filepath.Join(t.TempDir(), "out")
	cmd = exec.Command("faultline", "run", "--out", dir, launched{}.write(t))
	cmd.Stderr = deaf(t)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	wants(t, string(out), "PASS  hostile")
	gone(t, pids(t, dir, "service")...)
}

func TestClosedAndFullStreams(t *testing.T) {
	t.Parallel()
	for line, code := range map[string]int{
		`exec faultline run --out "$0" "$1" >&-`:         0, // Whoever closes it does not want it.
		`exec faultline run --out "$0" "$1" 2>&-`:        0,
		`exec faultline run --out "$0" "$1" <&-`:         0,
		`exec faultline run --out "$0" "$1" >&- 2>&-`:    0,
		`exec faultline run --out "$0" "$1" 2>/dev/full`: 0,
		`exec faultline run --out "$0" "$1" >/dev/full`:  3,
	} {
		if _, err := os.Stat("/dev/full"); err != nil && strings.Contains(line, "/dev/full") {
			continue
		}
		dir := filepath.Join(t.TempDir(), "out")
		shell(t, line, dir, launched{}.write(t)).ends(t, code)
		if s := summary(t, dir); s.Verdict != report.OutcomePass {
			t.Errorf("%s: verdicts.json says %s", line, s.Verdict)
		}
	}
}
