package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// killWait bounds the wait after SIGKILL. Nothing survives that signal but a
// process stuck inside the kernel, and waiting for that one helps nobody.
const killWait = 5 * time.Second

// The pauses between two looks at the process group: the first is short because
// most programs end at once, the last is long because a look reads all of /proc.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// Launch says how to start a system under test.
type Launch struct {
	Command []string          // program and arguments; a program without a slash is looked up in this process's PATH
	Dir     string            // working directory; empty: that of this process
	Env     map[string]string // added to this process's environment, where it wins
	Stop    time.Duration     // patience after SIGTERM before SIGKILL; 0: none
	// Log takes both standard output and standard error; nil: discarded. It is a
	// file because any other writer would be fed by a copying goroutine, which
	// lives for as long as some grandchild keeps the pipe open. The caller closes
	// it after Stop.
	Log *os.File
}

// Process is a started system under test. Its methods may be called from any
// goroutine.
type Process struct {
	name     string
	patience time.Duration
	logger   *slog.Logger
	group    *group
	exited   chan struct{}
	err      error // written before exited is closed

	stopping sync.Once
	stop     chan struct{} // closed when Stop was called
	hurrying sync.Once
	hurry    chan struct{} // closed when a caller's context ended
	stopped  chan struct{}
	stopErr  error // written before stopped is closed
}

// Start starts the command. ctx bounds the starting only: the process lives until
// [Process.Stop], so that stopping the load and stopping its target stay two
// steps. A nil logger is silent. An error says which command could not be started
// and why; nothing is left running then.
func Start(ctx context.Context, l Launch, logger *slog.Logger) (*Process, error) {
	if len(l.Command) == 0 || l.Command[0] == "" {
		return nil, errors.New("launch: the command is empty; give the program and its arguments, such as [java, -jar, app.jar]")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", commandLine(l.Command), err)
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	grp, err := newGroup()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", commandLine(l.Command), err)
	}
	cmd := command(context.WithoutCancel(ctx), l)
	grp.adopt(cmd)
	from := size(l.Log)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(
			fmt.Errorf("start %s: %w (working directory %s)", commandLine(l.Command), err, workDir(l.Dir)),
			grp.close(),
		)
	}
	p := &Process{
		name:     commandLine(l.Command),
		patience: l.Stop,
		logger:   logger,
		group:    grp,
		exited:   make(chan struct{}),
		stop:     make(chan struct{}),
		hurry:    make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	logger.InfoContext(ctx, "system under test started", slog.String("command", p.name), slog.Int("pid", cmd.Process.Pid))
	go p.wait(cmd, began, l.Log, from)
	return p, nil
}

// command makes the command ready to start, but for its process group.
func command(ctx context.Context, l Launch) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.Command[0], l.Command[1:]...)
	cmd.Dir = l.Dir
	cmd.Env = cmd.Environ()
	for _, k := range slices.Sorted(maps.Keys(l.Env)) {
		cmd.Env = append(cmd.Env, k+"="+l.Env[k])
	}
	if l.Log != nil {
		// A nil *os.File in an interface would not be nil.
		cmd.Stdout, cmd.Stderr = l.Log, l.Log
	}
	return cmd
}

// wait reaps the process and says how it ended. Stop waits for it.
func (p *Process) wait(cmd *exec.Cmd, began time.Time, log *os.File, from int64) {
	defer close(p.exited)
	_ = cmd.Wait() // ProcessState has what the error says.
	how := "ended by itself "
	select {
	case <-p.stop:
		how = "was stopped by faultline and ended "
	default:
	}
	p.err = fmt.Errorf("%s %s%s after %s; %s",
		p.name, how, exitWords(cmd.ProcessState), time.Since(began).Round(time.Millisecond), quoteLog(log, from))
}

// exitWords says how a process ended: with an exit code or by a signal.
func exitWords(s *os.ProcessState) string {
	if s == nil {
		return "in a way that the system did not tell"
	}
	if code := s.ExitCode(); code >= 0 {
		return "with exit code " + strconv.Itoa(code)
	}
	return "by the " + s.String() // "signal: killed"
}

// Exited is closed when the started process has ended. What it started itself may
// still run; Stop ends that too.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the process ended, with its exit code or signal, where its log is
// and the last lines of it. It is nil while the process runs.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// Stop sends SIGTERM to the process group and, when something of it is left after
// the launch's patience, or when ctx ends, SIGKILL. It returns when nothing of the
// group is left. It may be called again and from several goroutines: all of them
// get the one result, and any of their contexts hurries it. An error means that
// something is left even so.
func (p *Process) Stop(ctx context.Context) error {
	p.stopping.Do(func() {
		close(p.stop)
		go p.end()
	})
	select {
	case <-p.stopped:
	case <-ctx.Done():
		p.hurrying.Do(func() { close(p.hurry) })
		<-p.stopped // At most killWait away.
	}
	return p.stopErr
}

// end carries out Stop.
func (p *Process) end() {
	defer close(p.stopped)
	p.group.terminate()
	if !p.emptied(p.patience, p.hurry) {
		p.logger.Warn("system under test did not end in time after SIGTERM and was killed",
			slog.String("command", p.name), slog.Duration("patience", p.patience))
		p.group.kill()
		if !p.emptied(killWait, nil) {
			p.stopErr = fmt.Errorf("stop %s: something of its process group is still running %s after SIGKILL", p.name, killWait)
		}
	}
	if err := p.group.close(); err != nil {
		p.stopErr = errors.Join(p.stopErr, fmt.Errorf("stop %s: %w", p.name, err))
	}
}

// emptied waits until nothing of the group is left, and reports false when that
// took longer than patience or hurry was closed first.
func (p *Process) emptied(patience time.Duration, hurry <-chan struct{}) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-hurry:
		return false
	case <-limit.C:
		return false
	}
	for pause := firstLook; p.group.left(); pause = min(2*pause, lastLook) {
		look := time.NewTimer(pause)
		select {
		case <-look.C:
		case <-hurry:
			look.Stop()
			return false
		case <-limit.C:
			look.Stop()
			return false
		}
	}
	return true
}

// commandLine is a command as a person would type it, roughly.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'$&|;<>*?()") {
			quoted[i] = strconv.Quote(w)
		}
	}
	return strings.Join(quoted, " ")
}

// workDir names the directory that a command was started in.
func workDir(dir string) string {
	if dir == "" {
		return "as of faultline"
	}
	return dir
}
