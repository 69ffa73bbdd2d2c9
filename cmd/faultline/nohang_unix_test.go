//go:build unix

package main

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// most is what a run may take of memory, whatever its service answers: 300 MB. It
// takes 50 of them for 100,000 headers.
const most = 300 << 20

// No answer holds a run beyond its phases and the timeout of a call, nor takes the
// machine's memory.
func TestServicesThatAnswerStrangely(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]launched{
		"a body without end":           {flags: "--endless", phases: "{ name: healthy, duration: 1s, load: { rate: 20/s } }"},
		"a body without end, and fast": {flags: "--torrent", phases: "{ name: healthy, load: { calls: 8, concurrency: 4 } }"},
		"100,000 headers":              {flags: "--headers=100000", timeout: "20s", phases: "{ name: healthy, load: { calls: 8, concurrency: 1 } }"},
		"connections that are closed":  {flags: "--drop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if l.timeout == "" {
				l.timeout = "300ms"
			}
			dir := filepath.Join(t.TempDir(), "out")
			p := runOf(t, l, dir)
			p.ends(t, 0, 3) // What comes of it is the rules' to say.
			gone(t, pids(t, dir, "service")...)
			if n := calls(t, dir); n < 8 {
				t.Errorf("the trace has %d calls", n)
			}
			if used, ok := p.ProcessState.SysUsage().(*syscall.Rusage); !ok || peak(used.Maxrss) > most {
				t.Errorf("%+v: more than %d bytes of memory", used, most)
			}
		})
	}
}

// peak is a greatest size in bytes; Linux counts it in kilobytes, macOS in bytes.
func peak(maxrss int64) int64 {
	if runtime.GOOS == "darwin" {
		return maxrss
	}
	return maxrss << 10
}
