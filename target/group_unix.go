//go:build unix

package target

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// guardScript ignores everything that is meant for the system under test, says
// that it does, and when standard input ends kills what has the mark (its first
// argument) in its environment and then its own process group. Until then it has no
// child. Without /proc, or without grep, it kills the group only. A killed process
// may just have started another one, hence the rounds.
const guardScript = `trap '' HUP INT QUIT PIPE ALRM TERM USR1 USR2 TSTP TTIN TTOU
echo guarding
read -r _
exec 2>/dev/null
for round in 1 2 3 4 5 6 7 8 9 10; do
  found=$(grep -ls -e "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || break
  for f in $found; do f=${f#/proc/}; kill -KILL "${f%/environ}"; done
done
kill -KILL 0`

// markName is the variable by which what a launched command starts is known, also
// when it has left the process group. Its value is another one for each launch.
const markName = "FAULTLINE_LAUNCH"

// group is a process group and the guard that leads it. The guard's pid is the
// group's id and cannot be given to another process before close has reaped the
// guard.
type group struct {
	guard *exec.Cmd
	pipe  io.Closer // the guard kills the group when this is closed
	id    int
	mark  string // NAME=VALUE
}

// newGroup starts a guard. It returns only when the guard ignores signals, because
// a SIGTERM to the group could end it before that.
func newGroup() (*group, error) {
	mark := markName + "=" + rand.Text()
	guard := exec.Command("/bin/sh", "-c", guardScript, "faultline-guard", mark) //nolint:noctx // The guard has to outlive every context.
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
	g := &group{guard: guard, pipe: pipe, id: guard.Process.Pid, mark: mark}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the guard: %w", err), g.close())
	}
	return g, nil
}

// adopt makes a command start inside the group, with the mark.
func (g *group) adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	cmd.Env = append(cmd.Env, g.mark)
}

// terminate asks all of the group to end, and all that left it. The guard ignores
// it. An error could only say that nobody is there.
func (g *group) terminate() {
	strays := g.strays() // Before those die by whom they could be found.
	_ = syscall.Kill(-g.id, syscall.SIGTERM)
	for _, p := range strays {
		_ = p.Signal(syscall.SIGTERM)
		_ = p.Release()
	}
}

// killRounds bounds how often [group.kill] looks for what the processes that it
// kills have just started.
const killRounds = 10

// kill ends all of the group, the guard included, and all that left it.
func (g *group) kill() {
	_ = syscall.Kill(-g.id, syscall.SIGKILL)
	for range killRounds {
		strays := g.strays()
		if len(strays) == 0 {
			return
		}
		for _, p := range strays {
			_ = p.Kill()
			_ = p.Release()
		}
	}
}

// close lets the guard kill what is left of the group and itself.
func (g *group) close() error {
	closing := g.pipe.Close()
	err := g.guard.Wait()
	if _, killed := errors.AsType[*exec.ExitError](err); err != nil && !killed {
		return fmt.Errorf("wait for the guard: %w", err)
	}
	return closing
}
