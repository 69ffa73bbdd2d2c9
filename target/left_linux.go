package target

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// left reports whether a process of the group runs, the guard aside. It reads
// /proc because kill(-id, 0) also finds zombies, and in a container whose first
// process reaps nobody those stay for ever.
func (g *group) left() bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false // close kills what there may be.
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err == nil && g.running(string(stat)) {
			return true
		}
	}
	return false
}

// running reads a line of the form "PID (NAME) STATE PPID PGRP ...", see proc(5).
// The name may itself contain blanks and brackets.
func (g *group) running(stat string) bool {
	pid, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	id := strconv.Itoa(g.id)
	return len(fields) > 2 && fields[2] == id && pid != id && fields[0] != "Z" && fields[0] != "X"
}
