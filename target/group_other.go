//go:build !unix

package target

import "os/exec"

// group is a single process where the system has no process groups.
type group struct{ cmd *exec.Cmd }

func newGroup() (*group, error) { return &group{}, nil }

func (g *group) adopt(cmd *exec.Cmd) { g.cmd = cmd }

// terminate does nothing: there is no polite signal, so that Stop waits in vain
// and then kills.
func (g *group) terminate() {}

func (g *group) kill() {
	if g.cmd != nil && g.cmd.Process != nil {
		_ = g.cmd.Process.Kill() // An error says that it has ended.
	}
}

func (g *group) left() bool { return false }

func (g *group) close() error { return nil }
