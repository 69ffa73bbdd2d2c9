package target

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// left reports whether a process of the group runs, the guard aside, or one that
// left it. It reads /proc because kill(-id, 0) also finds zombies, and in a
// container whose first process reaps nobody those stay for ever.
func (g *group) left() bool {
	for _, pid := range pids() {
		if state, pgrp := status(pid); running(state) && pgrp == g.id && pid != g.id || g.marked(pid) {
			return true
		}
	}
	return false
}

// strays are the processes that left the group, each with a handle that can reach
// no other process. The caller releases them.
func (g *group) strays() []*os.Process {
	var found []*os.Process
	for _, pid := range pids() {
		if _, pgrp := status(pid); pgrp == g.id {
			continue
		}
		// The handle comes first: should the pid change hands in between, it is that
		// of the one who had it, whom the mark of the other does not harm.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if g.marked(pid) {
			found = append(found, p)
			continue
		}
		_ = p.Release() // It is nobody of ours.
	}
	return found
}

// marked reports whether a process was started with the mark. That of a zombie
// cannot be read any more, nor can that of another user's.
func (g *group) marked(pid int) bool {
	env, err := os.ReadFile(procFile(pid, "environ"))
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+g.mark+"\x00"))
}

// pids are all processes.
func pids() []int {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil // The pattern is right.
	}
	found := make([]int, 0, len(dirs))
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// status reads the state of a process and its group from a line of the form "PID
// (NAME) STATE PPID PGRP ...", see proc(5). The name may itself contain blanks and
// brackets. Of a process that has ended it returns nothing.
func status(pid int) (state string, pgrp int) {
	line, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 3 {
		return "", 0
	}
	pgrp, err = strconv.Atoi(fields[2])
	if err != nil {
		return "", 0
	}
	return fields[0], pgrp
}

// running reports whether a process in this state can still do something.
func running(state string) bool { return state != "" && state != "Z" && state != "X" }

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}
