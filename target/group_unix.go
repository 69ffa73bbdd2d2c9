//go:build unix

package target

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// guardScript ignores everything that is meant for the system under test, says
// that it does, and kills its own process group when standard input ends. All its
// commands are builtins, so it never has a child.
const guardScript = `trap '' HUP INT QUIT PIPE ALRM TERM USR1 USR2 TSTP TTIN TTOU
echo guarding
read -r _
kill -KILL 0`

// group is a process group and the guard that leads it. The guard's pid is the
// group's id and cannot be given to another process before close has reaped the
// guard.
type group struct {
	guard *exec.Cmd
	pipe  io.Closer // the guard kills the group when this is closed
	id    int
}

// newGroup starts a guard. It returns only when the guard ignores signals, because
// a SIGTERM to the group could end it before that.
func newGroup() (*group, error) {
	guard := exec.Command("/bin/sh", "-c", guardScript, "faultline-guard") //nolint:noctx // The guard has to outlive every context.
	guard.Dir = "/"
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := guard.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the guard's pipe: %w", err)
	}
	ready, err := guard.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the guard's pipe: %w", err), pipe.Close())
	}
	if err := guard.Start(); err != nil {
		return nil, fmt.Errorf("start the guard that stops the system under test should faultline be killed (it needs a shell; without one, start the system yourself and give base_url): %w", err)
	}
	g := &group{guard: guard, pipe: pipe, id: guard.Process.Pid}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the guard: %w", err), g.close())
	}
	return g, nil
}

// adopt makes a command start inside the group.
func (g *group) adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
}

// terminate asks all of the group to end. The guard ignores it. An error could
// only say that nobody is there.
func (g *group) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }

// kill ends all of the group, the guard included.
func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// close lets the guard kill what is left of the group and itself.
func (g *group) close() error {
	closing := g.pipe.Close()
	err := g.guard.Wait()
	if _, killed := errors.AsType[*exec.ExitError](err); err != nil && !killed {
		return fmt.Errorf("wait for the guard: %w", err)
	}
	return closing
}
